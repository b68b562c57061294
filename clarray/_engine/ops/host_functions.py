"""Which operations NumPy computes on the host to the same bits as a kernel: by definition, not by luck.

Integers and bools agree in everything. Of float32 and float64 that holds where a result is rounded correctly or not at
all, which a row's ``ulp`` says, but for what its ``unlike`` names. Only NaNs are open: which one of two goes into a
result, and the sign of a new one, no standard says. So are floats that become integers beyond whose range they are.
float16 and complex numbers are left to kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from clarray._engine.ops.dtypes import dtype_row
from clarray._engine.ops.monoids import CHANGES_FIRST, Monoid
from clarray._engine.ops.ufuncs import Loop, supported_ufuncs

__all__ = ["host_function", "host_reduction", "integer_range", "is_alike", "is_cast_alike"]


def is_alike(dtype: np.dtype) -> bool:
    """Whether numbers of a dtype can be computed on the host to the same bits."""
    row = dtype_row(dtype)
    return row.kind != "c" and row.packed is None


def is_cast_alike(src: np.dtype, dst: np.dtype) -> bool:
    """Whether ``astype`` gives the same bits on the host, but for floats beyond the range of integers."""
    return is_alike(src) and is_alike(dst)


@cache
def integer_range(dtype: np.dtype) -> tuple[float, float]:
    """The least integer, and the first above the greatest: powers of two, which every float holds."""
    info = np.iinfo(dtype)
    return float(info.min), 2.0 ** (info.bits - (info.min < 0))


@cache
def host_function(loop: Loop) -> Callable[..., Any] | None:
    """What computes a loop on the host to the same bits, but for NaNs, from values of its input dtypes; or None."""
    row = loop.row
    dtypes = (*loop.in_dtypes, loop.out_dtype)
    if not all(map(is_alike, dtypes)):
        return None
    if row.host is not None:
        return row.host
    ufunc = loop.ufunc
    if supported_ufuncs.get(ufunc) is not row or ufunc.nout != 1 or any(d.kind in row.unlike for d in dtypes):
        return None
    return ufunc if row.ulp == 0.5 or all(d.kind in "biu" for d in dtypes) else None


@cache
def host_reduction(monoid: Monoid) -> np.ufunc | None:
    """The ufunc that reduces values of the input dtype on the host to the same bits, in whatever order; or None.

    Of floats those that choose one of two: the result is defined unless it is a zero, which has two signs, or NaN.
    """
    loop = monoid.loop
    if loop is None or monoid.algebra != "fold" or loop.ufunc in CHANGES_FIRST:
        return None
    if supported_ufuncs.get(loop.ufunc) is not loop.row:
        return None  # a user's, of which NumPy knows nothing
    dtypes = {monoid.in_dtype, loop.out_dtype, monoid.out_dtype}
    integers = all(d.kind in "biu" for d in dtypes)
    return loop.ufunc if integers or (loop.row.host is not None and all(map(is_alike, dtypes))) else None
