"""Conversion to arrays with required properties: a memory layout, ownership, finite values."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.creation import array, asarray
from clarray._core.device_array import DeviceArray
from clarray._core.operands import refuse_subclass
from clarray._numpy.reduction.reductions import all as every

__all__ = ["asarray_chkfinite", "isfortran", "require"]

_FLAG_LETTERS = {
    "C": "C",
    "C_CONTIGUOUS": "C",
    "CONTIGUOUS": "C",
    "F": "F",
    "F_CONTIGUOUS": "F",
    "FORTRAN": "F",
    "A": "A",
    "ALIGNED": "A",
    "W": "W",
    "WRITEABLE": "W",
    "O": "O",
    "OWNDATA": "O",
    "E": "E",
    "ENSUREARRAY": "E",
}


def isfortran(a: DeviceArray) -> bool:
    """Return whether an array is contiguous in Fortran order (column-major), but not in C order.

    Parameters
    ----------
    a : DeviceArray

    Returns
    -------
    bool

    Examples
    --------
    >>> import clarray
    >>> x = clarray.zeros((2, 3))
    >>> clarray.isfortran(x), clarray.isfortran(x.T)
    (False, True)
    """
    return bool(a.flags.fnc)


def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> DeviceArray:
    """Convert to an array that meets requirements on its memory, with a copy only if needed.

    Parameters
    ----------
    a : array_like
    dtype : dtype, optional
        Type of the result's elements. By default, it is the dtype of the data.
    requirements : str or sequence of str, optional
        ``'C'`` or ``'F'`` (contiguous), ``'A'`` (aligned, as all arrays are), ``'W'`` (writeable), ``'O'`` (owns its
        memory), ``'E'`` (no subclass), or NumPy's long names.
    like : object, optional
        Ignored. Accepted for compatibility with NumPy.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        Both C and Fortran order are required.
    KeyError
        A requirement is unknown.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.asarray([[1, 2], [3, 4]]).T
    >>> clarray.require(x, requirements="C").flags.c_contiguous
    True
    """
    letters = {_FLAG_LETTERS[name.upper()] for name in requirements or ()}
    if {"C", "F"} <= letters:
        raise ValueError('Cannot specify both "C" and "F" order')
    order = "F" if "F" in letters else "C" if "C" in letters else "A"
    refuse_subclass(a)
    converted = asarray(a, dtype, order)
    flags = converted.flags
    if ("W" in letters and not flags.writeable) or ("O" in letters and not flags.owndata):
        converted = array(converted, order=order)
    return converted


def asarray_chkfinite(a: Any, dtype: Any = None, order: str | None = None) -> DeviceArray:
    """Convert to an array, and raise ValueError if a value is infinite or NaN. Waits for the check.

    Parameters
    ----------
    a : array_like
    dtype : dtype, optional
        Type of the result's elements. By default, it is the dtype of the data.
    order : {'C', 'F', 'A', 'K'}, optional
        Memory layout. None is 'K', which keeps the layout of `a`.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        A value is infinite or NaN.

    Examples
    --------
    >>> import clarray
    >>> clarray.asarray_chkfinite([1.0, 2.0])
    array([1., 2.])
    """
    converted = asarray(a, dtype, order)
    if converted.dtype.kind in "fc" and not bool(every(np.isfinite(converted))):
        raise ValueError("array must not contain infs or NaNs")
    return converted
