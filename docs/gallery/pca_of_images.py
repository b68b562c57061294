"""Principal components of pictures.

``sliding_window_view`` returns all windows of 8 x 8 pixels of a photograph as a view, without a copy. The program
computes the covariance of the windows. The eigenvectors of this covariance are typical patterns of the photograph.
The program describes each tile of 64 pixels by only 12 numbers, the strengths of 12 patterns. The 12 numbers of each
tile are enough to restore nearly the whole photograph. The photograph of Grace Hopper was taken by the US Navy and
comes with matplotlib.
"""

import clarray

try:
    import matplotlib.pyplot as plt
    from matplotlib.cbook import get_sample_data
except ImportError:
    raise SystemExit("This program draws a picture: pip install matplotlib") from None

with get_sample_data("grace_hopper.jpg") as file:
    photo = plt.imread(file, format="jpg")[:600, :512]
size, kept = 8, 12


def compute(np):
    """Return the strongest components, the shares of the variance, and the restored photograph."""
    grey = np.asarray(photo).mean(axis=2, dtype=np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(grey, (size, size))[::2, ::2].reshape(-1, size * size)
    middle = windows.mean(axis=0)
    shares, patterns = np.linalg.eigh((windows - middle).T @ (windows - middle))
    patterns = patterns[:, : -kept - 1 : -1]  # the strongest patterns come last
    rows, columns = photo.shape[0] // size, photo.shape[1] // size
    tiles = grey.reshape(rows, size, columns, size).transpose(0, 2, 1, 3).reshape(-1, size * size)
    again = (tiles - middle) @ patterns @ patterns.T + middle
    again = again.reshape(rows, columns, size, size).transpose(0, 2, 1, 3).reshape(grey.shape)
    return patterns, shares[::-1] / shares.sum(), again


patterns, shares, again = (clarray.asnumpy(x) for x in compute(clarray))
print(f"{kept} of {size * size} components hold {100 * shares[:kept].sum():.2f} % of the variance")

figure = plt.figure(figsize=(9, 4.6), layout="constrained")
left, middle, right = figure.subfigures(1, 3)
drawn = ((left, photo.mean(axis=2), "photograph"), (right, again, f"from {kept} components"))
for part, picture, title in drawn:
    part.suptitle(title)
    part.subplots().imshow(picture, cmap="gray", vmin=0, vmax=255)
    part.axes[0].set_axis_off()
middle.suptitle("components")
for axis, pattern in zip(middle.subplots(4, 3).flat, patterns.T, strict=True):
    axis.imshow(pattern.reshape(size, size), cmap="RdBu")
    axis.set_axis_off()
plt.show()
