"""Fit a curve with SciPy."""
import numpy as np
from numpy.random import default_rng
from scipy.optimize import curve_fit, minimize


def model(x, a, b, c):
    return a * np.exp(-b * x) + c


x = np.linspace(0, 4, 50)
rng = default_rng(1729)
y = model(x, 2.5, 1.3, 0.5) + 0.2 * rng.normal(size=x.size)
popt, pcov = curve_fit(model, x, y)
print(popt.round(4), np.sqrt(np.diag(pcov)).round(4))
res = minimize(lambda p: np.sum((model(x, *p) - y) ** 2), [1.0, 1.0, 1.0])
print(res.x.round(3), isinstance(res.x, np.ndarray))
