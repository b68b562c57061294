"""Smoothing filters: means and Gaussians."""

from __future__ import annotations

import numbers as numeric
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray
from clarray.ndimage import arguments
from clarray.ndimage.arguments import Image, Target, per_axis, resolve_target
from clarray.ndimage.linear import Line, correlate1d, line_pass

# Means --------------------------------------------------------------------------------------------


def along_axes(x: DeviceArray, target: Target, lines: list[Line], cval: Any) -> DeviceArray:
    """Filter with lines of weights, one after the other."""
    passes = []
    image = Image(x.ndim, x.device, x.dtype, target.dtype)
    for line in lines:
        passes.append(line_pass(image, line, cval))
        image = image._replace(dtype=arguments.intermediate_dtype(target.dtype))
    return arguments.run_passes(x, passes, target)


def _checked_size(size: Any, origin: int) -> int:
    if size < 1:
        raise RuntimeError("incorrect filter size")
    if not 0 <= size // 2 + origin < size:
        raise ValueError("invalid origin")
    return int(size)


def uniform_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: int = 0
) -> DeviceArray:
    """Replace each element by the mean of `size` neighbours along one axis; see `scipy.ndimage.uniform_filter1d`.

    Parameters
    ----------
    input : array_like
    size : int
        Number of neighbours, the element itself included.
    axis, output, mode, cval, origin : optional
        As in `correlate1d`.

    Returns
    -------
    DeviceArray
        Has the same shape as the input.

    Raises
    ------
    RuntimeError
        `size` is less than 1, or there is no such mode.
    ValueError
        The origin lies outside the window.

    Notes
    -----
    Each mean is summed separately, so the time grows with `size`, and errors do not accumulate along the axis.

    Examples
    --------
    >>> import clarray
    >>> clarray.ndimage.uniform_filter1d(clarray.asarray([0, 0, 3, 0, 0]), 3).tolist()
    [0, 1, 1, 1, 0]
    """
    x = as_array(input)
    axis = normalize_axis_index(axis, x.ndim)
    size = _checked_size(size, origin)
    return uniform_filter(x, size, output, mode, cval, origin, axes=(axis,))


def uniform_filter(
    input: Any,
    size: Any = 3,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> DeviceArray:
    """Replace each element by the mean of a box around it, axis by axis; see `scipy.ndimage.uniform_filter`.

    Parameters
    ----------
    input : array_like
    size : int or sequence of int
        Extent of the box along each axis.
    output, mode, cval, origin, axes
        As in `correlate`. Modes and origins may differ from axis to axis.

    Returns
    -------
    DeviceArray
        Has the same shape as the input.

    Raises
    ------
    RuntimeError
        There is no such mode, or a sequence does not have an entry for each axis.
    ValueError
        An origin lies outside the window, or there are no such axes.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.asarray([[0, 0, 0], [0, 9, 0], [0, 0, 0]])
    >>> clarray.ndimage.uniform_filter(x, 3).tolist()
    [[1, 1, 1], [1, 1, 1], [1, 1, 1]]
    """
    x = as_array(input)
    complex_ = x.dtype.kind == "c"
    target = resolve_target(output, x, complex_=complex_)
    if complex_:
        return arguments.filter_complex(
            lambda part, _, dtype, c: uniform_filter(part, size, dtype, mode, c, origin, axes=axes),
            x,
            np.ones(1),
            target,
            cval,
        )
    resolved_axes = arguments.resolve_axes(axes, x.ndim)
    count = len(resolved_axes)
    rows = zip(resolved_axes, per_axis(size, count), per_axis(mode, count), per_axis(origin, count), strict=True)
    lines = [Line(a, np.ones(_checked_size(n, o)), m, o, float(int(n))) for a, n, m, o in rows if n > 1]
    return along_axes(x, target, lines, cval)


# Gaussians ----------------------------------------------------------------------------------------


def gaussian_weights(sigma: float, order: int, radius: int) -> np.ndarray:
    """Sample a Gaussian of sum 1, or a derivative of it. Each derivative of q exp(p) is (q' + q p') exp(p)."""
    if order < 0:
        raise ValueError("order must be non-negative")
    x = np.arange(-radius, radius + 1)
    phi = np.exp(-0.5 / (sigma * sigma) * x**2)
    phi = phi / phi.sum()
    if order == 0:
        return phi
    exponents = np.arange(order + 1)
    step = np.diag(exponents[1:], 1) + np.diag(np.ones(order) / -(sigma * sigma), -1)
    q = np.zeros(order + 1)
    q[0] = 1
    for _ in range(order):
        q = step.dot(q)
    return (x[:, None] ** exponents).dot(q) * phi


@lru_cache(maxsize=256, typed=True)
def _gaussian_line(sigma: Any, order: int, truncate: float, radius: Any) -> np.ndarray:
    sd = float(sigma)
    reach = int(truncate * sd + 0.5) if radius is None else radius
    if not isinstance(reach, numeric.Integral) or reach < 0:
        raise ValueError("Radius must be a nonnegative integer.")
    return gaussian_weights(sd, order, int(reach))[::-1]


def gaussian_filter1d(
    input: Any,
    sigma: float,
    axis: int = -1,
    order: int = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
) -> DeviceArray:
    """Smooth along one axis with a Gaussian or one of its derivatives; see `scipy.ndimage.gaussian_filter1d`.

    Parameters
    ----------
    input : array_like
    sigma : float
        Standard deviation, in elements.
    axis : int
    order : int
        0 is the Gaussian itself, 1, 2 and so on are its derivatives.
    output, mode, cval : optional
        As in `correlate1d`.
    truncate : float
        Radius of the window in standard deviations.
    radius : int, optional
        Radius of the window in elements, in place of `truncate`.

    Returns
    -------
    DeviceArray
        Has the same shape as the input.

    Raises
    ------
    ValueError
        `order` is negative, or `radius` is not a nonnegative integer.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.asarray([0.0, 0.0, 1.0, 0.0, 0.0])
    >>> clarray.ndimage.gaussian_filter1d(x, 1.0, radius=1).round(3).tolist()
    [0.0, 0.274, 0.452, 0.274, 0.0]
    """
    return correlate1d(input, _gaussian_line(sigma, order, truncate, radius), axis, output, mode, cval, 0)


def gaussian_filter(
    input: Any,
    sigma: Any,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
) -> DeviceArray:
    """Smooth with a Gaussian, axis by axis; see `scipy.ndimage.gaussian_filter`.

    Parameters
    ----------
    input : array_like
    sigma, order : scalar or sequence
        As in `gaussian_filter1d`, one value or one for each axis.
    output : DeviceArray or dtype, optional
        As in `gaussian_filter1d`.
    mode : str or sequence
        As in `gaussian_filter1d`, one value or one for each axis.
    cval, truncate : scalar
        As in `gaussian_filter1d`.
    radius : int or sequence, optional
        As in `gaussian_filter1d`, one value or one for each axis.
    axes : int or tuple of int, optional
        Axes to smooth along. None takes all.

    Returns
    -------
    DeviceArray
        Has the same shape as the input.

    Notes
    -----
    Between two axes, the values have the dtype of the output, as in SciPy. So if that dtype is an integer dtype, each
    pass drops the fractions.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.zeros((5, 5))
    >>> x[2, 2] = 1
    >>> y = clarray.ndimage.gaussian_filter(x, 1.0)
    >>> round(float(y.sum()), 6), bool(y[2, 2] == y.max())
    (1.0, True)
    """
    x = as_array(input)
    if x.dtype.kind == "c":
        target = resolve_target(output, x, complex_=True)
        return arguments.filter_complex(
            lambda part, _, dtype, c: gaussian_filter(
                part, sigma, order, dtype, mode, c, truncate, radius=radius, axes=axes
            ),
            x,
            np.ones(1),
            target,
            cval,
        )
    target = resolve_target(output, x)
    resolved_axes = arguments.resolve_axes(axes, x.ndim)
    per_axis_arguments = [per_axis(v, len(resolved_axes)) for v in (sigma, order, mode, radius)]
    lines = [
        Line(a, _gaussian_line(s, o, truncate, r), m)
        for a, s, o, m, r in zip(resolved_axes, *per_axis_arguments, strict=True)
        if s > 1e-15
    ]
    return along_axes(x, target, lines, cval)
