"""Equalised histograms.

A dark photograph whose grey levels are spread: ``bincount``, a running sum, and a table read by an array of indices.
The photograph, of Grace Hopper by the US Navy, comes with matplotlib.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.cbook import get_sample_data

import clarray

with get_sample_data("grace_hopper.jpg") as file:
    photo = clarray.array(plt.imread(file, format="jpg"))
dark = (photo.mean(axis=2, dtype=np.float32) * 0.35 + 12).astype(np.uint8)

share = clarray.cumsum(clarray.bincount(dark.ravel(), minlength=256)) / dark.size
levels = clarray.rint(255 * share).astype(np.uint8)
equal = levels[dark]
print("levels from", dark.min(), "to", dark.max(), "become", equal.min(), "to", equal.max())

figure, axes = plt.subplots(2, 2, figsize=(7, 6), layout="constrained", height_ratios=(3, 1))
titles = ("dark", "equalised")
for (above, below), image, title in zip(axes.T, (dark, equal), titles, strict=True):
    above.imshow(clarray.asnumpy(image), cmap="gray", vmin=0, vmax=255)
    above.set(title=title, xticks=[], yticks=[])
    below.stairs(clarray.asnumpy(clarray.bincount(image.ravel(), minlength=256)), fill=True)
    below.set(xlabel="grey level", yticks=[])
plt.show()
