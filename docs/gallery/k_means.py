"""Clusters by k-means.

Broadcasting computes the distances of all points to all centres. ``argmin`` finds the nearest centre of each point.
``bincount`` with weights computes the new centres.
"""

import numpy

import clarray

try:
    import matplotlib.pyplot as plt
except ImportError:
    raise SystemExit("This program draws a picture: pip install matplotlib") from None

rng = numpy.random.default_rng(5)
middles = rng.uniform(-8, 8, (2, 6))
drawn = middles[:, rng.integers(0, 6, 200_000)] + rng.normal(size=(2, 200_000))


def compute(np):
    """Return the centres of six clusters, and the index of the nearest centre for each point."""
    x, y = np.array(drawn, dtype=np.float32)
    centre_x, centre_y = x[:6], y[:6]
    for _ in range(40):
        nearest = ((x - centre_x[:, None]) ** 2 + (y - centre_y[:, None]) ** 2).argmin(axis=0)
        number = np.maximum(np.bincount(nearest, minlength=6), 1)
        centre_x = (np.bincount(nearest, x, 6) / number).astype(np.float32)
        centre_y = (np.bincount(nearest, y, 6) / number).astype(np.float32)
    return centre_x, centre_y, nearest


centre_x, centre_y, nearest = compute(clarray)
print("points in each cluster:", clarray.bincount(nearest, minlength=6))

figure, axis = plt.subplots(figsize=(6.5, 5), layout="constrained")
axis.scatter(*drawn[:, ::50], c=clarray.asnumpy(nearest[::50]), s=4, cmap="tab10")
axis.plot(clarray.asnumpy(centre_x), clarray.asnumpy(centre_y), "kx", markersize=10, markeredgewidth=3)
axis.set(xlabel="x", ylabel="y", aspect="equal")
plt.show()
