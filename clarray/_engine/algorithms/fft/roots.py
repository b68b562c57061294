"""Compute roots of unity, correct to about the last bit, and the tables of roots that passes read."""

from __future__ import annotations

import numpy as np

_PI = np.longdouble("3.14159265358979323846264338327950288")


def unit_roots(numbers: np.ndarray, order: int, dtype: np.dtype) -> np.ndarray:
    """Return ``exp(-2j * pi * numbers / order)`` in a complex dtype.

    Integers reduce the argument to an eighth of the circle. Sines and cosines are computed in a wider dtype.
    """
    wide = np.longdouble if dtype.itemsize > 8 else np.float64
    eighths = 8 * (numbers % order)
    octant = eighths // order
    rest = eighths - octant * order
    angle = np.where(octant & 1, order - rest, rest).astype(wide) * wide(_PI / 4) / wide(order)
    cosine, sine = np.cos(angle), np.sin(angle)
    swapped = (octant + 1 & 2) != 0
    x, y = np.where(swapped, sine, cosine), np.where(swapped, cosine, sine)
    roots = np.empty(numbers.shape, dtype)
    roots.real = np.where((octant >= 2) & (octant < 6), -x, x)
    roots.imag = np.where(octant < 4, -y, y)
    return roots


def stage_roots(radices: tuple[int, ...], dtype: np.dtype, by_output: bool) -> np.ndarray:
    """Return the factors of the butterflies of a pass, stage after stage, for each position and output 1 .. radix - 1.

    Parameters
    ----------
    by_output : bool
        Whether the roots of one output are contiguous, for neighbouring work-items that compute neighbouring
        positions. Otherwise the roots of one position are contiguous.
    """
    remaining = int(np.prod(radices))
    stages = [np.empty(0, dtype)]
    for radix in radices[:-1]:
        positions = np.arange(remaining // radix)[:, None]
        roots = unit_roots(positions * np.arange(1, radix), remaining, dtype)
        stages.append((roots.T if by_output else roots).ravel())
        remaining //= radix
    return np.concatenate(stages)


def shift_of(order: int) -> int:
    """Return the number of bits of an exponent that index the fine table. 0: one table suffices."""
    return 0 if order <= 4096 else (order.bit_length() + 1) // 2


def two_tables(order: int, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Return tables whose products are powers of a root: ``coarse[k >> shift] * fine[k & (1 << shift) - 1]``."""
    shift = shift_of(order)
    coarse = np.arange((order - 1 >> shift) + 1) << shift
    return unit_roots(coarse, order, dtype), unit_roots(np.arange(1 << shift), order, dtype)


def chirp(n: int, dtype: np.dtype) -> np.ndarray:
    """Return ``exp(-1j * pi * k**2 / n)`` for k below n (Bluestein, 1970). The squares are reduced modulo 2n."""
    k = np.arange(n)
    return unit_roots(k * k % (2 * n), 2 * n, dtype)


def chirp_spectrum(n: int, size: int, dtype: np.dtype) -> np.ndarray:
    """Return the transform of the conjugate chirp at -n < k < n, padded with zeros to `size` values."""
    wide = np.dtype(np.clongdouble if dtype.itemsize > 8 else np.complex128)
    line = np.zeros(size, wide)
    line[:n] = chirp(n, wide).conj()
    line[size - n + 1 :] = line[n - 1 : 0 : -1]
    return np.fft.fft(line).astype(dtype)
