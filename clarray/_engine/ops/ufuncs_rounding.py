"""Rows: rounding to integers, minimum, maximum and clip."""

from __future__ import annotations

import numpy as np

from clarray._engine.ops.forms import Form, Row, exact

__all__ = ["ROWS"]


def _round(function: str) -> dict[str, Form]:
    return {"b": exact("{0}"), "i": exact("{0}"), "f": exact(function + "({0})")}


# Compare and select: fmin and fmax are slower on PoCL, and drop NaN, which NumPy propagates.
ROWS = (
    Row("floor", _round("floor")),
    Row("ceil", _round("ceil")),
    Row("trunc", _round("trunc")),
    Row("rint", {"f": exact("rint({0})"), "c": exact("rint({0})")}),
    Row(
        "maximum",
        {
            "b": exact("{0} | {1}"),
            "i": exact("{0} > {1} ? {0} : {1}"),
            "f": exact("({0} >= {1}) | ({0} != {0}) ? {0} : {1}"),
            "c": exact("ca_cmaximum_{T}({0}, {1})"),
        },
        host=lambda a, b: np.where((a >= b) | (a != a), a, b),
    ),
    Row(
        "minimum",
        {
            "b": exact("{0} & {1}"),
            "i": exact("{0} < {1} ? {0} : {1}"),
            "f": exact("({0} <= {1}) | ({0} != {0}) ? {0} : {1}"),
            "c": exact("ca_cminimum_{T}({0}, {1})"),
        },
        host=lambda a, b: np.where((a <= b) | (a != a), a, b),
    ),
    Row(
        "fmax",
        {
            "b": exact("{0} | {1}"),
            "i": exact("{0} > {1} ? {0} : {1}"),
            "f": exact("({0} >= {1}) | ({1} != {1}) ? {0} : {1}"),
            "c": exact("ca_cfmax_{T}({0}, {1})"),
        },
        host=lambda a, b: np.where((a >= b) | (b != b), a, b),
    ),
    Row(
        "fmin",
        {
            "b": exact("{0} & {1}"),
            "i": exact("{0} < {1} ? {0} : {1}"),
            "f": exact("({0} <= {1}) | ({1} != {1}) ? {0} : {1}"),
            "c": exact("ca_cfmin_{T}({0}, {1})"),
        },
        host=lambda a, b: np.where((a <= b) | (b != b), a, b),
    ),
    Row(
        "clip",
        {
            "b": exact("({0} | {1}) & {2}"),
            "i": exact("({0} > {1} ? {0} : {1}) < {2} ? ({0} > {1} ? {0} : {1}) : {2}"),
            "f": exact("ca_clip_{T}({0}, {1}, {2})"),
            "c": exact("ca_cclip_{T}({0}, {1}, {2})"),
        },
        unlike="f",
    ),
    Row(
        "sign",
        {
            "i": exact("{0} > ({T})(0) ? ({T})(1) : ({0} < ({T})(0) ? ({T})(-1) : ({T})(0))"),
            "u": exact("{0} > ({T})(0) ? ({T})(1) : ({T})(0)"),
            "f": exact("ca_sign_{T}({0})"),
            "c": exact("ca_csign_{T}({0})"),
        },
        ulp=2,
    ),
    Row("heaviside", {"f": exact("ca_heaviside_{T}({0}, {1})")}),
)
