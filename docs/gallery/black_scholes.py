"""Black and Scholes: prices and implied volatilities.

A call option is the right to buy something for a fixed price (the strike) at a fixed time (the maturity). The program
computes the prices of 600,000 options with different strikes and maturities. The volatility depends on the strike, as
in a market. Newton's method then computes the volatility from the prices. Each step of the method computes
logarithms, exponentials and normal distributions for all options at once.
"""

import math

import clarray
from clarray import special

try:
    import matplotlib.pyplot as plt
except ImportError:
    raise SystemExit("This program draws a picture: pip install matplotlib") from None

spot, rate = 100.0, 0.03


def call(np, special, strike, years, volatility):
    """Return the prices of call options, and the derivatives of the prices with respect to the volatility."""
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + rate * years) / spread + spread / 2
    price = spot * special.ndtr(d1) - strike * np.exp(-rate * years) * special.ndtr(d1 - spread)
    return price, spot * np.sqrt(years / (2 * math.pi)) * np.exp(-d1 * d1 / 2)


def compute(np, special):
    """Return strikes, maturities, assumed volatilities, prices, and volatilities computed from prices."""
    strike = np.linspace(70, 140, 1000, dtype=np.float32)
    years = np.linspace(0.25, 3, 600, dtype=np.float32)[:, None]
    smile = 0.2 + 0.25 * np.log(strike / spot) ** 2 / np.sqrt(years) - 0.05 * np.log(strike / spot)
    price, _ = call(np, special, strike, years, smile)
    found = np.full_like(price, 0.3)
    for _ in range(6):
        guess, growth = call(np, special, strike, years, found)
        found = found - (guess - price) / growth
    return strike, years, smile, price, found


strike, years, smile, price, found = (clarray.asnumpy(x) for x in compute(clarray, special))
print(f"{price.size} prices from {price.min():.4f} to {price.max():.2f}")
print(f"largest error of the implied volatility: {abs(found - smile).max():.1e}")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
image = left.contourf(strike, years[:, 0], price, 30, cmap="viridis")
left.set(xlabel="strike", ylabel="years", title="price of a call")
figure.colorbar(image)
for k in (0, 150, 599):
    right.plot(strike, 100 * found[k], label=f"{years[k, 0]:.2f} years")
right.set(xlabel="strike", ylabel="%", title="implied volatility")
right.legend()
plt.show()
