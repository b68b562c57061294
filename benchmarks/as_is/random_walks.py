"""Random walks in one dimension."""
import numpy as np
from numpy.random import default_rng

rng = default_rng(11)
steps = np.where(rng.integers(0, 2, (500, 1000)) > 0, 1, -1)
walks = steps.cumsum(1)
print(walks.max(), walks.min())
hits30 = (np.abs(walks) >= 30).any(1)
print(hits30.sum())
crossing = (np.abs(walks[hits30]) >= 30).argmax(1)
print(crossing.mean().round(6), np.median(crossing))
