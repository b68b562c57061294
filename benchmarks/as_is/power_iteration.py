"""The dominant eigenvector, and PageRank."""
import numpy as np

links = {0: [1, 2], 1: [2], 2: [0], 3: [0, 2]}
n = 4
M = np.zeros((n, n))
for j, targets in links.items():
    for i in targets:
        M[i, j] = 1 / len(targets)
d = 0.85
G = d * M + (1 - d) / n
r = np.ones(n) / n
for k in range(100):
    new = G @ r
    if np.linalg.norm(new - r, 1) < 1e-10:
        break
    r = new
print(k, r.round(8), r.sum().round(12))
print(np.argsort(-r))
