"""Operations for which NumPy on the host computes the same bits as a kernel, by definition of both.

These are all operations of integers and bools, and those of float32 and float64 whose result is exact or correctly
rounded, according to the row's ``ulp`` and ``unlike``. Exceptions are NaNs, as no standard defines which of two NaNs
a result is and which sign a new NaN has, and floats converted to integers out of range. Kernels compute float16 and
complex numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from clarray._engine.ops.dtypes import dtype_row
from clarray._engine.ops.monoids import CHANGES_FIRST, Monoid
from clarray._engine.ops.ufuncs import Loop, supported_ufuncs

__all__ = ["host_function", "host_reduction", "integer_range", "is_host_exact", "is_host_exact_cast"]


def is_host_exact(dtype: np.dtype) -> bool:
    """Return whether the host can compute values of a dtype to the same bits."""
    row = dtype_row(dtype)
    return row.kind != "c" and row.packed is None


def is_host_exact_cast(src: np.dtype, dst: np.dtype) -> bool:
    """Return whether ``astype`` gives the same bits on the host, except for floats out of an integer's range."""
    return is_host_exact(src) and is_host_exact(dst)


@cache
def integer_range(dtype: np.dtype) -> tuple[float, float]:
    """Return the least integer and the largest plus one: powers of two, which every float dtype represents."""
    info = np.iinfo(dtype)
    return float(info.min), 2.0 ** (info.bits - (info.min < 0))


@cache
def host_function(loop: Loop) -> Callable[..., Any] | None:
    """Return the NumPy function that computes the same bits as a loop, except for NaNs; None if there is none."""
    row = loop.row
    dtypes = (*loop.in_dtypes, loop.out_dtype)
    if not all(map(is_host_exact, dtypes)):
        return None
    if row.host is not None:
        return row.host
    ufunc = loop.ufunc
    if supported_ufuncs.get(ufunc) is not row or ufunc.nout != 1 or any(d.kind in row.unlike for d in dtypes):
        return None
    return ufunc if row.ulp == 0.5 or all(d.kind in "biu" for d in dtypes) else None


@cache
def host_reduction(monoid: Monoid) -> np.ufunc | None:
    """Return the ufunc whose reduction on the host has the same bits in any order; None if there is none.

    For floats these are the ufuncs that select one operand. Their result is defined unless it is a zero, which has two
    signs, or NaN.
    """
    loop = monoid.loop
    if loop is None or monoid.algebra != "fold" or loop.ufunc in CHANGES_FIRST:
        return None
    if supported_ufuncs.get(loop.ufunc) is not loop.row:
        return None  # a snippet of the user's
    dtypes = {monoid.in_dtype, loop.out_dtype, monoid.out_dtype}
    integers = all(d.kind in "biu" for d in dtypes)
    return loop.ufunc if integers or (loop.row.host is not None and all(map(is_host_exact, dtypes))) else None
