"""Frozen dataclasses that cost little to define.

`dataclasses.dataclass` compiles seven functions from text for a frozen class, 0.5 ms: nearly half of what importing
clarray's own modules took. Of these the constructor alone gains by it, and is compiled when the first value is made, as
most classes of an import never have one. The others are written once here, and as quick: what makes tuples of the
fields, compares and hashes them is C.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

_set = object.__setattr__


_SPECIAL = ("ClassVar", "InitVar", "KW_ONLY")  # annotations that make no field


def _with_fields(cls: type, slots: bool, kw_only: bool) -> type:
    """The class as a dataclass without methods.

    `dataclasses` matches the text of each annotation with patterns, to see whether it names no field but something
    special: half of its time. What has none of these words is hidden from it.
    """
    written: dict[str, Any] = inspect.get_annotations(cls)
    if not written or any(word in str(text) for text in written.values() for word in _SPECIAL):
        return dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
    cls.__annotations__ = dict.fromkeys(written, object)
    made: type = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
    made.__annotations__ = cls.__annotations__ = written
    for field in dataclasses.fields(made):
        if field.name in written:
            field.type = written[field.name]
    return made


def _frozen(cls: type, slots: bool, eq: bool, kw_only: bool) -> type:
    cls.__doc__ = cls.__doc__ or f"The values of a {cls.__name__}."  # else `dataclasses` writes the signature there
    made = _with_fields(cls, slots, kw_only)
    fields = dataclasses.fields(made)
    names = tuple(field.name for field in fields)
    methods = {
        "__init__": _Constructor(made),
        "__repr__": _repr,
        "__setattr__": _refuse,
        "__delattr__": _refuse,
    }
    if slots:
        methods |= {"__getstate__": _state, "__setstate__": _restore}
    if eq:
        methods |= _comparing(made, names)
    for name, method in methods.items():
        if name not in cls.__dict__ or (name == "__hash__" and cls.__dict__[name] is None):
            setattr(made, name, method)
    return made


class _Constructor:
    """Stands for the constructor of a class until it is first asked for, and then compiles it in its place.

    Two threads that ask at once compile it twice, and either is as good.
    """

    __slots__ = ("_cls",)

    def __init__(self, cls: type) -> None:
        self._cls = cls

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        made = _init(self._cls, dataclasses.fields(self._cls))
        self._cls.__init__ = made  # type: ignore[misc]
        return made if instance is None else made.__get__(instance)


def _init(cls: type, fields: tuple[dataclasses.Field[Any], ...]) -> Callable[..., None]:
    names: dict[str, Any] = {"_set": _set}
    given: dict[bool, list[str]] = {False: [], True: []}
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
        given[bool(field.kw_only)].append(parameter)
        lines.append(f"    _set(self, {name!r}, {value})")
    parameters = ["self", *given[False], *["*"] * bool(given[True]), *given[True]]
    exec("\n".join([f"def __init__({', '.join(parameters)}):", *lines]), names)
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__module__ = cls.__module__
    made.__annotations__ = {field.name: field.type for field in fields} | {"return": None}
    return made


def _comparing(cls: type, names: tuple[str, ...]) -> dict[str, Any]:
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
        """`dataclasses.dataclass`, quicker to define where it is frozen."""

        def make(cls: type) -> type:
            if frozen:
                return _frozen(cls, slots, eq, kw_only)
            return dataclasses.dataclass(slots=slots, eq=eq, kw_only=kw_only)(cls)

        return make if cls is None else make(cls)
