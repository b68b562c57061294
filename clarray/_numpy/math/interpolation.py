"""Piecewise linear interpolation."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.callers import NUMPY_2_5
from clarray._core.creation import as_array, empty
from clarray._core.device_array import DeviceArray
from clarray._core.host_data import device_dtype
from clarray._core.ufunc_calls import device_of_operands
from clarray._engine.speedups import captured
from clarray._numpy.kernels.kernels import ElementwiseKernel
from clarray._numpy.manipulation.joining import concatenate
from clarray._numpy.sorting.sorting import argsort

__all__ = ["interp"]


# One work-item searches the interval of its x and interpolates in it, in one pass. The tables stay in the cache.
# As in NumPy, an interval is evaluated from its other end if that avoids inf - inf, and is constant if that is NaN too.
# Complex differences are multiplied by the inverse of the interval's length, also as in NumPy.
_LINE = """
double along(double slope, double x, double x0, double x1, double y0, double y1) {
  double y = slope * (x - x0) + y0;
  if (isnan(y)) {
    y = slope * (x - x1) + y1;
    if (isnan(y) && y0 == y1) y = y0;
  }
  return y;
}
"""
_SEARCH = """
if (isnan(x) && xp_size > 1) {{ y = {nan}; }}
else if (x < xp[0]) {{ y = left; }}
else if (x > xp[xp_size - 1]) {{ y = right; }}
else {{
  long low = 0, high = xp_size;  /* xp[low] <= x, and xp[high] is above it or not there */
  while (high - low > 1) {{
    const long middle = low + (high - low) / 2;
    if (xp[middle] <= x) low = middle; else high = middle;
  }}
  if (high == xp_size || xp[low] == x) {{ y = fp[low]; }}
  else {{ y = {value}; }}
}}
"""
_REAL_KERNEL = ElementwiseKernel(
    "float64 x, raw float64 xp, raw float64 fp, float64 left, float64 right",
    "float64 y",
    _SEARCH.format(
        nan="x",
        value="along((fp[high] - fp[low]) / (xp[high] - xp[low]), x, xp[low], xp[high], fp[low], fp[high])",
    ),
    "interp",
    preamble=_LINE,
)
_COMPLEX_KERNEL = ElementwiseKernel(
    "float64 x, raw float64 xp, raw complex128 fp, complex128 left, complex128 right",
    "complex128 y",
    _SEARCH.format(
        nan="(double2)(x, 0)",
        value="complex_along(x, xp[low], xp[high], fp[low], fp[high])",
    ),
    "interp_complex",
    preamble=_LINE
    + """
double2 complex_along(double x, double x0, double x1, double2 y0, double2 y1) {
  const double2 slope = (y1 - y0) * (1 / (x1 - x0));
  return (double2)(along(slope.x, x, x0, x1, y0.x, y1.x), along(slope.y, x, x0, x1, y0.y, y1.y));
}
""",
)


@captured(operands=3)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: float | None = None) -> DeviceArray:
    """Interpolate linearly between points.

    Parameters
    ----------
    x : array_like
        Positions at which to interpolate, of any shape.
    xp : (N,) array_like
        Positions of the points, in ascending order. With `period` any order is allowed.
    fp : (N,) array_like
        Values of the points, real or complex.
    left, right : scalar, optional
        Results before the first and after the last point. The values of these points by default.
    period : float, optional
        Period with which the points repeat. `left` and `right` are then ignored.

    Returns
    -------
    DeviceArray of float64 or complex128
        Has the same shape as `x`.

    Raises
    ------
    ValueError
        `xp` and `fp` do not have one axis each and the same length, have no elements, or `period` is zero.
    TypeError
        `x` or `xp` is complex, or the device has no float64.

    Notes
    -----
    Takes one pass over `x`, in float64 as in NumPy.

    Examples
    --------
    >>> import clarray
    >>> clarray.interp([0.5, 1.5], [0.0, 1.0, 2.0], [0.0, 10.0, 40.0]).tolist()
    [5.0, 25.0]
    """
    device = device_of_operands((x, xp, fp))
    values = as_array(fp, device)
    kernel, dtype = (_COMPLEX_KERNEL, np.complex128) if values.dtype.kind == "c" else (_REAL_KERNEL, np.float64)
    device_dtype(np.dtype(dtype), device)
    sample_points = as_array(xp, device)
    if period is None:
        _check_depth(values)
        _check_depth(sample_points)
    sample_points, positions = _as_float64(sample_points), _as_float64(as_array(x, device))
    values = values.astype(dtype, copy=False)
    if period is not None:
        positions, sample_points, values = _wrap_period(positions, sample_points, values, period)
        left = right = None
    _check_sizes(positions.size, sample_points, values)
    if not sample_points.size:
        return empty(positions.shape, dtype, device=device)
    ends = [values[k, ...] if fill is None else as_array(dtype(fill), device) for fill, k in ((left, 0), (right, -1))]
    interpolated: DeviceArray = kernel(positions, sample_points, values, *ends, size=None if positions.ndim else ())
    return interpolated


def _as_float64(array: DeviceArray) -> DeviceArray:
    return array.astype(np.float64, casting="safe", copy=False)


def _check_depth(array: DeviceArray) -> None:
    if array.ndim != 1:
        raise ValueError(f"object {'too deep' if array.ndim else 'of too small depth'} for desired array")


def _check_sizes(points: int, sample_points: DeviceArray, values: DeviceArray) -> None:
    if sample_points.size == 0 and (points or not NUMPY_2_5):  # NumPy before 2.5 raises for an empty x, too
        raise ValueError("array of sample points is empty")
    if sample_points.size != values.size:
        raise ValueError("fp and xp are not of the same length.")


def _wrap_period(
    positions: DeviceArray, sample_points: DeviceArray, values: DeviceArray, period: float
) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
    """Reduce positions and sample points to one period. Sort the points and repeat one beyond either end."""
    if period == 0:
        raise ValueError("period must be a non-zero value")
    if sample_points.ndim != 1 or values.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if sample_points.size != values.size:
        raise ValueError("fp and xp are not of the same length")
    period = abs(period)
    sample_points = sample_points % period
    order = argsort(sample_points)
    sample_points, values = sample_points[order], values[order]
    wrapped_points = concatenate((sample_points[-1:] - period, sample_points, sample_points[:1] + period))
    return positions % period, wrapped_points, concatenate((values[-1:], values, values[:1]))
