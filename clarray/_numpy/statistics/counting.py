"""Counting small integers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from clarray._core import callers, creation
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_data import device_dtype, host_window
from clarray._engine.algorithms import launchers
from clarray._engine.algorithms.histogram.plan import MOST_BINS, first_guess
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.axes import c_integer
from clarray._engine.expr.bounds import bounds_of
from clarray._engine.expr.node import contiguous_leaf
from clarray._engine.expr.view import as_count
from clarray._engine.launch.kernel_cache import kernel_cache_of
from clarray._engine.runtime import Device

__all__ = ["bincount"]

_INT64 = np.dtype(np.int64)
_FLOAT64 = np.dtype(np.float64)


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
    array = _as_counts(x)
    if minlength is None:
        raise TypeError("use 0 instead of None for minlength")
    least = c_integer(as_count(minlength))
    if least < 0:
        raise ValueError("'minlength' must not be negative")
    device = array.device
    heavy = None if weights is None else as_weights(weights, array)
    check_bins(least, device)
    if array.size == 0:
        return creation.zeros(least, _INT64, device=device)
    return _bincount(array, heavy, least, device)


def _bincount(array: DeviceArray, heavy: DeviceArray | None, least: int, device: Device) -> DeviceArray:
    with device.lock:  # nobody computes it while it is looked at
        low, high = bounds_of(array._node) or (0, 1)
    largest = high if low >= 0 else int(np.iinfo(array.dtype).max)
    bins = max(least, first_guess(array.size, largest, kernel_cache_of(device).policies.histogram))
    weight = heavy._node if heavy is not None else None
    if bins <= largest and _sample(array) >= bins:
        bins = max(least, int(array.max()) + 1)
        check_bins(bins, device)
    known = high if low >= 0 and high < least else None
    found, top = launchers.histogram.count_values(array._node, weight, bins, known)
    if top >= bins:
        evaluate(array._node)  # it is read again
        if top >= 2**31:
            if int(array.min()) < 0:
                raise ValueError("'list' argument must have no negative elements")
            top = int(array.max())
        bins = max(least, top + 1)
        check_bins(bins, device)
        found, _ = launchers.histogram.count_values(array._node, weight, bins, top)
    memory = found.memory
    assert memory is not None
    return wrap(contiguous_leaf(memory, (max(least, top + 1),), found.dtype))


def _sample(array: DeviceArray) -> int:
    """The largest of a few values, where they are at hand: a table too small would be known to be."""
    node = array._node
    if node.memory is None or not array.device.capabilities.host_memory:
        return -1
    array.device.synchronize()
    found = host_window(node)
    assert found is not None
    return int(found[:: max(1, found.size // 32)].max())


def _as_counts(x: Any) -> DeviceArray:
    """The operand of bincount, checked as NumPy checks it."""
    if not isinstance(x, DeviceArray):
        host = np.asarray(x)
        if not isinstance(x, np.ndarray) and host.dtype.kind not in "biu":
            if host.size == 0:
                host = host.astype(_INT64)
            elif host.dtype.kind == "f":
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    np.bincount([0.0])  # which NumPy refuses from 2.5 on
                callers.warn(
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


def as_weights(weights: Any, array: DeviceArray) -> DeviceArray:
    """The weights of the elements of an array of one axis, checked as NumPy checks them."""
    if not isinstance(weights, DeviceArray):
        weights = np.asarray(weights)
    _check_cast(weights.dtype, _FLOAT64)
    heavy = as_array(weights, array.device)
    device_dtype(_FLOAT64, array.device)
    _check_depth(heavy)
    if heavy.shape != array.shape:
        raise ValueError("The weights and list don't have the same length.")
    return heavy


def _check_cast(dtype: np.dtype, wanted: np.dtype) -> None:
    if wanted == _INT64 and dtype.kind in "biu":
        return  # uint64 too: its values are looked at
    if not np.can_cast(dtype, wanted, "safe"):
        raise TypeError(f"Cannot cast array data from {dtype!r} to {wanted!r} according to the rule 'safe'")


def _check_depth(array: DeviceArray | np.ndarray) -> None:
    if array.ndim != 1:
        depth = "object too deep" if array.ndim else "object of too small depth"
        raise ValueError(f"{depth} for desired array")


def check_bins(bins: int, device: Device) -> None:
    """Raise MemoryError for more bins than are counted."""
    if bins > MOST_BINS:
        raise MemoryError(f"a histogram of {bins} bins is too large: {device} counts {MOST_BINS} at most")
