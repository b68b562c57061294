"""Bins of histograms: their edges as in NumPy, and the way in which a kernel finds the bin of a value."""

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
from clarray._engine.runtime.capture import current_capture
from clarray._numpy.statistics import histogram_rules as rules
from clarray._numpy.statistics.histogram_rules import scalar_value, unsigned_subtract

__all__: list[str] = []

_BOOL = np.dtype(bool)


# Bins ---------------------------------------------------------------------------------------------


def outer_edges(a: DeviceArray, range: Any) -> tuple[Any, Any]:
    """Return the first and last edge, from `range` or from the data."""
    if range is not None:
        first, last = (scalar_value(end) if isinstance(end, DeviceArray) else end for end in range)
        if first > last:
            raise ValueError("max must be larger than min in range parameter.")
        if not (np.isfinite(first) and np.isfinite(last)):
            raise ValueError(f"supplied range of [{first}, {last}] is not finite")
    elif a.size == 0:
        first, last = 0, 1
    else:
        evaluate(a._node)  # it has several consumers
        first, last = scalar_value(a.min()), scalar_value(a.max())
        if not (np.isfinite(first) and np.isfinite(last)):
            raise ValueError(f"autodetected range of [{first}, {last}] is not finite")
    if first == last:
        first, last = first - 0.5, last + 0.5
    return first, last


class Edges(NamedTuple):
    """Edges on the host, and ``(first, last, count)`` if they are equally spaced."""

    edges: np.ndarray
    uniform: tuple[Any, Any, int] | None


def bin_edges(a: DeviceArray, bins: Any, range: Any, weighted: bool, histogram: rules.Count) -> Edges:
    """Return the edges of a histogram from the argument `bins`. A named rule may call `histogram`."""
    if isinstance(bins, str):
        first, last, count = rules.estimate_bins(a, bins, range, weighted, outer_edges, histogram)
    elif array_ndim(bins) == 0:
        try:
            count = operator.index(bins)
        except TypeError as error:
            raise TypeError("`bins` must be an integer, a string, or an array") from error
        if count < 1:
            raise ValueError("`bins` must be positive, when an integer")
        first, last = outer_edges(a, range)
    elif array_ndim(bins) == 1:
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
    """Return edges of equal bins for `histogramdd`, where NumPy raises for edges that are not finite."""
    edges = np.linspace(first, last, count + 1)
    if count > 1 and not np.isfinite(edges).all():  # the dtype does not hold the width of the range
        raise ValueError("invalid entry in coordinates array")
    edges.flags.writeable = False
    return edges


@lru_cache(maxsize=64, typed=True)  # NumPy computes in the dtype of the ends
def _linspace(first: Any, last: Any, count: int, dtype: np.dtype) -> np.ndarray:
    """Return read-only edges of equal bins."""
    edges = np.linspace(first, last, count + 1, endpoint=True, dtype=dtype)
    if np.any(edges[:-1] >= edges[1:]):
        raise ValueError(f"Too many bins for data range. Cannot create {count} finite-sized bins.")
    edges.flags.writeable = False
    return edges


def array_ndim(argument: Any) -> int:
    return argument.ndim if isinstance(argument, DeviceArray) else np.ndim(argument)


# Axes ---------------------------------------------------------------------------------------------


def histogram_axis(array: DeviceArray, edges: Edges, device: Device) -> launchers.histogram.Axis:
    """Return the kernel's axis for an array and its edges. The kernel finds the same bins as NumPy."""
    dtype = edges.edges.dtype if edges.uniform else np.result_type(array.dtype, edges.edges.dtype)
    if dtype.kind == "c":
        raise TypeError("complex values have no histogram: take their real and imaginary parts")
    dtype = np.dtype(np.uint8) if dtype == _BOOL else device_dtype(dtype, device)
    host_edges = np.ascontiguousarray(edges.edges, dtype)
    bins = host_edges.size - 1
    node, scalars = device_edges(host_edges.tobytes(), wide_dtype(dtype), dtype, device)
    if scalars is not None:
        return launchers.histogram.Axis(UNIFORM, array._node, dtype, bins, node, scalars)
    if edges.uniform is not None and _can_misplace(edges.uniform, dtype):
        first, last, _ = edges.uniform
        step_values = (host_edges[0], unsigned_subtract(last, first), bins)
        steps = Steps(*(scalar_node(part, dtype) for part in step_values))
        return launchers.histogram.Axis(
            STEPS, array._node, dtype, bins, node, (float(host_edges[0]), float(host_edges[-1])), steps
        )
    max_compared = kernel_cache_of(device).policies.histogram.compared_bins
    compares = bins <= max_compared and not (dtype.kind == "f" and np.isnan(host_edges).any())
    return launchers.histogram.Axis(FEW if compares else SEARCH, array._node, dtype, bins, node)


def device_edges(
    edge_bytes: bytes, dtype: np.dtype, host_dtype: np.dtype, device: Device
) -> tuple[Node, tuple[float, ...] | None]:
    """Upload edges for kernels. Return them with the scalars that compute a bin directly, None if there are none."""
    node, scalars = _cached_edges(edge_bytes, dtype, host_dtype, device)
    capture = current_capture()
    if capture is not None and node.memory is not None:
        capture.uploaded(node.memory)  # an earlier call may have uploaded them
    return node, scalars


@lru_cache(maxsize=32)
def _cached_edges(
    edge_bytes: bytes, dtype: np.dtype, host_dtype: np.dtype, device: Device
) -> tuple[Node, tuple[float, ...] | None]:
    edges = np.frombuffer(edge_bytes, host_dtype).astype(dtype)
    return upload(edges, dtype, device), equal_bins(edges) if dtype.kind == "f" else None


def _can_misplace(uniform: tuple[Any, Any, int], dtype: np.dtype) -> bool:
    """Return whether NumPy's arithmetic may miss a bin by more than one, which is all that NumPy corrects."""
    first, last, bins = uniform
    width = unsigned_subtract(last, first)
    if np.result_type(dtype, width) != dtype or not np.isfinite(width):
        return False
    return bins > 2 ** (np.finfo(dtype).nmant - 2)
