"""Explicit finite differences for the heat equation in two dimensions."""
import numpy as np

n = 200
u = np.zeros((n, n))
u[n // 4 : 3 * n // 4, n // 4 : 3 * n // 4] = 100.0
alpha, dx = 0.1, 1.0
dt = dx**2 / (4 * alpha)
for step in range(200):
    un = u.copy()
    u[1:-1, 1:-1] = un[1:-1, 1:-1] + alpha * dt / dx**2 * (
        un[2:, 1:-1] + un[:-2, 1:-1] + un[1:-1, 2:] + un[1:-1, :-2] - 4 * un[1:-1, 1:-1]
    )
print(f"{u[n // 2, n // 2]:.6f} {u.max():.6f} {u.sum():.4f}")
print(np.round(u[n // 2, ::25], 4))
