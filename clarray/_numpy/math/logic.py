"""Comparisons of whole arrays, and tests of what kind of number each element is."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core import callers, ufunc_calls
from clarray._core.composing import Operand, applied, as_operand, composed, imag_part, real_part, where
from clarray._core.creation import as_array, asarray, operand_array
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.operands import refuse_subclass, scalar_node
from clarray._core.ufunc_calls import cast, device_of_operands, evaluate_if_eager, full, in_order
from clarray._core.writes import host_outputs, one_hold, write_to_host
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.node import Node
from clarray._engine.expr.result_layout import layout_of
from clarray._engine.expr.view import broadcast_shapes
from clarray._engine.speedups import recorded_growth
from clarray._numpy.manipulation.shapes import real
from clarray._numpy.reduction import reductions

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
    found: DeviceArray = evaluate_if_eager(_close(a, b, rtol, atol, equal_nan))
    return found


def _close(a: Any, b: Any, rtol: Any, atol: Any, equal_nan: bool) -> Node:
    device = device_of_operands((a, b, rtol, atol))
    x, y, relative, absolute = (as_operand(value, device) for value in (a, b, rtol, atol))
    if not isinstance(x, Node) and not isinstance(y, Node):
        x = as_array(x, device)._node
    if isinstance(y, Node):
        y = cast(y, np.result_type(y.dtype, 1.0))
    elif isinstance(y, int):
        y = float(y)
    _check_tolerances(relative, absolute)
    allowed = applied(np.add, absolute, applied(np.multiply, relative, applied(np.absolute, y)))
    near = applied(np.less_equal, applied(np.absolute, applied(np.subtract, x, y)), allowed)
    close = applied(np.logical_or, applied(np.logical_and, near, applied(np.isfinite, y)), applied(np.equal, x, y))
    if equal_nan:
        close = applied(np.logical_or, close, _both_nan(x, y))
    assert isinstance(close, Node)
    return close


def _both_nan(x: Operand, y: Operand) -> Node:
    both: Node = applied(np.logical_and, applied(np.isnan, x), applied(np.isnan, y))
    return both


def _check_tolerances(relative: Operand, absolute: Operand) -> None:
    """Warn of tolerances that are not finite, as `numpy.errstate` wants it."""
    if all(_all(applied(np.isfinite, each)) for each in (relative, absolute)):
        return
    shown = [wrap(x) if isinstance(x, Node) else x for x in (absolute, relative)]
    message = "One of rtol or atol is not valid, atol: {}, rtol: {}".format(*shown)
    wanted = np.geterr()["invalid"]
    if wanted == "warn":
        callers.warn(message, RuntimeWarning)
    elif wanted == "raise":
        raise FloatingPointError(message)
    elif wanted == "print":
        print(message)


def _all(tested: Operand) -> bool:
    return bool(reductions.all(wrap(tested)) if isinstance(tested, Node) else tested)


@recorded_growth(operands=2)
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
    return _all(_close(a, b, rtol, atol, equal_nan))


def _operands(a: Any, b: Any) -> tuple[DeviceArray, DeviceArray] | None:
    """Both operands as arrays, or None where one is none of numbers."""
    device = device_of_operands((a, b))
    try:
        hosts = [np.asarray(x) for x in (a, b) if not isinstance(x, DeviceArray)]
    except ValueError:  # sequences of unequal lengths
        return None
    if any(x.dtype.kind not in "biufc" for x in hosts):
        return None
    return as_array(a, device), as_array(b, device)


def _no_numbers(equal: Any, a: Any, b: Any) -> bool:
    """Texts and objects are equal to others of the host's, never to numbers of a device."""
    return not (isinstance(a, DeviceArray) or isinstance(b, DeviceArray)) and bool(equal(a, b))


@recorded_growth(operands=2)
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
    found = _operands(a1, a2)
    if found is None:
        return _no_numbers(np.array_equal, a1, a2)
    x, y = found
    if x.shape != y.shape:
        return False
    same = applied(np.equal, x._node, y._node)
    if equal_nan:
        same = applied(np.logical_or, same, _both_nan(x._node, y._node))
    return _all(same)


@recorded_growth(operands=2)
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
    found = _operands(a1, a2)
    if found is None:
        return _no_numbers(np.array_equiv, a1, a2)
    try:
        broadcast_shapes([x.shape for x in found])
    except ValueError:
        return False
    return _all(applied(np.equal, *(x._node for x in found)))


# Tests of each element ----------------------------------------------------------------------------


def _constant(value: bool, array: DeviceArray, order: str) -> DeviceArray:
    """The same answer for every element, in an order that counts in what is computed of it."""
    node = full(scalar_node(value, _BOOL), array.shape)
    made: DeviceArray = in_order(node, order, layout_of(array._node))
    if array.ndim > 1:
        evaluate(made._node)
    return made


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
        return _constant(False, array, "C")
    found: DeviceArray = evaluate_if_eager(applied(np.not_equal, imag_part(array._node), 0))
    return found


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
        return _constant(True, array, "A")
    found: DeviceArray = evaluate_if_eager(applied(np.equal, imag_part(array._node), 0))
    return found


def _is_infinity(x: Any, infinity: float, out: Any) -> DeviceArray:
    array = as_array(x)
    if array.dtype.kind == "c":
        raise TypeError(f"This operation is not supported for {array.dtype} values because it would be ambiguous.")
    if array.dtype.kind == "f":
        found: DeviceArray = ufunc_calls.call(np.equal, (array, infinity), out=out)
    else:
        found = ufunc_calls.call(np.not_equal, (array, array), out=out)  # never, in the order of the operand
    return found


@one_hold("out")
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


@one_hold("out")
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


# Other values for some elements -------------------------------------------------------------------


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
        return _value(array.copy("K") if copy and array is x else array)
    dtype = np.dtype(f"f{node.dtype.itemsize // 2}") if node.dtype.kind == "c" else node.dtype
    limits = np.finfo(dtype)
    given = (nan, float(limits.max) if posinf is None else posinf, float(limits.min) if neginf is None else neginf)
    values = [_replacement(value, array, dtype) for value in given]
    if node.dtype.kind == "c":
        made = composed(_replaced(real_part(node), *values), _replaced(imag_part(node), *values))
    else:
        made = _replaced(node, *values)
    if copy:
        found: DeviceArray = in_order(made, "K", layout_of(node))
        return found
    array[...] = wrap(made)
    return _value(array)


def _value(array: DeviceArray) -> DeviceArray:
    """The array itself; of a 0-d array its value, for which NumPy gives a scalar."""
    return array if array.ndim else array[()]


def _replacement(value: Any, array: DeviceArray, dtype: np.dtype) -> Operand:
    """A replacement in the dtype of what it replaces; NumPy judges whether it can be converted."""
    found = as_operand(value, array.device)
    if isinstance(found, Node):
        np.copyto(np.empty(0, dtype), np.empty(0, found.dtype))
        return cast(found, dtype)
    np.copyto(np.empty(0, dtype), found)
    return found


def _replaced(value: Node, nan: Operand, posinf: Operand, neginf: Operand) -> Node:
    finite = where(applied(np.equal, value, np.inf), posinf, value)
    finite = where(applied(np.equal, value, -np.inf), neginf, finite)
    return where(applied(np.isnan, value), nan, finite)


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
    close = applied(np.less, applied(np.absolute, imag_part(array._node)), bound)
    return real(array) if _all(close) else array


_FIX_IS_DEPRECATED = (
    "numpy.fix is deprecated. Use numpy.trunc instead, which is faster and follows the Array API standard."
)


@one_hold("out")
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
        callers.warn(_FIX_IS_DEPRECATED, DeprecationWarning)
    found: DeviceArray = ufunc_calls.call(np.trunc, (as_array(x),), out=out)
    return found
