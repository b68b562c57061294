"""Counts of small integers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from clarray._core import callers, creation
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_data import device_dtype, host_view
from clarray._engine.algorithms import launchers
from clarray._engine.algorithms.histogram.plan import MOST_BINS, first_guess
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.axes import c_integer
from clarray._engine.expr.bounds import value_bounds
from clarray._engine.expr.node import contiguous_leaf
from clarray._engine.expr.view import as_count
from clarray._engine.launch.kernel_cache import kernel_cache_of
from clarray._engine.runtime import Device
from clarray._engine.runtime.capture import current_capture
from clarray._engine.speedups import captured

__all__ = ["bincount"]

_INT64 = np.dtype(np.int64)
_FLOAT64 = np.dtype(np.float64)


@captured(operands=1)
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> DeviceArray:
    """Count how often each non-negative integer occurs.

    Parameters
    ----------
    x : array_like
        One axis of non-negative integers.
    weights : array_like, optional
        Has the same shape as `x`: the amount that each element adds instead of one, in float64.
    minlength : int
        Smallest length of the result.

    Returns
    -------
    DeviceArray
        Has the length ``max(x.max() + 1, minlength)``. Int64, or float64 with weights.

    Raises
    ------
    ValueError
        An element is negative, `x` does not have one axis, the lengths differ, or `minlength` is negative.
    TypeError
        The dtype of `x` or of the weights cannot be cast safely.
    MemoryError
        The largest value needs more bins than there is memory for.

    See Also
    --------
    histogram, unique

    Notes
    -----
    One pass counts and finds the largest value, in a table that is large enough for most inputs. Otherwise a second
    pass follows. The call waits for the largest value, which is the length of the result. Sums of weights have the same
    bits in every run.

    Examples
    --------
    >>> import clarray
    >>> clarray.bincount([0, 2, 2]).tolist()
    [1, 0, 2]
    """
    array = _check_operand(x)
    if minlength is None:
        raise TypeError("use 0 instead of None for minlength")
    min_bins = c_integer(as_count(minlength))
    if min_bins < 0:
        raise ValueError("'minlength' must not be negative")
    device = array.device
    weight_array = None if weights is None else check_weights(weights, array)
    check_bins(min_bins, device)
    if array.size == 0:
        return creation.zeros(min_bins, _INT64, device=device)
    return _bincount(array, weight_array, min_bins, device)


def _bincount(array: DeviceArray, weights: DeviceArray | None, min_bins: int, device: Device) -> DeviceArray:
    with device.lock:  # no other thread evaluates the array while its bounds are read
        low, high = value_bounds(array._node) or (0, 1)
    largest = high if low >= 0 else int(np.iinfo(array.dtype).max)
    bins = max(min_bins, first_guess(array.size, largest, kernel_cache_of(device).policies.histogram))
    weight_node = weights._node if weights is not None else None
    if bins <= largest and _sampled_max(array) >= bins:
        bins = max(min_bins, int(array.max()) + 1)
        check_bins(bins, device)
    known_max = high if low >= 0 and high < min_bins else None
    counts, max_value = launchers.histogram.count_values(array._node, weight_node, bins, known_max)
    if max_value >= bins:
        evaluate(array._node)  # the second pass reads it again
        if max_value >= 2**31:
            if int(array.min()) < 0:
                raise ValueError("'list' argument must have no negative elements")
            max_value = int(array.max())
        bins = max(min_bins, max_value + 1)
        check_bins(bins, device)
        counts, _ = launchers.histogram.count_values(array._node, weight_node, bins, max_value)
    memory = counts.memory
    assert memory is not None
    return wrap(contiguous_leaf(memory, (max(min_bins, max_value + 1),), counts.dtype))


def _sampled_max(array: DeviceArray) -> int:
    """Return the largest of a few values if the host can read them, else -1. It may show that a table is too small.

    In a captured call the values are not read, because the largest one becomes a guard anyway.
    """
    node = array._node
    if current_capture() is not None or node.memory is None or not array.device.capabilities.host_memory:
        return -1
    array.device.synchronize()
    window = host_view(node)
    assert window is not None
    return int(window[:: max(1, window.size // 32)].max())


def _check_operand(x: Any) -> DeviceArray:
    """Convert the operand of bincount to an array, with NumPy's errors."""
    if not isinstance(x, DeviceArray):
        host = np.asarray(x)
        if not isinstance(x, np.ndarray) and host.dtype.kind not in "biu":
            if host.size == 0:
                host = host.astype(_INT64)
            elif host.dtype.kind == "f":
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    np.bincount([0.0])  # raises in NumPy 2.5 and later
                callers.warn_user(
                    "Non-integer input passed to bincount. In a future version of NumPy, this will "
                    "be an error. (Deprecated NumPy 2.1)",
                    DeprecationWarning,
                )
                host = host.astype(_INT64)
        _check_depth(host)
        _check_cast(host.dtype, _INT64)
        return as_array(host)
    _check_depth(x)
    _check_cast(x.dtype, _INT64)
    return x


def check_weights(weights: Any, array: DeviceArray) -> DeviceArray:
    """Convert the weights of a 1-d array's elements to an array, with NumPy's errors."""
    if not isinstance(weights, DeviceArray):
        weights = np.asarray(weights)
    _check_cast(weights.dtype, _FLOAT64)
    weight_array = as_array(weights, array.device)
    device_dtype(_FLOAT64, array.device)
    _check_depth(weight_array)
    if weight_array.shape != array.shape:
        raise ValueError("The weights and list don't have the same length.")
    return weight_array


def _check_cast(dtype: np.dtype, target: np.dtype) -> None:
    if target == _INT64 and dtype.kind in "biu":
        return  # uint64 too, because the values are checked
    if not np.can_cast(dtype, target, "safe"):
        raise TypeError(f"Cannot cast array data from {dtype!r} to {target!r} according to the rule 'safe'")


def _check_depth(array: DeviceArray | np.ndarray) -> None:
    if array.ndim != 1:
        depth = "object too deep" if array.ndim else "object of too small depth"
        raise ValueError(f"{depth} for desired array")


def check_bins(bins: int, device: Device) -> None:
    """Raise MemoryError for more than `MOST_BINS` bins."""
    if bins > MOST_BINS:
        raise MemoryError(f"a histogram of {bins} bins is too large: {device} counts {MOST_BINS} at most")
