"""Advance price and variance of the Heston model by one step of the quadratic-exponential scheme.

Source: Andersen (2008), Journal of Computational Finance 11, sections 3.2 and 4.2.
"""


def inputs(n, rng):
    """Return log price, variance, two normal variates and a uniform one for each path."""
    return (
        rng.normal(4.6, 0.1, n),
        rng.gamma(1.0, 0.04, n) + 1e-6,
        rng.normal(0, 1, n),
        rng.normal(0, 1, n),
        rng.uniform(1e-6, 1 - 1e-6, n),
    )


def compute(np, log_price, v, z_price, z_variance, uniform):
    kappa, mean, sigma, rho, step, rate = 1.5, 0.04, 0.6, -0.7, 1 / 52, 0.02
    decay = 0.9715655953594158  # exp(-kappa * step)
    m = mean + (v - mean) * decay
    s2 = v * (sigma * sigma * decay * (1 - decay) / kappa) + mean * sigma * sigma * (1 - decay) ** 2 / (2 * kappa)
    psi = s2 / (m * m)

    inverse = 2 / np.minimum(psi, 1.9)
    b2 = inverse - 1 + np.sqrt(inverse) * np.sqrt(inverse - 1)
    a = m / (1 + b2)
    shifted = np.sqrt(b2) + z_variance
    quadratic = a * shifted * shifted

    p = np.maximum((psi - 1) / (psi + 1), 0.0)
    beta = (1 - p) / m
    exponential = np.where(uniform <= p, 0.0, np.log((1 - p) / (1 - uniform)) / beta)

    new = np.where(psi <= 1.5, quadratic, exponential)
    k0 = -rho * kappa * mean / sigma * step
    k1 = 0.5 * step * (kappa * rho / sigma - 0.5) - rho / sigma
    k2 = 0.5 * step * (kappa * rho / sigma - 0.5) + rho / sigma
    k3 = 0.5 * step * (1 - rho * rho)
    average = k3 * (v + new)
    next_price = log_price + rate * step + k0 + k1 * v + k2 * new + np.sqrt(np.maximum(average, 0.0)) * z_price
    payoff = np.maximum(np.exp(next_price) - 100, 0.0)
    return next_price, new, payoff, payoff.mean(), payoff.std()
