"""A bootstrap confidence interval."""
import numpy as np
from numpy.random import RandomState

rng = RandomState(3)
sample = rng.exponential(2.0, size=200)
means = np.array([rng.choice(sample, size=len(sample), replace=True).mean() for _ in range(500)])
lo, hi = np.percentile(means, [2.5, 97.5])
print(f"mean {sample.mean():.5f}, interval [{lo:.5f}, {hi:.5f}]")
print(np.histogram(means, bins=6)[0])
