"""Polynomials as arrays of their coefficients, the highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.exceptions import RankWarning

from clarray._core import callers, creation, creation_like, ufunc_calls
from clarray._core.composing import applied
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray
from clarray._core.operands import scalar_node
from clarray._core.ufunc_calls import device_of_operands
from clarray._engine.evaluate import evaluate
from clarray._engine.expr import build
from clarray._engine.expr.node import Node
from clarray._engine.speedups import recorded
from clarray._numpy.creation.sequences import arange, eye
from clarray._numpy.manipulation import joining
from clarray._numpy.manipulation.shapes import atleast_1d, broadcast_to
from clarray._numpy.math.convolution import convolve
from clarray._numpy.math.logic import isclose, isreal
from clarray._numpy.reduction import reductions
from clarray._numpy.reduction.accumulations import accumulate
from clarray._numpy.sorting.sorting import sort
from clarray.linalg import eigvals, inv, lstsq

__all__ = [
    "poly",
    "polyadd",
    "polyder",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "roots",
    "vander",
]


def _is_polynomial(p: Any) -> bool:
    """Whether an operand is a polynomial object, a `poly1d`."""
    return isinstance(getattr(p, "coeffs", None), DeviceArray)


def _given(p: Any, *beside: Any) -> DeviceArray:
    """The coefficients of a polynomial as they are, on the device of other operands if its own do not say."""
    if _is_polynomial(p):
        found: DeviceArray = p.coeffs
        return found
    others = (other.coeffs if _is_polynomial(other) else other for other in beside)
    return as_array(p, device_of_operands((p, *others)))


def coefficients_of(p: Any, *beside: Any) -> DeviceArray:
    """The coefficients of a polynomial; a number is a constant."""
    found: DeviceArray = atleast_1d(_given(p, *beside))
    return found


def _like(made: DeviceArray, *operands: Any) -> Any:
    """A polynomial object where an operand is one, else the coefficients."""
    kind = next((type(p) for p in operands if _is_polynomial(p)), None)
    return made if kind is None else kind(made)


def trimmed(coefficients: DeviceArray) -> DeviceArray:
    """Coefficients without leading zeros; one zero where there is nothing else."""
    if coefficients.ndim > 1:
        raise ValueError("Polynomial must be 1d only.")
    start = _first(coefficients != 0)
    if start == coefficients.size:
        return creation.zeros(1, coefficients.dtype, device=coefficients.device)
    return coefficients[start:]


def _first(mask: DeviceArray) -> int:
    """The position of the first element that is set, or the length: a count that shapes depend on."""
    found = int(reductions.argmax(mask)) if mask.size else 0
    return found if mask.size and bool(mask[found]) else mask.size


# Values -------------------------------------------------------------------------------------------


def polyval(p: Any, x: Any) -> Any:
    """The values of a polynomial by Horner's rule, in one pass over `x` for every ten coefficients or so.

    Parameters
    ----------
    p : (N,) array_like or poly1d
        Coefficients, the highest power first.
    x : array_like or poly1d
        Any shape; of a polynomial the result is the composition.

    Returns
    -------
    DeviceArray or poly1d

    Examples
    --------
    >>> import clarray
    >>> clarray.polyval([1, 0, 1], [0, 2, 3]).tolist()
    [1, 5, 10]
    """
    if _is_polynomial(x):
        composed: Any = 0
        for coefficient in coefficients_of(p, x):
            composed = composed * x + coefficient
        return composed
    array = as_array(x, device_of_operands((x, p)))
    value = start = scalar_node(0, array.dtype)
    for each in _each(p):
        value = applied(np.add, applied(np.multiply, value, array._node), each)
        if value.cost > build.COST_LIMIT:
            evaluate(value)
    found: DeviceArray = creation_like.zeros_like(array) if value is start else ufunc_calls.evaluate_if_eager(value)
    return found


def _each(p: Any) -> list[Node] | np.ndarray:
    """Coefficients one by one: elements on the device as nodes, those on the host as NumPy's scalars."""
    if _is_polynomial(p):
        p = p.coeffs
    return [p[k, ...]._node for k in range(len(p))] if isinstance(p, DeviceArray) else np.asarray(p)


@recorded
def vander(x: Any, N: int | None = None, increasing: bool = False) -> DeviceArray:  # noqa: N803 - NumPy's name
    """The Vandermonde matrix: the powers of each element, one row per element.

    Parameters
    ----------
    x : (M,) array_like
    N : int, optional
        How many powers; M by default.
    increasing : bool
        The zeroth power first; otherwise last.

    Returns
    -------
    DeviceArray
        Of M rows.

    Raises
    ------
    ValueError
        `x` has not one axis.
    """
    array = as_array(x)
    if array.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    count = array.size if N is None else N
    made = creation.empty((array.size, count), np.promote_types(array.dtype, int), device=array.device)
    powers = made if increasing else made[:, ::-1]
    powers[:, :1] = 1
    if count > 1:
        accumulate(np.multiply, broadcast_to(array[:, None], (array.size, count - 1)), 1, made.dtype, powers[:, 1:])
    return made


# Arithmetic ---------------------------------------------------------------------------------------


def _aligned(a1: Any, a2: Any, ufunc: np.ufunc) -> Any:
    """Combine coefficients of equal powers; those that one polynomial lacks are zero."""
    left, right = coefficients_of(a1, a2), coefficients_of(a2, a1)
    missing = len(right) - len(left)
    if missing > 0:
        left = joining.concatenate((creation.zeros(missing, left.dtype, device=left.device), left))
    elif missing < 0:
        right = joining.concatenate((creation.zeros(-missing, right.dtype, device=right.device), right))
    return _like(ufunc_calls.call(ufunc, (left, right)), a1, a2)


def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials.

    Parameters
    ----------
    a1, a2 : array_like or poly1d
        Coefficients, that of the highest power first.

    Returns
    -------
    DeviceArray or poly1d
        A `poly1d` if an operand is one.
    """
    return _aligned(a1, a2, np.add)


def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials; parameters and result as in `polyadd`."""
    return _aligned(a1, a2, np.subtract)


def polymul(a1: Any, a2: Any) -> Any:
    """The product of two polynomials, a convolution; parameters and result as in `polyadd`.

    Examples
    --------
    >>> import clarray
    >>> clarray.polymul([1, 2], [1, -2]).tolist()
    [1, 0, -4]
    """
    left, right = coefficients_of(a1, a2), coefficients_of(a2, a1)
    return _like(convolve(trimmed(left), trimmed(right)), a1, a2)


def polydiv(u: Any, v: Any) -> Any:
    """Quotient and remainder of two polynomials.

    Long division: each coefficient of the quotient takes a launch, so this is for polynomials of some hundred
    coefficients at most. The remainder's leading coefficients that are close to zero are left out.

    Parameters
    ----------
    u, v : array_like or poly1d
        Coefficients of the dividend and of the divisor, those of the highest power first.

    Returns
    -------
    tuple of DeviceArray or poly1d
    """
    dividend, divisor = coefficients_of(u, v) + 0.0, coefficients_of(v, u) + 0.0
    dtype = (dividend[0] + divisor[0]).dtype
    degree = divisor.size - 1
    steps = dividend.size - degree
    scale = 1.0 / divisor[0]
    quotient = creation.zeros(max(steps, 1), dtype, device=dividend.device)
    rest = dividend.astype(dtype)
    for k in range(steps):
        factor = scale * rest[k]
        quotient[k] = factor
        rest[k : k + degree + 1] -= factor * divisor
    rest = rest[min(_first(~isclose(rest, 0, rtol=1e-14)), rest.size - 1) :]
    return _like(quotient, u, v), _like(rest, u, v)


def polyder(p: Any, m: int = 1) -> Any:
    """The `m`-th derivative of a polynomial.

    Parameters
    ----------
    p : array_like or poly1d
        Coefficients, that of the highest power first.
    m : int

    Returns
    -------
    DeviceArray or poly1d
        A `poly1d` if `p` is one.

    Raises
    ------
    ValueError
        `m` is negative.
    """
    m = int(m)
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    found = _given(p)
    for _ in range(m):
        found = _slope(found)
        if not found.size:  # and so are all further derivatives
            break
    if found.ndim != 1:
        _slope(found)  # NumPy looks one derivative further: what has no length or does not fit is refused
    return _like(found, p)


def _slope(p: DeviceArray) -> DeviceArray:
    powers = arange(len(p) - 1, 0, -1, device=p.device)
    return p[:-1] * powers


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The `m`-th integral of a polynomial.

    Parameters
    ----------
    p : array_like or poly1d
        Coefficients, that of the highest power first.
    m : int
    k : scalar or (m,) array_like, optional
        The constants of integration, that of the first integral first; zero by default.

    Returns
    -------
    DeviceArray or poly1d
        A `poly1d` if `p` is one.

    Raises
    ------
    ValueError
        `m` is negative, or there are fewer constants.
    """
    m = int(m)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    found = _given(p)
    constants = atleast_1d(as_array(np.zeros(m) if k is None else k, found.device))
    if constants.size == 1 and m > 1:
        constants = broadcast_to(constants, (m,))
    if constants.size < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for number in range(m):
        divided = found / arange(len(found), 0, -1, device=found.device)
        found = joining.concatenate((divided, constants[number : number + 1]))
    return _like(found, p)


# Roots --------------------------------------------------------------------------------------------


def poly(seq_of_zeros: Any) -> Any:
    """The coefficients of the polynomial that has given roots, or of a matrix's characteristic polynomial.

    Parameters
    ----------
    seq_of_zeros : (N,) or (N, N) array_like
        The eigenvalues of a matrix are computed on the host; see `clarray.linalg.eigvals`.

    Returns
    -------
    DeviceArray
        The first coefficient is one. Real where complex roots come in conjugate pairs.

    Raises
    ------
    TypeError
        It is a number.
    ValueError
        The array is neither of one axis nor a square matrix.
    """
    zeros = as_array(seq_of_zeros)
    if not zeros.ndim:
        raise TypeError("poly takes a sequence of zeros or a matrix, not a number")
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] != 0:
        zeros = eigvals(zeros)
    elif zeros.ndim == 1:
        zeros = zeros.astype(np.mintypecode(zeros.dtype.char), copy=False)
    else:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if zeros.size == 0:
        return 1.0
    made = creation.zeros(zeros.size + 1, zeros.dtype, device=zeros.device)
    made[0] = 1
    for k in range(zeros.size):  # times (x - zero)
        made[1 : k + 2] -= zeros[k] * made[: k + 1]
    if made.dtype.kind == "c" and bool((sort(zeros) == sort(zeros.conj())).all()):
        made = made.real.copy()
    return made


def roots(p: Any) -> DeviceArray:
    """The roots of a polynomial: the eigenvalues of its companion matrix, computed on the host.

    Parameters
    ----------
    p : (N,) array_like or poly1d

    Returns
    -------
    DeviceArray
        Complex where a root is.

    Raises
    ------
    TypeError
        `p` is a number.
    ValueError
        `p` has more than one axis.
    """
    coefficients = _given(p)
    if not coefficients.ndim:
        raise TypeError("roots takes a sequence of coefficients, not a number")
    if coefficients.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    used = coefficients != 0
    start = _first(used)
    if start == coefficients.size:
        return creation.empty(0, device=coefficients.device)
    trailing = _first(used[::-1])
    kept = coefficients[start : coefficients.size - trailing]
    if kept.dtype.kind not in "fc":
        kept = kept.astype(float)
    if kept.size > 1:
        companion = eye(kept.size - 1, k=-1, dtype=kept.dtype, device=kept.device)
        companion[0, :] = -kept[1:] / kept[0]
        found: DeviceArray = eigvals(companion)
        if kept.dtype.kind == "f" and bool(isreal(found).all()):
            found = found.real  # newer NumPys' eigenvalues are always complex
    else:
        found = creation.empty(0, device=kept.device)
    return joining.hstack((found, creation.zeros(trailing, found.dtype, device=kept.device)))


def polyfit(
    x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    """Fit a polynomial to points by least squares, which are solved on the host; see `clarray.linalg.lstsq`.

    Parameters
    ----------
    x : (M,) array_like
    y : (M,) or (M, K) array_like
        K data sets with the same `x`.
    deg : int
        Degree of the polynomial.
    rcond : float, optional
        Singular values up to so much of the largest are taken as zero; M times the epsilon of `x` by default.
    full : bool
        Return also the residuals, the rank, the singular values and `rcond`.
    w : (M,) array_like, optional
        Weights of the points, which multiply the residuals before they are squared.
    cov : bool or 'unscaled'
        Return also the covariance matrix of the coefficients, scaled by the residuals' variance unless told otherwise.

    Returns
    -------
    DeviceArray or tuple
        The coefficients, (deg + 1,) or (deg + 1, K), and what else was asked for.

    Raises
    ------
    TypeError
        Shapes do not fit.
    ValueError
        `deg` is negative, or there are too few points for ``cov=True``.
    """
    order = int(deg) + 1
    device = device_of_operands((x, y, w))
    places, values = as_array(x, device) + 0.0, as_array(y, device) + 0.0
    _check_points(places, values, deg)
    rcond = places.size * np.finfo(places.dtype).eps if rcond is None else rcond
    powers = vander(places, order)
    if w is not None:
        weights = as_array(w, device) + 0.0
        if weights.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        if weights.shape[0] != values.shape[0]:
            raise TypeError("expected w and y to have the same length")
        powers *= weights[:, None]
        values *= weights[:, None] if values.ndim == 2 else weights
    scale = np.sqrt((powers * powers).sum(0))  # columns of length one are better conditioned
    powers /= scale
    solved, residuals, rank, singular = lstsq(powers, values, rcond)
    found = (solved.T / scale).T
    if rank != order and not full:
        callers.warn("Polyfit may be poorly conditioned", RankWarning)
    if full:
        return found, residuals, rank, singular, rcond
    if not cov:
        return found
    covariance = inv(powers.T @ powers) / (scale[:, None] * scale)
    if cov != "unscaled":
        if places.size <= order:
            raise ValueError("the number of data points must exceed order to scale the covariance matrix")
        factor = residuals / (places.size - order)
        covariance = covariance * factor if values.ndim == 1 else covariance[:, :, None] * factor
    elif values.ndim == 2:
        covariance = covariance[:, :, None]
    return found, covariance


def _check_points(x: DeviceArray, y: DeviceArray, deg: int) -> None:
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if x.size == 0:
        raise TypeError("expected non-empty vector for x")
    if not 1 <= y.ndim <= 2:
        raise TypeError("expected 1D or 2D array for y")
    if x.shape[0] != y.shape[0]:
        raise TypeError("expected x and y to have same length")
