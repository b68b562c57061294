"""Rows: bits and integers."""

from __future__ import annotations

from clarray._engine.ops.forms import Row, converted, exact

__all__ = ["ROWS"]

ROWS = (
    Row("bitwise_and", {"b": exact("{0} & {1}"), "i": exact("{0} & {1}")}),
    Row("bitwise_or", {"b": exact("{0} | {1}"), "i": exact("{0} | {1}")}),
    Row("bitwise_xor", {"b": exact("{0} ^ {1}"), "i": exact("{0} ^ {1}")}),
    Row("invert", {"b": exact("~{0}"), "i": exact("~{0}")}),
    Row("left_shift", {"i": exact("ca_shl_{T}({0}, {1})")}),
    Row("right_shift", {"i": exact("ca_shr_{T}({0}, {1})")}),
    Row(
        "bitwise_count",
        {"i": converted("popcount(ca_iabs_{T}({0}))"), "u": converted("popcount({0})")},
    ),
    Row("gcd", {"i": exact("ca_gcd_{T}({0}, {1})")}),
    Row("lcm", {"i": exact("ca_lcm_{T}({0}, {1})")}),
)
