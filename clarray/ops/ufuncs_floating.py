"""Rows: the parts of a floating-point number."""

from __future__ import annotations

from clarray.ops.forms import Row, exact, test

__all__ = ["ROWS"]

ROWS = (
    Row("isnan", {"f": test("{0} != {0}")}),
    Row("copysign", {"f": exact("copysign({0}, {1})")}),
)
