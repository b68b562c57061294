"""NumPy's ufuncs as attributes of clarray, which also compute scalars and lists on the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._api import protocols
from clarray._core.device_array import DeviceArray
from clarray._core.elements import NUMBERS
from clarray._core.operands import first_device_array, on_device
from clarray._core.own_frames import hide_own_frames
from clarray._core.public_names import publish_class
from clarray._engine.ops.ufuncs import supported_ufuncs
from clarray._engine.speedups import accelerated
from clarray._engine.threads import import_whole
from clarray._numpy.products.gufuncs import generalized


class UFunc:
    """A ufunc of NumPy's on device arrays: a function of each element, with methods for reductions.

    See `numpy.ufunc`.

    Examples
    --------
    >>> import clarray
    >>> clarray.add.reduce([1, 2, 3]), clarray.maximum([1, 5], 3).tolist()
    (np.int64(6), [3, 5])
    """

    def __init__(self, ufunc: np.ufunc) -> None:
        self.ufunc = ufunc
        self.__name__ = ufunc.__name__

    def __repr__(self) -> str:
        return f"<ufunc '{self.__name__}' of clarray>"

    def __getattr__(self, name: str) -> Any:
        if name == "ufunc":  # an instance that copy or unpickling has not initialised
            raise AttributeError(name)
        return getattr(self.ufunc, name)  # nin, nout, identity, types ...

    def __reduce__(self) -> tuple[Any, ...]:
        return _ufunc_by_name, (self.__name__,)  # unpickles to the same object, as NumPy's ufuncs do

    def _apply(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            result = protocols.array_ufunc(self.ufunc, method, args, kwargs)
            if result is NotImplemented:  # an operand's type computes the call
                return getattr(self.ufunc, method)(*args, **kwargs)
            return result
        except Exception as error:
            hide_own_frames(error)
            raise

    @accelerated
    def __call__(self, *args: Any, **kwargs: Any) -> DeviceArray:
        try:
            if not kwargs and args and NUMBERS.issuperset(map(type, args)):
                return self.ufunc(*args)  # only Python or NumPy scalars: NumPy's scalar
            count = self.ufunc.nin
            if count < len(args) <= self.ufunc.nargs and "out" not in kwargs:
                outs = args[count:] + (None,) * (self.ufunc.nargs - len(args))
                if any(out is not None for out in outs):
                    kwargs = {**kwargs, "out": outs}
                args = args[:count]
            if not kwargs and args:
                first = args[0]
                if not isinstance(first, DeviceArray):
                    first = on_device(first, first_device_array(args))
                if isinstance(first, DeviceArray):
                    result = first.__array_ufunc__(self.ufunc, "__call__", first, *args[1:])
                    if result is not NotImplemented:
                        return result
            return self._apply("__call__", args, kwargs)
        except Exception as error:
            hide_own_frames(error)
            raise

    def reduce(self, *args: Any, **kwargs: Any) -> Any:
        """Combine the elements along axes with the ufunc.

        Parameters and result as in `numpy.ufunc.reduce`.

        Examples
        --------
        >>> import clarray
        >>> clarray.multiply.reduce([[1, 2], [3, 4]], axis=1).tolist()
        [2, 12]
        """
        return self._apply("reduce", args, kwargs)

    def accumulate(self, *args: Any, **kwargs: Any) -> Any:
        """Combine the elements along an axis with the ufunc, and return every intermediate result.

        Parameters and result as in `numpy.ufunc.accumulate`.

        Examples
        --------
        >>> import clarray
        >>> clarray.maximum.accumulate([1, 5, 3, 7]).tolist()
        [1, 5, 5, 7]
        """
        return self._apply("accumulate", args, kwargs)

    def reduceat(self, *args: Any, **kwargs: Any) -> Any:
        """Combine the elements of several slices along an axis with the ufunc.

        Parameters and result as in `numpy.ufunc.reduceat`.

        Examples
        --------
        >>> import clarray
        >>> clarray.add.reduceat([1, 2, 3, 4], [0, 2]).tolist()
        [3, 7]
        """
        return self._apply("reduceat", args, kwargs)

    def outer(self, *args: Any, **kwargs: Any) -> Any:
        """Apply the ufunc to each pair of one element of the first and one element of the second operand.

        Parameters and result as in `numpy.ufunc.outer`.

        Examples
        --------
        >>> import clarray
        >>> clarray.subtract.outer([10, 20], [1, 2]).tolist()
        [[9, 8], [19, 18]]
        """
        return self._apply("outer", args, kwargs)

    def at(self, *args: Any, **kwargs: Any) -> Any:
        """Apply the ufunc in place to the elements at given positions, once for each time a position occurs.

        Parameters as in `numpy.ufunc.at`.

        Examples
        --------
        >>> import clarray
        >>> x = clarray.zeros(3, dtype=int)
        >>> clarray.add.at(x, [0, 0, 2], 1)
        >>> x.tolist()
        [2, 0, 1]
        """
        return self._apply("at", args, kwargs)


class _Docstring:
    """Descriptor of the docstrings of the class and of each ufunc. A ufunc's docstring is written on access."""

    def __init__(self, of_class: str | None) -> None:
        self._of_class = of_class

    def __get__(self, ufunc: UFunc | None, owner: type) -> str | None:
        if ufunc is None:
            return self._of_class
        text: str = import_whole("clarray._api.ufunc_docstrings").docstring(ufunc.ufunc)
        return text


UFunc.__doc__ = _Docstring(UFunc.__doc__)  # type: ignore[assignment]
publish_class(UFunc, "clarray", "ufunc")


def _ufunc_by_name(name: str) -> Any:
    return getattr(import_whole("clarray"), name)


def ufuncs_by_name() -> dict[str, UFunc]:
    """Return every supported ufunc under each of NumPy's names (``abs`` and ``absolute``)."""
    wrapped = {ufunc: UFunc(ufunc) for ufunc in (*supported_ufuncs, *generalized)}
    return {
        name: wrapped[ufunc_] for name, ufunc_ in vars(np).items() if isinstance(ufunc_, np.ufunc) and ufunc_ in wrapped
    }
