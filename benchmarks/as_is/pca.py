"""Principal components by eigh."""
import numpy as np
from numpy.random import default_rng

rng = default_rng(5)
X = rng.normal(size=(200, 5)) @ np.diag([5, 3, 1, 0.5, 0.1])
X = X - X.mean(axis=0)
cov = np.cov(X, rowvar=False)
values, vectors = np.linalg.eigh(cov)
idx = np.argsort(values)[::-1]
values, vectors = values[idx], vectors[:, idx]
print(values.round(6))
print((values / values.sum()).cumsum().round(6))
proj = X @ vectors[:, :2]
print(proj.shape, np.abs(proj[:3]).round(5))
