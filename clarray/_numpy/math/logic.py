"""Comparisons of whole arrays, and elementwise tests for infinities and complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core import callers, ufunc_calls
from clarray._core.composing import Operand, apply_ufunc, as_operand, compose_complex, imag_part, real_part, where
from clarray._core.creation import as_array, asarray, operand_array
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.operands import refuse_subclass, scalar_node
from clarray._core.ufunc_calls import cast, device_of_operands, evaluate_if_eager, full, in_order
from clarray._core.writes import host_outputs, with_device_lock, write_to_host
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.node import Node
from clarray._engine.expr.result_layout import result_view
from clarray._engine.expr.view import broadcast_shapes
from clarray._engine.speedups import captured, captured_growth
from clarray._numpy.manipulation.shapes import real
from clarray._numpy.math.closeness import both_nan, close_mask, is_all_true

__all__ = [
    "allclose",
    "array_equal",
    "array_equiv",
    "fix",
    "isclose",
    "iscomplex",
    "isneginf",
    "isposinf",
    "isreal",
    "nan_to_num",
    "real_if_close",
]

_BOOL = np.dtype(bool)


# Comparisons --------------------------------------------------------------------------------------


@captured_growth(operands=2)
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> DeviceArray:
    """Return whether elements are equal within a tolerance.

    Two elements are close if ``abs(a - b) <= atol + rtol * abs(b)``.

    Parameters
    ----------
    a, b : array_like
        Numbers to compare, broadcast against each other. The tolerance grows with the magnitude of `b`.
    rtol : array_like
        Relative tolerance.
    atol : array_like
        Absolute tolerance.
    equal_nan : bool
        Whether NaN is close to NaN.

    Returns
    -------
    DeviceArray of bool

    Notes
    -----
    Takes one pass over both operands. A tolerance that is an array takes another pass, and the call waits for it.

    Examples
    --------
    >>> import clarray
    >>> clarray.isclose([1.0, 2.0], [1.0 + 1e-9, 2.1]).tolist()
    [True, False]
    """
    mask: DeviceArray = evaluate_if_eager(close_mask(a, b, rtol, atol, equal_nan))
    return mask


@captured_growth(operands=2)
def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> bool:
    """Return whether all elements are equal within a tolerance.

    Parameters as in `isclose`.

    Returns
    -------
    bool
        A Python bool, so the call waits for the device.

    Notes
    -----
    Takes one fused pass over both operands.

    Examples
    --------
    >>> import clarray
    >>> clarray.allclose([1.0, 2.0], [1.0, 2.0 + 1e-9])
    True
    """
    return is_all_true(close_mask(a, b, rtol, atol, equal_nan))


def _numeric_operands(a: Any, b: Any) -> tuple[DeviceArray, DeviceArray] | None:
    """Return both operands as arrays, or None if one is not numeric."""
    device = device_of_operands((a, b))
    try:
        host_operands = [np.asarray(x) for x in (a, b) if not isinstance(x, DeviceArray)]
    except ValueError:  # sequences of unequal lengths
        return None
    if any(x.dtype.kind not in "biufc" for x in host_operands):
        return None
    return as_array(a, device), as_array(b, device)


def _compare_on_host(equal: Any, a: Any, b: Any) -> bool:
    """Compare texts and objects on the host. They are never equal to an array on a device."""
    return not (isinstance(a, DeviceArray) or isinstance(b, DeviceArray)) and bool(equal(a, b))


@captured_growth(operands=2)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Return whether two arrays have the same shape and the same elements.

    Parameters
    ----------
    a1, a2 : array_like
    equal_nan : bool
        Whether NaN equals NaN. A complex number is NaN if one of its parts is.

    Returns
    -------
    bool
        A Python bool, so the call waits for the device.

    Examples
    --------
    >>> import clarray
    >>> clarray.array_equal([1, 2], clarray.arange(1, 3))
    True
    """
    operands = _numeric_operands(a1, a2)
    if operands is None:
        return _compare_on_host(np.array_equal, a1, a2)
    x, y = operands
    if x.shape != y.shape:
        return False
    equal = apply_ufunc(np.equal, x._node, y._node)
    if equal_nan:
        equal = apply_ufunc(np.logical_or, equal, both_nan(x._node, y._node))
    return is_all_true(equal)


@captured_growth(operands=2)
def array_equiv(a1: Any, a2: Any) -> bool:
    """Return whether two arrays are equal after broadcasting.

    Parameters
    ----------
    a1, a2 : array_like

    Returns
    -------
    bool
        A Python bool, so the call waits for the device. False if the shapes cannot be broadcast.

    Examples
    --------
    >>> import clarray
    >>> clarray.array_equiv([1, 2], [[1, 2], [1, 2]])
    True
    """
    operands = _numeric_operands(a1, a2)
    if operands is None:
        return _compare_on_host(np.array_equiv, a1, a2)
    try:
        broadcast_shapes([x.shape for x in operands])
    except ValueError:
        return False
    return is_all_true(apply_ufunc(np.equal, *(x._node for x in operands)))


# Tests of each element ----------------------------------------------------------------------------


def _constant_mask(value: bool, array: DeviceArray, order: str) -> DeviceArray:
    """Return a constant mask in the shape and memory order of an array. Results computed from it inherit the order."""
    node = full(scalar_node(value, _BOOL), array.shape)
    mask: DeviceArray = in_order(node, order, result_view(array._node))
    if array.ndim > 1:
        evaluate(mask._node)
    return mask


def iscomplex(x: Any) -> DeviceArray:
    """Return whether each element has an imaginary part other than zero.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    DeviceArray of bool
        Has the same shape as `x`. All False for a real dtype.

    Examples
    --------
    >>> import clarray
    >>> clarray.iscomplex([1 + 1j, 2 + 0j]).tolist()
    [True, False]
    """
    array = as_array(x)
    if array.dtype.kind != "c":
        return _constant_mask(False, array, "C")
    mask: DeviceArray = evaluate_if_eager(apply_ufunc(np.not_equal, imag_part(array._node), 0))
    return mask


def isreal(x: Any) -> DeviceArray:
    """Return whether the imaginary part of each element is zero.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    DeviceArray of bool
        Has the same shape as `x`. All True for a real dtype.

    Examples
    --------
    >>> import clarray
    >>> clarray.isreal([1 + 1j, 2 + 0j]).tolist()
    [False, True]
    """
    array = as_array(x)
    if array.dtype.kind != "c":
        return _constant_mask(True, array, "A")
    mask: DeviceArray = evaluate_if_eager(apply_ufunc(np.equal, imag_part(array._node), 0))
    return mask


def _is_infinity(x: Any, infinity: float, out: Any) -> DeviceArray:
    array = as_array(x)
    if array.dtype.kind == "c":
        raise TypeError(f"This operation is not supported for {array.dtype} values because it would be ambiguous.")
    if array.dtype.kind == "f":
        mask: DeviceArray = ufunc_calls.call(np.equal, (array, infinity), out=out)
    else:
        mask = ufunc_calls.call(np.not_equal, (array, array), out=out)  # all false, in the operand's memory order
    return mask


@captured_growth(operands=1)
@with_device_lock("out")
def isposinf(x: Any, out: DeviceArray | None = None) -> DeviceArray:
    """Return whether each element is positive infinity.

    Parameters as in `isneginf`.

    Returns
    -------
    DeviceArray of bool

    Raises
    ------
    TypeError
        `x` is complex.

    Examples
    --------
    >>> import clarray
    >>> clarray.isposinf([-clarray.inf, 0.0, clarray.inf]).tolist()
    [False, False, True]
    """
    return _is_infinity(x, np.inf, out)


@captured_growth(operands=1)
@with_device_lock("out")
def isneginf(x: Any, out: DeviceArray | None = None) -> DeviceArray:
    """Return whether each element is negative infinity.

    Parameters
    ----------
    x : array_like
        Real numbers.
    out : DeviceArray, optional
        Array for the result.

    Returns
    -------
    DeviceArray of bool

    Raises
    ------
    TypeError
        `x` is complex.

    Examples
    --------
    >>> import clarray
    >>> clarray.isneginf([-clarray.inf, 0.0, clarray.inf]).tolist()
    [True, False, False]
    """
    return _is_infinity(x, -np.inf, out)


# Replacement of elements --------------------------------------------------------------------------


@captured_growth
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> DeviceArray:
    """Replace NaNs and infinities by finite numbers.

    Parameters
    ----------
    x : array_like
        Integers and bools stay as they are. Both parts of a complex number are treated.
    copy : bool
        False writes to `x` itself.
    nan : array_like
        Replacement of NaN, broadcast to `x`.
    posinf, neginf : array_like, optional
        Replacements of the infinities. By default the largest and the smallest finite number of the dtype.

    Returns
    -------
    DeviceArray
        A new array, or `x` with ``copy=False``.

    Raises
    ------
    TypeError
        A replacement cannot be converted to the dtype of `x` under the rule ``'same_kind'``.
    ValueError
        ``copy=False``, and `x` is not an array.

    Notes
    -----
    Takes one pass.

    Examples
    --------
    >>> import clarray
    >>> clarray.nan_to_num([1.0, clarray.nan, clarray.inf], posinf=9.0).tolist()
    [1.0, 0.0, 9.0]
    """
    refuse_subclass(x)
    if not copy and (targets := host_outputs(x)):
        return write_to_host(nan_to_num, targets, (x, copy, nan, posinf, neginf), {})
    array = asarray(x, copy=bool(copy)) if not isinstance(x, DeviceArray) else x
    node = array._node
    if node.dtype.kind not in "fc":
        return _scalar_if_0d(array.copy("K") if copy and array is x else array)
    dtype = np.dtype(f"f{node.dtype.itemsize // 2}") if node.dtype.kind == "c" else node.dtype
    info = np.finfo(dtype)
    numbers = (nan, float(info.max) if posinf is None else posinf, float(info.min) if neginf is None else neginf)
    replacements = [_cast_replacement(number, array, dtype) for number in numbers]
    if node.dtype.kind == "c":
        parts = (_replace_nonfinite(part, *replacements) for part in (real_part(node), imag_part(node)))
        replaced = compose_complex(*parts)
    else:
        replaced = _replace_nonfinite(node, *replacements)
    if copy:
        copied: DeviceArray = in_order(replaced, "K", result_view(node))
        return copied
    array[...] = wrap(replaced)
    return _scalar_if_0d(array)


def _scalar_if_0d(array: DeviceArray) -> DeviceArray:
    return array if array.ndim else array[()]


def _cast_replacement(value: Any, array: DeviceArray, dtype: np.dtype) -> Operand:
    """Cast a replacement to the array's dtype. NumPy raises if the cast is not allowed."""
    operand = as_operand(value, array.device)
    if isinstance(operand, Node):
        np.copyto(np.empty(0, dtype), np.empty(0, operand.dtype))
        return cast(operand, dtype)
    np.copyto(np.empty(0, dtype), operand)
    return operand


def _replace_nonfinite(node: Node, nan: Operand, posinf: Operand, neginf: Operand) -> Node:
    finite = where(apply_ufunc(np.equal, node, np.inf), posinf, node)
    finite = where(apply_ufunc(np.equal, node, -np.inf), neginf, finite)
    return where(apply_ufunc(np.isnan, node), nan, finite)


@captured
def real_if_close(a: Any, tol: float = 100) -> DeviceArray:
    """Return the real parts if all imaginary parts are close to zero.

    Parameters
    ----------
    a : array_like
    tol : float
        Tolerance of the imaginary parts. A value above 1 counts in machine epsilons of the dtype. Any other value is an
        absolute bound.

    Returns
    -------
    DeviceArray
        A view of the real parts, or `a` itself if an imaginary part is not close to zero.

    Notes
    -----
    For a complex dtype the call takes one pass and waits for it.

    Examples
    --------
    >>> import clarray
    >>> clarray.real_if_close([1 + 1e-16j, 2 + 0j]).tolist()
    [1.0, 2.0]
    """
    array = operand_array(a)
    if array.dtype.kind != "c":
        return array
    bound = float(np.finfo(array.dtype).eps) * tol if tol > 1 else tol
    close = apply_ufunc(np.less, apply_ufunc(np.absolute, imag_part(array._node)), bound)
    return real(array) if is_all_true(close) else array


_FIX_IS_DEPRECATED = (
    "numpy.fix is deprecated. Use numpy.trunc instead, which is faster and follows the Array API standard."
)


@with_device_lock("out")
def fix(x: Any, out: DeviceArray | None = None) -> DeviceArray:
    """Round each element towards zero, the same as `clarray.trunc`.

    NumPy 2.5 deprecates the function.

    Parameters
    ----------
    x : array_like
        Real numbers.
    out : DeviceArray, optional
        Array for the result.

    Returns
    -------
    DeviceArray
        Has the same shape as `x`.

    Examples
    --------
    >>> import warnings, clarray
    >>> with warnings.catch_warnings(action="ignore"):
    ...     clarray.fix([-1.5, 1.5]).tolist()
    [-1.0, 1.0]
    """
    if callers.NUMPY_2_5:
        callers.warn_user(_FIX_IS_DEPRECATED, DeprecationWarning)
    truncated: DeviceArray = ufunc_calls.call(np.trunc, (as_array(x),), out=out)
    return truncated
