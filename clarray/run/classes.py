"""The program's ``numpy.ndarray`` and ``numpy.ufunc``: classes whose instances are clarray's and NumPy's.

``isinstance(x, np.ndarray)`` is true for device arrays and for ndarrays of libraries. A class that derives from
``np.ndarray`` derives from `DeviceArray`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._api.array_classes import UnionMeta
from clarray._api.functions import UFunc as OurUFunc
from clarray._core.device_array import DeviceArray
from clarray.run.functions import UFunc

__all__ = ["ndarray", "ufunc"]


class ndarray(metaclass=UnionMeta):  # noqa: N801 - NumPy's name
    """NumPy's array, on the device."""

    _kinds = DeviceArray, np.ndarray

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is not ndarray:
            return DeviceArray.__new__(cls, *args, **kwargs)  # type: ignore[arg-type]
        try:
            return DeviceArray(*args, **kwargs)
        except (TypeError, ValueError):
            return np.ndarray(*args, **kwargs)

    def __class_getitem__(cls, item: Any) -> Any:
        generic: Any = DeviceArray
        return generic[item]


class ufunc(metaclass=UnionMeta):  # noqa: N801 - NumPy's name
    """NumPy's ufunc, on device arrays."""

    _kinds = UFunc, OurUFunc, np.ufunc


for _class, _theirs in ((ndarray, np.ndarray), (ufunc, np.ufunc)):
    _class.__module__ = "numpy"
    _class.__doc__ = str(_theirs.__doc__)
