"""A photograph as a mosaic.

The program divides a photograph into 400 tiles, so that the pixels of each tile have similar colours. In each step,
each pixel joins the nearest tile. The distance between a pixel and a tile depends on positions and colours. Then each
tile moves to the mean position and the mean colour of its pixels. There are fourteen million distances between pixels
and tiles. ``argmin`` finds the nearest tile of each pixel, and clarray never stores the distances. The photograph of
Grace Hopper was taken by the US Navy and comes with matplotlib.
"""

import clarray

try:
    import matplotlib.pyplot as plt
    from matplotlib.cbook import get_sample_data
except ImportError:
    raise SystemExit("This program draws a picture: pip install matplotlib") from None

with get_sample_data("grace_hopper.jpg") as file:
    photo = plt.imread(file, format="jpg")[::3, ::3]


def compute(np):
    """Return the tile of each pixel, and the row, the column, and a tenth of the colour of each tile."""
    high, wide, _ = photo.shape
    row, column = np.divmod(np.arange(high * wide), wide)
    colours = np.asarray(photo).reshape(-1, 3).T / 10  # 10 colour levels count as much as one pixel
    pixels = np.concatenate([np.stack([row, column]), colours]).astype(np.float32)
    first = (np.arange(20)[:, None] * (high // 20) + 5) * wide + np.arange(20) * (wide // 20) + 4
    tiles = pixels[:, first.ravel()]
    for _ in range(6):
        apart = sum((pixel - tile[:, None]) ** 2 for pixel, tile in zip(pixels, tiles, strict=True))
        nearest = apart.argmin(axis=0)
        number = np.maximum(np.bincount(nearest, minlength=400), 1)
        tiles = np.stack([np.bincount(nearest, pixel, 400) / number for pixel in pixels]).astype(np.float32)
    return nearest.reshape(high, wide), tiles


nearest, tiles = compute(clarray)
sizes = clarray.bincount(nearest.ravel(), minlength=400)
print(f"{tiles.shape[1]} tiles of {int(sizes.min())} to {int(sizes.max())} pixels")

figure, axes = plt.subplots(1, 2, figsize=(8, 4.7), layout="constrained")
mosaic = clarray.rint(10 * tiles[2:].T)[nearest].astype(clarray.uint8)
for axis, image, title in zip(axes, (photo, mosaic), ("photograph", "mosaic"), strict=True):
    axis.imshow(clarray.asnumpy(image))
    axis.set(title=title, xticks=[], yticks=[])
plt.show()
