"""Gravity between a few bodies."""
import numpy as np
from numpy.random import default_rng

rng = default_rng(17)
N = 50
pos = rng.standard_normal((N, 3))
vel = rng.standard_normal((N, 3)) * 0.1
mass = 20.0 * np.ones((N, 1)) / N
G, soft, dt = 1.0, 0.1, 0.01


def acceleration(pos):
    x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
    dx, dy, dz = x.T - x, y.T - y, z.T - z
    inv = (dx**2 + dy**2 + dz**2 + soft**2) ** (-1.5)
    return np.hstack((G * (dx * inv) @ mass, G * (dy * inv) @ mass, G * (dz * inv) @ mass))


acc = acceleration(pos)
for _ in range(50):
    vel += acc * dt / 2.0
    pos += vel * dt
    acc = acceleration(pos)
    vel += acc * dt / 2.0
ke = 0.5 * np.sum(mass * vel**2)
print(f"kinetic {ke:.6f}", pos.mean(axis=0).round(6))
