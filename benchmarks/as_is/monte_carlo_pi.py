"""Estimate pi."""
import numpy as np
from numpy.random import default_rng

rng = default_rng(12345)
n = 1_000_000
x = rng.random(n)
y = rng.random(n)
inside = (x**2 + y**2) <= 1.0
print(f"pi ~ {4 * inside.sum() / n:.6f}")
print(f"error {abs(4 * np.count_nonzero(inside) / n - np.pi):.6f}")
