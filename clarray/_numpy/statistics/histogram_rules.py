"""NumPy's named rules for the number of bins, computed on the device."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from clarray._core import callers
from clarray._core.device_array import DeviceArray
from clarray._numpy.statistics.quantiles import percentile

__all__: list[str] = []

Outer = Callable[[DeviceArray, Any], tuple[Any, Any]]
Count = Callable[..., tuple[DeviceArray, DeviceArray]]


def estimate_bins(
    a: DeviceArray, name: str, range: Any, weighted: bool, outer_edges: Outer, histogram: Count
) -> tuple[Any, Any, int]:
    """Return the first edge, the last edge and the number of bins of a named rule, which may call `histogram`.

    Raises
    ------
    ValueError
        There is no such rule.
    TypeError
        The data are weighted.
    """
    if name != "stone" and name not in _RULES:
        raise ValueError(f"{name!r} is not a valid estimator for `bins`")
    if weighted:
        raise TypeError("Automated estimation of the number of bins is not supported for weighted data")
    first, last = outer_edges(a, range)
    a = a.reshape(-1)
    if range is not None:
        in_range = (a >= first) & (a <= last)
        if not bool(in_range.all()):
            a = a[in_range].evaluate()
    if a.size == 0:
        return first, last, 1
    width = _stone(a, (first, last), histogram) if name == "stone" else _RULES[name](a, (first, last))
    if not width:
        return first, last, 1
    if a.dtype.kind in "iu" and width < 1:
        width = 1
    return first, last, int(np.ceil(unsigned_subtract(last, first) / width))


def scalar_value(array: DeviceArray) -> Any:
    """Return a 0-d array's value as a NumPy scalar, whose dtype takes part in promotion."""
    return array.get()[()]


def unsigned_subtract(a: Any, b: Any) -> Any:
    """Return ``a - b`` for ``a >= b``, as unsigned numbers for integers, like NumPy."""
    dtype = np.result_type(a, b)
    if dtype.kind != "i":
        return np.subtract(a, b, dtype=dtype)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    return np.subtract(np.asarray(a, dtype=dtype), np.asarray(b, dtype=dtype), casting="unsafe", dtype=unsigned)


def _ptp(x: DeviceArray) -> Any:
    return unsigned_subtract(scalar_value(x.max()), scalar_value(x.min()))


def _sqrt(x: DeviceArray, range: Any) -> Any:
    return _ptp(x) / np.sqrt(x.size)


def _sturges(x: DeviceArray, range: Any) -> Any:
    return _ptp(x) / (np.log2(x.size) + 1.0)


def _rice(x: DeviceArray, range: Any) -> Any:
    return _ptp(x) / (2.0 * x.size ** (1.0 / 3))


def _scott(x: DeviceArray, range: Any) -> Any:
    return (24.0 * np.pi**0.5 / x.size) ** (1.0 / 3.0) * scalar_value(x.std())


def _stone(x: DeviceArray, range: Any, histogram: Count) -> Any:
    """Minimize the cross-validated integrated squared error over all numbers of bins up to sqrt(n)."""
    n = x.size
    ptp = _ptp(x)
    if n <= 1 or ptp == 0:
        return 0

    def error(bins: int) -> Any:
        density = histogram(x, bins=bins, range=range)[0].get() / n
        return (2 - (n + 1) * density.dot(density)) / (ptp / bins)

    max_bins = max(100, int(np.sqrt(n)))
    bins = min(builtins.range(1, max_bins + 1), key=error)
    if bins == max_bins:
        callers.warn_user("The number of bins estimated may be suboptimal.", RuntimeWarning)
    return ptp / bins


def _doane(x: DeviceArray, range: Any) -> Any:
    if x.size <= 2:
        return 0.0
    skewness_deviation = np.sqrt(6.0 * (x.size - 2) / ((x.size + 1.0) * (x.size + 3)))
    sigma = scalar_value(x.std())
    if not sigma > 0.0:
        return 0.0
    skewness = scalar_value((((x - scalar_value(x.mean())) / sigma) ** 3).mean())
    return _ptp(x) / (1.0 + np.log2(x.size) + np.log2(1.0 + np.absolute(skewness) / skewness_deviation))


def _fd(x: DeviceArray, range: Any) -> Any:
    upper, lower = percentile(x, [75, 25]).get()
    return 2.0 * np.subtract(upper, lower) * x.size ** (-1.0 / 3.0)


def _auto(x: DeviceArray, range: Any) -> Any:
    return min(max(_fd(x, range), _sqrt(x, range) / 2), _sturges(x, range))


_RULES: dict[str, Callable[[DeviceArray, Any], Any]] = {
    "auto": _auto,
    "doane": _doane,
    "fd": _fd,
    "rice": _rice,
    "scott": _scott,
    "sqrt": _sqrt,
    "sturges": _sturges,
}
