"""The program's ``numpy.random``: NumPy's own streams, whose arrays are moved to the device.

A seeded program draws the same numbers as with ``python``. In libraries, the program's generators return ndarrays.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np

from clarray._api.array_classes import UnionMeta
from clarray._core.creation import array
from clarray._core.device_array import DeviceArray
from clarray._core.pickling import incoming
from clarray._engine.ops.dtypes import DTYPES
from clarray.run.namespace import Namespace
from clarray.run.owners import runs_for_user
from clarray.run.scalars import as_ndarrays

__all__ = ["Generator", "RandomState", "numpy_random_module"]

_ADOPT_BYTES = 1 << 16  # from this size on, the device uses NumPy's memory. A copy of a smaller array takes less time.
_UNWRAPPED = frozenset(("bit_generator", "spawn", "get_state", "set_state", "seed", "bytes"))


def _on_device(result: Any) -> Any:
    """Move an array to the device. No other object shares its memory, so a device in host memory can use it."""
    if type(result) is not np.ndarray or not result.ndim or result.dtype not in DTYPES:
        return result
    if result.nbytes < _ADOPT_BYTES or not result.flags.c_contiguous:
        return array(result)
    return incoming(result.reshape(-1), (result.dtype.str, result.shape, tuple(range(result.ndim))), owned=True)


def _call_numpy(draw: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function of NumPy's on the host, and copy the arrays that it shuffles or writes back to the device."""
    host_args, host_kwargs = as_ndarrays(args), {name: as_ndarrays(value) for name, value in kwargs.items()}
    result = draw(*host_args, **host_kwargs)
    target = kwargs.get("out")
    if isinstance(target, DeviceArray):
        target[...] = host_kwargs["out"]
        return target
    if result is None:
        targets, host_arguments = (*args, *kwargs.values()), (*host_args, *host_kwargs.values())
        for target, host in zip(targets, host_arguments, strict=True):
            if isinstance(target, DeviceArray) and target.ndim:
                target[...] = host
    return _on_device(result)


def _method(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method to return device arrays to the user's code and ndarrays to libraries."""

    @wraps(draw)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not runs_for_user(sys._getframe(1)):
            return draw(self, *args, **kwargs)
        return _call_numpy(lambda *host_args, **host_kwargs: draw(self, *host_args, **host_kwargs), args, kwargs)

    return method


def _methods(kind: type) -> dict[str, Any]:
    names = [name for name in dir(kind) if not name.startswith("_") and name not in _UNWRAPPED]
    return {name: _method(getattr(kind, name)) for name in names if callable(getattr(kind, name))}


class Generator(np.random.Generator, metaclass=UnionMeta):
    """NumPy's generator, which moves its draws to the device."""

    _kinds = (np.random.Generator,)

    def __deepcopy__(self, memo: Any) -> Any:
        return Generator(copy.deepcopy(self.bit_generator, memo))


class RandomState(np.random.RandomState, metaclass=UnionMeta):
    """NumPy's old generator, which moves its draws to the device."""

    _kinds = (np.random.RandomState,)

    def __init__(self, seed: Any = None) -> None:
        super().__init__(as_ndarrays(seed))


for _class in (Generator, RandomState):
    (_theirs,) = _class._kinds
    _class.__module__, _class.__doc__ = _theirs.__module__, _theirs.__doc__
    for _name, _function in _methods(_theirs).items():
        setattr(_class, _name, _function)


class _Draw:
    """A function of ``numpy.random`` that moves its draws to the device."""

    def __init__(self, theirs: Callable[..., Any]) -> None:
        self._theirs = theirs
        self.__name__ = self.__qualname__ = theirs.__name__
        self.__doc__ = theirs.__doc__
        self.__self__ = getattr(theirs, "__self__", None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _call_numpy(self._theirs, args, kwargs)

    def __repr__(self) -> str:
        return repr(self._theirs)

    def __reduce__(self) -> Any:
        return self._theirs.__reduce__()


def _default_rng(seed: Any = None) -> np.random.Generator:
    generator = np.random.default_rng(as_ndarrays(seed))
    return generator if generator is seed else Generator(generator.bit_generator)


_default_rng.__name__ = _default_rng.__qualname__ = "default_rng"
_default_rng.__doc__ = np.random.default_rng.__doc__


class _RandomNamespace(Namespace):
    """``numpy.random`` of a program."""

    def _resolve(self, name: str, theirs: Any) -> Any:
        if name in ("Generator", "RandomState"):
            return globals()[name]
        if name == "default_rng":
            return _default_rng
        return theirs if isinstance(theirs, type) or name.startswith("_") or not callable(theirs) else _Draw(theirs)


def numpy_random_module() -> ModuleType:
    """Return the module that draws NumPy's numbers."""
    return _RandomNamespace(np.random, np.random)
