"""Convert device arrays to ndarrays for functions of libraries that require ``isinstance(x, numpy.ndarray)``.

Most libraries convert their arguments by ``__array__``. pandas does so for data, but not for keys: it reads a mask that
is not an ndarray as the name of a column. So its functions, and its methods with keys, get ndarrays. SciPy's sparse
matrices add only ndarrays, and its factorizations, which are written in C, accept only ndarrays.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType, ModuleType
from typing import Any

from clarray.run.scalars import as_ndarrays

__all__ = ["ADAPTED_METHODS", "adapt", "skipped_by_warnings"]

_KEYS = ("__getitem__", "__setitem__")
_OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor")
_COMPARISONS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
_ARITHMETIC = (*(f"__{side}{name}__" for name in _OPERATORS for side in ("", "r")), *_COMPARISONS)
_TABLE_METHODS = (*_KEYS, "groupby", "isin", "mask", "where", "insert", "assign", "take", "reindex")

# By library: paths of classes, and their methods that get ndarrays.
ADAPTED_METHODS: dict[str, dict[str, tuple[str, ...]]] = {
    "pandas": {
        "DataFrame": _TABLE_METHODS,
        "Series": _TABLE_METHODS,
        "Index": ("__getitem__", "isin", "take", "get_indexer"),
        "core.arraylike.OpsMixin": _ARITHMETIC,
        "core.indexing._LocIndexer": _KEYS,
        "core.indexing._iLocIndexer": _KEYS,
        "core.indexing._LocationIndexer": _KEYS,
    },
    "scipy.sparse": {"_base._spbase": ("__add__", "__radd__", "__sub__", "__rsub__")},
    "scipy.sparse.linalg": {},
}
# Functions that return functions, or objects with methods, that accept only ndarrays.
_FACTORIZING = {"scipy.sparse.linalg": ("factorized", "spilu", "splu")}


def skipped_by_warnings(function: Any) -> Any:
    """Decorator: hide a function's frame from the stack levels of `warnings.warn`, as frames of the import system."""
    function.__code__ = function.__code__.replace(co_filename="<frozen importlib._bootstrap>")
    return function


def _with_ndarray_arguments(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    @skipped_by_warnings
    def call(*args: Any, **kwargs: Any) -> Any:
        return method(*map(as_ndarrays, args), **{name: as_ndarrays(value) for name, value in kwargs.items()})

    return call


class _NdarrayProxy:
    """Proxy of a library's object whose methods get ndarrays."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._value, name)
        return _with_ndarray_arguments(attribute) if callable(attribute) else attribute

    __class__ = property(lambda self: type(self._value))

    def __repr__(self) -> str:
        return repr(self._value)


def _with_ndarray_factorization(function: Callable[..., Any]) -> Callable[..., Any]:
    call = _with_ndarray_arguments(function)

    @wraps(function)
    @skipped_by_warnings
    def factorize(*args: Any, **kwargs: Any) -> Any:
        factorization = call(*args, **kwargs)
        return _with_ndarray_arguments(factorization) if callable(factorization) else _NdarrayProxy(factorization)

    return factorize


def _with_subclasses(kind: Any) -> list[type]:
    """Return a class and all its subclasses, or nothing for None: a release of the library lacks the class."""
    return (
        []
        if kind is None
        else [kind, *(descendant for subclass in kind.__subclasses__() for descendant in _with_subclasses(subclass))]
    )


def adapt(library: ModuleType) -> None:
    """Wrap a library's functions and methods to get ndarrays: once, when its import is complete."""
    if getattr(library.__spec__, "_initializing", False):
        return
    methods = ADAPTED_METHODS.pop(library.__name__, {})
    for name in library.__all__ if library.__name__ == "pandas" and methods else ():
        if type(getattr(library, name)) is FunctionType:
            setattr(library, name, _with_ndarray_arguments(getattr(library, name)))
    for name in _FACTORIZING.pop(library.__name__, ()):
        setattr(library, name, _with_ndarray_factorization(getattr(library, name)))
    for path, names in methods.items():
        kind: Any = library
        for part in path.split("."):
            kind = getattr(kind, part, None)
        for derived in dict.fromkeys(_with_subclasses(kind)):
            for name in vars(derived).keys() & names:
                setattr(derived, name, _with_ndarray_arguments(vars(derived)[name]))
