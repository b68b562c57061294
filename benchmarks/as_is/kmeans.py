"""k-means clustering."""
import numpy as np
from numpy.random import default_rng


def kmeans(X, k, rng, n_iter=20):
    centers = X[rng.choice(len(X), k, replace=False)]
    for _ in range(n_iter):
        d = ((X[:, None, :] - centers[None]) ** 2).sum(axis=2)
        labels = d.argmin(axis=1)
        new = np.array([X[labels == j].mean(axis=0) for j in range(k)])
        if np.allclose(new, centers):
            break
        centers = new
    return centers, labels


rng = default_rng(7)
X = np.concatenate([rng.normal(c, 0.3, (200, 2)) for c in [(0, 0), (3, 3), (0, 4)]])
centers, labels = kmeans(X, 3, rng)
order = np.argsort(centers[:, 0] + 10 * centers[:, 1])
print(centers[order].round(4))
print(np.bincount(labels)[order])
