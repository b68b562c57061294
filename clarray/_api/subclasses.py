"""Subclasses of `DeviceArray`: what their arrays give keeps the class, and its ``__array_finalize__`` is called.

Nothing of this is on the way of plain arrays: `_init_subclass` puts `KeepsClass` between a subclass and
DeviceArray. Its methods run those of DeviceArray on a plain array that looks at the same value, so that what a
subclass overrides never changes how clarray itself computes, and give the result the class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

import clarray._api.attaching  # noqa: F401 - the methods that KeepsClass wraps must be there
from clarray._core.conversion import portable
from clarray._core.creation import array as new_array
from clarray._core.device_array import DeviceArray, seen_as
from clarray._core.reinterpreting import dtype_and_class

# Methods and properties that give arrays of the elements, which keep the class.
_METHODS = (
    *("__getitem__", "__copy__", "__deepcopy__", "all", "any", "argmax", "argmin", "argpartition", "argsort", "astype"),
    *("byteswap", "choose", "clip", "compress", "conj", "conjugate", "copy", "cumprod", "cumsum", "diagonal", "dot"),
    *("flatten", "getfield", "item", "max", "mean", "min", "prod", "ravel", "repeat", "reshape", "round"),
    *("searchsorted", "squeeze", "std", "sum", "swapaxes", "take", "to_device", "trace", "transpose", "var"),
)
_PROPERTIES = ("T", "mT", "real", "imag")


class _Plain:
    """A call's arguments as plain arrays, and its results as arrays of a subclass again."""

    def __init__(self) -> None:
        self._twins: list[tuple[DeviceArray, DeviceArray]] = []

    def of(self, value: Any) -> Any:
        """A value with plain arrays in the place of those of subclasses, in lists, tuples and dictionaries too."""
        if isinstance(value, KeepsClass):
            for ours, twin in self._twins:
                if ours is value:
                    return twin
            twin = object.__new__(DeviceArray)
            twin._node, twin._base = value._node, value._base
            self._twins.append((value, twin))
            return twin
        if type(value) in (list, tuple):
            return type(value)(map(self.of, value))
        if type(value) is dict:
            return {key: self.of(one) for key, one in value.items()}
        return value

    def put_back(self) -> None:
        """Let the arrays have what a call made of their twins: another shape, another pending value."""
        for ours, twin in self._twins:
            ours._node, ours._base = twin._node, twin._base

    def kept(self, found: Any, source: Any, untouched: Iterable[Any], make: Callable[[DeviceArray], Any]) -> Any:
        """A result with the class of `source`; arguments that are given back are what they were."""
        if type(found) in (list, tuple):
            return type(found)(self.kept(one, source, untouched, make) for one in found)
        if type(found) is not DeviceArray:
            return found
        for ours, twin in self._twins:
            if twin is found:
                return ours
            if found._base is twin:
                found._base = ours
        return found if any(found is one for one in untouched) else make(found)


def _values(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """What a call was given, what ``out=`` holds among it."""
    given = [*args, *kwargs.values()]
    return [one for value in given for one in (value if isinstance(value, tuple) else (value,))]


def _run(raw: Callable[..., Any], self: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    plain = _Plain()
    found = raw(plain.of(self), *plain.of(args), **plain.of(kwargs))
    plain.put_back()
    return plain.kept(found, self, _values(args, kwargs), lambda made: seen_as(made, type(self), self))


def _keeping(name: str) -> Any:
    raw = getattr(DeviceArray, name)

    @wraps(raw)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _run(raw, self, args, kwargs)

    return method


def _keeping_property(name: str) -> property:
    raw: Any = vars(DeviceArray)[name]
    return property(lambda self: _run(raw.fget, self, (), {}), raw.fset, doc=raw.__doc__)


def _leading(values: Iterable[Any]) -> Any:
    """The array that decides the class of a result: the one of the highest priority, the first of equals."""
    found = [x for value in values for x in (value if isinstance(value, list | tuple) else (value,))]
    return max((x for x in found if isinstance(x, KeepsClass)), key=lambda x: x.__array_priority__, default=None)


class KeepsClass(NDArrayOperatorsMixin, DeviceArray):
    """What every subclass of DeviceArray inherits before DeviceArray."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        """The same memory as elements of another dtype, as an array of another class."""
        dtype, type = dtype_and_class(dtype, type)
        plain = _Plain()
        made = plain.kept(DeviceArray.view(plain.of(self), dtype), self, (), lambda found: found)
        kind = self.__class__ if type is None else type  # the parameter hides `type()`
        return made if kind in (DeviceArray, np.ndarray) else seen_as(made, kind, self)

    def __iter__(self) -> Any:
        return (self[number] for number in range(len(self)))

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Give what a ufunc computed the class of its operand."""
        return seen_as(array, type(self), self)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        plain = _Plain()
        given, named = plain.of(inputs), plain.of(kwargs)
        found = DeviceArray.__array_ufunc__(plain.of(self), ufunc, method, *given, **named)
        plain.put_back()
        if found is NotImplemented:
            return found
        leading = _leading(inputs)
        wrapped = self if leading is None else leading
        return plain.kept(found, wrapped, _values((), kwargs), wrapped.__array_wrap__)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        plain = _Plain()
        found = DeviceArray.__array_function__(plain.of(self), func, types, plain.of(args), plain.of(kwargs))
        plain.put_back()
        if found is NotImplemented:
            return found
        leading = _leading((*args, *kwargs.values()))
        source = self if leading is None else leading
        return plain.kept(found, source, _values(args, kwargs), lambda made: seen_as(made, type(source), source))

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), portable(self))


for _name in _METHODS:
    setattr(KeepsClass, _name, _keeping(_name))
for _name in _PROPERTIES:
    setattr(KeepsClass, _name, _keeping_property(_name))


def _rebuild(kind: type, array: np.ndarray) -> Any:
    """Unpickle an array of a subclass."""
    return seen_as(new_array(array), kind, None)


def _init_subclass(cls: Any, /, **kwargs: Any) -> None:
    """Let a new subclass of DeviceArray's inherit `KeepsClass`."""
    super(DeviceArray, cls).__init_subclass__(**kwargs)
    if not issubclass(cls, KeepsClass):
        cls.__bases__ = tuple(KeepsClass if base is DeviceArray else base for base in cls.__bases__)


setattr(DeviceArray, "__init_subclass__", classmethod(_init_subclass))  # noqa: B010 - the type has another signature
