"""Public functions that NumPy computes when an operand has a dtype that no device holds: text, dates, objects, records.

    clarray.sort(words)  ->  clarray's sort  --raises HostOnly-->  numpy.sort, on the host

Each public function that NumPy has under the same name is replaced in its module, so that no function of clarray's has
to know of such dtypes: it raises `HostOnly` wherever it meets one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import update_wrapper, wraps
from inspect import Signature, signature
from types import MethodType, ModuleType
from typing import Any

import numpy as np

from clarray._core.fallback import by_numpy
from clarray._core.own_frames import hide_own_frames, serve_boundaries
from clarray._core.public_names import publish, publish_class
from clarray._engine.ops.dtypes import HostOnly
from clarray._engine.speedups import core

__all__ = [
    "ClassWithHostFallback",
    "method_with_host_fallback",
    "serve_host_dtypes",
    "with_host_fallback",
    "without_host_fallback",
]


def _call(ours: Callable[..., Any], theirs: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call clarray's function, or NumPy's if it raises `HostOnly`."""
    try:
        try:
            return ours(*args, **kwargs)
        except HostOnly:
            pass  # by_numpy's error, if there is one, is not an error in the handling of this one
        return by_numpy(theirs, args, kwargs)
    except Exception as error:
        hide_own_frames(error)
        raise


class _HostFallback:  # the core's type of such functions, in Python; IPython would show a docstring
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
_KINDS = (_HostFallback,) if core is None else (_HostFallback, core.HostFallback)


def with_host_fallback(ours: Any, theirs: Any, module: str) -> Any:
    """Return a public function that NumPy's computes if clarray's raises `HostOnly`.

    Parameters
    ----------
    ours, theirs : object
        What clarray and NumPy have under a name. Unless both are functions, `ours` is returned as it is.
    module : str
        The name of the module in which users find it: ``'clarray.linalg'``.

    Returns
    -------
    callable
        As an attribute of a class it becomes a method only if NumPy's does: ``numpy.zeros`` does not.
    """
    functions = callable(ours) and callable(theirs) and ours is not theirs
    if not functions or isinstance(ours, type) or isinstance(theirs, type | np.ufunc):
        return ours
    make: Any = _KINDS[-1]
    made = make(ours, theirs, hasattr(type(theirs), "__get__"))
    publish(made, module, ours.__name__)
    return made


def without_host_fallback(function: Any) -> Any:
    """Return clarray's function that `with_host_fallback` was given; any other function as it is."""
    return function.__wrapped__ if type(function) in _KINDS else function


def method_with_host_fallback(name: str, method: Callable[..., Any]) -> Any:
    """Return a method that NumPy's method of that name computes if clarray's raises `HostOnly`."""

    @wraps(method)
    def theirs(array: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(array, name)(*args, **kwargs)

    return with_host_fallback(method, theirs, method.__module__)


class ClassWithHostFallback(type):
    """The type of classes in whose place NumPy's are called if the constructor raises `HostOnly`.

    Their attribute `numpys` is NumPy's class.
    """

    numpys: Callable[..., Any]

    @property
    def __signature__(cls) -> Signature:
        """The constructor's. `inspect` would take that of `__call__`."""
        found = signature(cls.__init__)  # type: ignore[misc]
        return found.replace(parameters=[*found.parameters.values()][1:])

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return _call(super().__call__, cls.numpys, args, kwargs)


def serve_host_dtypes(module: ModuleType, numpys: ModuleType, names: Collection[str]) -> None:
    """Replace functions of a public module by functions with a host fallback, and all by functions with a boundary.

    Parameters
    ----------
    module, numpys : module
        One of clarray's modules, and NumPy's of the same name.
    names : collection of str
        Those that NumPy lacks get a boundary only. Classes are left as they are.
    """
    wrapped: dict[int, Any] = {}  # a function of two names stays one
    for name in names:
        ours, theirs = getattr(module, name), getattr(numpys, name, None)
        function = wrapped.get(id(ours)) or with_host_fallback(ours, theirs, module.__name__)
        if function is not ours:
            wrapped[id(ours)] = function
            setattr(module, name, function)
    serve_boundaries(module, [name for name in names if not name.startswith("_")])
