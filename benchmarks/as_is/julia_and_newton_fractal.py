"""Basins of Newton's method for z**3 = 1."""
import numpy as np

x = np.linspace(-1.5, 1.5, 180)
z = x[None, :] + 1j * x[:, None]
for _ in range(30):
    z = z - (z**3 - 1) / (3 * z**2)
roots = np.exp(2j * np.pi * np.arange(3) / 3)
basin = np.abs(z[..., None] - roots).argmin(axis=-1)
print(np.bincount(basin.ravel()), basin[90, ::20])
