"""Roots of functions, scalars of NumPy's."""
import numpy as np


def newton(f, df, x, tol=1e-12):
    for k in range(50):
        dx = f(x) / df(x)
        x = x - dx
        if abs(dx) < tol:
            return x, k
    raise RuntimeError


print(newton(np.cos, lambda x: -np.sin(x), 1.0))
print(newton(lambda x: x**3 - 2, lambda x: 3 * x**2, np.float64(1.5)))
a, b = 0.0, 2.0
while b - a > 1e-10:
    m = (a + b) / 2
    if np.sign(np.exp(m) - 3) == np.sign(np.exp(a) - 3):
        a = m
    else:
        b = m
print(round(m, 9), round(np.log(3), 9))
