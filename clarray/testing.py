"""Compare arrays in tests. The functions have the same names as in `numpy.testing`.

The comparisons accept device arrays, even inside lists, tuples and dicts. All other names refer to NumPy's own objects.

Examples
--------
Compare values. If the values differ, AssertionError is raised, and the message shows the difference.

>>> import clarray
>>> from clarray import testing
>>> x = clarray.asarray([1.0, 2.0])
>>> testing.assert_equal(x, [1.0, 2.0])
>>> testing.assert_allclose(x, [1.0, 2.0 + 1e-9])
>>> testing.assert_array_less(x, [2.0, 3.0])
>>> testing.assert_array_compare(lambda a, b: a <= b, x, [1.0, 3.0])
>>> testing.assert_equal(x, [1.0, 3.0])
Traceback (most recent call last):
...
AssertionError: ...

Check that a condition is true, that a call raises an error, or that a call emits no warnings.

>>> testing.assert_(bool((x > 0).all()))
>>> with testing.assert_raises_regex(ValueError, "reshape"):
...     _ = x.reshape(3)
>>> with testing.assert_no_warnings():
...     _ = clarray.sqrt(x)

Create an error message. Create a temporary file, which is deleted after the block.

>>> "sums differ" in testing.build_err_msg([1, 2], "sums differ", names=("x", "y"))
True
>>> with testing.temppath(suffix=".npy") as path:
...     clarray.save(path, x)
...     clarray.load(path).tolist()
[1.0, 2.0]

Notes
-----
`numpy.testing.assert_equal` and `numpy.testing.assert_almost_equal` cannot compare two device arrays, because these
functions compare elements only if an argument is a NumPy array.
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
    """Copy the device arrays in a value to the host, where they are compared and printed."""
    if isinstance(value, _DeviceArray):
        return value.get()
    if type(value) in (list, tuple):
        return type(value)(map(_to_host, value))
    if type(value) is dict:
        return {key: _to_host(element) for key, element in value.items()}
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
