"""The Ising model by a checkerboard update."""
import numpy as np
from numpy.random import default_rng

rng = default_rng(99)
L, beta = 32, 0.5
spins = rng.choice([-1, 1], size=(L, L))
checker = np.indices((L, L)).sum(axis=0) % 2
for sweep in range(60):
    for parity in (0, 1):
        nb = np.roll(spins, 1, 0) + np.roll(spins, -1, 0) + np.roll(spins, 1, 1) + np.roll(spins, -1, 1)
        dE = 2 * spins * nb
        accept = (rng.random((L, L)) < np.exp(-beta * dE)) & (checker == parity)
        spins = np.where(accept, -spins, spins)
print(abs(spins.sum()) / L**2, -(spins * (np.roll(spins, 1, 0) + np.roll(spins, 1, 1))).mean())
