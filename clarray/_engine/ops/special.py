"""The elementwise operations that are no ufuncs: conversion, selection, the parts of complex numbers, Bessel's I0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clarray._engine.ops.ctype import Dialect, compute_type, select
from clarray._engine.ops.forms import Form, Row, exact, value
from clarray._engine.ops.ufuncs import Loop, next_code

__all__ = [
    "builtin_loop",
    "cast_loop",
    "compose_loop",
    "i0_loop",
    "make_loop",
    "part_loop",
    "place_loop",
    "scale_loop",
    "select_loop",
]

OUTSIDE = np.int64(-(2**63))  # the place of what names none
_BOOL = np.dtype(bool)
_INT64 = np.dtype(np.int64)
_casts: dict[np.dtype, Loop] = {}
_selects: dict[np.dtype, Loop] = {}
_parts: dict[tuple[np.dtype, int], Loop] = {}
_composes: dict[np.dtype, Loop] = {}
_scales: dict[np.dtype, Loop] = {}
_i0s: dict[np.dtype, Loop] = {}
_builtins: dict[tuple[str, np.dtype], Loop] = {}


def make_loop(
    name: str,
    form: Form,
    in_dtypes: tuple[np.dtype, ...],
    out_dtype: np.dtype,
    host: Callable[..., Any] | None = None,
) -> Loop:
    """Make a loop of these dtypes; `host` as in a `Row`."""
    # no ufunc: nothing above the expression layer resolves these
    made = Loop(Row(name, {}, host=host), np.positive, form, next_code())
    made.name = name
    made.in_dtypes = in_dtypes
    made.out_dtype = out_dtype
    return made


def cast_loop(dtype: np.dtype) -> Loop:
    """``x.astype(dtype)``: the operand's conversion to the input dtype is all there is to do."""
    found = _casts.get(dtype)
    if found is None:
        form = Form(lambda loop, args, dialect: args[0], "exact")
        found = make_loop("astype", form, (dtype,), dtype, lambda x: x)
        _casts[dtype] = found
    return found


def _select(loop: Any, args: list[str], dialect: Dialect) -> str:
    return select(args[0], args[1], args[2], loop.out_dtype, dialect)


def select_loop(dtype: np.dtype) -> Loop:
    """``where(mask, a, b)`` for values of one dtype."""
    found = _selects.get(dtype)
    if found is None:
        found = make_loop("where", Form(_select, "exact"), (_BOOL, dtype, dtype), dtype, np.where)
        _selects[dtype] = found
    return found


def _place(x: Any, extent: Any, step: Any, base: Any) -> Any:
    k = np.where(x < 0, x + extent, x)
    return np.where((base < 0) | (k < 0) | (k >= extent), OUTSIDE, base + k * step)


# ``place(x, extent, step, base)``: ``base + step * x``, negative x counted from the end; OUTSIDE where x is out of
# bounds, or the base is it already.
place_loop = make_loop("place", exact("ca_place_{T}({0}, {1}, {2}, {3})"), (_INT64,) * 4, _INT64, _place)


def part_loop(dtype: np.dtype, number: int) -> Loop:
    """The real (0) or imaginary (1) part of complex values."""
    found = _parts.get((dtype, number))
    if found is None:
        real = np.dtype(f"f{dtype.itemsize // 2}")
        found = make_loop(("real", "imag")[number], exact(("{0}.x", "{0}.y")[number]), (dtype,), real)
        _parts[dtype, number] = found
    return found


def _compose(loop: Any, args: list[str], dialect: Dialect) -> str:
    return f"(({compute_type(loop.out_dtype)})({args[0]}, {args[1]}))"


def compose_loop(dtype: np.dtype) -> Loop:
    """The complex values of a real and an imaginary part."""
    found = _composes.get(dtype)
    if found is None:
        whole = np.dtype(f"c{dtype.itemsize * 2}")
        found = _composes[dtype] = make_loop("complex", Form(_compose, "exact"), (dtype, dtype), whole)
    return found


def scale_loop(dtype: np.dtype) -> Loop:
    """Complex values divided by a real: each part by itself, so that an infinite one leaves the other alone."""
    found = _scales.get(dtype)
    if found is None:
        real = np.dtype(dtype.char.lower())
        found = _scales[dtype] = make_loop("divide", exact("({0} / {1})"), (dtype, real), dtype)
    return found


def i0_loop(dtype: np.dtype) -> Loop:
    """The modified Bessel function of order zero, of floats."""
    found = _i0s.get(dtype)
    if found is None:
        found = _i0s[dtype] = make_loop("i0", value("ca_i0_{T}({0})"), (dtype,), dtype)
    return found


def builtin_loop(name: str, dtype: np.dtype) -> Loop:
    """An OpenCL built-in of one float that is no ufunc: erf, erfc, lgamma, tgamma."""
    found = _builtins.get((name, dtype))
    if found is None:
        found = _builtins[name, dtype] = make_loop(name, value(f"{name}({{0}})"), (dtype,), dtype)
    return found
