"""Plan histograms: the memory of their tables, the division of the input, and the bins of each pass.

A table has a 32-bit counter or a sum per bin. Devices differ in the memory of the tables:

private   each work-item has its own tables in global memory, which stay in its cache (CPU)
local     each work-group has a table in local memory. Counters use atomic additions, whose order does not matter.
          Sums are added in the order of the elements.
global    for more bins than fit local memory in a few passes: one table of counters for all work-groups, or one table
          of sums for each work-group
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clarray._engine.algorithms.histogram.policy import HistogramPolicy
from clarray._engine.fast_dataclass import dataclass

PRIVATE = "private"
LOCAL = "local"
GLOBAL = "global"

DIRECT = "direct"  # the value is the bin
UNIFORM = "uniform"  # bins of equal width: a multiplication, and a comparison with the edges if the value is close
STEPS = "steps"  # the arithmetic of NumPy, if the bin depends on its rounding
SEARCH = "search"  # a binary search in the edges
FEW = "few"  # a comparison of vectors with each edge

MOST_BINS = 2**32 - 2  # the numbers of bins have 32 bits, and the largest number means "no bin"
SMALLEST_TABLE = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramPlan:
    """The specialization of the kernel that counts.

    Parameters
    ----------
    kinds : tuple of str
        The kind of each axis.
    dtypes : tuple of str
        The dtype of each axis in which values are compared with edges.
    accesses : tuple of str
        The access class of each distinct input.
    rank : int
        Number of loops.
    vector, loads : int
        Elements per load, and loads in flight.
    explicit : bool
        Whether the kernel uses vector types.
    index : str
        C type of positions.
    aligned : bool
        Whether contiguous inputs are aligned for vector loads.
    summed : str
        Type of the sums: the name of a dtype, ``'pair'`` for pairs of floats, or '' for counters.
    space : str
        The memory of the tables.
    table : int
        Bins of a table in local memory.
    copies : int
        Tables per work-group.
    shifted : bool
        Whether a pass may start at a bin other than the first.
    last : str
        Dtype of the result if the last work-group to finish computes it, or '' if another launch does.
    work_group : int
    policy : HistogramPolicy
    """

    kinds: tuple[str, ...]
    dtypes: tuple[str, ...]
    accesses: tuple[str, ...]
    rank: int
    vector: int
    loads: int
    explicit: bool
    index: str
    aligned: bool
    summed: str
    space: str
    table: int
    copies: int
    shifted: bool
    last: str
    work_group: int
    policy: HistogramPolicy


@dataclass(frozen=True, slots=True)
class MergePlan:
    """The specialization of the kernel that merges tables.

    Parameters
    ----------
    summed : str
        Type of the sums, or '' for counters.
    out : str
        Name of the dtype of the result.
    direct : bool
        Whether to store the largest value after the result.
    zero : bool
        Whether to reset the table to zero.
    """

    summed: str
    out: str
    direct: bool
    zero: bool
    policy: HistogramPolicy


class Tables(NamedTuple):
    """The tables of a histogram.

    Parameters
    ----------
    space : str
    table : int
        Bins of a table in local memory, or 0 for other memory.
    copies : int
        Tables per work-group.
    passes : int
        Passes over the input.
    per_pass : int
        Bins per pass.
    """

    space: str
    table: int
    copies: int
    passes: int
    per_pass: int


def choose_tables(bins: int, width: int, local_bytes: int, policy: HistogramPolicy) -> Tables:
    """Choose the memory and the passes for a number of bins.

    Parameters
    ----------
    width : int
        Bytes of a sum, or 0 for counters.
    local_bytes : int
        Local memory of a work-group.
    """
    copies = policy.copies if bins <= policy.copy_bins else 1
    if policy.chunked:
        return Tables(PRIVATE, 0, copies, 1, bins)
    if width:  # local memory also holds a table of owners and a tile of sums
        fitting = (local_bytes - width * policy.sum_group - 64) // (width + 4)
        max_bins, copies = min(policy.sum_bins, fitting), 1
    else:
        max_bins = min(policy.local_bins, (local_bytes - 64) // 4)
    passes = max(1, -(-bins // max_bins))
    if passes > policy.passes:
        return Tables(GLOBAL, 0, 1, 1, bins)
    per_pass = -(-bins // passes)
    table = min(max_bins, max(SMALLEST_TABLE, 1 << max(0, per_pass - 1).bit_length()))
    return Tables(LOCAL, table, copies, passes, per_pass)


def private_groups(size: int, nbytes: int, row_bytes: int, units: int, policy: HistogramPolicy) -> int:
    """Return the number of work-items with private tables that pays and that memory has room for."""
    busy = units * (policy.groups_per_unit if row_bytes <= policy.chunk_bytes else 1)
    useful = max(1, nbytes // max(policy.chunk_bytes, 4 * row_bytes))
    return max(1, min(busy, useful, policy.table_bytes // max(1, row_bytes), size))


def sum_chunks(size: int, bins: int, row_bytes: int, policy: HistogramPolicy) -> int:
    """Return the number of chunks of elements, each with its own table, into which a CPU divides sums of weights.

    The number decides the order in which floats are added, so it follows from the elements and the bins alone. It is
    the same for all tables that `first_guess` may choose, because `bincount` takes a smaller table once the largest
    value is known. Too many tables cost more than the elements: a chunk has at least four elements for each bin, and
    at least `sum_spread` times the square root of their number.
    """
    chunks = min(policy.sum_groups, size // policy.sum_chunk, math.isqrt(size) // policy.sum_spread)
    if bins > policy.guess:
        chunks = min(chunks, size // (4 * bins), policy.table_bytes // row_bytes)
    return 1 << max(1, chunks).bit_length() - 1


def first_guess(size: int, largest: int, policy: HistogramPolicy) -> int:
    """Return the number of bins to try if the largest value is unknown.

    Parameters
    ----------
    size : int
        Number of elements.
    largest : int
        The largest value of the dtype.
    """
    bins = min(policy.guess, 1 << max(6, (8 * size).bit_length()))
    return max(1, min(bins, largest + 1))


def launch_units(length: int, policy: HistogramPolicy) -> int:
    """Return the largest number of units of `length` elements per launch."""
    return max(1, policy.launch_elements // length)


# The names of the arguments of a kind for the values of `Axis.scalars`, in order.
SCALARS = {UNIFORM: ("first", "last", "scale", "close", "bias"), STEPS: ("first", "last")}


def equal_bins(edges: np.ndarray) -> tuple[float, ...] | None:
    """Return the constants of a bin search for evenly spaced edges, or None if the spacing is uneven.

    Parameters
    ----------
    edges : ndarray
        At least two edges of float32 or float64.

    Returns
    -------
    tuple of float
        The first edge, the last edge, the bins per unit of value, the largest error of a computed position in bins, and
        the position of zero minus a half. A value closer to an edge than the error must be compared with the edge.
    """
    bins = edges.size - 1
    exact = edges.astype(np.longdouble)
    first, width = exact[0], exact[-1] - exact[0]
    limits = np.finfo(edges.dtype)
    if bins >= 2**20 or not np.isfinite(width) or not width >= limits.tiny / limits.eps:
        return None
    scale = bins / width
    if not (limits.tiny < scale < limits.max and width < limits.max):
        return None
    deviation = np.abs((exact - first) * scale - np.arange(bins + 1)).max()
    offset = -first * scale - 0.5
    close = 1.5 * float(deviation) + 4 * float(bins + np.abs(offset)) * float(limits.eps)
    if not close < 0.25:
        return None
    numbers = (edges[0], edges[-1], scale, close, offset)
    return tuple(float(edges.dtype.type(number)) for number in numbers)
