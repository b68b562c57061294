"""Equalize the histogram of a grey image."""
import numpy as np
from numpy.random import default_rng

rng = default_rng(9)
img = np.clip(rng.normal(100, 20, (128, 128)), 0, 255).astype(np.uint8)
hist, bins = np.histogram(img.flatten(), 256, [0, 256])
cdf = hist.cumsum()
m = np.ma.masked_equal(cdf, 0)
m = (m - m.min()) * 255 / (m.max() - m.min())
lut = np.ma.filled(m, 0).astype("uint8")
out = lut[img]
print(out.shape, out.dtype, out.min(), out.max(), int(out.sum()))
print(np.percentile(out, [10, 50, 90]))
