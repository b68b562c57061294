"""Compute three robust losses of a quadratic fit, their gradients by hand, and the weights of the next iteration.

Source: Huber (1964), Annals of Mathematical Statistics 35; Beaton and Tukey (1974), Technometrics 16; Barron (2019),
arXiv:1701.03077.
"""


def inputs(n, rng):
    """Return abscissas and ordinates with outliers."""
    x = rng.uniform(-1, 1, n)
    return x, 1 + 2 * x - 0.5 * x * x + rng.standard_t(2, n) * 0.2


def compute(np, x, y):
    a, b, c, scale = 0.9, 2.1, -0.4, 0.3
    x2 = x * x
    r = (y - (a + b * x + c * x2)) / scale
    size = np.abs(r)

    inside = size <= 1.345
    huber = np.where(inside, 0.5 * r * r, 1.345 * size - 0.5 * 1.345**2)
    huber_slope = np.clip(r, -1.345, 1.345)

    u = r / 4.685
    rest = np.maximum(1 - u * u, 0.0)
    tukey = 4.685**2 / 6 * (1 - rest * rest * rest)
    tukey_slope = r * rest * rest

    cauchy = np.log1p(0.5 * r * r)
    cauchy_slope = r / (1 + 0.5 * r * r)

    weights = np.where(inside, 1.0, 1.345 / np.maximum(size, 1e-12))
    gradients = [
        (-slope / scale * basis).sum() for slope in (huber_slope, tukey_slope, cauchy_slope) for basis in (x, x2)
    ]
    constants = [(-slope / scale).sum() for slope in (huber_slope, tukey_slope, cauchy_slope)]
    return huber.sum(), tukey.sum(), cauchy.sum(), *gradients, *constants, weights
