"""Scalars: results for which NumPy returns a scalar, and the attributes of NumPy's scalars.

An element of host memory is a NumPy scalar. A full reduction, and an expression of scalars, stays a pending
`DeviceArray`. Its ``__class__`` is the scalar's class, so `isinstance` is true for it. This module has the attributes
that NumPy's scalars have and its arrays lack. Each attribute evaluates the scalar.
"""

from __future__ import annotations

import array
import math
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from clarray._core.conversion import asnumpy, numpy_scalar
from clarray._core.device_array import DeviceArray, is_scalar

__all__ = ["SCALAR_ATTRIBUTES", "repeats_sequence"]

# Types whose objects Python repeats, as in ``[0] * n``.
_REPEATED = (list, tuple, str, bytes, bytearray, array.array, deque)


def repeats_sequence(ufunc: np.ufunc, operand: Any, other: Any) -> bool:
    """Return whether a product is the repetition of a sequence by a scalar."""
    return ufunc is np.multiply and isinstance(other, _REPEATED) and is_scalar(operand)


def _attribute(name: str, summary: str, example: str) -> property:
    def read(self: DeviceArray) -> Any:
        if is_scalar(self):
            return getattr(numpy_scalar(self._node), name)
        raise AttributeError(f"'DeviceArray' object has no attribute {name!r}")

    return property(read, doc=_DOCUMENTATION.format(summary=summary, name=name, example=example))


_DOCUMENTATION = """{summary}

Only scalars have ``{name}``, as in NumPy: for example the result of a reduction over all axes. It waits for the value.
Any other array raises AttributeError.

Examples
--------
>>> import clarray
{example}
"""


def _rounding(function: Callable[[Any], Any]) -> Callable[[DeviceArray], Any]:
    def method(self: DeviceArray) -> Any:
        return function(numpy_scalar(self._node) if is_scalar(self) else asnumpy(self))

    return method


SCALAR_ATTRIBUTES: dict[str, Any] = {
    "as_integer_ratio": _attribute(
        "as_integer_ratio",
        "Return two integers whose ratio is exactly the number.",
        ">>> clarray.asarray([2.5, 3.0]).sum().as_integer_ratio()\n(11, 2)",
    ),
    "is_integer": _attribute(
        "is_integer",
        "Return whether the number is a whole number.",
        ">>> clarray.asarray([2.5, 3.5]).sum().is_integer()\nTrue",
    ),
    "hex": _attribute(
        "hex",
        "Format the float as hexadecimal text.",
        ">>> clarray.asarray([2.5, 3.0]).sum().hex()\n'0x1.6000000000000p+2'",
    ),
    "fromhex": _attribute(
        "fromhex",
        "Convert hexadecimal text to a float.",
        ">>> float(clarray.asarray([2.5, 3.0]).sum().fromhex('0x1.8p+1'))\n3.0",
    ),
    "bit_count": _attribute(
        "bit_count",
        "Count the bits that are 1 in the absolute value of the integer.",
        ">>> int(clarray.asarray([3, 4]).sum().bit_count())\n3",
    ),
    "numerator": _attribute(
        "numerator",
        "The integer itself, as the numerator of a fraction.",
        ">>> int(clarray.asarray([3, 4]).sum().numerator)\n7",
    ),
    "denominator": _attribute(
        "denominator",
        "The denominator of the integer as a fraction: 1.",
        ">>> int(clarray.asarray([3, 4]).sum().denominator)\n1",
    ),
    "__trunc__": _rounding(math.trunc),
    "__floor__": _rounding(math.floor),
    "__ceil__": _rounding(math.ceil),
}
