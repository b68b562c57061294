"""The program's functions of NumPy: clarray's, or NumPy's on the host as fallback.

    f(*args)  --  an operand of another library's type?  --yes-->  NumPy's function, which calls that type's protocols
                     |
                     no
                     v
              clarray's function  --raises-->  NumPy's function on the host, which computes it or raises NumPy's error
                     |
                     v
              its result, with NumPy's scalars for numbers

With `clarray.config.host_fallback` 'raise', the program gets clarray's error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from clarray._core.device_array import DeviceArray
from clarray._core.fallback import run_on_host
from clarray._core.host_policy import config
from clarray._engine.runtime import profiling
from clarray.run.scalars import as_host_number, as_program_result

__all__ = ["FALLBACK_ERRORS", "Function", "UFunc", "find_function", "program_modules", "reasons"]

# Errors with a fallback to NumPy: it has the dtype that clarray lacks, or it raises the error with its own message.
FALLBACK_ERRORS = (TypeError, ValueError, AttributeError, IndexError, NotImplementedError, OverflowError, RuntimeError)

# Functions without fallback. Most call the program's code or consume an operand, which a second call would repeat. The
# iterators raise an error if NumPy cannot share the array's memory: a second call would write to a copy.
_NOT_REPEATABLE = frozenset(
    (
        "apply_along_axis",
        "apply_over_axes",
        "fromfile",
        "fromfunction",
        "fromiter",
        "frompyfunc",
        "nditer",
        "nested_iters",
        "piecewise",
    )
)
# Functions that convert any object to an array of clarray's.
_CONVERSIONS = frozenset(
    ("array", "asanyarray", "asarray", "asarray_chkfinite", "ascontiguousarray", "asfortranarray", "copy", "require")
)
_READING = frozenset(("genfromtxt", "load", "loadtxt"))
_METHODS = frozenset(("accumulate", "at", "outer", "reduce", "reduceat"))

_PLAIN = (np.generic, int, float, complex, str, bytes, list, tuple, dict, type(None), type, np.dtype, slice)
_PROTOCOLS = ("__array_ufunc__", "__array_function__")

reasons: dict[
    tuple[str, str], str
] = {}  # for the report: the error that caused a fallback, by source line and function
program_modules: dict[str, ModuleType] = {}  # by NumPy's names
_own_types: set[type] = {DeviceArray, np.ndarray, np.memmap, int, float, complex, bool, list, tuple}


def _is_foreign(kind: type) -> bool:
    """Return whether a type overrides NumPy's functions by a protocol, as pandas' types and masked arrays do."""
    if kind in _own_types:
        return False
    if not issubclass(kind, (*_PLAIN, DeviceArray)) and any(hasattr(kind, name) for name in _PROTOCOLS):
        return True
    _own_types.add(kind)
    return False


def _has_foreign(values: Iterable[Any]) -> bool:
    return not _own_types.issuperset(map(type, values)) and any(_is_foreign(type(value)) for value in values)


def _file_positions(values: Iterable[Any]) -> list[tuple[Any, int]]:
    """Return the files among the arguments with their positions, so that the fallback can read them again."""
    return [(file, file.tell()) for file in values if hasattr(file, "seek") and hasattr(file, "tell")]


class Function:
    """A function of NumPy's that computes on device arrays.

    Parameters
    ----------
    module : str
        The public module of the function: ``'numpy.linalg'``.
    ours, theirs : callable
        clarray's function and NumPy's.
    """

    def __init__(self, module: str, name: str, ours: Callable[..., Any], theirs: Callable[..., Any]) -> None:
        self._ours = ours
        self._theirs = theirs
        self._once = name in _NOT_REPEATABLE
        self._converts = name in _CONVERSIONS
        self._reads = name in _READING
        self._path = module, name
        self.__name__ = name
        self.__qualname__ = getattr(theirs, "__qualname__", name)
        self.__module__ = getattr(theirs, "__module__", module)
        self.__doc__ = theirs.__doc__
        self.__wrapped__ = theirs  # for `inspect.signature`

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._converts and (_has_foreign(args) or (kwargs and _has_foreign(kwargs.values()))):
            return self._theirs(*args, **kwargs)
        files = _file_positions(args) if self._reads else []
        try:
            result = self._ours(*args, **kwargs)
        except FALLBACK_ERRORS as error:
            if self._once or config.host_fallback == "raise":
                raise
            reason = f"{type(error).__name__}: {error}"
        else:
            return as_program_result(result, args)
        for file, position in files:
            file.seek(position)
        return self._on_host(reason, args, kwargs)

    def _on_host(self, reason: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name = ".".join(self._path)
        result = as_host_number(run_on_host(name, self._theirs, args, kwargs))
        if profiling.state.recorder is not None:
            reasons.setdefault((profiling.caller(), name), reason)
        return result

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") and name not in ("__signature__", "__text_signature__"):
            raise AttributeError(f"{self.__name__!r} object has no attribute {name!r}")
        return getattr(self._theirs, name)

    def __repr__(self) -> str:
        return repr(self._theirs)

    def __reduce__(self) -> Any:
        return find_function, self._path


class UFunc(Function):
    """A ufunc of NumPy's that computes on device arrays, with its methods and attributes."""

    def __getattr__(self, name: str) -> Any:
        if name in _METHODS:
            ours, theirs = getattr(self._ours, name), getattr(self._theirs, name)
            method = Function(self._path[0], f"{self.__name__}.{name}", ours, theirs)
            self.__dict__[name] = method
            return method
        return super().__getattr__(name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs and DeviceArray not in {*map(type, args)} and all(map(_is_host_number, args)):
            return self._theirs(*args)
        return super().__call__(*args, **kwargs)


def _is_host_number(value: Any) -> bool:
    kind = type(value)
    if kind is np.ndarray:
        return not value.ndim
    return kind in (int, float, complex, bool) or issubclass(kind, np.generic)


def find_function(module: str, name: str) -> Any:
    """Unpickle a function: the program's, or NumPy's own in a process without a program."""
    value = program_modules.get("numpy")
    value = import_module("numpy") if value is None else value
    for part in (*module.split(".")[1:], *name.split(".")):
        value = getattr(value, part)
    return value
