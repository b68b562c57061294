"""``clarray.ndarray``: a class whose instances are clarray's and NumPy's arrays.

``isinstance(x, np.ndarray)`` is true for device arrays, and for ndarrays that a library returned or whose dtype no
device supports. It is false for a pending number. A class that derives from ``ndarray`` derives from `DeviceArray`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.device_array import DeviceArray

__all__ = ["UnionMeta", "ndarray"]


class UnionMeta(type):
    """Metaclass of a class that is the union of other classes, `_kinds`. The first of them creates new objects."""

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
        return [name for name in dir(cls._kinds[-1]) if hasattr(cls, name)]


class ndarray(metaclass=UnionMeta):  # noqa: N801 - NumPy's name
    """Provide `DeviceArray` under NumPy's name. ``isinstance(x, clarray.ndarray)`` is true for NumPy's arrays as well.

    Examples
    --------
    >>> import clarray, numpy
    >>> isinstance(clarray.ones(3), clarray.ndarray), isinstance(numpy.ones(3), clarray.ndarray)
    (True, True)
    >>> isinstance(clarray.ones(3).sum(), clarray.ndarray), type(clarray.ndarray(3)).__name__
    (False, 'DeviceArray')
    """

    _kinds = DeviceArray, np.ndarray

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        make: Any = DeviceArray.__new__
        return make(DeviceArray if cls is ndarray else cls, *args, **kwargs)

    def __class_getitem__(cls, item: Any) -> Any:
        generic: Any = DeviceArray
        return generic[item]


ndarray.__module__ = "clarray"
