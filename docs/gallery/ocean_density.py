"""The density of an ocean.

The international equation of state (UNESCO, EOS-80) gives the density of sea water for a temperature, a salinity and
a pressure. The equation needs about eighty operations for each point. The program computes the densities in a
vertical section of an ocean, from south to north. clarray fuses the eighty operations into about eight passes over
the points. NumPy needs one pass for each operation.
"""

import clarray

try:
    import matplotlib.pyplot as plt
except ImportError:
    raise SystemExit("This program draws a picture: pip install matplotlib") from None


def polynomial(x, *coefficients):
    """Return the value of a polynomial at x. The first coefficient is the constant."""
    total = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        total = total * x + coefficient
    return total


def density(s, t, p):
    """Return densities in kg/m3, from practical salinities, temperatures in Celsius and pressures in bar."""
    root = s**0.5
    fresh = polynomial(t, 999.842594, 6.793952e-2, -9.095290e-3, 1.001685e-4, -1.120083e-6, 6.536332e-9)
    salt = polynomial(t, 8.24493e-1, -4.0899e-3, 7.6438e-5, -8.2467e-7, 5.3875e-9)
    surface = fresh + s * (salt + root * polynomial(t, -5.72466e-3, 1.0227e-4, -1.6546e-6) + 4.8314e-4 * s)
    stiff = polynomial(t, 54.6746, -0.603459, 1.09987e-2, -6.1670e-5)
    stiff = s * (stiff + root * polynomial(t, 7.944e-2, 1.6483e-2, -5.3009e-4))
    stiff = stiff + polynomial(t, 19652.21, 148.4206, -2.327105, 1.360477e-2, -5.155288e-5)
    first = s * (polynomial(t, 2.2838e-3, -1.0981e-5, -1.6078e-6) + 1.91075e-4 * root)
    first = first + polynomial(t, 3.239908, 1.43713e-3, 1.16092e-4, -5.77905e-7)
    second = s * polynomial(t, -9.9348e-7, 2.0816e-8, 9.1697e-10)
    second = second + polynomial(t, 8.50935e-5, -6.12293e-6, 5.2787e-8)
    return surface / (1 - p / (stiff + p * (first + p * second)))


def compute(np):
    """Return latitudes, pressures, temperatures, densities, and the densities at the surface pressure."""
    latitude = np.linspace(-75, 75, 1200, dtype=np.float32)
    bar = np.linspace(0, 500, 800, dtype=np.float32)[:, None]
    warm = np.cos(np.radians(latitude)) ** 2
    t = 1 + 26 * warm**1.5 * np.exp(-bar / (20 + 50 * warm))
    s = 34.7 + (warm - 0.4) * np.exp(-bar / 40)
    return latitude, bar, t, density(s, t, bar), density(s, t, 0)


latitude, bar, t, here, lifted = (clarray.asnumpy(x) for x in compute(clarray))
print(f"at 35, 25 degrees and 1000 bar {density(35, 25, 1000):.5f} kg/m3, UNESCO's table says 1062.53817")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", width_ratios=(2, 1))
image = left.contourf(latitude, 10 * bar[:, 0], lifted - 1000, 30, cmap="viridis")
left.contour(latitude, 10 * bar[:, 0], t, [2, 5, 10, 15, 20, 25], colors="white", linewidths=0.6)
left.set(xlabel="latitude (white: isotherms)", ylim=(2000, 0), ylabel="depth, about m")
figure.colorbar(image, label="potential density - 1000, kg/m3")
for degrees, column in ((0, 600), (40, 920), (70, 1160)):
    right.plot(here[:, column] - 1000, 10 * bar[:, 0], label=f"{degrees} degrees")
right.set(xlabel="density - 1000, kg/m3", ylim=(5000, 0))
right.legend()
plt.show()
