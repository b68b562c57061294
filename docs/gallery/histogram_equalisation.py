"""Equalised histograms.

The program makes a dark photograph brighter by spreading its grey levels over the whole range. ``bincount`` counts
the pixels of each grey level. The scaled running sum of these counts is a table that contains the new level for each
old level. The program indexes this table with the array of the old levels. The photograph of Grace Hopper was taken
by the US Navy and comes with matplotlib.
"""

import clarray

try:
    import matplotlib.pyplot as plt
    from matplotlib.cbook import get_sample_data
except ImportError:
    raise SystemExit("This program draws a picture: pip install matplotlib") from None

with get_sample_data("grace_hopper.jpg") as file:
    photo = plt.imread(file, format="jpg")


def compute(np):
    """Return the dark picture, the equalised picture, and the histograms of both pictures."""
    dark = (np.asarray(photo).mean(axis=2, dtype=np.float32) * 0.35 + 12).astype(np.uint8)
    before = np.bincount(dark.ravel(), minlength=256)
    levels = np.rint(255 * np.cumsum(before) / dark.size).astype(np.uint8)
    equal = levels[dark]
    return dark, equal, before, np.bincount(equal.ravel(), minlength=256)


dark, equal, before, after = compute(clarray)
print("levels from", dark.min(), "to", dark.max(), "become", equal.min(), "to", equal.max())

figure, axes = plt.subplots(2, 2, figsize=(7, 6), layout="constrained", height_ratios=(3, 1))
drawn = (("dark", dark, before), ("equalised", equal, after))
for (above, below), (title, image, counts) in zip(axes.T, drawn, strict=True):
    above.imshow(clarray.asnumpy(image), cmap="gray", vmin=0, vmax=255)
    above.set(title=title, xticks=[], yticks=[])
    below.stairs(clarray.asnumpy(counts), fill=True)
    below.set(xlabel="grey level", yticks=[])
plt.show()
