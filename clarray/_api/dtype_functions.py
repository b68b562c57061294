"""Questions about dtypes: which one a result has, what may be cast. An array stands for its dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import isdtype, issubdtype, promote_types, typename

from clarray._core.device_array import DeviceArray

__all__ = [
    "can_cast",
    "common_type",
    "finfo",
    "iscomplexobj",
    "isdtype",
    "isrealobj",
    "isscalar",
    "issubdtype",
    "min_scalar_type",
    "mintypecode",
    "promote_types",
    "result_type",
    "typename",
]


def _dtype_of(value: Any) -> Any:
    """The dtype of an array; anything else as it is."""
    return value.dtype if isinstance(value, DeviceArray) else value


def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    """The dtype that NumPy's promotion (NEP 50) gives an operation on the operands.

    Parameters
    ----------
    *arrays_and_dtypes : array_like, dtype or Python scalar
        Python scalars are weak; arrays of any shape, 0-d ones too, count with their dtype.

    Returns
    -------
    dtype

    Raises
    ------
    ValueError
        No operand is given.
    TypeError
        The operands have no common dtype.

    Examples
    --------
    >>> import clarray
    >>> clarray.result_type(clarray.float32, clarray.int16, 3.0)
    dtype('float32')
    """
    return np.result_type(*map(_dtype_of, arrays_and_dtypes))


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """Whether a casting rule lets one dtype become another.

    Parameters
    ----------
    from_ : dtype or array
    to : dtype
    casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}, optional

    Returns
    -------
    bool

    Raises
    ------
    TypeError
        `from_` is a Python number, which has no dtype of its own.
    """
    return np.can_cast(_dtype_of(from_), to, casting)


class finfo:  # noqa: N801 - NumPy's name
    """Limits of a float dtype, or of a complex one's parts; see `numpy.finfo`.

    Floats are Python's, as the Array API standard asks, and thus weak: they never widen an array's dtype.

    Parameters
    ----------
    dtype : dtype or array

    Raises
    ------
    ValueError
        It is no inexact dtype.
    """

    def __init__(self, dtype: Any) -> None:
        self._numpy = np.finfo(_dtype_of(dtype))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._numpy, name)
        return float(value) if isinstance(value, np.floating) else value

    def __repr__(self) -> str:
        return repr(self._numpy)

    def __str__(self) -> str:
        return str(self._numpy)


def min_scalar_type(a: Any, /) -> np.dtype:
    """The smallest dtype, of the same kind, that holds a scalar's value; the dtype of an array that has axes.

    The value of a 0-d DeviceArray is read, which waits for it.
    """
    if isinstance(a, DeviceArray):
        return np.min_scalar_type(a.dtype.type(a.item())) if a.ndim == 0 else a.dtype
    return np.min_scalar_type(a)


def common_type(*arrays: Any) -> Any:
    """The inexact scalar type that all the arrays can be cast to without overflow; integers count as float64.

    Raises
    ------
    TypeError
        An array holds something other than numbers, bool included.
    """
    stand_ins = (np.empty(0, a.dtype) if isinstance(a, DeviceArray) else a for a in arrays)
    return np.common_type(*stand_ins)


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex, whatever the values are."""
    return bool(np.iscomplexobj(x.dtype.type(0) if isinstance(x, DeviceArray) else x))


def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex."""
    return not iscomplexobj(x)


def isscalar(element: Any) -> bool:
    """Whether a value is a Python or NumPy scalar; no array is one, not even a 0-d one."""
    return np.isscalar(element)


def mintypecode(typechars: Any, typeset: Any = "GDFgdf", default: str = "d") -> str:
    """The character of the smallest dtype of a set that all the given ones can be cast to.

    Parameters
    ----------
    typechars : str or list of str or array_like
        Dtype characters, or arrays that stand for theirs.
    typeset : str or list of str, optional
        The characters to choose from.
    default : str, optional
        What is given where none of `typechars` is in `typeset`.

    Returns
    -------
    str
    """
    return np.mintypecode([c.dtype.char if isinstance(c, DeviceArray) else c for c in typechars], typeset, default)
