"""Filters and transforms written as loops of slices."""

from __future__ import annotations

import numpy as np

from workloads.row import program


@program(
    lambda r, n, taps: (r.random(n), r.random(taps)),
    tiny=(20, 3),
    small=(10_000, 400),
    medium=(200_000, 800),
    large=(1_000_000, 1000),
)
def fir(xp, signal, taps):
    n = len(signal) - len(taps) + 1
    found = xp.zeros(n)
    for k in range(len(taps)):
        found += taps[k] * signal[k : k + n]
    return found


def image(r, n, *others):
    return r.random((n, n), dtype=np.float32), *others


@program(image, tiny=(6,), small=(120,), medium=(1800,), large=(5000,))
def recursive_filter(xp, image):
    """Smoothing by a recursion along the columns, there and back, and then along the rows."""
    for _ in range(2):
        there, back = xp.zeros_like(image), xp.zeros_like(image)
        there[:, 0], back[:, -1] = image[:, 0], image[:, -1]
        for j in range(1, image.shape[1]):
            there[:, j] = 0.4 * image[:, j] + 0.6 * there[:, j - 1]
        for j in range(image.shape[1] - 2, -1, -1):
            back[:, j] = 0.4 * image[:, j] + 0.6 * back[:, j + 1]
        image = (0.5 * (there + back)).T
    return image


@program(image, tiny=(8, 1), small=(120, 4), medium=(600, 5), large=(1300, 7))
def bilateral_filter(xp, image, radius):
    """Smoothing that leaves edges alone."""
    padded = xp.pad(image, radius, mode="edge")
    n, m = image.shape
    total, weights = xp.zeros_like(image), xp.zeros_like(image)
    for i in range(2 * radius + 1):
        for j in range(2 * radius + 1):
            shifted = padded[i : i + n, j : j + m]
            weight = xp.exp(-((i - radius) ** 2 + (j - radius) ** 2) / 8 - (shifted - image) ** 2 / 0.08)
            total += weight * shifted
            weights += weight
    return total / weights


@program(
    lambda r, n: (r.integers(0, 256, (n, n), dtype=np.uint8),), tiny=(8,), small=(900,), medium=(4000,), large=(8000,)
)
def median_3x3(xp, image):
    """By a sorting network of the nine neighbours."""
    n, m = image.shape[0] - 2, image.shape[1] - 2
    p = [image[i : i + n, j : j + m] for i in range(3) for j in range(3)]
    network = [
        *((1, 2), (4, 5), (7, 8), (0, 1), (3, 4), (6, 7), (1, 2), (4, 5), (7, 8), (0, 3)),
        *((5, 8), (4, 7), (3, 6), (1, 4), (2, 5), (4, 7), (4, 2), (6, 4), (4, 2)),
    ]
    for a, b in network:
        p[a], p[b] = xp.minimum(p[a], p[b]), xp.maximum(p[a], p[b])
    return p[4]


@program(lambda r, power: (r.random((2**power, 2**power)),), tiny=(3,), small=(10,), medium=(11,), large=(13,))
def haar_wavelet(xp, image):
    """Means and differences, in place, of a quarter as many pixels each time."""
    n = len(image)
    while n > 1:
        part = image[:n, :n]
        rows = xp.concatenate(((part[::2] + part[1::2]) / 2, (part[::2] - part[1::2]) / 2))
        image[:n, :n] = xp.concatenate(((rows[:, ::2] + rows[:, 1::2]) / 2, (rows[:, ::2] - rows[:, 1::2]) / 2), axis=1)
        n //= 2
    return image


@program(lambda r, power: (r.random(2**power),), tiny=(4,), small=(14,), medium=(19,), large=(22,))
def fourier_transform(xp, x):
    """Cooley and Tukey's, over all blocks of a size at once."""
    found = x.reshape(1, -1).astype(complex)
    while found.shape[0] < len(x):
        half = found.shape[1] // 2
        even, odd = found[:, :half], found[:, half:]
        turn = xp.exp(-1j * xp.pi * xp.arange(len(found)) / len(found))[:, None]
        found = xp.concatenate((even + turn * odd, even - turn * odd))
    return found.ravel()
