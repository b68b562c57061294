"""Polynomials from their roots, roots of polynomials, and polynomials fitted to points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.exceptions import RankWarning

from clarray._core import callers, creation
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray
from clarray._core.ufunc_calls import device_of_operands
from clarray._engine.speedups import captured
from clarray._numpy.creation.sequences import eye
from clarray._numpy.manipulation import joining
from clarray._numpy.math.logic import isreal
from clarray._numpy.sorting.sorting import sort
from clarray.lib.polynomials import coefficient_array, first_set, vander
from clarray.linalg import eigvals, inv, lstsq

__all__ = ["poly", "polyfit", "roots"]


@captured(operands=1)
def poly(seq_of_zeros: Any) -> Any:
    """Return the coefficients of the polynomial with given roots.

    Parameters
    ----------
    seq_of_zeros : (N,) or (N, N) array_like
        The roots. For a square matrix the result is its characteristic polynomial, whose roots are the eigenvalues.
        NumPy computes these on the host, see `clarray.linalg.eigvals`.

    Returns
    -------
    (N + 1,) DeviceArray
        The highest power first, with the coefficient one. Real if complex roots come in conjugate pairs.

    Raises
    ------
    TypeError
        `seq_of_zeros` is a number.
    ValueError
        The array neither has one axis nor is a square matrix.

    Examples
    --------
    >>> import clarray
    >>> clarray.poly([1.0, 2.0]).tolist()
    [1.0, -3.0, 2.0]
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
    coefficients = creation.zeros(zeros.size + 1, zeros.dtype, device=zeros.device)
    coefficients[0] = 1
    for k in range(zeros.size):  # times (x - zero)
        coefficients[1 : k + 2] -= zeros[k, ...] * coefficients[: k + 1]
    if coefficients.dtype.kind == "c" and bool((sort(zeros) == sort(zeros.conj())).all()):
        coefficients = coefficients.real.copy()
    return coefficients


@captured(operands=1)
def roots(p: Any) -> DeviceArray:
    """Return the roots of a polynomial.

    Parameters
    ----------
    p : (N,) array_like or poly1d
        Coefficients, the highest power first.

    Returns
    -------
    DeviceArray
        Complex if a root is.

    Raises
    ------
    TypeError
        `p` is a number.
    ValueError
        `p` has more than one axis.

    Notes
    -----
    The roots are the eigenvalues of the companion matrix, computed on the host.

    Examples
    --------
    >>> import clarray
    >>> clarray.sort(clarray.roots([1.0, -3.0, 2.0])).round(6).tolist()
    [1.0, 2.0]
    """
    coefficients = coefficient_array(p)
    if not coefficients.ndim:
        raise TypeError("roots takes a sequence of coefficients, not a number")
    if coefficients.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    nonzero = coefficients != 0
    start = first_set(nonzero)
    if start == coefficients.size:
        return creation.empty(0, device=coefficients.device)
    trailing = first_set(nonzero[::-1])
    stripped = coefficients[start : coefficients.size - trailing]
    if stripped.dtype.kind not in "fc":
        stripped = stripped.astype(float)
    if stripped.size > 1:
        companion = eye(stripped.size - 1, k=-1, dtype=stripped.dtype, device=stripped.device)
        companion[0, :] = -stripped[1:] / stripped[0, ...]
        found_roots: DeviceArray = eigvals(companion)
        if stripped.dtype.kind == "f" and bool(isreal(found_roots).all()):
            found_roots = found_roots.real  # newer NumPys' eigenvalues are always complex
    else:
        found_roots = creation.empty(0, device=stripped.device)
    return joining.hstack((found_roots, creation.zeros(trailing, found_roots.dtype, device=stripped.device)))


@captured(operands=2)
def polyfit(
    x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    """Fit a polynomial to points by least squares.

    Parameters
    ----------
    x : (M,) array_like
        Positions of the points.
    y : (M,) or (M, K) array_like
        Values of the points: K data sets with the same `x`.
    deg : int
        Degree of the polynomial.
    rcond : float, optional
        Singular values below `rcond` times the largest one count as zero. M times the epsilon of `x` by default.
    full : bool
        Also return the residuals, the rank, the singular values and `rcond`.
    w : (M,) array_like, optional
        Weights of the points. They multiply the residuals before these are squared.
    cov : bool or 'unscaled'
        Also return the covariance matrix of the coefficients, scaled by the variance of the residuals or unscaled.

    Returns
    -------
    DeviceArray or tuple
        The coefficients, of shape (deg + 1,) or (deg + 1, K), the highest power first, and the other results.

    Raises
    ------
    TypeError
        The shapes are incompatible.
    ValueError
        `deg` is negative, or there are too few points for ``cov=True``.

    Notes
    -----
    `clarray.linalg.lstsq` solves the least-squares problem, on the device or on the host.

    Examples
    --------
    >>> import clarray
    >>> clarray.polyfit([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1).round(6).tolist()
    [2.0, 1.0]
    """
    order = int(deg) + 1
    device = device_of_operands((x, y, w))
    points, values = as_array(x, device) + 0.0, as_array(y, device) + 0.0
    _check_points(points, values, deg)
    rcond = points.size * np.finfo(points.dtype).eps if rcond is None else rcond
    powers = vander(points, order)
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
    solution, residuals, rank, singular = lstsq(powers, values, rcond)
    coefficients = (solution.T / scale).T
    if rank != order and not full:
        callers.warn_user("Polyfit may be poorly conditioned", RankWarning)
    if full:
        return coefficients, residuals, rank, singular, rcond
    if not cov:
        return coefficients
    covariance = inv(powers.T @ powers) / (scale[:, None] * scale)
    if cov != "unscaled":
        if points.size <= order:
            raise ValueError("the number of data points must exceed order to scale the covariance matrix")
        factor = residuals / (points.size - order)
        covariance = covariance * factor if values.ndim == 1 else covariance[:, :, None] * factor
    elif values.ndim == 2:
        covariance = covariance[:, :, None]
    return coefficients, covariance


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
