"""Queries of dtypes: promotion, casting and limits. An array is replaced with its dtype."""

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


def _dtype_if_array(value: Any) -> Any:
    """Return the dtype of a device array, and any other value unchanged."""
    return value.dtype if isinstance(value, DeviceArray) else value


def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    """Return the dtype of the result of an operation on the operands, by NumPy's promotion rules (NEP 50).

    Parameters
    ----------
    *arrays_and_dtypes : array_like, dtype or Python scalar
        Python scalars adapt to the other dtypes. Arrays of any shape, 0-d ones too, count with their dtype.

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
    return np.result_type(*map(_dtype_if_array, arrays_and_dtypes))


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """Return whether a casting rule allows a conversion from one dtype to another.

    Parameters
    ----------
    from_ : dtype or array
    to : dtype
    casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}, optional
        The rule. 'safe' (the default) allows conversions that keep every value.

    Returns
    -------
    bool

    Raises
    ------
    TypeError
        `from_` is a Python number, which has no dtype of its own.

    Examples
    --------
    >>> import clarray
    >>> clarray.can_cast(clarray.int32, clarray.int64), clarray.can_cast(clarray.int64, clarray.int32)
    (True, False)
    """
    return np.can_cast(_dtype_if_array(from_), to, casting)


class finfo:  # noqa: N801 - NumPy's name
    """Describe the limits of a float dtype, or of the parts of a complex one. See `numpy.finfo`.

    The attributes `max`, `min`, `eps` and so on are Python floats, as the Array API standard requires. So they never
    widen an array's dtype.

    Parameters
    ----------
    dtype : dtype or array

    Raises
    ------
    ValueError
        The dtype is neither a float nor a complex one.

    Examples
    --------
    >>> import clarray
    >>> clarray.finfo(clarray.float32).bits, clarray.finfo(clarray.float32).eps
    (32, 1.1920928955078125e-07)
    """

    def __init__(self, dtype: Any) -> None:
        self._numpy = np.finfo(_dtype_if_array(dtype))

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
    """Return the smallest dtype of the same kind that holds a scalar's value, or an array's own dtype.

    Waits for the value of a 0-d DeviceArray.

    Parameters
    ----------
    a : scalar or array_like

    Returns
    -------
    dtype

    Examples
    --------
    >>> import clarray
    >>> clarray.min_scalar_type(300)
    dtype('uint16')
    """
    if isinstance(a, DeviceArray):
        return np.min_scalar_type(a.dtype.type(a.item())) if a.ndim == 0 else a.dtype
    return np.min_scalar_type(a)


def common_type(*arrays: Any) -> Any:
    """Return the float or complex scalar type to which all arrays can be converted without overflow.

    Parameters
    ----------
    *arrays : array_like
        Integers count as float64.

    Returns
    -------
    type

    Raises
    ------
    TypeError
        An array does not hold numbers. Bools are not numbers.

    Examples
    --------
    >>> import clarray
    >>> clarray.common_type(clarray.ones(2, clarray.float32), clarray.ones(2, clarray.complex64)).__name__
    'complex64'
    """
    stand_ins = (np.empty(0, a.dtype) if isinstance(a, DeviceArray) else a for a in arrays)
    return np.common_type(*stand_ins)


def iscomplexobj(x: Any) -> bool:
    """Return whether the dtype of an array or a number is complex, regardless of its values.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    bool

    Examples
    --------
    >>> import clarray
    >>> clarray.iscomplexobj(clarray.zeros(2, clarray.complex64)), clarray.iscomplexobj(1.5)
    (True, False)
    """
    return bool(np.iscomplexobj(x.dtype.type(0) if isinstance(x, DeviceArray) else x))


def isrealobj(x: Any) -> bool:
    """Return whether the dtype of an array or a number is not complex.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    bool

    Examples
    --------
    >>> import clarray
    >>> clarray.isrealobj(clarray.zeros(2)), clarray.isrealobj(1 + 2j)
    (True, False)
    """
    return not iscomplexobj(x)


def isscalar(element: Any) -> bool:
    """Return whether a value is a Python or NumPy scalar. Arrays are not scalars, not even 0-d arrays.

    Parameters
    ----------
    element : object

    Returns
    -------
    bool

    Examples
    --------
    >>> import clarray
    >>> clarray.isscalar(3.1), clarray.isscalar(clarray.asarray(3.1))
    (True, False)
    """
    return np.isscalar(element)


def mintypecode(typechars: Any, typeset: Any = "GDFgdf", default: str = "d") -> str:
    """Return the character of the smallest dtype in a set to which all given dtypes can be converted.

    Parameters
    ----------
    typechars : str or list of str or array_like
        Characters of dtypes, or arrays whose dtypes count.
    typeset : str or list of str, optional
        The characters to choose from.
    default : str, optional
        The result if none of `typechars` is in `typeset`.

    Returns
    -------
    str

    Examples
    --------
    >>> import clarray
    >>> clarray.mintypecode(["f", "d"])
    'd'
    """
    return np.mintypecode([c.dtype.char if isinstance(c, DeviceArray) else c for c in typechars], typeset, default)
