"""Weighted means, covariances and correlations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from clarray._core import callers, creation, creation_like, ufunc_calls
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray
from clarray._core.host_data import device_dtype
from clarray._engine.speedups import recorded_growth
from clarray._numpy.manipulation import joining
from clarray._numpy.manipulation.shapes import broadcast_to
from clarray._numpy.products import products
from clarray._numpy.reduction import moments, reductions

__all__ = ["average", "corrcoef", "cov"]

_NO = np._NoValue


@recorded_growth(operands=1)
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = _NO) -> Any:
    """Return the average over axes, optionally weighted.

    Parameters
    ----------
    a : array_like
    axis : int or tuple of int, optional
        Axes to average over. All axes by default.
    weights : array_like, optional
        One weight for each element of `a`, or for each position along `axis`.
    returned : bool
        Also return the sum of the weights.
    keepdims : bool, optional
        Keep the averaged axes, with an extent of one.

    Returns
    -------
    DeviceArray, or a tuple of two
        The average, and the sum of the weights in the same shape.

    Raises
    ------
    ZeroDivisionError
        The weights sum to zero somewhere, or there are no weights and the result has no elements.
    TypeError, ValueError
        The shape of the weights does not fit.

    See Also
    --------
    mean

    Notes
    -----
    With weights, one pass computes and sums the products. Another pass sums the weights, and the call waits for it.

    Examples
    --------
    >>> import clarray
    >>> float(clarray.average([1.0, 5.0], weights=[3.0, 1.0]))
    2.0
    """
    array = as_array(a)
    axes = None if axis is None else normalize_axis_tuple(axis, array.ndim, argname="axis")
    kept = {} if keepdims is _NO else {"keepdims": keepdims}
    if weights is None:
        found = moments.mean(array, axes, **kept)
        count = array.size / found.size
        total = creation.full((), found.dtype.type(count), device=array.device)[()]
    else:
        heavy = _fitting(weights, array, axes)
        kinds = (array.dtype, heavy.dtype) + (("f8",) if array.dtype.kind in "biu" else ())
        dtype = device_dtype(np.result_type(*kinds), array.device)
        total = reductions.sum(heavy, axes, dtype, **kept)
        if bool((total == 0).any()):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        weighted = ufunc_calls.call(np.multiply, (array, heavy), dtype=dtype)
        found = reductions.sum(weighted, axes, **kept) / total
    if not returned:
        return found
    return found, total if total.shape == found.shape else broadcast_to(total, found.shape).copy()


def _fitting(weights: Any, array: DeviceArray, axes: tuple[int, ...] | None) -> DeviceArray:
    """Weights in a shape that broadcasts against the array's."""
    heavy = as_array(weights, array.device)
    if heavy.shape == array.shape:
        return heavy
    if axes is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    if heavy.shape != tuple(array.shape[axis] for axis in axes):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    order = sorted(range(len(axes)), key=lambda k: axes[k])
    shape = tuple(n if axis in axes else 1 for axis, n in enumerate(array.shape))
    return heavy.transpose(order).reshape(shape)


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> DeviceArray:
    """Estimate the covariance matrix of variables.

    Parameters
    ----------
    m : array_like
        At most two axes: a row per variable, a column per observation.
    y : array_like, optional
        More variables, in the same form.
    rowvar : bool
        If False, columns are the variables.
    bias : bool
        Divide by the number of observations N instead of N - 1.
    ddof : int, optional
        Divide by N - `ddof` instead. Overrides `bias`.
    fweights : (N,) array_like of int, optional
        How often each observation counts.
    aweights : (N,) array_like, optional
        Weight of each observation.
    dtype : dtype, optional
        Dtype of the result. At least float64 by default.

    Returns
    -------
    DeviceArray
        A row and a column per variable. Without axes for one variable.

    Raises
    ------
    ValueError
        `m` or `y` has more than two axes, a weight is negative, or `ddof` is not an integer.
    RuntimeError
        The weights do not fit the observations.
    TypeError
        `fweights` are not integers, or the device does not support the dtype.

    Examples
    --------
    >>> import clarray
    >>> clarray.cov([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    array = as_array(m)
    if array.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    more = None if y is None else as_array(y, array.device)
    if more is not None and more.ndim > 2:
        raise ValueError("y has more than 2 dimensions")
    if dtype is None:
        dtype = np.result_type(array.dtype, np.float64, *(() if more is None else (more.dtype,)))
    dtype = device_dtype(dtype, array.device)
    if dtype.kind in "biu":  # raises: the deviations from a mean are no integers
        np.subtract(np.empty(0, dtype), np.empty(0), out=np.empty(0, dtype))
    rows = _rows(array, dtype)
    if not rowvar and array.ndim != 1:
        rows = rows.T
    if rows.shape[0] == 0:
        return creation.zeros((0, 0), np.float64, device=array.device)
    if more is not None:
        others = _rows(more, dtype)
        if not rowvar and others.shape[0] != 1:
            others = others.T
        rows = joining.concatenate((rows, others), 0)
    count = rows.shape[1]
    frequencies = _weights(fweights, "fweights", count, rows)
    importances = _weights(aweights, "aweights", count, rows)
    weights = importances if frequencies is None else frequencies
    if frequencies is not None and importances is not None:
        weights = (frequencies * importances).evaluate()
    mean, total = average(rows, 1, weights, returned=True)
    fact = _degrees(int(bias == 0) if ddof is None else ddof, count, total[0], weights, importances)
    if fact <= 0:
        callers.warn("Degrees of freedom <= 0 for slice", RuntimeWarning)
        fact = 0.0
    centred = (rows - mean[:, None]).evaluate()
    turned = (centred if weights is None else (centred * weights).astype(centred.dtype)).T
    found = products.dot(centred, turned.conj() if dtype.kind == "c" else turned)
    with np.errstate(divide="ignore"):
        found = found * np.true_divide(1, fact)
    return found.astype(dtype, copy=False).squeeze()


def _rows(array: DeviceArray, dtype: np.dtype) -> DeviceArray:
    """Variables as rows of a matrix."""
    converted = array.astype(dtype, copy=False)
    return converted if array.ndim == 2 else converted.reshape(1, -1)


def _weights(given: Any, name: str, count: int, rows: DeviceArray) -> DeviceArray | None:
    """Weights of observations, checked as NumPy checks them."""
    if given is None:
        return None
    weights = as_array(given, rows.device).astype(np.float64)
    if name == "fweights" and not bool((weights == np.rint(weights)).all()):
        raise TypeError("fweights must be integer")
    if weights.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if weights.shape[0] != count:
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    if bool((weights < 0).any()):
        raise ValueError(f"{name} cannot be negative")
    return weights


def _degrees(
    ddof: int,
    count: int,
    total: DeviceArray,
    weights: DeviceArray | None,
    importances: DeviceArray | None,
) -> float:
    """Return the divisor of the sums of products."""
    if weights is None:
        return count - ddof
    whole = float(total.real)
    if ddof == 0:
        return whole
    if importances is None:
        return whole - ddof
    return whole - ddof * float((weights * importances).sum()) / whole


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> DeviceArray:
    """Return the correlation coefficients of variables.

    A coefficient is a covariance divided by the standard deviations of both variables.

    Parameters
    ----------
    x : array_like
        As `m` of `clarray.cov`.
    y, rowvar, dtype : optional
        As in `clarray.cov`.

    Returns
    -------
    DeviceArray
        A row and a column per variable. Without axes for one variable.

    Raises
    ------
    ValueError
        An array has more than two axes, or the numbers of observations differ.

    Examples
    --------
    >>> import clarray
    >>> clarray.corrcoef([[0.0, 1.0, 2.0], [4.0, 2.0, 0.0]]).round(6).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    found = cov(x, y, rowvar, dtype=dtype)
    if found.ndim == 0:
        return found / found
    deviation = np.sqrt(found.diagonal().real)
    found = found / deviation[:, None] / deviation[None, :]
    if found.dtype.kind != "c":
        return found.clip(-1, 1)
    made = creation_like.empty_like(found)
    made.real = found.real.clip(-1, 1)
    made.imag = found.imag.clip(-1, 1)
    return made
