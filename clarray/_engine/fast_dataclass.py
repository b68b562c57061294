"""Frozen dataclasses that are fast to define.

`dataclasses.dataclass` compiles seven functions from text for a frozen class, which takes 0.5 ms. For all classes that
is nearly half of the time of importing clarray's own modules. Only the constructor is faster for it. Here the
constructor is compiled for the first instance, as most classes of an import have none, and all classes share the other
methods. They are as fast, because `attrgetter` and tuples are C.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

_set = object.__setattr__


_SPECIAL = ("ClassVar", "InitVar", "KW_ONLY")  # annotations that define no field


def _with_fields(cls: type, slots: bool, kw_only: bool) -> type:
    """Return the class as a dataclass without methods.

    `dataclasses` matches the text of each annotation with patterns for special annotations, which takes half of its
    time. Annotations without these words are hidden from it.
    """
    annotations: dict[str, Any] = inspect.get_annotations(cls)
    if not annotations or any(word in str(text) for text in annotations.values() for word in _SPECIAL):
        return dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
    cls.__annotations__ = dict.fromkeys(annotations, object)
    new_class: type = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
    new_class.__annotations__ = cls.__annotations__ = annotations
    for field in dataclasses.fields(new_class):
        if field.name in annotations:
            field.type = annotations[field.name]
    return new_class


def _frozen(cls: type, slots: bool, eq: bool, kw_only: bool) -> type:
    cls.__doc__ = cls.__doc__ or f"The values of a {cls.__name__}."  # else `dataclasses` writes the signature there
    new_class = _with_fields(cls, slots, kw_only)
    fields = dataclasses.fields(new_class)
    names = tuple(field.name for field in fields)
    methods = {
        "__init__": _Constructor(new_class),
        "__repr__": _repr,
        "__setattr__": _refuse,
        "__delattr__": _refuse,
    }
    if slots:
        methods |= {"__getstate__": _state, "__setstate__": _restore}
    if eq:
        methods |= _comparison_methods(new_class, names)
    for name, method in methods.items():
        if name not in cls.__dict__ or (name == "__hash__" and cls.__dict__[name] is None):
            setattr(new_class, name, method)
    return new_class


class _Constructor:
    """Descriptor for the constructor of a class, which replaces itself by the compiled constructor on first access.

    Two threads may both compile it. The two constructors are equivalent.
    """

    __slots__ = ("_cls",)

    def __init__(self, cls: type) -> None:
        self._cls = cls

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        constructor = _compile_init(self._cls, dataclasses.fields(self._cls))
        self._cls.__init__ = constructor  # type: ignore[misc]
        return constructor if instance is None else constructor.__get__(instance)


def _compile_init(cls: type, fields: tuple[dataclasses.Field[Any], ...]) -> Callable[..., None]:
    names: dict[str, Any] = {"_set": _set}
    parameters_by_kw_only: dict[bool, list[str]] = {False: [], True: []}
    lines = ["    pass"]
    for field in fields:
        name, factory = field.name, field.default_factory
        value = name
        parameter = name
        if factory is not dataclasses.MISSING:
            names |= {f"_make_{name}": factory, "_missing": dataclasses.MISSING}
            parameter = f"{name}=_missing"
            value = f"_make_{name}() if {name} is _missing else {name}"
        elif field.default is not dataclasses.MISSING:
            names[f"_default_{name}"] = field.default
            parameter = f"{name}=_default_{name}"
        parameters_by_kw_only[bool(field.kw_only)].append(parameter)
        lines.append(f"    _set(self, {name!r}, {value})")
    positional, keyword_only = parameters_by_kw_only[False], parameters_by_kw_only[True]
    parameters = ["self", *positional, *["*"] * bool(keyword_only), *keyword_only]
    exec("\n".join([f"def __init__({', '.join(parameters)}):", *lines]), names)
    init: Callable[..., None] = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__module__ = cls.__module__
    init.__annotations__ = {field.name: field.type for field in fields} | {"return": None}
    return init


def _comparison_methods(cls: type, names: tuple[str, ...]) -> dict[str, Any]:
    if len(names) > 1:
        values: Callable[[Any], tuple[Any, ...]] = attrgetter(*names)
    else:

        def values(self: Any) -> tuple[Any, ...]:
            return tuple([getattr(self, name) for name in names])

    def equal(self: Any, other: object) -> Any:
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    def hashed(self: Any) -> int:
        return hash(values(self))

    return {"__eq__": equal, "__hash__": hashed}


def _repr(self: Any) -> str:
    values = ", ".join(
        [f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr]
    )
    return f"{type(self).__qualname__}({values})"


def _refuse(self: Any, name: str, value: Any = None) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot change field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        _set(self, field.name, value)


if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True, kw_only=False):
        """Return the class as `dataclasses.dataclass` does, in less time if it is frozen."""

        def make(cls: type) -> type:
            if frozen:
                return _frozen(cls, slots, eq, kw_only)
            return dataclasses.dataclass(slots=slots, eq=eq, kw_only=kw_only)(cls)

        return make if cls is None else make(cls)
