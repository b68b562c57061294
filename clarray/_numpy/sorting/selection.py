"""Elements at a few places of a long line's order, without sorting the line.

    a pass counts keys by their first bits     so that it is known between which places each bucket of them lies
    a pass takes the bucket of the place       unless it is all of the line
    again, by the next bits of these           until few are left, which are sorted, or no bits, and all are equal

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

__all__ = ["elements_at", "partition_pays", "partitioned", "pays"]

_BITS = 12  # of keys that a pass counts


def pays(a: DeviceArray, places: int) -> bool:
    """Whether so many places of an array's order are found sooner than the array is sorted."""
    policy = _policy(a)
    return _is_line(a) and a.size >= policy.selected and 0 < places <= policy.places


def partition_pays(a: DeviceArray) -> bool:
    """Whether an array is partitioned sooner than it is sorted."""
    return _is_line(a) and a.size >= _policy(a).parted


def _is_line(a: DeviceArray) -> bool:
    return a.ndim == 1 and a.dtype.kind in "iuf"


def _policy(a: DeviceArray) -> SortPolicy:
    return kernel_cache_of(a.device).policies.sort


def elements_at(line: DeviceArray, places: np.ndarray) -> DeviceArray:
    """What lies at some places once a line is sorted.

    Parameters
    ----------
    line : DeviceArray
        One axis of integers or real numbers, without NaN.
    places : ndarray of int64
        At least one, in their order, each from 0 to the line's length less one.

    Returns
    -------
    DeviceArray
        In memory of its own.
    """
    found = _pieces(wrap(line._node), places, 8 * line.dtype.itemsize)
    return concatenate(found) if len(found) > 1 else found[0]


def _pieces(line: DeviceArray, places: np.ndarray, bits: int) -> list[DeviceArray]:
    """The same, one array after the other, of a line whose keys are equal but for so many of their last bits."""
    if not bits:
        return [_taken(line, np.zeros_like(places))]
    if line.size <= _policy(line).few:
        return [_taken(_sorted(line), places)]
    digits, edges, left = _counted(line, bits)
    buckets = np.searchsorted(edges, places, side="right") - 1
    found = []
    for bucket in np.unique(buckets).tolist():
        part = line if edges[bucket + 1] - edges[bucket] == line.size else line[digits == bucket]
        found += _pieces(part, places[buckets == bucket] - edges[bucket], left)
    return found


def partitioned(line: DeviceArray, place: int) -> DeviceArray:
    """A line's elements with the one at a place of its order there, none before it larger, and none after it smaller.

    Parameters
    ----------
    line : DeviceArray
        As of `elements_at`.
    place : int

    Returns
    -------
    DeviceArray
        In memory of its own.
    """
    below: list[DeviceArray] = []
    above: list[DeviceArray] = []
    line, bits = wrap(line._node), 8 * line.dtype.itemsize
    while bits and line.size > _policy(line).few:
        digits, edges, bits = _counted(line, bits)
        bucket = int(np.searchsorted(edges, place, side="right")) - 1
        before, end = edges[bucket : bucket + 2].tolist()
        if before:
            below.append(line[digits < bucket])
        if end < line.size:
            above.append(line[digits > bucket])
        if end - before < line.size:
            line = line[digits == bucket]
        place -= before
    return concatenate([*below, _sorted(line) if bits else line, *reversed(above)])


def _counted(line: DeviceArray, bits: int) -> tuple[DeviceArray, np.ndarray, int]:
    """Count keys by the first of their last bits.

    Returns
    -------
    DeviceArray
        These digits, pending.
    ndarray
        Where the elements of each digit would begin in the line's order, and where the last would end.
    int
        How many bits are left.
    """
    taken = min(bits, _BITS)
    digits = _digits(line, bits - taken, taken)
    counts, _ = launchers.histogram.count_values(digits._node, None, 1 << taken, (1 << taken) - 1)
    return digits, np.concatenate(([0], np.cumsum(wrap(counts).get()))), bits - taken


def _digits(line: DeviceArray, first: int, bits: int) -> DeviceArray:
    """Some bits of each element's key, which is a number without a sign in the elements' order."""
    width = 8 * line.dtype.itemsize
    key = line.view(f"u{line.dtype.itemsize}")
    if line.dtype.kind == "f":  # of negative numbers all bits are flipped, of others the sign's alone
        key = key ^ ((0 - (key >> (width - 1))) & ((1 << (width - 1)) - 1))
    digits = (key >> first) & ((1 << bits) - 1)
    if line.dtype.kind in "if" and first + bits == width:
        digits = digits ^ (1 << (bits - 1))
    return digits.astype(np.int32)


def _sorted(line: DeviceArray) -> DeviceArray:
    return wrap(launchers.sort.sort_rows(line._node, 0))


def _taken(line: DeviceArray, places: np.ndarray) -> DeviceArray:
    return wrap(launchers.gather.gather(line._node, creation.array(places, device=line.device)._node))
