"""A synthetic image, blurred and with its edges."""
import numpy as np

h, w = 64, 96
yy, xx = np.mgrid[:h, :w]
img = ((xx - 48) ** 2 + (yy - 32) ** 2 < 400).astype(np.uint8) * 200 + 20
kernel = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]]) / 16


def convolve2d(image, k):
    kh, kw = k.shape
    padded = np.pad(image.astype(float), ((kh // 2,) * 2, (kw // 2,) * 2), mode="edge")
    out = np.zeros(image.shape)
    for i in range(kh):
        for j in range(kw):
            out += k[i, j] * padded[i : i + image.shape[0], j : j + image.shape[1]]
    return out


blur = convolve2d(img, kernel)
sx = convolve2d(img, np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]))
sy = convolve2d(img, np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]]))
edges = np.hypot(sx, sy)
print(img.dtype, img.min(), img.max(), img.mean().round(4))
print(blur.astype(np.uint8)[32, 20:36], (edges > 100).sum())
print(np.bincount(img.ravel(), minlength=256).nonzero()[0])
