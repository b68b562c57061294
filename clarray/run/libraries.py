"""Give a library NumPy's arrays where it asks ``isinstance(x, numpy.ndarray)`` and would take another for a label.

Most libraries convert what they are given, by ``__array__``. pandas does so for data, but not for keys: a mask that is
no ndarray is a column's name for it. So its methods that take keys are given ndarrays, and so are its functions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType, ModuleType
from typing import Any

from clarray.run.scalars import as_ndarrays

__all__ = ["ADAPTED", "adapt"]

_KEYS = ("__getitem__", "__setitem__")
_OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor")
_COMPARISONS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
_ARITHMETIC = (*(f"__{side}{name}__" for name in _OPERATORS for side in ("", "r")), *_COMPARISONS)
_TABLES = (*_KEYS, "groupby", "isin", "mask", "where", "insert", "assign", "take", "reindex")

# By library: where a class is, and its methods that take keys.
ADAPTED: dict[str, dict[str, tuple[str, ...]]] = {
    "pandas": {
        "DataFrame": _TABLES,
        "Series": _TABLES,
        "Index": ("__getitem__", "isin", "take", "get_indexer"),
        "core.arraylike.OpsMixin": _ARITHMETIC,
        "core.indexing._LocIndexer": _KEYS,
        "core.indexing._iLocIndexer": _KEYS,
        "core.indexing._LocationIndexer": _KEYS,
    },
}


def _given_host(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        return method(*map(as_ndarrays, args), **{name: as_ndarrays(value) for name, value in kwargs.items()})

    return call


def _family(kind: Any) -> list[type]:
    """Return a class and all that derive from it; none if a release of the library lacks it."""
    return [] if kind is None else [kind, *(one for each in kind.__subclasses__() for one in _family(each))]


def adapt(library: ModuleType) -> None:
    """Have a library's functions and methods get ndarrays; once, when it has been imported as a whole."""
    if getattr(library.__spec__, "_initializing", False):
        return
    methods = ADAPTED.pop(library.__name__, {})
    for name in methods and library.__all__:
        if type(getattr(library, name)) is FunctionType:
            setattr(library, name, _given_host(getattr(library, name)))
    for path, names in methods.items():
        kind: Any = library
        for part in path.split("."):
            kind = getattr(kind, part, None)
        for each in dict.fromkeys(_family(kind)):
            for name in vars(each).keys() & names:
                setattr(each, name, _given_host(vars(each)[name]))
