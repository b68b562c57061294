"""Autocorrelation and an autoregressive model."""
import numpy as np
from numpy.random import default_rng

rng = default_rng(33)
n, phi = 2000, 0.7
eps = rng.normal(size=n)
x = np.zeros(n)
for t in range(1, n):
    x[t] = phi * x[t - 1] + eps[t]
xc = x - x.mean()
acf = np.array([np.dot(xc[: n - k], xc[k:]) for k in range(6)]) / np.dot(xc, xc)
print(acf.round(5))
print("phi %.5f" % (np.dot(x[1:], x[:-1]) / np.dot(x[:-1], x[:-1])))
full = np.correlate(xc, xc, mode="full")[n - 1 :]
print((full[:4] / full[0]).round(5))
print(np.array_split(x.round(2), 400)[0], np.ptp(x).round(5), np.gradient(x)[:3].round(4))
