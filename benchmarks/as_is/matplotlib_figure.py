"""A figure that is saved, with nothing shown."""
import io

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from numpy.random import default_rng

x = np.linspace(0, 2 * np.pi, 200)
fig, axes = plt.subplots(1, 3, figsize=(6, 2))
(line,) = axes[0].plot(x, np.sin(x))
axes[1].imshow(np.outer(np.sin(x), np.cos(x)))
n, bins, patches = axes[2].hist(default_rng(0).normal(size=500), bins=10)
buffer = io.BytesIO()
fig.savefig(buffer, format="png")
print(buffer.getvalue()[:4], len(line.get_xdata()), n.sum(), bins.round(3))
