"""Compute mean, standard deviation, minimum, maximum and the position of the maximum of one array.

Source: the five calls of issue 41's table.
"""


def inputs(n, rng):
    """Return normal variates."""
    return (rng.normal(3, 2, n),)


def compute(np, x):
    return x.mean(), x.std(), x.min(), x.max(), x.argmax()
