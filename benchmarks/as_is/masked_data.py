"""Masked arrays for missing measurements."""
import numpy as np
import numpy.ma as ma

x = np.array([1.0, 2.0, -999.0, 4.0, 5.0])
mx = ma.masked_where(x == -999, x)
print(mx, mx.mean(), mx.count())
print(ma.masked_invalid([1, np.nan, 3]).filled(0))
y = np.where(x < 0, np.nan, x)
print(np.nanmean(y), np.nansum(y), np.isnan(y).sum(), np.nanstd(y).round(6))
print((mx * 2 + 1).compressed())
