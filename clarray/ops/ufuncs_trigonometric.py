"""Rows: trigonometric and hyperbolic functions."""

from __future__ import annotations

from clarray.ops.forms import Row, value

__all__ = ["ROWS"]

ROWS = (
    Row("sin", {"f": value("sin({0})")}, ulp=2.5),
    Row("cos", {"f": value("cos({0})")}, ulp=2.5),
)
