"""Arrays of which something is required: a layout, memory of their own, finite values."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.creation import array, asarray
from clarray._core.device_array import DeviceArray
from clarray._core.operands import refuse_subclass
from clarray._numpy.reduction.reductions import all as every

__all__ = ["asarray_chkfinite", "isfortran", "require"]

_LETTERS = {
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
    """Tell whether an array is in Fortran order, and not also in C order."""
    return bool(a.flags.fnc)


def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> DeviceArray:
    """Make an array that has what is required of it, copying only where it has to.

    Parameters
    ----------
    a : array_like
    dtype : dtype, optional
    requirements : str or sequence of str, optional
        Of ``'C'`` and ``'F'`` (contiguous), ``'A'`` (aligned, which all are), ``'W'`` (writeable), ``'O'`` (with memory
        of its own) and ``'E'`` (no subclass), or NumPy's long names.
    like : object, optional
        Accepted for NumPy's sake.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        Both C and Fortran order are required.
    KeyError
        An unknown requirement.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.asarray([[1, 2], [3, 4]]).T
    >>> clarray.require(x, requirements="C").flags.c_contiguous
    True
    """
    wanted = {_LETTERS[name.upper()] for name in requirements or ()}
    if {"C", "F"} <= wanted:
        raise ValueError('Cannot specify both "C" and "F" order')
    order = "F" if "F" in wanted else "C" if "C" in wanted else "A"
    refuse_subclass(a)
    made = asarray(a, dtype, order)
    flags = made.flags
    if ("W" in wanted and not flags.writeable) or ("O" in wanted and not flags.owndata):
        made = array(made, order=order)
    return made


def asarray_chkfinite(a: Any, dtype: Any = None, order: str | None = None) -> DeviceArray:
    """Make an array as `asarray` does, if its values are finite.

    Parameters
    ----------
    a : array_like
    dtype : dtype, optional
        The result's; of the data when None.
    order : {'C', 'F', 'A', 'K'}, optional
        Memory layout; 'K' when None: as it is.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        A value is infinite or NaN.
    """
    made = asarray(a, dtype, order)
    if made.dtype.kind in "fc" and not bool(every(np.isfinite(made))):
        raise ValueError("array must not contain infs or NaNs")
    return made
