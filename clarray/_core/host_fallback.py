"""Public functions that NumPy computes if the device cannot.

    clarray.sort(words)  ->  clarray's sort  --raises HostOnly-->  numpy.sort, on the host

`HostOnly` is raised for operands of a dtype that no device supports: text, dates, objects, records. And
`CompilationError` is raised for a kernel that the device's compiler cannot compile. Each public function with a
counterpart in NumPy is replaced in its module. So clarray's functions need no code for these cases.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import update_wrapper, wraps
from inspect import Signature, signature
from types import MethodType, ModuleType
from typing import Any

import numpy as np

from clarray._core.fallback import by_numpy
from clarray._core.own_frames import add_boundaries, hide_own_frames
from clarray._core.public_names import publish, publish_class
from clarray._engine.ops.dtypes import HostOnly
from clarray._engine.runtime import CompilationError
from clarray._engine.speedups import native

__all__ = [
    "ERRORS_FOR_NUMPY",
    "ClassWithHostFallback",
    "method_with_host_fallback",
    "add_host_fallbacks",
    "with_host_fallback",
    "without_host_fallback",
]

ERRORS_FOR_NUMPY = (HostOnly, CompilationError)


def _call(ours: Callable[..., Any], theirs: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call clarray's function, or NumPy's if it raises one of `ERRORS_FOR_NUMPY`."""
    try:
        try:
            return ours(*args, **kwargs)
        except ERRORS_FOR_NUMPY:
            pass  # an error of by_numpy must not show this one as its context
        return by_numpy(theirs, args, kwargs)
    except Exception as error:
        hide_own_frames(error)
        raise


class _HostFallback:  # Python's version of the core's type. IPython would show a docstring
    def __init__(self, ours: Callable[..., Any], theirs: Callable[..., Any], binds: bool) -> None:
        update_wrapper(self, ours)
        self._ours = ours
        self._theirs = theirs
        self._binds = binds

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _call(self._ours, self._theirs, args, kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return MethodType(self, instance) if self._binds and instance is not None else self

    def __repr__(self) -> str:
        return repr(self._ours)

    def __reduce__(self) -> str:
        return str(self.__qualname__)  # type: ignore[attr-defined]


publish_class(_HostFallback, "clarray", "function")  # as `help` and IPython show it
_FALLBACK_TYPES = (_HostFallback,) if native is None else (_HostFallback, native.HostFallback)


def with_host_fallback(ours: Any, theirs: Any, module: str) -> Any:
    """Return a public function that calls NumPy's function if clarray's raises `HostOnly`.

    Parameters
    ----------
    ours, theirs : object
        The objects of a name in clarray and NumPy. Unless both are functions, `ours` is returned unchanged.
    module : str
        The name of the function's public module: ``'clarray.linalg'``.

    Returns
    -------
    callable
        As a class attribute, the function becomes a method only if NumPy's does. ``numpy.zeros`` does not.
    """
    are_functions = callable(ours) and callable(theirs) and ours is not theirs
    if not are_functions or isinstance(ours, type) or isinstance(theirs, type | np.ufunc):
        return ours
    make: Any = _FALLBACK_TYPES[-1]
    wrapper = make(ours, theirs, hasattr(type(theirs), "__get__"))
    publish(wrapper, module, ours.__name__)
    return wrapper


def without_host_fallback(function: Any) -> Any:
    """Return the function that `with_host_fallback` has wrapped, or another function unchanged."""
    return function.__wrapped__ if type(function) in _FALLBACK_TYPES else function


def method_with_host_fallback(name: str, method: Callable[..., Any]) -> Any:
    """Return a method that calls NumPy's method of that name if clarray's raises `HostOnly`."""

    @wraps(method)
    def theirs(array: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(array, name)(*args, **kwargs)

    return with_host_fallback(method, theirs, method.__module__)


class ClassWithHostFallback(type):
    """Metaclass: call NumPy's class if the constructor raises `HostOnly`.

    The attribute `numpys` is NumPy's class.
    """

    numpys: Callable[..., Any]

    @property
    def __signature__(cls) -> Signature:
        """The constructor's signature. `inspect` would show that of `__call__`."""
        constructor = signature(cls.__init__)  # type: ignore[misc]
        return constructor.replace(parameters=[*constructor.parameters.values()][1:])

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return _call(super().__call__, cls.numpys, args, kwargs)


def add_host_fallbacks(module: ModuleType, numpys: ModuleType, names: Collection[str]) -> None:
    """Add host fallbacks and boundaries to the functions of a public module.

    Parameters
    ----------
    module, numpys : module
        A module of clarray, and NumPy's module of the same name.
    names : collection of str
        Names of the functions. Functions that NumPy lacks get a boundary only. Classes stay unchanged.
    """
    wrapped: dict[int, Any] = {}  # a function with two names is wrapped once
    for name in names:
        ours, theirs = getattr(module, name), getattr(numpys, name, None)
        function = wrapped.get(id(ours)) or with_host_fallback(ours, theirs, module.__name__)
        if function is not ours:
            wrapped[id(ours)] = function
            setattr(module, name, function)
    add_boundaries(module, [name for name in names if not name.startswith("_")])
