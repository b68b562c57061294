"""Give a library NumPy's arrays where it asks ``isinstance(x, numpy.ndarray)`` and would take another for a label.

Most libraries convert what they are given, by ``__array__``. pandas does so for data, but not for keys: a mask that is
no ndarray is a column's name for it. So its methods that take keys are given ndarrays, and so are its functions.
SciPy's sparse matrices add no other array, and its factorizations, which are written in C, take none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType, ModuleType
from typing import Any

from clarray.run.scalars import as_ndarrays

__all__ = ["ADAPTED", "adapt", "not_counted"]

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
    "scipy.sparse": {"_base._spbase": ("__add__", "__radd__", "__sub__", "__rsub__")},
    "scipy.sparse.linalg": {},
}
# Functions whose results are functions, or objects with methods, that take ndarrays alone.
_FACTORIZING = {"scipy.sparse.linalg": ("factorized", "spilu", "splu")}


def not_counted(function: Any) -> Any:
    """Decorator: a function whose frame `warnings.warn` does not count as a level, like those of the import system."""
    function.__code__ = function.__code__.replace(co_filename="<frozen importlib._bootstrap>")
    return function


def _given_host(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    @not_counted
    def call(*args: Any, **kwargs: Any) -> Any:
        return method(*map(as_ndarrays, args), **{name: as_ndarrays(value) for name, value in kwargs.items()})

    return call


class _GivenHost:
    """An object of a library's whose methods are given ndarrays; it answers as the object otherwise."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._value, name)
        return _given_host(found) if callable(found) else found

    __class__ = property(lambda self: type(self._value))

    def __repr__(self) -> str:
        return repr(self._value)


def _factorizing(function: Callable[..., Any]) -> Callable[..., Any]:
    call = _given_host(function)

    @wraps(function)
    @not_counted
    def factorize(*args: Any, **kwargs: Any) -> Any:
        made = call(*args, **kwargs)
        return _given_host(made) if callable(made) else _GivenHost(made)

    return factorize


def _family(kind: Any) -> list[type]:
    """Return a class and all that derive from it; none if a release of the library lacks it."""
    return [] if kind is None else [kind, *(one for each in kind.__subclasses__() for one in _family(each))]


def adapt(library: ModuleType) -> None:
    """Have a library's functions and methods get ndarrays; once, when it has been imported as a whole."""
    if getattr(library.__spec__, "_initializing", False):
        return
    methods = ADAPTED.pop(library.__name__, {})
    for name in library.__all__ if library.__name__ == "pandas" and methods else ():
        if type(getattr(library, name)) is FunctionType:
            setattr(library, name, _given_host(getattr(library, name)))
    for name in _FACTORIZING.pop(library.__name__, ()):
        setattr(library, name, _factorizing(getattr(library, name)))
    for path, names in methods.items():
        kind: Any = library
        for part in path.split("."):
            kind = getattr(kind, part, None)
        for each in dict.fromkeys(_family(kind)):
            for name in vars(each).keys() & names:
                setattr(each, name, _given_host(vars(each)[name]))
