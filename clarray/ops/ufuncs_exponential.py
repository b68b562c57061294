"""Rows: powers, roots, exponentials and logarithms."""

from __future__ import annotations

from clarray.ops.forms import Row, value

__all__ = ["ROWS"]

ROWS = (
    Row("exp", {"f": value("exp({0})")}, ulp=1),
    Row("log", {"f": value("log({0})")}, ulp=1),
    Row("sqrt", {"f": value("sqrt({0})")}),
)
