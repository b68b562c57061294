"""Exercises in the manner of numpy-100, second part."""
import numpy as np
from numpy.random import default_rng

Z = np.arange(11)
Z[(3 < Z) & (Z < 8)] *= -1
print(Z)
print(sum(range(5), -1), np.sum(range(5), -1))
Z = np.arange(10)
print(2 << Z >> 2, 1j * Z, Z / 1 / 1)
try:
    print(Z < Z > Z)
except ValueError as error:
    print(error)
rng = default_rng(1)
Z = rng.uniform(-10, +10, 10)
print(np.where(Z > 0, np.ceil(Z), np.floor(Z)))
Z1 = rng.integers(0, 10, 10)
Z2 = rng.integers(0, 10, 10)
print(np.intersect1d(Z1, Z2))
A = np.ones(3) * 1
B = np.ones(3) * 2
np.add(A, B, out=B)
np.divide(A, 2, out=A)
np.negative(A, out=A)
np.multiply(A, B, out=A)
print(A)
Z = rng.uniform(0, 10, 5)
print(Z - Z % 1, Z // 1, np.floor(Z), Z.astype(int), np.trunc(Z))
Z = np.zeros((5, 5))
Z += np.arange(5)
print(Z)
Z = np.linspace(0, 1, 11, endpoint=False)[1:]
print(Z)
Z = rng.random(10)
Z.sort()
print(Z)
print(np.add.reduce(np.arange(10)))
Z[Z.argmax()] = 0
print(Z.round(4))
