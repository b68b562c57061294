"""Standardise an array, and compute its skewness, its kurtosis and a test of normality.

Source: Jarque and Bera (1980), Economics Letters 6.
"""


def inputs(n, rng):
    """Return values of a skewed distribution."""
    return (rng.gamma(2.0, 3.0, n),)


def compute(np, x):
    z = (x - x.mean()) / x.std()
    z2 = z * z
    skewness = (z2 * z).mean()
    kurtosis = (z2 * z2).mean() - 3
    test = x.size / 6 * (skewness * skewness + 0.25 * kurtosis * kurtosis)
    clipped = np.clip(z, -3, 3)
    return z, skewness, kurtosis, test, clipped
