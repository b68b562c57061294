"""A string, by leapfrog."""
import numpy as np

nx, nt = 401, 300
x = np.linspace(0, 1, nx)
u = np.exp(-200 * (x - 0.3) ** 2)
v = u.copy()
c = 0.5
for _ in range(nt):
    w = np.zeros_like(u)
    w[1:-1] = 2 * u[1:-1] - v[1:-1] + c**2 * (u[2:] - 2 * u[1:-1] + u[:-2])
    v, u = u, w
print(u[::40].round(6))
print(f"energy {np.sum((u - v) ** 2) + np.sum(np.diff(u) ** 2) * c**2:.6f}")
