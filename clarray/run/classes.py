"""``numpy.ndarray`` and ``numpy.ufunc`` as a program gets them: classes that name clarray's and NumPy's alike.

``isinstance(x, np.ndarray)`` holds for arrays of the device and for those that a library returns. A class that derives
from ``np.ndarray`` derives from `DeviceArray`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._api.functions import UFunc as OurUFunc
from clarray._core.device_array import DeviceArray
from clarray.run.functions import UFunc

__all__ = ["Accepting", "ndarray", "ufunc"]


class Accepting(type):
    """Metaclass of a class that stands for others: `_kinds`, the first of which makes new objects."""

    _kinds: tuple[type, ...]

    def __new__(mcls, name: str, bases: tuple[type, ...], names: dict[str, Any], **kwargs: Any) -> Any:
        if any(type(base) is mcls for base in bases):
            real = tuple(base._kinds[0] if type(base) is mcls else base for base in bases)
            return type(real[0])(name, real, names, **kwargs)
        return super().__new__(mcls, name, bases, names)

    def __instancecheck__(cls, instance: Any) -> bool:
        kind = type(instance)
        if kind is DeviceArray and instance.__class__ is not DeviceArray:
            return False  # a number
        return issubclass(kind, cls._kinds)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, cls._kinds)

    def __eq__(cls, other: object) -> bool:
        return other is cls or any(other is kind for kind in cls._kinds)

    def __hash__(cls) -> int:
        return type.__hash__(cls._kinds[0])

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls._kinds[0], name)

    def __dir__(cls) -> list[str]:
        return dir(cls._kinds[-1])


class ndarray(metaclass=Accepting):  # noqa: N801 - NumPy's name
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


class ufunc(metaclass=Accepting):  # noqa: N801 - NumPy's name
    """NumPy's ufunc, on device arrays."""

    _kinds = UFunc, OurUFunc, np.ufunc


for _class, _theirs in ((ndarray, np.ndarray), (ufunc, np.ufunc)):
    _class.__module__ = "numpy"
    _class.__doc__ = str(_theirs.__doc__)
