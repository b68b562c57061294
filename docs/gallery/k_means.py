"""Clusters by k-means.

Distances of all points to all centres by broadcasting, the nearest by ``argmin``, and new centres by ``bincount`` with
weights.
"""

import matplotlib.pyplot as plt
import numpy as np

import clarray

rng = np.random.default_rng(5)
middles = rng.uniform(-8, 8, (6, 2))
host = middles[rng.integers(0, 6, 60_000)] + rng.normal(size=(60_000, 2))
points = clarray.array(host.astype(np.float32))
centres = points[:6].copy()
for _ in range(40):
    apart = points[:, None, :] - centres
    nearest = (apart * apart).sum(axis=2).argmin(axis=1)
    number = clarray.maximum(clarray.bincount(nearest, minlength=6), 1)
    sums = [clarray.bincount(nearest, weights=points[:, k], minlength=6) for k in (0, 1)]
    centres = (clarray.stack(sums, axis=1) / number[:, None]).astype(np.float32)
print("points in each cluster:", clarray.bincount(nearest, minlength=6))

figure, axis = plt.subplots(figsize=(6.5, 5), layout="constrained")
axis.scatter(*host[::20].T, c=clarray.asnumpy(nearest[::20]), s=4, cmap="tab10")
axis.plot(*clarray.asnumpy(centres).T, "kx", markersize=10, markeredgewidth=3)
axis.set(xlabel="x", ylabel="y", aspect="equal")
plt.show()
