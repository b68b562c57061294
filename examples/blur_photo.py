"""Blur a photograph and make it grey on an OpenCL device, and save it before and after.

The photograph is the one that scikit-learn carries: ``china.jpg``, by Daniel Buechele, CC BY 2.0. Needs
``pip install scikit-learn pillow``.

    python examples/blur_photo.py [--sigma 3] [--to FOLDER]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_sample_image

import clarray
from clarray import ndimage

LUMA = (0.299, 0.587, 0.114)  # ITU-R BT.601: how bright red, green and blue look


def grey(photo: clarray.DeviceArray) -> clarray.DeviceArray:
    """Brightness of every pixel; nothing is computed yet."""
    red, green, blue = (photo[:, :, k].astype(np.float32) for k in range(3))
    return red * LUMA[0] + green * LUMA[1] + blue * LUMA[2]


def save(picture: clarray.DeviceArray, path: Path) -> None:
    """Write a picture of a third of the size, as a PNG of few colours: a page need not be heavy."""
    small = Image.fromarray(clarray.asnumpy(picture)).resize((320, 213))
    small.convert("P", palette=Image.Palette.ADAPTIVE, colors=128).save(path, optimize=True)


def main() -> None:
    """Write photo.png, photo_blurred.png, photo_grey.png and photo_edges.png."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sigma", type=float, default=3.0, help="of the Gaussian, in pixels")
    parser.add_argument("--to", type=Path, default=Path("."), help="folder of the pictures")
    options = parser.parse_args()
    photo = clarray.array(load_sample_image("china.jpg"))
    # Colours lie side by side: a filter along rows and columns leaves the last axis alone.
    blurred = ndimage.gaussian_filter(photo, options.sigma, axes=(0, 1))
    # The three products and sums are computed while the filter reads its tile: one kernel on a GPU.
    soft = ndimage.gaussian_filter(grey(photo), options.sigma)
    edges = ndimage.gaussian_gradient_magnitude(grey(photo), 1)
    options.to.mkdir(parents=True, exist_ok=True)
    save(photo, options.to / "photo.png")
    save(blurred, options.to / "photo_blurred.png")
    save(soft.astype(np.uint8), options.to / "photo_grey.png")
    save(clarray.minimum(edges * 4, 255).astype(np.uint8), options.to / "photo_edges.png")
    print(f"{photo.shape} on {photo.device}: {options.to.resolve()}")


if __name__ == "__main__":
    main()
