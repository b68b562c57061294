"""Compute the sums of two arrays and of their product.

Source: the three sums of a covariance.
"""


def inputs(n, rng):
    """Return two correlated arrays."""
    x = rng.normal(1, 1, n)
    return x, 0.5 * x + rng.normal(0, 1, n)


def compute(np, x, y):
    return (x * y).sum(), x.sum(), y.sum()
