"""The splits of a random forest by histogram.

Fast implementations of random forests assign each value to one of 64 bins instead of sorting the values. Histograms
of these bins are enough to find the best split of a tree. One call of ``bincount`` computes the histograms of all
features. The program computes the first split of each of 20 trees. Each tree uses its own random rows and features.
"""

import numpy

import clarray

try:
    import matplotlib.pyplot as plt
except ImportError:
    raise SystemExit("This program draws a picture: pip install matplotlib") from None

rows, features, bins, trees = 400_000, 10, 64, 20
rng = numpy.random.default_rng(11)
measured = rng.normal(size=(rows, features))
chance = 1 / (1 + numpy.exp(-(2.0 * (measured[:, 3] > 0.4) + 1.8 * (measured[:, 7] > -0.5) - 2)))
sick = rng.random(rows) < chance
drawn = rng.poisson(1.0, (trees, rows))  # how often each tree uses each row
# Each tree may use four features.
tried = rng.permuted(numpy.tile(numpy.arange(features) < 4, (trees, 1)), axis=1)


def cumulative(np, binned, weights):
    """Return the total weight of the rows up to each bin, for each feature."""
    repeated = np.broadcast_to(weights[:, None], binned.shape)
    counts = np.bincount(binned.ravel(), repeated.ravel(), bins * features)
    return np.cumsum(counts.reshape(features, bins), axis=1)


def gini(positive, total):
    """Return the Gini impurities of groups, multiplied by the sizes of the groups."""
    return 2 * positive * (total - positive) / (total + 1e-9)


def compute(np):
    """Return the mean impurity after each split, for each tree, feature and bin."""
    edges = np.linspace(-3, 3, bins - 1)
    binned = np.searchsorted(edges, np.array(measured)) + bins * np.arange(features)
    label, times = np.array(sick), np.array(drawn)
    left = []
    for seen in times:
        below, ill_below = cumulative(np, binned, seen), cumulative(np, binned, seen * label)
        above, ill_above = below[:, -1:] - below, ill_below[:, -1:] - ill_below
        left.append((gini(ill_below, below) + gini(ill_above, above)) / below[:, -1:])
    return np.stack(left)


left = clarray.asnumpy(compute(clarray))
allowed = numpy.where(tried[:, :, None], left, numpy.inf)
feature = allowed.min(axis=2).argmin(axis=1)
print("number of trees that split each feature:", numpy.bincount(feature, minlength=features))

figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
for k, impurity in enumerate(left[:, :, :-1].mean(axis=0)):
    axis.plot(numpy.linspace(-3, 3, bins - 1), impurity, label=f"feature {k}")
axis.set(xlabel="split at", ylabel="mean impurity after the split")
axis.legend()
plt.show()
