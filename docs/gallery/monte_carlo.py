"""The price of an option by Monte Carlo.

The program draws two million normal random numbers on the device, and computes a price and a pay-off from each
number. The kernel that computes the mean pay-off also computes the prices and the pay-offs. The program compares the
mean with the price from the formula of Black and Scholes.
"""

import math

import numpy

import clarray

try:
    import matplotlib.pyplot as plt
except ImportError:
    raise SystemExit("This program draws a picture: pip install matplotlib") from None

spot, strike, rate, volatility = 100.0, 110.0, 0.03, 0.25  # for one year


def compute(np):
    """Return the price, its error, the running mean of the pay-offs, and a histogram of the final prices."""
    drawn = np.random.default_rng(7).standard_normal(2_000_000, dtype=np.float32)
    final = spot * np.exp(rate - volatility**2 / 2 + volatility * drawn)
    paid = math.exp(-rate) * np.maximum(final - strike, 0)
    price, error = float(paid.mean()), float(paid.std()) / math.sqrt(paid.size)
    running = np.cumsum(paid)[999::1000] / np.arange(1000, paid.size + 1, 1000)
    return price, error, running, np.histogram(final, bins=100, range=(0, 250))


price, error, running, (counts, edges) = compute(clarray)
d1 = (math.log(spot / strike) + rate + volatility**2 / 2) / volatility
below = [0.5 * math.erfc(-d / math.sqrt(2)) for d in (d1, d1 - volatility)]
exact = spot * below[0] - strike * math.exp(-rate) * below[1]
print(f"simulated {price:.3f} +- {error:.3f}, exact {exact:.3f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
left.stairs(clarray.asnumpy(counts), clarray.asnumpy(edges), fill=True)
left.axvline(strike, color="black", linestyle="--", label="strike")
left.set(xlabel="price in a year", ylabel="paths")
left.legend()
right.semilogx(1000 * numpy.arange(1, 2001), clarray.asnumpy(running))
right.axhline(exact, color="black", linestyle="--", label="exact")
right.set(xlabel="paths", ylabel="mean pay-off")
right.legend()
plt.show()
