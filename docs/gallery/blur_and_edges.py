"""Blur and edges of a photograph.

The program blurs a photograph with a Gaussian filter from ``clarray.ndimage``. A gradient filter from
``clarray.ndimage`` and a threshold find the edges. The gradient filter needs a grey picture, but clarray never stores
the grey picture. The kernel of the gradient filter computes the grey values while the kernel reads the colours. The
photograph of Grace Hopper was taken by the US Navy and comes with matplotlib.
"""

import clarray
from clarray import ndimage

try:
    import matplotlib.pyplot as plt
    from matplotlib.cbook import get_sample_data
except ImportError:
    raise SystemExit("This program draws a picture: pip install matplotlib") from None

with get_sample_data("grace_hopper.jpg") as file:
    photo = plt.imread(file, format="jpg")


def compute(np, ndimage):
    """Return the blurred photograph and the strength of its edges."""
    colours = np.asarray(photo)
    red, green, blue = (colours[:, :, k].astype(np.float32) for k in range(3))
    grey = 0.299 * red + 0.587 * green + 0.114 * blue
    soft = ndimage.gaussian_filter(colours, 6, axes=(0, 1))
    return soft, ndimage.gaussian_gradient_magnitude(grey, 1.5)


soft, edges = compute(clarray, ndimage)
print(photo.shape, photo.dtype, "strongest edge:", round(float(edges.max()), 2))

figure, axes = plt.subplots(1, 3, figsize=(9, 4), layout="constrained")
titles = ("photograph", "blurred", "edges")
for axis, image, title in zip(axes, (photo, soft, edges > 8), titles, strict=True):
    axis.imshow(clarray.asnumpy(image), cmap="gray_r")
    axis.set(title=title, xticks=[], yticks=[])
plt.show()
