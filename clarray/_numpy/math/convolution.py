"""Convolution and correlation in one dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core import ufunc_calls
from clarray._core.creation import as_array, zeros
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_data import device_dtype
from clarray._engine.algorithms import launchers
from clarray._engine.algorithms.stencil.plan import LINE
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.node import Node
from clarray._engine.ops.dtypes import wide_dtype
from clarray._engine.speedups import captured
from clarray._numpy.reduction import moments

__all__ = ["convolve", "correlate"]

_MODES = {"valid": 0, "same": 1, "full": 2, "v": 0, "s": 1, "f": 2}


@captured(operands=2)
def convolve(a: Any, v: Any, mode: Any = "full") -> DeviceArray:
    """Return the discrete convolution of two sequences.

    Parameters
    ----------
    a : (N,) array_like
    v : (M,) array_like
    mode : {'full', 'same', 'valid'}
        Positions of the shorter sequence to return. 'full': all that overlap, N + M - 1 results. 'same': the middle
        ``max(N, M)`` of them. 'valid': all that overlap completely, ``max(N, M) - min(N, M) + 1`` results.

    Returns
    -------
    DeviceArray
        Has the dtype to which NumPy promotes both operands. Integers wrap around. Float16 is summed in float32.

    Raises
    ------
    ValueError
        An operand is empty or has more than one axis.

    Notes
    -----
    The sums are computed directly, as in NumPy, in time ``N * M``. Integers stay exact, and the rounding error of a sum
    depends on its own terms only. For two long sequences of floats `scipy.signal.fftconvolve` may be faster. It accepts
    device arrays if ``SCIPY_ARRAY_API=1`` is set, and multiplies their Fourier transforms on the device.

    With floats and the modes 'full' and 'same', the call waits for the device once, to look for NaNs and infinities in
    the shorter sequence.

    Examples
    --------
    >>> import clarray
    >>> clarray.convolve([1, 2, 3], [1, 1]).tolist()
    [1, 3, 5, 3]
    """
    device = ufunc_calls.device_of_operands((a, v))
    first, second = (as_array(x, device) for x in (a, v))
    first, second = (x.reshape(1) if x.ndim == 0 else x for x in (first, second))
    for name, x in (("a", first), ("v", second)):
        if x.size == 0:
            raise ValueError(f"{name} cannot be empty")
    if second.size > first.size:
        first, second = second, first
    _check_depth(first, second)
    return _slide(first, second[::-1], _mode(mode), second.size // 2)


@captured(operands=2)
def correlate(a: Any, v: Any, mode: Any = "valid") -> DeviceArray:
    """Return the cross-correlation of two sequences, ``c[k] = sum(a[n + k] * conj(v[n]))``.

    Parameters
    ----------
    a : (N,) array_like
    v : (M,) array_like
        The complex conjugate of `v` is multiplied.
    mode : {'valid', 'same', 'full'}
        Positions to return, as in `clarray.convolve`.

    Returns
    -------
    DeviceArray
        Has the dtype to which NumPy promotes both operands.

    Raises
    ------
    ValueError
        An operand is empty or does not have exactly one axis.

    Examples
    --------
    >>> import clarray
    >>> clarray.correlate([1, 2, 3, 4], [1, 0, -1]).tolist()
    [-2, -2]
    """
    device = ufunc_calls.device_of_operands((a, v))
    first, second = (as_array(x, device) for x in (a, v))
    _check_depth(first, second)
    for name, x in (("first", first), ("second", second)):
        if x.size == 0:
            raise ValueError(f"{name} array argument cannot be empty")
    if second.dtype.kind == "c":
        second = second.conj()
    mode_number = _mode(mode)
    if first.size >= second.size:
        return _slide(first, second, mode_number, second.size // 2)
    # NumPy slides the shorter sequence and reverses the result
    size = first.size
    return _slide(second[::-1], first[::-1], mode_number, size - 1 - size // 2)


def _check_depth(*arrays: DeviceArray) -> None:
    for x in arrays:
        if x.ndim > 1:
            raise ValueError("object too deep for desired array")
        if x.ndim == 0:
            raise ValueError("object of too small depth for desired array")


def _mode(mode: Any) -> int:
    if isinstance(mode, str):
        mode_number = _MODES.get(mode.lower())
        if mode_number is None or (mode not in ("valid", "same", "full") and len(mode) > 1):
            np.correlate([1.0], [1.0], mode)  # type: ignore[call-overload]  # raises NumPy's own error
        elif len(mode) == 1:
            np.correlate([1.0], [1.0], mode)  # type: ignore[call-overload]  # warns as NumPy does
        return mode_number if mode_number is not None else 0
    np.correlate([1.0], [1.0], mode)
    return int(mode)


def _slide(a: DeviceArray, v: DeviceArray, mode: int, overlap_before: int) -> DeviceArray:
    """Return ``out[i] = sum(a[i + t - offset] * v[t])``. `a` is the longer sequence, and the mode sets the offset."""
    n, m = a.size, v.size
    out_dtype = device_dtype(np.result_type(a.dtype, v.dtype), a.device)
    work = wide_dtype(out_dtype)
    offset, length = ((0, n - m + 1), (overlap_before, n), (m - 1, n + m - 1))[mode]

    def partial_sum(first: int, end: int, dtype: np.dtype) -> DeviceArray:
        """Sum the products with a slice of the weights."""
        spans = ((first - offset, end - 1 - offset),)
        window = launchers.stencil.Window(
            form=LINE, spans=spans, weights=_contiguous_weights(v[first:end], work), taps=end - first
        )
        return wrap(launchers.stencil.stencil(a._node, window, ("constant",), 0, work, dtype, (length,)))

    output = partial_sum(0, m, out_dtype)  # before the test of the weights: the device works while the host waits
    nonfinite = _nonfinite_positions(v) if mode else []
    if not nonfinite:
        return output
    # a non-finite weight times the zeros beyond the ends would be NaN
    total: DeviceArray = zeros(length, work, device=a.device)
    for previous, t in zip([-1, *nonfinite], [*nonfinite, m], strict=True):
        if previous + 1 < t:
            total += partial_sum(previous + 1, t, work)
        first, last = max(0, offset - t), min(length, n + offset - t)
        if t < m and first < last:
            total[first:last] += a[first + t - offset : last + t - offset].astype(work) * v[t : t + 1]
    return total.astype(out_dtype)


def _nonfinite_positions(v: DeviceArray) -> list[int]:
    """Return the positions of NaNs and infinities. Waits for the device."""
    if v.dtype.kind not in "fc":
        return []
    if moments.elements_pass(np.isfinite, v, "all"):
        return []
    return np.flatnonzero(~np.isfinite(v.get())).tolist()


def _contiguous_weights(v: DeviceArray, dtype: np.dtype) -> Node:
    node = evaluate(ufunc_calls.cast(v._node, dtype))
    return node if node.contiguous else ufunc_calls.ascontiguous(node)
