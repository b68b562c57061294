"""Polynomials as arrays of their coefficients, the highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core import creation, creation_like, ufunc_calls
from clarray._core.composing import apply_ufunc
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray
from clarray._core.operands import scalar_node
from clarray._core.ufunc_calls import device_of_operands
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.growth import is_costly
from clarray._engine.expr.node import Node
from clarray._engine.speedups import captured
from clarray._numpy.creation.sequences import arange
from clarray._numpy.manipulation import joining
from clarray._numpy.manipulation.ranks import atleast_1d
from clarray._numpy.manipulation.shapes import broadcast_to
from clarray._numpy.math.convolution import convolve
from clarray._numpy.math.logic import isclose
from clarray._numpy.reduction import reductions
from clarray._numpy.reduction.accumulations import accumulate

__all__ = ["polyadd", "polyder", "polydiv", "polyint", "polymul", "polysub", "polyval", "vander"]


def _is_polynomial(p: Any) -> bool:
    """Return whether an operand is a polynomial object, a `poly1d`."""
    return isinstance(getattr(p, "coeffs", None), DeviceArray)


def coefficient_array(p: Any, *others: Any) -> DeviceArray:
    """Return the coefficients of a polynomial in their own shape.

    Coefficients on the host are uploaded to the device of the other operands.
    """
    if _is_polynomial(p):
        coefficients: DeviceArray = p.coeffs
        return coefficients
    arrays = (other.coeffs if _is_polynomial(other) else other for other in others)
    return as_array(p, device_of_operands((p, *arrays)))


def coefficient_vector(p: Any, *others: Any) -> DeviceArray:
    """Return the coefficients of a polynomial with at least one axis: a number is a constant polynomial."""
    coefficients: DeviceArray = atleast_1d(coefficient_array(p, *others))
    return coefficients


def _as_polynomial_like(coefficients: DeviceArray, *operands: Any) -> Any:
    """Wrap coefficients in the polynomial class of an operand, or return the coefficients if no operand has one."""
    polynomial_class = next((type(p) for p in operands if _is_polynomial(p)), None)
    return coefficients if polynomial_class is None else polynomial_class(coefficients)


def trimmed(coefficients: DeviceArray) -> DeviceArray:
    """Strip leading zeros from coefficients. The zero polynomial keeps one zero."""
    if coefficients.ndim > 1:
        raise ValueError("Polynomial must be 1d only.")
    start = first_set(coefficients != 0)
    if start == coefficients.size:
        return creation.zeros(1, coefficients.dtype, device=coefficients.device)
    return coefficients[start:]


def first_set(mask: DeviceArray) -> int:
    """Return the position of the first element that is set, or the length. Waits, because shapes depend on it."""
    position = int(reductions.argmax(mask)) if mask.size else 0
    return position if mask.size and bool(mask[position, ...]) else mask.size


# Values -------------------------------------------------------------------------------------------


@captured(operands=2)
def polyval(p: Any, x: Any) -> Any:
    """Return the values of a polynomial.

    Parameters
    ----------
    p : (N,) array_like or poly1d
        Coefficients, the highest power first.
    x : array_like or poly1d
        Values of the variable, of any shape. For a polynomial the result is the composition.

    Returns
    -------
    DeviceArray or poly1d
        Has the same shape as `x`.

    Notes
    -----
    Uses Horner's rule, in one pass over `x` for about every ten coefficients.

    Examples
    --------
    >>> import clarray
    >>> clarray.polyval([1, 0, 1], [0, 2, 3]).tolist()
    [1, 5, 10]
    """
    if _is_polynomial(x):
        composed: Any = 0
        for coefficient in coefficient_vector(p, x):
            composed = composed * x + coefficient
        return composed
    array = as_array(x, device_of_operands((x, p)))
    value = start = scalar_node(0, array.dtype)
    for coefficient_node in _coefficient_operands(p):
        value = apply_ufunc(np.add, apply_ufunc(np.multiply, value, array._node), coefficient_node)
        if is_costly(value):
            evaluate(value)
    values: DeviceArray = creation_like.zeros_like(array) if value is start else ufunc_calls.evaluate_if_eager(value)
    return values


def _coefficient_operands(p: Any) -> list[Node] | np.ndarray:
    """Return the coefficients one by one: device elements as nodes, host elements as NumPy's scalars."""
    if _is_polynomial(p):
        p = p.coeffs
    return [p[k, ...]._node for k in range(len(p))] if isinstance(p, DeviceArray) else np.asarray(p)


@captured(operands=1)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> DeviceArray:  # noqa: N803 - NumPy's name
    """Return the Vandermonde matrix: one row for each element, with its powers.

    Parameters
    ----------
    x : (M,) array_like
    N : int, optional
        Number of powers. M by default.
    increasing : bool
        Begin each row with the power 0 instead of the highest power.

    Returns
    -------
    (M, N) DeviceArray
        At least int64.

    Raises
    ------
    ValueError
        `x` does not have one axis.

    Examples
    --------
    >>> import clarray
    >>> clarray.vander([1, 2, 3], 3).tolist()
    [[1, 1, 1], [4, 2, 1], [9, 3, 1]]
    """
    array = as_array(x)
    if array.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    count = array.size if N is None else N
    matrix = creation.empty((array.size, count), np.promote_types(array.dtype, int), device=array.device)
    powers = matrix if increasing else matrix[:, ::-1]
    powers[:, :1] = 1
    if count > 1:
        accumulate(np.multiply, broadcast_to(array[:, None], (array.size, count - 1)), 1, matrix.dtype, powers[:, 1:])
    return matrix


# Arithmetic ---------------------------------------------------------------------------------------


def _combine(a1: Any, a2: Any, ufunc: np.ufunc) -> Any:
    """Combine the coefficients of equal powers by a ufunc. A missing coefficient is zero."""
    first, second = coefficient_vector(a1, a2), coefficient_vector(a2, a1)
    missing = len(second) - len(first)
    if missing > 0:
        first = joining.concatenate((creation.zeros(missing, first.dtype, device=first.device), first))
    elif missing < 0:
        second = joining.concatenate((creation.zeros(-missing, second.dtype, device=second.device), second))
    return _as_polynomial_like(ufunc_calls.call(ufunc, (first, second)), a1, a2)


@captured(operands=2)
def polyadd(a1: Any, a2: Any) -> Any:
    """Return the sum of two polynomials.

    Parameters
    ----------
    a1, a2 : array_like or poly1d
        Coefficients, the highest power first.

    Returns
    -------
    DeviceArray or poly1d
        A `poly1d` if an operand is one.

    Examples
    --------
    >>> import clarray
    >>> clarray.polyadd([1, 2], [1, 0, 0]).tolist()
    [1, 1, 2]
    """
    return _combine(a1, a2, np.add)


@captured(operands=2)
def polysub(a1: Any, a2: Any) -> Any:
    """Return the difference of two polynomials.

    Parameters and result as in `polyadd`.

    Examples
    --------
    >>> import clarray
    >>> clarray.polysub([1, 2], [1, 0, 0]).tolist()
    [-1, 1, 2]
    """
    return _combine(a1, a2, np.subtract)


@captured(operands=2)
def polymul(a1: Any, a2: Any) -> Any:
    """Return the product of two polynomials: the convolution of their coefficients.

    Parameters and result as in `polyadd`.

    Examples
    --------
    >>> import clarray
    >>> clarray.polymul([1, 2], [1, -2]).tolist()
    [1, 0, -4]
    """
    first, second = coefficient_vector(a1, a2), coefficient_vector(a2, a1)
    return _as_polynomial_like(convolve(trimmed(first), trimmed(second)), a1, a2)


def polydiv(u: Any, v: Any) -> Any:
    """Return the quotient and the remainder of two polynomials.

    Parameters
    ----------
    u, v : array_like or poly1d
        Coefficients of the dividend and of the divisor, the highest power first.

    Returns
    -------
    tuple of DeviceArray or poly1d
        Leading coefficients of the remainder that are close to zero are dropped.

    Notes
    -----
    Long division takes a few launches for each coefficient of the quotient, so use it for a few hundred at most.

    Examples
    --------
    >>> import clarray
    >>> quotient, remainder = clarray.polydiv([1.0, 3.0, 5.0], [1.0, 1.0])
    >>> quotient.tolist(), remainder.tolist()
    ([1.0, 2.0], [3.0])
    """
    dividend, divisor = coefficient_vector(u, v) + 0.0, coefficient_vector(v, u) + 0.0
    dtype = (dividend[0] + divisor[0]).dtype
    degree = divisor.size - 1
    steps = dividend.size - degree
    scale = 1.0 / divisor[0]
    quotient = creation.zeros(max(steps, 1), dtype, device=dividend.device)
    remainder = dividend.astype(dtype)
    for k in range(steps):
        factor = scale * remainder[k]
        quotient[k] = factor
        remainder[k : k + degree + 1] -= factor * divisor
    remainder = remainder[min(first_set(~isclose(remainder, 0, rtol=1e-14)), remainder.size - 1) :]
    return _as_polynomial_like(quotient, u, v), _as_polynomial_like(remainder, u, v)


@captured
def polyder(p: Any, m: int = 1) -> Any:
    """Return the `m`-th derivative of a polynomial.

    Parameters
    ----------
    p : array_like or poly1d
        Coefficients, the highest power first.
    m : int

    Returns
    -------
    DeviceArray or poly1d
        A `poly1d` if `p` is one.

    Raises
    ------
    ValueError
        `m` is negative.

    Examples
    --------
    >>> import clarray
    >>> clarray.polyder([1, 2, 3]).tolist()
    [2, 2]
    """
    m = int(m)
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    derivative = coefficient_array(p)
    for _ in range(m):
        derivative = _first_derivative(derivative)
        if not derivative.size:  # and so are all further derivatives
            break
    if derivative.ndim != 1:
        _first_derivative(derivative)  # raises NumPy's errors: it computes one more derivative than it returns
    return _as_polynomial_like(derivative, p)


def _first_derivative(p: DeviceArray) -> DeviceArray:
    powers = arange(len(p) - 1, 0, -1, device=p.device)
    return p[:-1] * powers


@captured
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """Return the `m`-th integral of a polynomial.

    Parameters
    ----------
    p : array_like or poly1d
        Coefficients, the highest power first.
    m : int
    k : scalar or (m,) array_like, optional
        Constants of integration, zero by default. The first constant belongs to the first integral.

    Returns
    -------
    DeviceArray or poly1d
        A `poly1d` if `p` is one.

    Raises
    ------
    ValueError
        `m` is negative, or there are fewer than `m` constants.

    Examples
    --------
    >>> import clarray
    >>> clarray.polyint([2, 2], k=3).tolist()
    [1.0, 2.0, 3.0]
    """
    m = int(m)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    integral = coefficient_array(p)
    constants = atleast_1d(as_array(np.zeros(m) if k is None else k, integral.device))
    if constants.size == 1 and m > 1:
        constants = broadcast_to(constants, (m,))
    if constants.size < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for number in range(m):
        divided = integral / arange(len(integral), 0, -1, device=integral.device)
        integral = joining.concatenate((divided, constants[number : number + 1]))
    return _as_polynomial_like(integral, p)
