"""`numpy.testing`, whose comparisons take arrays on the device too, alone or within lists, tuples and dicts.

NumPy's own functions take them as well, but for `assert_equal` and `assert_almost_equal` of two device arrays:
these look for an ndarray among the two.

>>> import clarray
>>> clarray.testing.assert_equal(clarray.asarray([1, 2]), [1, 2])
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy.testing as _testing

from clarray._core.device_array import DeviceArray as _DeviceArray

__all__ = list(_testing.__all__)

_COMPARISONS = (
    *("assert_allclose", "assert_almost_equal", "assert_approx_equal", "assert_array_almost_equal"),
    *("assert_array_almost_equal_nulp", "assert_array_compare", "assert_array_equal", "assert_array_less"),
    *("assert_array_max_ulp", "assert_equal"),
)


def _to_host(value: Any) -> Any:
    """Copy the device arrays in a value to the host: what differs is found, and printed, there."""
    if isinstance(value, _DeviceArray):
        return value.get()
    if type(value) in (list, tuple):
        return type(value)(map(_to_host, value))
    if type(value) is dict:
        return {key: _to_host(one) for key, one in value.items()}
    return value


def _comparing(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def compare(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        return function(*_to_host(args), **_to_host(kwargs))

    return compare


for _name in __all__:
    _function = getattr(_testing, _name)
    globals()[_name] = _comparing(_function) if _name in _COMPARISONS else _function
