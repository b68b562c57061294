"""Bins: their edges as NumPy makes them, and how a kernel finds the bin of a value."""

from __future__ import annotations

import operator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from clarray._core.device_array import DeviceArray
from clarray._core.host_data import device_dtype, upload
from clarray._core.operands import scalar_node
from clarray._core.ufunc_calls import host_numbers
from clarray._engine.algorithms import launchers
from clarray._engine.algorithms.histogram.plan import FEW, SEARCH, STEPS, UNIFORM, equal_bins
from clarray._engine.algorithms.histogram.source import Steps
from clarray._engine.evaluate import evaluate, kernel_cache_of
from clarray._engine.expr.node import Node
from clarray._engine.ops.dtypes import wide_dtype
from clarray._engine.runtime import Device
from clarray._numpy.statistics import histogram_rules as rules
from clarray._numpy.statistics.histogram_rules import number, unsigned_subtract

__all__: list[str] = []

_BOOL = np.dtype(bool)


# Bins ---------------------------------------------------------------------------------------------


def outer_edges(a: DeviceArray, range: Any) -> tuple[Any, Any]:
    """First and last edge, from `range` or from the data."""
    if range is not None:
        first, last = (number(end) if isinstance(end, DeviceArray) else end for end in range)
        if first > last:
            raise ValueError("max must be larger than min in range parameter.")
        if not (np.isfinite(first) and np.isfinite(last)):
            raise ValueError(f"supplied range of [{first}, {last}] is not finite")
    elif a.size == 0:
        first, last = 0, 1
    else:
        evaluate(a._node)  # it is read several times
        first, last = number(a.min()), number(a.max())
        if not (np.isfinite(first) and np.isfinite(last)):
            raise ValueError(f"autodetected range of [{first}, {last}] is not finite")
    if first == last:
        first, last = first - 0.5, last + 0.5
    return first, last


class Edges(NamedTuple):
    """Edges on the host, and what they were made of where they are equally spaced."""

    edges: np.ndarray
    uniform: tuple[Any, Any, int] | None


def bin_edges(a: DeviceArray, bins: Any, range: Any, weighted: bool, histogram: rules.Count) -> Edges:
    """The edges of a histogram, from `bins` as NumPy takes them; a rule may count with `histogram`."""
    if isinstance(bins, str):
        first, last, count = rules.estimated(a, bins, range, weighted, outer_edges, histogram)
    elif rank_of(bins) == 0:
        try:
            count = operator.index(bins)
        except TypeError as error:
            raise TypeError("`bins` must be an integer, a string, or an array") from error
        if count < 1:
            raise ValueError("`bins` must be positive, when an integer")
        first, last = outer_edges(a, range)
    elif rank_of(bins) == 1:
        edges = host_numbers(bins, a)
        if np.any(edges[:-1] > edges[1:]):
            raise ValueError("`bins` must increase monotonically, when an array")
        return Edges(edges, None)
    else:
        raise ValueError("`bins` must be 1d, when an array")
    bin_type = np.result_type(first, last, a.dtype)
    if bin_type.kind in "biu":
        bin_type = np.result_type(bin_type, float)
    return Edges(_linspace(first, last, count, bin_type), (first, last, count))


def spaced_edges(first: Any, last: Any, count: int) -> np.ndarray:
    """Edges of equal bins along one of several axes, where NumPy only refuses what lies nowhere among them."""
    edges = np.linspace(first, last, count + 1)
    if count > 1 and not np.isfinite(edges).all():  # the dtype does not hold the width of the range
        raise ValueError("invalid entry in coordinates array")
    return edges


@lru_cache(maxsize=64, typed=True)  # NumPy computes in the dtype of the ends
def _linspace(first: Any, last: Any, count: int, dtype: np.dtype) -> np.ndarray:
    """Edges of equal bins; to be left as they are."""
    edges = np.linspace(first, last, count + 1, endpoint=True, dtype=dtype)
    if np.any(edges[:-1] >= edges[1:]):
        raise ValueError(f"Too many bins for data range. Cannot create {count} finite-sized bins.")
    edges.flags.writeable = False
    return edges


def rank_of(value: Any) -> int:
    return value.ndim if isinstance(value, DeviceArray) else np.ndim(value)


# Axes ---------------------------------------------------------------------------------------------


def axis_of(value: DeviceArray, found: Edges, device: Device) -> launchers.histogram.Axis:
    """How the values of an array become bins between edges, in a way that gives NumPy's bins."""
    dtype = found.edges.dtype if found.uniform else np.result_type(value.dtype, found.edges.dtype)
    if dtype.kind == "c":
        raise TypeError("complex values have no histogram: take their real and imaginary parts")
    dtype = np.dtype(np.uint8) if dtype == _BOOL else device_dtype(dtype, device)
    given = np.ascontiguousarray(found.edges, dtype)
    bins = given.size - 1
    node, scalars = device_edges(given.tobytes(), wide_dtype(dtype), dtype, device)
    if scalars is not None:
        return launchers.histogram.Axis(UNIFORM, value._node, dtype, bins, node, scalars)
    if found.uniform is not None and _rounding_decides(found.uniform, dtype):
        first, last, _ = found.uniform
        parts = (given[0], unsigned_subtract(last, first), bins)
        steps = Steps(*(scalar_node(part, dtype) for part in parts))
        return launchers.histogram.Axis(
            STEPS, value._node, dtype, bins, node, (float(given[0]), float(given[-1])), steps
        )
    most = kernel_cache_of(device).policies.histogram.compared_bins
    few = bins <= most and not (dtype.kind == "f" and np.isnan(given).any())
    return launchers.histogram.Axis(FEW if few else SEARCH, value._node, dtype, bins, node)


@lru_cache(maxsize=32)
def device_edges(
    text: bytes, dtype: np.dtype, given: np.dtype, device: Device
) -> tuple[Node, tuple[float, ...] | None]:
    """Edges in a device's memory, for kernels to read, and what finds their bins at once."""
    edges = np.frombuffer(text, given).astype(dtype)
    return upload(edges, dtype, device), equal_bins(edges) if dtype.kind == "f" else None


def _rounding_decides(uniform: tuple[Any, Any, int], dtype: np.dtype) -> bool:
    """Whether NumPy's arithmetic may miss a bin by more than the one it looks beside."""
    first, last, bins = uniform
    width = unsigned_subtract(last, first)
    if np.result_type(dtype, width) != dtype or not np.isfinite(width):
        return False
    return bins > 2 ** (np.finfo(dtype).nmant - 2)
