"""The two elementwise operations that are no ufuncs: conversion and selection."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray.codegen.ctype import Dialect, select
from clarray.ops.forms import Form, Row
from clarray.ops.ufuncs import Loop, next_code

__all__ = ["cast_loop", "select_loop"]

_BOOL = np.dtype(bool)
_casts: dict[np.dtype, Loop] = {}
_selects: dict[np.dtype, Loop] = {}


def _make(name: str, form: Form, in_dtypes: tuple[np.dtype, ...], out_dtype: np.dtype) -> Loop:
    # no ufunc: nothing above the expression layer resolves these
    made = Loop(Row(name, {}), np.positive, form, next_code())
    made.name = name
    made.in_dtypes = in_dtypes
    made.out_dtype = out_dtype
    return made


def cast_loop(dtype: np.dtype) -> Loop:
    """``x.astype(dtype)``: the operand's conversion to the input dtype is all there is to do."""
    found = _casts.get(dtype)
    if found is None:
        found = _make("astype", Form(lambda loop, args, dialect: args[0], "exact"), (dtype,), dtype)
        _casts[dtype] = found
    return found


def _select(loop: Any, args: list[str], dialect: Dialect) -> str:
    return select(args[0], args[1], args[2], loop.out_dtype, dialect)


def select_loop(dtype: np.dtype) -> Loop:
    """``where(mask, a, b)`` for values of one dtype."""
    found = _selects.get(dtype)
    if found is None:
        found = _make("where", Form(_select, "exact"), (_BOOL, dtype, dtype), dtype)
        _selects[dtype] = found
    return found
