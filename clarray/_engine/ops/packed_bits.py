"""Loops on the bits of packed floats, for operations that only move them: these keep every bit of a NaN.

A conversion to float and back quiets a signalling NaN on every device, and on some devices loses all its bits.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from clarray._engine.ops.ctype import Dialect, compute_type
from clarray._engine.ops.dtypes import dtype_row
from clarray._engine.ops.forms import Form, exact
from clarray._engine.ops.special import cast_loop, make_loop, select_loop
from clarray._engine.ops.ufuncs import Loop

__all__ = ["bits_dtype", "to_bits_loop", "is_packed", "move_loop", "from_bits_loop"]

# IEEE 754 defines these for the bits of the sign, also of a NaN.
_UFUNCS = {
    "positive": "{0}",
    "conjugate": "{0}",
    "negative": "{0} ^ ({T})(SIGN)",
    "absolute": "{0} & ({T})(REST)",
    "copysign": "({0} & ({T})(REST)) | ({1} & ({T})(SIGN))",
}


def is_packed(dtype: np.dtype) -> bool:
    """Return whether kernels compute with another float type than memory holds."""
    return dtype_row(dtype).packed is not None


def bits_dtype(dtype: np.dtype) -> np.dtype:
    """Return the unsigned integer dtype of the same size."""
    return np.dtype(f"u{dtype.itemsize}")


def _name(dtype: np.dtype) -> str:
    packed = dtype_row(dtype).packed
    assert packed is not None
    return packed.name


@cache
def to_bits_loop(dtype: np.dtype) -> Loop:
    """Return the loop from a packed float to its bits."""
    name = f"bits_of_{_name(dtype)}"
    return make_loop(name, exact(f"ca_{name}_{{T}}({{0}})"), (dtype,), bits_dtype(dtype))


@cache
def from_bits_loop(dtype: np.dtype) -> Loop:
    """Return the loop from the bits of a packed float to its value."""
    name = f"{_name(dtype)}_of_bits"

    def call_text(loop: Loop, args: list[str], dialect: Dialect) -> str:
        return f"ca_{name}_{compute_type(bits_dtype(dtype), dialect.width)}({args[0]})"

    return make_loop(name, Form(call_text, "exact"), (bits_dtype(dtype),), dtype)


@cache
def move_loop(loop: Loop) -> Loop | None:
    """Return the loop on bits equivalent to a loop on packed floats; None if that loop computes new values."""
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
