"""Selection of order statistics from a long line, without sorting the line.

    count the keys by their first bits         which gives the first position of each bucket in the sorted line
    compress the line to the right bucket      unless the bucket is the whole line
    repeat with the next bits                  until few keys remain, which are sorted, or no bits, and all are equal

A radix selection: D. E. Knuth, "The Art of Computer Programming", volume 3, sections 5.2.5 and 5.3.3; on GPUs T. Alabi,
J. D. Blanchard, B. Gordon, R. Steinbach, "Fast k-selection algorithms for graphics processing units", ACM Journal of
Experimental Algorithmics 17, 2012.
"""

from __future__ import annotations

import numpy as np

from clarray._core import creation
from clarray._core.device_array import DeviceArray, wrap
from clarray._engine.algorithms import launchers
from clarray._engine.algorithms.sort.policy import SortPolicy
from clarray._engine.launch.kernel_cache import kernel_cache_of
from clarray._numpy.manipulation.joining import concatenate

__all__ = ["select_positions", "partition_is_faster", "partition_line", "is_faster_than_sort"]

_DIGIT_BITS = 12  # bits of the keys that one pass counts by


def is_faster_than_sort(a: DeviceArray, count: int) -> bool:
    """Return whether selecting so many order statistics is faster than sorting the array."""
    policy = _policy(a)
    return _is_line(a) and a.size >= policy.selected and 0 < count <= policy.places


def partition_is_faster(a: DeviceArray) -> bool:
    """Return whether partitioning the array is faster than sorting it."""
    return _is_line(a) and a.size >= _policy(a).parted


def _is_line(a: DeviceArray) -> bool:
    return a.ndim == 1 and a.dtype.kind in "iuf"


def _policy(a: DeviceArray) -> SortPolicy:
    return kernel_cache_of(a.device).policies.sort


def select_positions(line: DeviceArray, positions: np.ndarray) -> DeviceArray:
    """Return the elements at some positions of the sorted line.

    Parameters
    ----------
    line : DeviceArray
        A 1-d array of integers or real numbers, without NaN.
    positions : ndarray of int64
        At least one position in the sorted line, in ascending order. No position is negative.

    Returns
    -------
    DeviceArray
        A new array.
    """
    parts = _select(wrap(line._node), positions, 8 * line.dtype.itemsize)
    return concatenate(parts) if len(parts) > 1 else parts[0]


def _select(line: DeviceArray, positions: np.ndarray, open_bits: int) -> list[DeviceArray]:
    """Select from a line whose keys differ only in their last `open_bits` bits. Return one array per bucket."""
    if not open_bits:
        return [_gather(line, np.zeros_like(positions))]
    if line.size <= _policy(line).few:
        return [_gather(_sort(line), positions)]
    digits, edges, remaining_bits = _count_digits(line, open_bits)
    buckets = np.searchsorted(edges, positions, side="right") - 1
    parts = []
    for bucket in np.unique(buckets).tolist():
        part = line if edges[bucket + 1] - edges[bucket] == line.size else line[digits == bucket]
        parts += _select(part, positions[buckets == bucket] - edges[bucket], remaining_bits)
    return parts


def partition_line(line: DeviceArray, position: int) -> DeviceArray:
    """Partition a line: no element before the position is larger than the one there, and none after it smaller.

    Parameters
    ----------
    line : DeviceArray
        A 1-d array, as for `select_positions`.
    position : int

    Returns
    -------
    DeviceArray
        A new array.
    """
    below: list[DeviceArray] = []
    above: list[DeviceArray] = []
    line, open_bits = wrap(line._node), 8 * line.dtype.itemsize
    while open_bits and line.size > _policy(line).few:
        digits, edges, open_bits = _count_digits(line, open_bits)
        bucket = int(np.searchsorted(edges, position, side="right")) - 1
        start, end = edges[bucket : bucket + 2].tolist()
        if start:
            below.append(line[digits < bucket])
        if end < line.size:
            above.append(line[digits > bucket])
        if end - start < line.size:
            line = line[digits == bucket]
        position -= start
    return concatenate([*below, _sort(line) if open_bits else line, *reversed(above)])


def _count_digits(line: DeviceArray, open_bits: int) -> tuple[DeviceArray, np.ndarray, int]:
    """Count keys by the first digit of their open bits.

    Returns
    -------
    DeviceArray
        The digits, pending.
    ndarray
        The start of each digit's elements in the sorted line, and the end of the last.
    int
        The number of bits that remain open.
    """
    digit_bits = min(open_bits, _DIGIT_BITS)
    digits = _key_digits(line, open_bits - digit_bits, digit_bits)
    counts, _ = launchers.histogram.count_values(digits._node, None, 1 << digit_bits, (1 << digit_bits) - 1)
    return digits, np.concatenate(([0], np.cumsum(wrap(counts).get()))), open_bits - digit_bits


def _key_digits(line: DeviceArray, first: int, bits: int) -> DeviceArray:
    """Return a digit of each element's key. Keys are unsigned integers in the elements' order."""
    width = 8 * line.dtype.itemsize
    key = line.view(f"u{line.dtype.itemsize}")
    if line.dtype.kind == "f":  # negative numbers flip all bits, other numbers the sign bit only
        key = key ^ ((0 - (key >> (width - 1))) & ((1 << (width - 1)) - 1))
    digits = (key >> first) & ((1 << bits) - 1)
    if line.dtype.kind in "if" and first + bits == width:
        digits = digits ^ (1 << (bits - 1))
    return digits.astype(np.int32)


def _sort(line: DeviceArray) -> DeviceArray:
    return wrap(launchers.sort.sort_rows(line._node, 0))


def _gather(line: DeviceArray, positions: np.ndarray) -> DeviceArray:
    return wrap(launchers.gather.gather(line._node, creation.array(positions, device=line.device)._node))
