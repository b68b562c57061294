"""Unusual days in a year of temperatures from 20,000 weather stations."""

import numpy as np

temperature = np.random.default_rng(0).normal(15, 8, (365, 20_000))  # days, stations


def unusual(t, limit=3):
    """Return the number of unusual values, their mean, and the mean weight of all values."""
    score = (t - t.mean(axis=0)) / t.std(axis=0)
    extreme = np.abs(score) > limit
    return extreme.sum(), t[extreme].mean(), np.exp(-(score**2) / 2).mean()


print([round(float(value), 4) for value in unusual(temperature)])
