"""Elementwise operations that are not ufuncs: conversion, selection, the parts of complex numbers, Bessel's I0."""

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
    "element_offset_loop",
    "i0_loop",
    "make_loop",
    "part_loop",
    "scale_loop",
    "select_loop",
]

OUT_OF_BOUNDS = np.int64(-(2**63))  # the offset for an index out of bounds
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
    """Make a loop without a ufunc; `host` as in a `Row`."""
    # np.positive stands for no ufunc: nothing above the expression layer resolves these loops
    loop = Loop(Row(name, {}, host=host), np.positive, form, next_code())
    loop.name = name
    loop.in_dtypes = in_dtypes
    loop.out_dtype = out_dtype
    return loop


def cast_loop(dtype: np.dtype) -> Loop:
    """Return the loop of ``x.astype(dtype)``, whose operand is converted to the input dtype and copied."""
    loop = _casts.get(dtype)
    if loop is None:
        form = Form(lambda loop, args, dialect: args[0], "exact")
        loop = make_loop("astype", form, (dtype,), dtype, lambda x: x)
        _casts[dtype] = loop
    return loop


def _select(loop: Any, args: list[str], dialect: Dialect) -> str:
    return select(args[0], args[1], args[2], loop.out_dtype, dialect)


def select_loop(dtype: np.dtype) -> Loop:
    """Return the loop of ``where(mask, a, b)`` for values of one dtype."""
    loop = _selects.get(dtype)
    if loop is None:
        loop = make_loop("where", Form(_select, "exact"), (_BOOL, dtype, dtype), dtype, np.where)
        _selects[dtype] = loop
    return loop


def _offset_on_host(x: Any, extent: Any, step: Any, base: Any) -> Any:
    k = np.where(x < 0, x + extent, x)
    return np.where((base < 0) | (k < 0) | (k >= extent), OUT_OF_BOUNDS, base + k * step)


# ``place(x, extent, step, base)``: ``base + step * x``, negative x counted from the end. OUT_OF_BOUNDS if x is out of
# bounds, or if the base is.
element_offset_loop = make_loop(
    "place", exact("ca_place_{T}({0}, {1}, {2}, {3})"), (_INT64,) * 4, _INT64, _offset_on_host
)


def part_loop(dtype: np.dtype, number: int) -> Loop:
    """Return the loop of the real (0) or imaginary (1) part of complex values."""
    loop = _parts.get((dtype, number))
    if loop is None:
        real = np.dtype(f"f{dtype.itemsize // 2}")
        loop = make_loop(("real", "imag")[number], exact(("{0}.x", "{0}.y")[number]), (dtype,), real)
        _parts[dtype, number] = loop
    return loop


def _compose(loop: Any, args: list[str], dialect: Dialect) -> str:
    return f"(({compute_type(loop.out_dtype)})({args[0]}, {args[1]}))"


def compose_loop(dtype: np.dtype) -> Loop:
    """Return the loop of complex values from a real and an imaginary part."""
    loop = _composes.get(dtype)
    if loop is None:
        whole = np.dtype(f"c{dtype.itemsize * 2}")
        loop = _composes[dtype] = make_loop("complex", Form(_compose, "exact"), (dtype, dtype), whole)
    return loop


def scale_loop(dtype: np.dtype) -> Loop:
    """Return the loop of complex values divided by a real, part by part: an infinite part does not affect the other."""
    loop = _scales.get(dtype)
    if loop is None:
        real = np.dtype(dtype.char.lower())
        loop = _scales[dtype] = make_loop("divide", exact("({0} / {1})"), (dtype, real), dtype)
    return loop


def i0_loop(dtype: np.dtype) -> Loop:
    """Return the loop of the modified Bessel function of order zero."""
    loop = _i0s.get(dtype)
    if loop is None:
        loop = _i0s[dtype] = make_loop("i0", value("ca_i0_{T}({0})"), (dtype,), dtype)
    return loop


def builtin_loop(name: str, dtype: np.dtype) -> Loop:
    """Return the loop of an OpenCL built-in function of one float: erf, erfc, lgamma, tgamma."""
    loop = _builtins.get((name, dtype))
    if loop is None:
        loop = _builtins[name, dtype] = make_loop(name, value(f"{name}({{0}})"), (dtype,), dtype)
    return loop
