"""Subclasses of `DeviceArray`: results keep the class, and its ``__array_finalize__`` is called.

Plain arrays do not pay for it: `_init_subclass` inserts `SubclassMixin` between a subclass and DeviceArray. The mixin's
methods call DeviceArray's methods on a plain array of the same value, and give the result the class. So overridden
methods never change how clarray itself computes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

import clarray._api.attaching  # noqa: F401 - the methods that SubclassMixin wraps must be there
from clarray._core.conversion import pickled_array
from clarray._core.creation import array as new_array
from clarray._core.device_array import DeviceArray, view_as_subclass
from clarray._core.reinterpreting import dtype_and_class

# Methods and properties whose results keep the class.
_METHODS = (
    *("__getitem__", "__copy__", "__deepcopy__", "all", "any", "argmax", "argmin", "argpartition", "argsort", "astype"),
    *("byteswap", "choose", "clip", "compress", "conj", "conjugate", "copy", "cumprod", "cumsum", "diagonal", "dot"),
    *("flatten", "getfield", "item", "max", "mean", "min", "prod", "ravel", "repeat", "reshape", "round"),
    *("searchsorted", "squeeze", "std", "sum", "swapaxes", "take", "to_device", "trace", "transpose", "var"),
)
_PROPERTIES = ("T", "mT", "real", "imag")


class _PlainConverter:
    """Convert a call's arguments to plain arrays, and its results back to arrays of a subclass."""

    def __init__(self) -> None:
        self._pairs: list[tuple[DeviceArray, DeviceArray]] = []

    def to_plain(self, value: Any) -> Any:
        """Replace arrays of subclasses with plain arrays, also in lists, tuples and dictionaries."""
        if isinstance(value, SubclassMixin):
            for original, plain in self._pairs:
                if original is value:
                    return plain
            plain = object.__new__(DeviceArray)
            plain._node, plain._base = value._node, value._base
            self._pairs.append((value, plain))
            return plain
        if type(value) in (list, tuple):
            return type(value)(map(self.to_plain, value))
        if type(value) is dict:
            return {key: self.to_plain(element) for key, element in value.items()}
        return value

    def copy_back(self) -> None:
        """Copy the state of the plain arrays to the originals: a call may have changed shape or value in place."""
        for original, plain in self._pairs:
            original._node, original._base = plain._node, plain._base

    def wrap_result(
        self, result: Any, source: Any, untouched: Iterable[Any], make: Callable[[DeviceArray], Any]
    ) -> Any:
        """Give a result the class of `source`. A result that is an argument becomes the original argument."""
        if type(result) in (list, tuple):
            return type(result)(self.wrap_result(element, source, untouched, make) for element in result)
        if type(result) is not DeviceArray:
            return result
        for original, plain in self._pairs:
            if plain is result:
                return original
            if result._base is plain:
                result._base = original
        return result if any(result is element for element in untouched) else make(result)


def _flat_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Return the arguments of a call, with tuples such as ``out=`` flattened."""
    arguments = [*args, *kwargs.values()]
    return [argument for value in arguments for argument in (value if isinstance(value, tuple) else (value,))]


def _run(raw: Callable[..., Any], self: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    converter = _PlainConverter()
    result = raw(converter.to_plain(self), *converter.to_plain(args), **converter.to_plain(kwargs))
    converter.copy_back()
    return converter.wrap_result(
        result, self, _flat_arguments(args, kwargs), lambda made: view_as_subclass(made, type(self), self)
    )


def _subclass_method(name: str) -> Any:
    raw = getattr(DeviceArray, name)

    @wraps(raw)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _run(raw, self, args, kwargs)

    return method


def _subclass_property(name: str) -> property:
    raw: Any = vars(DeviceArray)[name]
    return property(lambda self: _run(raw.fget, self, (), {}), raw.fset, doc=raw.__doc__)


def _priority_operand(values: Iterable[Any]) -> Any:
    """Return the array whose class the result gets: the first one with the highest ``__array_priority__``."""
    candidates = [x for value in values for x in (value if isinstance(value, list | tuple) else (value,))]
    return max(
        (x for x in candidates if isinstance(x, SubclassMixin)), key=lambda x: x.__array_priority__, default=None
    )


class SubclassMixin(NDArrayOperatorsMixin, DeviceArray):
    """Mixin that every subclass of DeviceArray inherits before DeviceArray."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        """Return a view of the memory with another dtype or another class."""
        dtype, type = dtype_and_class(dtype, type)
        converter = _PlainConverter()
        array = converter.wrap_result(
            DeviceArray.view(converter.to_plain(self), dtype), self, (), lambda result: result
        )
        result_class = self.__class__ if type is None else type  # the parameter hides `type()`
        return array if result_class in (DeviceArray, np.ndarray) else view_as_subclass(array, result_class, self)

    def __iter__(self) -> Any:
        return (self[number] for number in range(len(self)))

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Give the result of a ufunc the class of its operand."""
        return view_as_subclass(array, type(self), self)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        converter = _PlainConverter()
        plain_inputs, plain_kwargs = converter.to_plain(inputs), converter.to_plain(kwargs)
        result = DeviceArray.__array_ufunc__(converter.to_plain(self), ufunc, method, *plain_inputs, **plain_kwargs)
        converter.copy_back()
        if result is NotImplemented:
            return result
        priority_operand = _priority_operand(inputs)
        wrapped = self if priority_operand is None else priority_operand
        return converter.wrap_result(result, wrapped, _flat_arguments((), kwargs), wrapped.__array_wrap__)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        converter = _PlainConverter()
        result = DeviceArray.__array_function__(
            converter.to_plain(self), func, types, converter.to_plain(args), converter.to_plain(kwargs)
        )
        converter.copy_back()
        if result is NotImplemented:
            return result
        priority_operand = _priority_operand((*args, *kwargs.values()))
        source = self if priority_operand is None else priority_operand
        return converter.wrap_result(
            result, source, _flat_arguments(args, kwargs), lambda made: view_as_subclass(made, type(source), source)
        )

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), pickled_array(self))


for _name in _METHODS:
    setattr(SubclassMixin, _name, _subclass_method(_name))
for _name in _PROPERTIES:
    setattr(SubclassMixin, _name, _subclass_property(_name))


def _rebuild(kind: type, array: np.ndarray) -> Any:
    """Unpickle an array of a subclass."""
    return view_as_subclass(new_array(array), kind, None)


def _init_subclass(cls: Any, /, **kwargs: Any) -> None:
    """Make a new subclass of DeviceArray inherit `SubclassMixin`."""
    super(DeviceArray, cls).__init_subclass__(**kwargs)
    if not issubclass(cls, SubclassMixin):
        cls.__bases__ = tuple(SubclassMixin if base is DeviceArray else base for base in cls.__bases__)


setattr(DeviceArray, "__init_subclass__", classmethod(_init_subclass))  # noqa: B010 - the type has another signature
