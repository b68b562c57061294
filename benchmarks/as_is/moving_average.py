"""Smooth a series by convolution and by cumulative sums."""
import numpy as np
from numpy.random import default_rng

rng = default_rng(2)
series = np.cumsum(rng.normal(0, 1, 500)) + 100
window = 7
a = np.convolve(series, np.ones(window) / window, mode="valid")
c = np.cumsum(np.insert(series, 0, 0))
b = (c[window:] - c[:-window]) / window
print(np.allclose(a, b), a[:5].round(4), len(a))
ema = np.empty_like(series)
ema[0] = series[0]
for i in range(1, len(series)):
    ema[i] = 0.1 * series[i] + 0.9 * ema[i - 1]
print(ema[-3:].round(5))
