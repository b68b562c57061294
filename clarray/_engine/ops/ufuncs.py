"""The ufunc table, and the C text of loops.

The rows are in ``ufuncs_<chapter>.py``. A loop is a ufunc at given dtypes, one object for each.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import count
from typing import Any, cast

import numpy as np

from clarray._engine.ops import (
    ufuncs_arithmetic,
    ufuncs_comparison,
    ufuncs_exponential,
    ufuncs_floating,
    ufuncs_integer,
    ufuncs_rounding,
    ufuncs_trigonometric,
)
from clarray._engine.ops.ctype import CType, Dialect, compute_type, convert, mask
from clarray._engine.ops.dtypes import DTYPES, HostOnly, dtype_row
from clarray._engine.ops.forms import Form, Row
from clarray._engine.ops.helpers import helpers_in

__all__ = ["Loop", "clip_ufunc", "emit", "find_loop", "helpers", "supported_ufuncs", "unsupported"]

_CHAPTERS = (
    ufuncs_arithmetic,
    ufuncs_comparison,
    ufuncs_exponential,
    ufuncs_floating,
    ufuncs_integer,
    ufuncs_rounding,
    ufuncs_trigonometric,
)


class _UfuncProbe:
    """An operand that makes a NumPy function return its ufunc, for ufuncs without a public name."""

    def __array_ufunc__(self, ufunc: np.ufunc, *others: Any, **kwargs: Any) -> np.ufunc:
        return ufunc


clip_ufunc: Any = np.empty(1).clip(cast(Any, _UfuncProbe()), cast(Any, _UfuncProbe()))
_NAMELESS = {"clip": clip_ufunc}

supported_ufuncs: dict[np.ufunc, Row] = {
    _NAMELESS.get(row.name) or getattr(np, row.name): row for chapter in _CHAPTERS for row in chapter.ROWS
}

unsupported: dict[str, str] = {
    "isnat": "no device supports datetime64 and timedelta64",
    "matmul": "a product of matrices, not an elementwise function",
    "matvec": "a product of a matrix and a vector, not an elementwise function",
    "vecdot": "a product of two vectors, not an elementwise function",
    "vecmat": "a product of a vector and a matrix, not an elementwise function",
}

CALL_WEIGHT = 16
_CHEAP_NAMES = """
absolute fabs maximum minimum fmax fmin clip sqrt square floor ceil trunc rint sign signbit copysign isnan isinf
isfinite conjugate logical_and logical_or logical_xor logical_not positive negative multiply divide reciprocal
left_shift right_shift heaviside degrees rad2deg radians deg2rad modf nextafter spacing
"""
_CHEAP = frozenset(_CHEAP_NAMES.split())  # ufuncs of a few instructions, though their C text is a call


def _calls_a_function(ufunc: np.ufunc, form: Form) -> bool:
    """Return whether a loop takes the time of a mathematical function."""
    if ufunc.__name__ in _CHEAP or form.result == "test":
        return False
    return callable(form.text) or bool(re.search(r"[\w}]\(", form.text))


class Loop:
    """A ufunc at given dtypes and one of its outputs. `find_loop` makes one object for each.

    Its `weight` is 1 for an operation that takes the time of an addition, and CALL_WEIGHT for one such as exp.
    """

    __slots__ = ("code", "form", "in_dtypes", "name", "out_dtype", "out_index", "row", "ufunc", "weight")

    def __init__(self, row: Row, ufunc: np.ufunc, form: Form, code: int) -> None:
        self.row = row
        self.ufunc = ufunc
        self.name = row.name
        self.form = form
        self.code = code
        self.in_dtypes: tuple[np.dtype, ...] = ()
        self.out_dtype: np.dtype = np.dtype(bool)
        self.out_index = 0
        self.weight = CALL_WEIGHT if _calls_a_function(ufunc, form) else 1

    def __repr__(self) -> str:
        ins = ", ".join(d.name for d in self.in_dtypes)
        part = f"[{self.out_index}]" if self.ufunc.nout > 1 else ""
        return f"<Loop {self.name}{part} ({ins}) -> {self.out_dtype.name}>"


_loops: dict[tuple, Loop] = {}
_codes = count()


def next_code() -> int:
    """Return a new code, unique among loops."""
    return next(_codes)


def _no_loop(ufunc: np.ufunc, dtypes: tuple[np.dtype, ...]) -> TypeError:
    types = ", ".join(str(d) for d in dtypes)
    reason = unsupported.get(ufunc.__name__)
    suffix = f": {reason}" if reason else ""
    name = ufunc.__name__
    message = f"ufunc '{name}' did not contain a loop for types ({types}) in clarray{suffix}"
    unknown = next((dtype for dtype in dtypes if dtype not in DTYPES), None)
    return TypeError(message) if unknown is None else HostOnly(message, unknown)


def find_loop(
    ufunc: np.ufunc,
    in_dtypes: tuple[np.dtype, ...],
    out_dtypes: tuple[np.dtype, ...],
    out_index: int = 0,
) -> Loop:
    """Return the loop of ``ufunc`` for dtypes from `promotion.resolve`.

    Raises
    ------
    TypeError
        There is no device implementation for the ufunc or for these dtypes.
    """
    key = (ufunc, in_dtypes, out_dtypes, out_index)
    loop = _loops.get(key)
    if loop is not None:
        return loop
    row = supported_ufuncs.get(ufunc)
    if row is None or any(d not in DTYPES for d in (*in_dtypes, *out_dtypes)):
        raise _no_loop(ufunc, in_dtypes)
    kinds = "".join(DTYPES[d].letter for d in in_dtypes)
    form = row.form(kinds, out_index)
    if form is None:
        raise _no_loop(ufunc, in_dtypes)
    loop = Loop(row, ufunc, form, next_code())
    loop.in_dtypes = tuple(DTYPES[d].dtype for d in in_dtypes)
    loop.out_dtype = DTYPES[out_dtypes[out_index]].dtype
    loop.out_index = out_index
    return _loops.setdefault(key, loop)


_products: dict[np.dtype, Loop] = {}


def exact_product_loop(dtype: np.dtype) -> Loop:
    """Return a multiplication of floats for sums of products, which need not round each product."""
    product = _products.get(dtype)
    if product is None:
        multiply = find_loop(np.multiply, (dtype, dtype), (dtype,))
        product = Loop(multiply.row, multiply.ufunc, multiply.form, next_code())
        product.in_dtypes, product.out_dtype = multiply.in_dtypes, multiply.out_dtype
        product = _products.setdefault(dtype, product)
    return product


def _wrapped(text: str, args: list[str], ctype: CType, fields: dict[str, str]) -> str:
    # A scalar narrower than int would be promoted to signed int, where a product of two ushorts
    # overflows.
    if ctype.width > 1:
        operands = [a if ctype.is_unsigned else f"as_{ctype.uint}({a})" for a in args]
        inner = text.format(*operands, **fields)
        return f"({inner})" if ctype.is_unsigned else f"as_{ctype}({inner})"
    wide = "ulong" if ctype.bits == 64 else "uint"
    return f"(({ctype})({text.format(*[f'({wide}){a}' for a in args], **fields)}))"


def emit(loop: Loop, args: list[str], dialect: Dialect) -> str:
    """Return the C expression of ``loop`` on the variables ``args``, of its output's compute type."""
    form = loop.form
    if callable(form.text):
        return form.text(loop, args, dialect)
    if loop.weight > 1 and dialect.width == 1 and loop.in_dtypes[0].kind == "f":
        width = dialect.call_width(compute_type(loop.in_dtypes[0]))
        if width > 1:
            return _emit_call(loop, args, replace(dialect, width=width))
    ctype = compute_type(loop.in_dtypes[0], dialect.width)
    packed = dtype_row(loop.in_dtypes[0]).packed
    fields = {
        "T": str(ctype),
        "I": str(ctype.int_),
        "U": str(ctype.uint),
        "S": ctype.scalar,
        "F": packed.name if packed else "",
    }
    if form.result == "wrap":
        return _wrapped(form.text, args, ctype, fields)
    text = form.text.format(*args, **fields)
    if form.result == "test":
        if dialect.width == 1:
            return f"((char)(-({text})))"
        return mask(text, ctype, dialect)
    out = compute_type(loop.out_dtype, dialect.width)
    if form.result == "int":
        return convert(f"({text})", ctype.int_, out, dialect)
    if form.result == "converted":
        return convert(f"({text})", ctype, out, dialect)
    row = dtype_row(loop.out_dtype)
    if row.packed and form.result == "value":
        return row.rounded(text, out)
    if ctype.bits < 32 and ctype.width == 1:
        return f"(({ctype})({text}))"  # C promoted the operands to int
    return f"({text})"


def _emit_call(loop: Loop, args: list[str], dialect: Dialect) -> str:
    """Return the C expression of a scalar ``loop`` of floats that calls it with vectors of equal elements."""
    ctype = compute_type(loop.in_dtypes[0], dialect.width)
    vectors = [f"(({ctype})({arg}))" for arg in args]
    return f"({emit(loop, vectors, dialect)}.s0)"


def helpers(loop: Loop, dialect: Dialect) -> list[tuple[str, str]]:
    """Return the helper functions that ``loop`` calls, as (key, C text) in the order of definition."""
    names = [f"x{i}" for i in range(len(loop.in_dtypes))]
    return helpers_in(emit(loop, names, dialect), dialect)
