"""The plan of a histogram: where its tables lie, how the input is divided, which bins a pass counts.

A table has one 32-bit counter, or one sum, per bin. Where it lies is the whole difference between
devices:

private   each work-item has tables of its own, in global memory that stays in its cache (CPU)
local     each work-group has one in local memory; counters go up by atomic additions, whose order
          does not matter; sums are added in the order of the elements
global    more bins than fit, even in a few passes: one table of counters for all work-groups, or
          one of sums for each
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
UNIFORM = "uniform"  # bins of one width: a multiplication, and a look at the edges where it is close
STEPS = "steps"  # NumPy's own arithmetic, where its rounding decides
SEARCH = "search"  # a binary search in the edges
FEW = "few"  # the same, where vectors are compared with each edge in turn

MOST_BINS = 2**32 - 2  # bins are numbered in 32 bits; the last number says "none"
SMALLEST_TABLE = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramPlan:
    """What the source of a histogram is specialised on.

    Parameters
    ----------
    kinds : tuple of str
        Per axis, how values become bins.
    dtypes : tuple of str
        Per axis: the dtype in which values are compared with edges.
    accesses : tuple of str
        Per distinct input.
    rank : int
        Loops.
    vector, loads : int
        Elements per load, and loads in flight.
    explicit : bool
        Written in vector types.
    index : str
        C type of positions.
    aligned : bool
        Whether contiguous inputs are loaded by aligned vectors.
    summed : str
        Type of the sums: a dtype's name, ``'pair'`` for two floats, or '' for counters.
    space : str
        Where the tables lie.
    table : int
        Bins of a table in local memory.
    copies : int
        Tables per work-group.
    shifted : bool
        Whether a pass may begin at another bin than the first.
    last : str
        Dtype of the result, where the last work-group to finish makes it; '' where another launch
        does.
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
    """What the source that adds tables up is specialised on.

    Parameters
    ----------
    summed : str
        Type of the sums, or '' for counters.
    out : str
        Name of the result's dtype.
    direct : bool
        Whether the largest value is passed on.
    zero : bool
        Whether the table is left zero.
    """

    summed: str
    out: str
    direct: bool
    zero: bool
    policy: HistogramPolicy


class Tables(NamedTuple):
    """Where bins are counted.

    Parameters
    ----------
    space : str
    table : int
        Bins of a table in local memory; 0 elsewhere.
    copies : int
        Tables per work-group.
    passes : int
        Passes over the input.
    per_pass : int
        Bins that each counts.
    """

    space: str
    table: int
    copies: int
    passes: int
    per_pass: int


def tables(bins: int, width: int, local_bytes: int, policy: HistogramPolicy) -> Tables:
    """Choose where to count `bins` bins.

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
    if width:  # a table of owners beside it, and a tile of sums
        fitting = (local_bytes - width * policy.sum_group - 64) // (width + 4)
        most, copies = min(policy.sum_bins, fitting), 1
    else:
        most = min(policy.local_bins, (local_bytes - 64) // 4)
    passes = max(1, -(-bins // most))
    if passes > policy.passes:
        return Tables(GLOBAL, 0, 1, 1, bins)
    per_pass = -(-bins // passes)
    table = min(most, max(SMALLEST_TABLE, 1 << max(0, per_pass - 1).bit_length()))
    return Tables(LOCAL, table, copies, passes, per_pass)


def private_groups(size: int, nbytes: int, row_bytes: int, units: int, policy: HistogramPolicy) -> int:
    """Work-items with private tables: no more than the tables are worth, or memory is there for."""
    most = units * (policy.groups_per_unit if row_bytes <= policy.chunk_bytes else 1)
    useful = max(1, nbytes // max(policy.chunk_bytes, 4 * row_bytes))
    return max(1, min(most, useful, policy.table_bytes // max(1, row_bytes), size))


def sum_chunks(size: int, bins: int, row_bytes: int, policy: HistogramPolicy) -> int:
    """Return into how many chunks of elements, each with its own table, a CPU divides sums of weights.

    The number decides the order in which floats are added, so it follows from the elements and the bins alone. It is
    the same for all tables that `first_guess` may choose, because `bincount` takes a smaller table once the largest
    value is known. Too many tables cost more than the elements: a chunk has at least four elements for each bin, and
    at least `sum_spread` times the square root of their number.
    """
    most = min(policy.sum_groups, size // policy.sum_chunk, math.isqrt(size) // policy.sum_spread)
    if bins > policy.guess:
        most = min(most, size // (4 * bins), policy.table_bytes // row_bytes)
    return 1 << max(1, most).bit_length() - 1


def first_guess(size: int, largest: int, policy: HistogramPolicy) -> int:
    """Bins to try when the largest value is not known.

    Parameters
    ----------
    size : int
        Number of elements.
    largest : int
        The largest value the dtype holds.
    """
    wanted = min(policy.guess, 1 << max(6, (8 * size).bit_length()))
    return max(1, min(wanted, largest + 1))


def launch_units(length: int, policy: HistogramPolicy) -> int:
    """Return how many units of `length` elements one launch may count."""
    return max(1, policy.launch_elements // length)


# Names of the numbers in `Axis.scalars` that the kernel of a kind takes, in their order there.
SCALARS = {UNIFORM: ("first", "last", "scale", "close", "bias"), STEPS: ("first", "last")}


def equal_bins(edges: np.ndarray) -> tuple[float, ...] | None:
    """What finds the bins of edges that are evenly spaced, but for rounding; None if they are not.

    Parameters
    ----------
    edges : ndarray
        At least two, of float32 or float64.

    Returns
    -------
    tuple of float
        First and last edge; bins per unit of value; in bins, how far a computed position may be
        off: a value that is closer to an edge is compared with it; the position of zero, less a
        half.
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
