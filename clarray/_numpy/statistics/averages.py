"""Weighted means, covariances and correlations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from clarray._core import callers, creation, creation_like, ufunc_calls
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray
from clarray._core.host_data import device_dtype
from clarray._engine.speedups import captured, captured_growth
from clarray._numpy.manipulation import joining
from clarray._numpy.manipulation.shapes import broadcast_to
from clarray._numpy.products import products
from clarray._numpy.reduction import moments, reductions

__all__ = ["average", "corrcoef", "cov"]

_NO_VALUE = np._NoValue


@captured_growth(operands=1)
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = _NO_VALUE) -> Any:
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
    keepdims_argument = {} if keepdims is _NO_VALUE else {"keepdims": keepdims}
    if weights is None:
        mean = moments.mean(array, axes, **keepdims_argument)
        count = array.size / mean.size
        total = creation.full((), mean.dtype.type(count), device=array.device)[()]
    else:
        broadcast_weights = _broadcastable_weights(weights, array, axes)
        dtypes = (array.dtype, broadcast_weights.dtype) + (("f8",) if array.dtype.kind in "biu" else ())
        dtype = device_dtype(np.result_type(*dtypes), array.device)
        total = reductions.sum(broadcast_weights, axes, dtype, **keepdims_argument)
        if bool((total == 0).any()):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        weighted = ufunc_calls.call(np.multiply, (array, broadcast_weights), dtype=dtype)
        mean = reductions.sum(weighted, axes, **keepdims_argument) / total
    if not returned:
        return mean
    return mean, total if total.shape == mean.shape else broadcast_to(total, mean.shape).copy()


def _broadcastable_weights(weights: Any, array: DeviceArray, axes: tuple[int, ...] | None) -> DeviceArray:
    """Return the weights in a shape that broadcasts against the array's."""
    weight_array = as_array(weights, array.device)
    if weight_array.shape == array.shape:
        return weight_array
    if axes is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    if weight_array.shape != tuple(array.shape[axis] for axis in axes):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    order = sorted(range(len(axes)), key=lambda k: axes[k])
    shape = tuple(n if axis in axes else 1 for axis, n in enumerate(array.shape))
    return weight_array.transpose(order).reshape(shape)


@captured(operands=1)
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
    y_array = None if y is None else as_array(y, array.device)
    if y_array is not None and y_array.ndim > 2:
        raise ValueError("y has more than 2 dimensions")
    if dtype is None:
        dtype = np.result_type(array.dtype, np.float64, *(() if y_array is None else (y_array.dtype,)))
    dtype = device_dtype(dtype, array.device)
    if dtype.kind in "biu":  # raises: the deviations from a mean are no integers
        np.subtract(np.empty(0, dtype), np.empty(0), out=np.empty(0, dtype))
    rows = _stack_variables(array, y_array, rowvar, dtype)
    if rows.shape[0] == 0:
        return creation.zeros((0, 0), np.float64, device=array.device)
    count = rows.shape[1]
    frequencies = _observation_weights(fweights, "fweights", count, rows)
    importances = _observation_weights(aweights, "aweights", count, rows)
    weights = importances if frequencies is None else frequencies
    if frequencies is not None and importances is not None:
        weights = (frequencies * importances).evaluate()
    mean, totals = average(rows, 1, weights, returned=True)
    degrees = int(bias == 0) if ddof is None else ddof
    divisor = count - degrees if weights is None else _weighted_divisor(degrees, totals[0], weights, importances)
    if divisor <= 0:
        callers.warn_user("Degrees of freedom <= 0 for slice", RuntimeWarning)
        divisor = 0.0
    centred = (rows - mean[:, None]).evaluate()
    weighted = (centred if weights is None else (centred * weights).astype(centred.dtype)).T
    sums = products.dot(centred, weighted.conj() if dtype.kind == "c" else weighted)
    with np.errstate(divide="ignore"):
        covariances = sums * np.true_divide(1, divisor)
    return covariances.astype(dtype, copy=False).squeeze()


def _stack_variables(m: DeviceArray, y: DeviceArray | None, rowvar: bool, dtype: np.dtype) -> DeviceArray:
    """Return the variables of both arrays as rows of a matrix. No rows if `m` has no variables."""
    rows = _variable_rows(m, dtype)
    if not rowvar and m.ndim != 1:
        rows = rows.T
    if y is None or rows.shape[0] == 0:
        return rows
    y_rows = _variable_rows(y, dtype)
    if not rowvar and y_rows.shape[0] != 1:
        y_rows = y_rows.T
    return joining.concatenate((rows, y_rows), 0)


def _variable_rows(array: DeviceArray, dtype: np.dtype) -> DeviceArray:
    converted = array.astype(dtype, copy=False)
    return converted if array.ndim == 2 else converted.reshape(1, -1)


def _observation_weights(argument: Any, name: str, count: int, rows: DeviceArray) -> DeviceArray | None:
    """Check the weights of observations, with NumPy's errors, and convert them to float64."""
    if argument is None:
        return None
    weights = as_array(argument, rows.device).astype(np.float64)
    if name == "fweights" and not bool((weights == np.rint(weights)).all()):
        raise TypeError("fweights must be integer")
    if weights.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if weights.shape[0] != count:
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    if bool((weights < 0).any()):
        raise ValueError(f"{name} cannot be negative")
    return weights


def _weighted_divisor(ddof: int, total: DeviceArray, weights: DeviceArray, importances: DeviceArray | None) -> float:
    """Return the divisor of the weighted sums of products."""
    weight_sum = float(total.real)
    if ddof == 0:
        return weight_sum
    if importances is None:
        return weight_sum - ddof
    return weight_sum - ddof * float((weights * importances).sum()) / weight_sum


@captured(operands=1)
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
    correlation = cov(x, y, rowvar, dtype=dtype)
    if correlation.ndim == 0:
        return correlation / correlation
    deviation = np.sqrt(correlation.diagonal().real)
    correlation = correlation / deviation[:, None] / deviation[None, :]
    if correlation.dtype.kind != "c":
        return correlation.clip(-1, 1)
    clipped = creation_like.empty_like(correlation)
    clipped.real = correlation.real.clip(-1, 1)
    clipped.imag = correlation.imag.clip(-1, 1)
    return clipped
