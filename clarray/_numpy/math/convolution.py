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
from clarray._numpy.reduction import moments

__all__ = ["convolve", "correlate"]

_MODES = {"valid": 0, "same": 1, "full": 2, "v": 0, "s": 1, "f": 2}


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
    number = _mode(mode)
    if first.size >= second.size:
        return _slide(first, second, number, second.size // 2)
    # NumPy slides the shorter one and turns the result round
    size = first.size
    return _slide(second[::-1], first[::-1], number, size - 1 - size // 2)


def _check_depth(*arrays: DeviceArray) -> None:
    for x in arrays:
        if x.ndim > 1:
            raise ValueError("object too deep for desired array")
        if x.ndim == 0:
            raise ValueError("object of too small depth for desired array")


def _mode(mode: Any) -> int:
    if isinstance(mode, str):
        found = _MODES.get(mode.lower())
        if found is None or (mode not in ("valid", "same", "full") and len(mode) > 1):
            np.correlate([1.0], [1.0], mode)  # type: ignore[call-overload]  # raises NumPy's own error
        elif len(mode) == 1:
            np.correlate([1.0], [1.0], mode)  # type: ignore[call-overload]  # warns as NumPy does
        return found if found is not None else 0
    np.correlate([1.0], [1.0], mode)
    return int(mode)


def _slide(a: DeviceArray, v: DeviceArray, mode: int, before: int) -> DeviceArray:
    """``out[i] = sum(a[i + t - left] * v[t])`` for the longer `a`, with `left` as the mode says."""
    n, m = a.size, v.size
    out_dtype = device_dtype(np.result_type(a.dtype, v.dtype), a.device)
    work = wide_dtype(out_dtype)
    left, length = ((0, n - m + 1), (before, n), (m - 1, n + m - 1))[mode]

    def slid(first: int, end: int, dtype: np.dtype) -> DeviceArray:
        """The terms of some weights."""
        spans = ((first - left, end - 1 - left),)
        window = launchers.stencil.Window(form=LINE, spans=spans, weights=_packed(v[first:end], work), taps=end - first)
        return wrap(launchers.stencil.stencil(a._node, window, ("constant",), 0, work, dtype, (length,)))

    found = slid(0, m, out_dtype)  # and only then the look at the weights: the device works while the host waits
    odd = _not_finite(v) if mode else []
    if not odd:
        return found
    # a product with what is not there, a zero, would be NaN
    total: DeviceArray = zeros(length, work, device=a.device)
    for before, t in zip([-1, *odd], [*odd, m], strict=True):
        if before + 1 < t:
            total += slid(before + 1, t, work)
        first, last = max(0, left - t), min(length, n + left - t)
        if t < m and first < last:
            total[first:last] += a[first + t - left : last + t - left].astype(work) * v[t : t + 1]
    return total.astype(out_dtype)


def _not_finite(v: DeviceArray) -> list[int]:
    """Find the elements that are NaN or infinite, and wait for the answer."""
    if v.dtype.kind not in "fc":
        return []
    if np.isfinite(moments.at_hand(v)).all():
        return []
    return np.flatnonzero(~np.isfinite(v.get())).tolist()


def _packed(v: DeviceArray, dtype: np.dtype) -> Node:
    node = evaluate(ufunc_calls.cast(v._node, dtype))
    return node if node.contiguous else ufunc_calls.ascontiguous(node)
