"""Rows: rounding to integers, and choosing among values."""

from __future__ import annotations

from clarray.ops.forms import Row, exact

__all__ = ["ROWS"]

ROWS = (
    Row("floor", {"b": exact("{0}"), "i": exact("{0}"), "f": exact("floor({0})")}),
)
