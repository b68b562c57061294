"""Packed floats as the bits they are in memory: what only moves them keeps every bit of a NaN.

On the way through a float a NaN loses what makes it a signalling one everywhere, and on some devices all its bits.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from clarray._engine.ops.ctype import Dialect, compute_type
from clarray._engine.ops.dtypes import dtype_row
from clarray._engine.ops.forms import Form, exact
from clarray._engine.ops.special import cast_loop, make_loop, select_loop
from clarray._engine.ops.ufuncs import Loop

__all__ = ["bits_dtype", "bits_of", "is_packed", "move_loop", "value_of"]

# What IEEE 754 says of a sign is said of the bits, of a NaN too.
_UFUNCS = {
    "positive": "{0}",
    "conjugate": "{0}",
    "negative": "{0} ^ ({T})(SIGN)",
    "absolute": "{0} & ({T})(REST)",
    "copysign": "({0} & ({T})(REST)) | ({1} & ({T})(SIGN))",
}


def is_packed(dtype: np.dtype) -> bool:
    """Whether values are floats of another kind in kernels than in memory."""
    return dtype_row(dtype).packed is not None


def bits_dtype(dtype: np.dtype) -> np.dtype:
    """The unsigned integers of as many bits."""
    return np.dtype(f"u{dtype.itemsize}")


def _name(dtype: np.dtype) -> str:
    packed = dtype_row(dtype).packed
    assert packed is not None
    return packed.name


@cache
def bits_of(dtype: np.dtype) -> Loop:
    """The loop from a packed float to its bits."""
    name = f"bits_of_{_name(dtype)}"
    return make_loop(name, exact(f"ca_{name}_{{T}}({{0}})"), (dtype,), bits_dtype(dtype))


@cache
def value_of(dtype: np.dtype) -> Loop:
    """The loop from the bits of a packed float to its value."""
    name = f"{_name(dtype)}_of_bits"

    def written(loop: Loop, args: list[str], dialect: Dialect) -> str:
        return f"ca_{name}_{compute_type(bits_dtype(dtype), dialect.width)}({args[0]})"

    return make_loop(name, Form(written, "exact"), (bits_dtype(dtype),), dtype)


@cache
def move_loop(loop: Loop) -> Loop | None:
    """The loop on bits that does what one on packed floats does, or None if it computes."""
    dtype = loop.out_dtype
    bits = bits_dtype(dtype)
    if loop is cast_loop(dtype):
        return cast_loop(bits)
    if loop is select_loop(dtype):
        return select_loop(bits)
    text = _UFUNCS.get(loop.name) if all(d == dtype for d in loop.in_dtypes) else None
    if text is None:
        return None
    sign = 1 << 8 * dtype.itemsize - 1
    form = exact(text.replace("SIGN", hex(sign)).replace("REST", hex(sign - 1)))
    return make_loop(loop.name, form, (bits,) * len(loop.in_dtypes), bits)
