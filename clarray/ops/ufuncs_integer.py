"""Rows: bits and integers."""

from __future__ import annotations

from clarray.ops.forms import Row, exact

__all__ = ["ROWS"]

ROWS = (
    Row("bitwise_and", {"b": exact("{0} & {1}"), "i": exact("{0} & {1}")}),
    Row("bitwise_or", {"b": exact("{0} | {1}"), "i": exact("{0} | {1}")}),
    Row("bitwise_xor", {"b": exact("{0} ^ {1}"), "i": exact("{0} ^ {1}")}),
    Row("invert", {"b": exact("~{0}"), "i": exact("~{0}")}),
)
