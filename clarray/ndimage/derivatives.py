"""Edge filters: differences, smoothed along the same or the other axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from clarray._core import ufunc_calls
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray
from clarray.ndimage import arguments
from clarray.ndimage.arguments import per_axis, resolve_mode, resolve_target
from clarray.ndimage.linear import Line, correlate1d, window_pass
from clarray.ndimage.smoothing import along_axes, gaussian_filter


def _edges(input: Any, axis: int, output: Any, mode: Any, cval: Any, smooth: list[int]) -> DeviceArray:
    x = as_array(input)
    axis = normalize_axis_index(axis, x.ndim)
    modes = per_axis(mode, x.ndim)
    if x.dtype.kind == "c":
        target = resolve_target(output, x, complex_=True)
        return arguments.filter_complex(
            lambda part, _, dtype, c: _edges(part, axis, dtype, mode, c, smooth), x, np.ones(1), target, cval
        )
    target = resolve_target(output, x)
    order = [axis, *(a for a in range(x.ndim) if a != axis)]
    lines = [Line(a, np.array([-1, 0, 1] if a == axis else smooth, float), modes[a]) for a in order]
    return along_axes(x, target, lines, cval)


def sobel(input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> DeviceArray:
    """Take differences along one axis, smoothed by the weights 1 2 1 along the others; see `scipy.ndimage.sobel`.

    Parameters
    ----------
    input : array_like
    axis : int
        Axis of the differences.
    output, mode, cval
        As in `correlate1d`. Modes may differ from axis to axis.

    Returns
    -------
    DeviceArray
        Has the same shape as the input.

    Examples
    --------
    >>> import clarray
    >>> clarray.ndimage.sobel(clarray.asarray([0, 1, 4, 9])).tolist()
    [1, 4, 8, 5]
    """
    return _edges(input, axis, output, mode, cval, [1, 2, 1])


def prewitt(input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> DeviceArray:
    """Take differences along one axis, smoothed by the weights 1 1 1 along the others; see `scipy.ndimage.prewitt`.

    The parameters and the result are as in `sobel`.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.asarray([[0, 1, 4], [0, 1, 4], [0, 1, 4]])
    >>> clarray.ndimage.prewitt(x).tolist()
    [[3, 12, 9], [3, 12, 9], [3, 12, 9]]
    """
    return _edges(input, axis, output, mode, cval, [1, 1, 1])


def generic_laplace(
    input: Any,
    derivative2: Callable[..., DeviceArray],
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    extra_arguments: tuple[Any, ...] = (),
    extra_keywords: dict[str, Any] | None = None,
    *,
    axes: Any = None,
) -> DeviceArray:
    """Sum second derivatives along the axes, from a function that is passed in; see `scipy.ndimage.generic_laplace`.

    Parameters
    ----------
    input : array_like
    derivative2 : callable
        ``derivative2(input, axis, output, mode, cval, *extra_arguments, **extra_keywords)``, where `output` is a dtype.
    output, mode, cval : optional
        As in `uniform_filter`.
    extra_arguments, extra_keywords : optional
        Further arguments of the function.
    axes : int or tuple of int, optional
        Axes of the derivatives. None takes all.

    Returns
    -------
    DeviceArray
        Has the same shape as the input.

    Examples
    --------
    >>> import clarray
    >>> def second(x, axis, output, mode, cval):
    ...     return clarray.ndimage.correlate1d(x, [1, -2, 1], axis, output, mode, cval)
    >>> clarray.ndimage.generic_laplace(clarray.asarray([0, 1, 4, 9]), second).tolist()
    [1, 2, 2, -5]
    """
    x = as_array(input)
    target = resolve_target(output, x, complex_=x.dtype.kind == "c")
    resolved_axes = arguments.resolve_axes(axes, x.ndim)
    if not resolved_axes:
        return arguments.run_passes(x, [], target)
    total = None
    for axis, m in zip(resolved_axes, per_axis(mode, len(resolved_axes)), strict=True):
        derivative = derivative2(x, axis, target.dtype, m, cval, *extra_arguments, **(extra_keywords or {}))
        total = derivative if total is None else total + derivative
    assert total is not None
    return arguments.store(total._node, target)


def laplace(input: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None) -> DeviceArray:
    """Sum second differences along the axes; see `scipy.ndimage.laplace`.

    Parameters
    ----------
    input, output, mode, cval, axes
        As in `uniform_filter`.

    Returns
    -------
    DeviceArray
        Has the same shape as the input.

    Notes
    -----
    An image of floats takes one pass for all axes.

    Examples
    --------
    >>> import clarray
    >>> clarray.ndimage.laplace(clarray.asarray([0, 1, 4, 9])).tolist()
    [1, 2, 2, -5]
    """
    x = as_array(input)
    resolved_axes = arguments.resolve_axes(axes, x.ndim)
    if x.dtype.kind == "f" and resolved_axes and x.size:
        target = resolve_target(output, x)
        if target.dtype.kind == "f":
            modes = ["nearest"] * x.ndim
            window = np.zeros(tuple(3 if a in resolved_axes else 1 for a in range(x.ndim)))
            middle = tuple(n // 2 for n in window.shape)
            for a, m in zip(resolved_axes, per_axis(mode, len(resolved_axes)), strict=True):
                modes[a] = resolve_mode(m)
                window[middle] -= 2
                for side in (0, 2):
                    window[(*middle[:a], side, *middle[a + 1 :])] = 1
            single_pass = window_pass(x, window, [0] * x.ndim, target, tuple(modes), cval)
            return arguments.run_passes(x, [single_pass], target)

    def second(part: Any, axis: int, dtype: Any, m: Any, c: Any) -> DeviceArray:
        return correlate1d(part, [1, -2, 1], axis, dtype, m, c, 0)

    return generic_laplace(x, second, output, mode, cval, axes=axes)


def _orders(ndim: int, axis: int, order: int) -> list[int]:
    return [order if a == axis else 0 for a in range(ndim)]


def _sigmas(sigma: Any, axes: tuple[int, ...], ndim: int) -> list[Any]:
    sigmas = [0.0] * ndim
    for axis, s in zip(axes, per_axis(sigma, len(axes)), strict=True):
        sigmas[axis] = s
    return sigmas


def gaussian_laplace(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    **kwargs: Any,
) -> DeviceArray:
    """Sum the second derivatives of the smoothed image along the axes; see `scipy.ndimage.gaussian_laplace`.

    Parameters
    ----------
    sigma : float or sequence of float
        Standard deviation of the Gaussian, in elements, one value or one for each axis.
    input, output, mode, cval, axes
        As in `gaussian_filter`. Its other keywords are allowed, too.

    Returns
    -------
    DeviceArray
        Has the same shape as the input.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.arange(21.0) ** 2
    >>> round(float(clarray.ndimage.gaussian_laplace(x, 1.0)[10]), 1)
    2.0
    """
    x = as_array(input)
    sigmas = _sigmas(sigma, arguments.resolve_axes(axes, x.ndim), x.ndim)

    def second(part: Any, axis: int, dtype: Any, m: Any, c: Any) -> DeviceArray:
        return gaussian_filter(part, sigmas, _orders(x.ndim, axis, 2), dtype, m, c, **kwargs)

    return generic_laplace(x, second, output, mode, cval, axes=axes)


def generic_gradient_magnitude(
    input: Any,
    derivative: Callable[..., DeviceArray],
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    extra_arguments: tuple[Any, ...] = (),
    extra_keywords: dict[str, Any] | None = None,
    *,
    axes: Any = None,
) -> DeviceArray:
    """Compute the gradient's length with a function that is passed in; see `scipy.ndimage.generic_gradient_magnitude`.

    Parameters
    ----------
    input : array_like
    derivative : callable
        Takes the arguments of `derivative2` in `generic_laplace`, and returns the first derivative along an axis.
    output, mode, cval : optional
        As in `uniform_filter`.
    extra_arguments, extra_keywords : optional
        Further arguments of the function.
    axes : int or tuple of int, optional
        Axes of the derivatives. None takes all.

    Returns
    -------
    DeviceArray
        Has the same shape as the input.

    Examples
    --------
    >>> import clarray
    >>> rows, columns = clarray.indices((3, 3))
    >>> x = 3.0 * rows + 4.0 * columns
    >>> float(clarray.ndimage.generic_gradient_magnitude(x, clarray.ndimage.sobel)[1, 1])
    40.0
    """
    x = as_array(input)
    target = resolve_target(output, x)
    resolved_axes = arguments.resolve_axes(axes, x.ndim)
    if not resolved_axes:
        return arguments.run_passes(x, [], target)
    total = None
    for axis, m in zip(resolved_axes, per_axis(mode, len(resolved_axes)), strict=True):
        partial = derivative(x, axis, target.dtype, m, cval, *extra_arguments, **(extra_keywords or {}))
        square = partial * partial
        total = square if total is None else total + square
    assert total is not None
    root = as_array(np.sqrt(total))
    return arguments.store(ufunc_calls.cast(root._node, target.dtype), target)


def gaussian_gradient_magnitude(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    **kwargs: Any,
) -> DeviceArray:
    """Compute the length of the gradient of the smoothed image; see `scipy.ndimage.gaussian_gradient_magnitude`.

    Parameters
    ----------
    input : array_like
    sigma : float or sequence of float
        Standard deviation of the Gaussian, in elements, one value or one for each axis.
    output, mode, cval, axes
        As in `gaussian_filter`. Its other keywords are allowed, too.

    Returns
    -------
    DeviceArray
        Has the same shape as the input.

    Examples
    --------
    >>> import clarray
    >>> x = 3 * clarray.arange(21.0)
    >>> round(float(clarray.ndimage.gaussian_gradient_magnitude(x, 1.0)[10]), 2)
    3.0
    """
    x = as_array(input)

    def first(part: Any, axis: int, dtype: Any, m: Any, c: Any) -> DeviceArray:
        return gaussian_filter(part, sigma, _orders(x.ndim, axis, 1), dtype, m, c, **kwargs)

    return generic_gradient_magnitude(x, first, output, mode, cval, axes=axes)
