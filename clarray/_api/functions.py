"""NumPy's ufuncs under clarray's name: the same object, but scalars and lists go to the device too."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._api import protocols
from clarray._core.device_array import DeviceArray
from clarray._core.elements import NUMBERS
from clarray._core.own_frames import hide_own_frames
from clarray._engine.ops.ufuncs import supported_ufuncs
from clarray._engine.threads import import_whole
from clarray._numpy.products.gufuncs import generalized


class UFunc:
    """One of NumPy's ufuncs, with its methods, on device arrays; see `numpy.ufunc`.

    Examples
    --------
    >>> import clarray
    >>> clarray.add.reduce([1, 2, 3]), clarray.maximum([1, 5], 3).tolist()
    (np.int64(6), [3, 5])
    """

    def __init__(self, ufunc: np.ufunc) -> None:
        self.ufunc = ufunc
        self.__name__ = ufunc.__name__
        self.__doc__ = f"NumPy's ``{ufunc.__name__}`` on device arrays.\n\n{ufunc.__doc__}"

    def __repr__(self) -> str:
        return f"<ufunc '{self.__name__}' of clarray>"

    def __getattr__(self, name: str) -> Any:
        if name == "ufunc":  # of one that a copy or an unpickler has only begun to make
            raise AttributeError(name)
        return getattr(self.ufunc, name)  # nin, nout, identity, types ...

    def __reduce__(self) -> tuple[Any, ...]:
        return _named, (self.__name__,)  # the one there is, as of NumPy's

    def _apply(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            found = protocols.array_ufunc(self.ufunc, method, args, kwargs)
            if found is NotImplemented:  # for an operand's type to compute
                return getattr(self.ufunc, method)(*args, **kwargs)
            return found
        except Exception as error:
            hide_own_frames(error)
            raise

    def __call__(self, *args: Any, **kwargs: Any) -> DeviceArray:
        try:
            if not kwargs and args and NUMBERS.issuperset(map(type, args)):
                return self.ufunc(*args)  # numbers at hand: NumPy's scalar
            count = self.ufunc.nin
            if count < len(args) <= self.ufunc.nargs and "out" not in kwargs:
                outs = args[count:] + (None,) * (self.ufunc.nargs - len(args))
                if any(out is not None for out in outs):
                    kwargs = {**kwargs, "out": outs}
                args = args[:count]
            if not kwargs and args and isinstance(args[0], DeviceArray):
                found = args[0].__array_ufunc__(self.ufunc, "__call__", *args)
                if found is not NotImplemented:
                    return found
            return self._apply("__call__", args, kwargs)
        except Exception as error:
            hide_own_frames(error)
            raise

    def reduce(self, *args: Any, **kwargs: Any) -> Any:
        """Combine the elements along axes; see `numpy.ufunc.reduce`."""
        return self._apply("reduce", args, kwargs)

    def accumulate(self, *args: Any, **kwargs: Any) -> Any:
        """Combine the elements along an axis, and keep every step; see `numpy.ufunc.accumulate`."""
        return self._apply("accumulate", args, kwargs)

    def reduceat(self, *args: Any, **kwargs: Any) -> Any:
        """Combine the elements of slices along an axis; see `numpy.ufunc.reduceat`."""
        return self._apply("reduceat", args, kwargs)

    def outer(self, *args: Any, **kwargs: Any) -> Any:
        """Call with every pair of elements of two arrays; see `numpy.ufunc.outer`."""
        return self._apply("outer", args, kwargs)

    def at(self, *args: Any, **kwargs: Any) -> Any:
        """Call on elements in place, as often as an index names them; see `numpy.ufunc.at`."""
        return self._apply("at", args, kwargs)


def _named(name: str) -> Any:
    return getattr(import_whole("clarray"), name)


def ufuncs_by_name() -> dict[str, UFunc]:
    """Every supported ufunc under each name NumPy gives it (``abs`` and ``absolute``)."""
    made = {ufunc: UFunc(ufunc) for ufunc in (*supported_ufuncs, *generalized)}
    return {name: made[value] for name, value in vars(np).items() if isinstance(value, np.ufunc) and value in made}
