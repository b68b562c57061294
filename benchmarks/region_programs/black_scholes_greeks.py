"""Compute the prices and the greeks of European calls and puts.

Source: Black and Scholes (1973), Journal of Political Economy 81; Hull, Options, Futures, and Other Derivatives. The
normal distribution is formula 26.2.17 of Abramowitz and Stegun (1964).
"""


def inputs(n, rng):
    """Return spot, strike, time to maturity, volatility and interest rate."""
    return (
        rng.uniform(50, 150, n),
        rng.uniform(50, 150, n),
        rng.uniform(0.1, 2, n),
        rng.uniform(0.1, 0.5, n),
        rng.uniform(0.0, 0.06, n),
    )


def density(np, x):
    """Return the density of the normal distribution."""
    return 0.3989422804014327 * np.exp(-0.5 * x * x)


def distribution(np, x, pdf):
    """Return the normal distribution function, given its density."""
    k = 1 / (1 + 0.2316419 * np.abs(x))
    tail = pdf * k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    return np.where(x > 0, 1 - tail, tail)


def compute(np, spot, strike, years, volatility, rate):
    root = np.sqrt(years)
    spread = volatility * root
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    d2 = d1 - spread
    pdf1, pdf2 = density(np, d1), density(np, d2)
    n1, n2 = distribution(np, d1, pdf1), distribution(np, d2, pdf2)
    discounted = strike * np.exp(-rate * years)
    call = spot * n1 - discounted * n2
    put = discounted * (1 - n2) - spot * (1 - n1)
    gamma = pdf1 / (spot * spread)
    vega = spot * pdf1 * root
    decay = -spot * pdf1 * volatility / (2 * root)
    call_theta = decay - rate * discounted * n2
    put_theta = decay + rate * discounted * (1 - n2)
    call_rho = discounted * years * n2
    put_rho = -discounted * years * (1 - n2)
    return call, put, n1, n1 - 1, gamma, vega, call_theta, put_theta, call_rho, put_rho
