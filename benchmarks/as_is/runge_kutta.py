"""The Lorenz system by RK4."""
import numpy as np


def lorenz(s, sigma=10.0, rho=28.0, beta=8 / 3):
    x, y, z = s
    return np.array([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])


def rk4(f, s, dt):
    k1 = f(s)
    k2 = f(s + dt / 2 * k1)
    k3 = f(s + dt / 2 * k2)
    k4 = f(s + dt * k3)
    return s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


s = np.array([1.0, 1.0, 1.0])
path = [s]
for _ in range(400):
    s = rk4(lorenz, s, 0.01)
    path.append(s)
path = np.array(path)
print(path.shape, path[-1].round(6))
print(path.min(axis=0).round(4), path.max(axis=0).round(4))
