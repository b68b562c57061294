"""Gaussian naive Bayes on synthetic flowers."""
import numpy as np
from numpy.random import default_rng

rng = default_rng(20)
means = np.array([[5.0, 3.4, 1.5, 0.2], [5.9, 2.8, 4.3, 1.3], [6.6, 3.0, 5.6, 2.0]])
X = np.vstack([rng.normal(m, 0.35, (50, 4)) for m in means])
y = np.repeat(np.arange(3), 50)
order = rng.permutation(len(y))
X, y = X[order], y[order]
train, test = slice(0, 100), slice(100, None)
classes = np.unique(y)
mu = np.array([X[train][y[train] == c].mean(axis=0) for c in classes])
var = np.array([X[train][y[train] == c].var(axis=0) for c in classes])
prior = np.array([np.mean(y[train] == c) for c in classes])
ll = -0.5 * (np.log(2 * np.pi * var[:, None]) + (X[test][None] - mu[:, None]) ** 2 / var[:, None]).sum(2)
pred = (ll + np.log(prior)[:, None]).argmax(axis=0)
confusion = np.zeros((3, 3), int)
np.add.at(confusion, (y[test], pred), 1)
print(confusion, "accuracy %.3f" % (pred == y[test]).mean())
print(mu.round(3))
