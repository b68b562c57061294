"""Numbers: results for which NumPy has a scalar, and the attributes of that scalar.

An element of host memory is NumPy's scalar itself. A full reduction, and what is computed of one, stays a
pending `DeviceArray`. Its ``__class__`` is the scalar's class, so `isinstance` answers as for the scalar. Here are the
attributes that NumPy's scalars have and its arrays do not. Each of them computes the value.
"""

from __future__ import annotations

import array
import math
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from clarray._core.conversion import asnumpy, numpy_scalar
from clarray._core.device_array import DeviceArray, is_number

__all__ = ["NUMBER_ATTRIBUTES", "is_repeated"]

# Types whose objects Python repeats: ``[0] * n``.
_REPEATED = (list, tuple, str, bytes, bytearray, array.array, deque)


def is_repeated(ufunc: np.ufunc, operand: Any, other: Any) -> bool:
    """Return whether a product is a sequence, repeated as often as a number says."""
    return ufunc is np.multiply and isinstance(other, _REPEATED) and is_number(operand)


def _attribute(name: str) -> property:
    def read(self: DeviceArray) -> Any:
        if is_number(self):
            return getattr(numpy_scalar(self._node), name)
        raise AttributeError(f"'DeviceArray' object has no attribute {name!r}")

    return property(read, doc=f"``{name}`` of NumPy's scalar, for a number; arrays have none.")


def _rounding(function: Callable[[Any], Any]) -> Callable[[DeviceArray], Any]:
    def method(self: DeviceArray) -> Any:
        return function(numpy_scalar(self._node) if is_number(self) else asnumpy(self))

    return method


NUMBER_ATTRIBUTES: dict[str, Any] = {
    **{
        name: _attribute(name)
        for name in ("as_integer_ratio", "is_integer", "hex", "fromhex", "bit_count", "numerator", "denominator")
    },
    "__trunc__": _rounding(math.trunc),
    "__floor__": _rounding(math.floor),
    "__ceil__": _rounding(math.ceil),
}
