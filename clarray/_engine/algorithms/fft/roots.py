"""Roots of unity, correct to the last bit or nearly, and the tables that passes read them from."""

from __future__ import annotations

import numpy as np

_PI = np.longdouble("3.14159265358979323846264338327950288")


def unit_roots(numbers: np.ndarray, order: int, dtype: np.dtype) -> np.ndarray:
    """``exp(-2j * pi * numbers / order)``, in a complex dtype.

    The argument is reduced to an eighth of the circle in integers; sines and cosines are taken in a wider type.
    """
    wide = np.longdouble if dtype.itemsize > 8 else np.float64
    eighths = 8 * (numbers % order)
    octant = eighths // order
    rest = eighths - octant * order
    angle = np.where(octant & 1, order - rest, rest).astype(wide) * wide(_PI / 4) / wide(order)
    cosine, sine = np.cos(angle), np.sin(angle)
    swapped = (octant + 1 & 2) != 0
    x, y = np.where(swapped, sine, cosine), np.where(swapped, cosine, sine)
    made = np.empty(numbers.shape, dtype)
    made.real = np.where((octant >= 2) & (octant < 6), -x, x)
    made.imag = np.where(octant < 4, -y, y)
    return made


def stage_roots(radices: tuple[int, ...], dtype: np.dtype, by_output: bool) -> np.ndarray:
    """What the butterflies of one pass multiply with, stage after stage, for each position and output 1 .. radix - 1.

    Those of one output lie together if that is asked for, where work-items side by side take positions side by side;
    else those of one position.
    """
    left = int(np.prod(radices))
    found = [np.empty(0, dtype)]
    for radix in radices[:-1]:
        positions = np.arange(left // radix)[:, None]
        roots = unit_roots(positions * np.arange(1, radix), left, dtype)
        found.append((roots.T if by_output else roots).ravel())
        left //= radix
    return np.concatenate(found)


def shift_of(order: int) -> int:
    """How many bits of a power the fine one of two tables has; few powers need one table only."""
    return 0 if order <= 4096 else (order.bit_length() + 1) // 2


def two_tables(order: int, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """The roots of an order as products: coarse[k >> shift] * fine[k & (1 << shift) - 1] is the k-th power."""
    shift = shift_of(order)
    coarse = np.arange((order - 1 >> shift) + 1) << shift
    return unit_roots(coarse, order, dtype), unit_roots(np.arange(1 << shift), order, dtype)


def chirp(n: int, dtype: np.dtype) -> np.ndarray:
    """``exp(-1j * pi * k**2 / n)`` for k below n (Bluestein, 1970): squares are taken modulo 2n, in integers."""
    k = np.arange(n)
    return unit_roots(k * k % (2 * n), 2 * n, dtype)


def chirp_spectrum(n: int, size: int, dtype: np.dtype) -> np.ndarray:
    """The transform of the conjugate chirp on both sides of zero, among `size` values."""
    wide = np.dtype(np.clongdouble if dtype.itemsize > 8 else np.complex128)
    line = np.zeros(size, wide)
    line[:n] = chirp(n, wide).conj()
    line[size - n + 1 :] = line[n - 1 : 0 : -1]
    return np.fft.fft(line).astype(dtype)
