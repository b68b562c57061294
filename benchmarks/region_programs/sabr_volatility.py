"""Compute the implied volatility of the SABR model and its sensitivity to the forward.

Source: Hagan, Kumar, Lesniewski and Woodward (2002), Managing Smile Risk, Wilmott magazine, equation 2.17.
"""


def inputs(n, rng):
    """Return forward, strike, maturity, alpha, rho and the volatility of volatility."""
    forward = rng.uniform(0.01, 0.06, n)
    return (
        forward,
        forward * rng.uniform(0.5, 2, n),
        rng.uniform(0.2, 10, n),
        rng.uniform(0.02, 0.06, n),
        rng.uniform(-0.6, 0.6, n),
        rng.uniform(0.1, 0.6, n),
    )


def volatility(np, f, k, years, alpha, rho, nu):
    """Return the lognormal volatility for beta = 0.5."""
    beta = 0.5
    product = f * k
    half = product ** (0.5 * (1 - beta))
    log = np.log(f / k)
    log2 = log * log
    z = nu / alpha * half * log
    near = np.abs(z) < 1e-6
    safe = np.where(near, 1.0, z)
    x = np.log((np.sqrt(1 - 2 * rho * safe + safe * safe) + safe - rho) / (1 - rho))
    ratio = np.where(near, 1 - 0.5 * rho * z, safe / x)
    one = (1 - beta) ** 2
    denominator = half * (1 + one / 24 * log2 + one * one / 1920 * log2 * log2)
    correction = (
        one / 24 * alpha * alpha / (half * half)
        + 0.25 * rho * beta * nu * alpha / half
        + (2 - 3 * rho * rho) / 24 * nu * nu
    )
    return alpha / denominator * ratio * (1 + correction * years)


def compute(np, forward, strike, years, alpha, rho, nu):
    middle = volatility(np, forward, strike, years, alpha, rho, nu)
    bump = 1e-4 * forward
    above = volatility(np, forward + bump, strike, years, alpha, rho, nu)
    below = volatility(np, forward - bump, strike, years, alpha, rho, nu)
    slope = (above - below) / (2 * bump)
    return middle, slope
