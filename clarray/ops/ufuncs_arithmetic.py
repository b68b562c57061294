"""Rows: arithmetic."""

from __future__ import annotations

from clarray.ops.forms import Row, exact, value, wrap

__all__ = ["ROWS"]

ROWS = (
    Row("add", {"b": exact("{0} | {1}"), "i": wrap("{0} + {1}"), "f": value("{0} + {1}"), "c": value("{0} + {1}")}),
    Row("subtract", {"i": wrap("{0} - {1}"), "f": value("{0} - {1}"), "c": value("{0} - {1}")}),
    Row(
        "multiply",
        {
            "b": exact("{0} & {1}"),
            "i": wrap("{0} * {1}"),
            "f": value("{0} * {1}"),
            "c": value("ca_cmul_{T}({0}, {1})"),
        },
    ),
    Row("divide", {"f": value("{0} / {1}"), "c": value("ca_cdiv_{T}({0}, {1})")}),
    Row("negative", {"i": wrap("-{0}"), "f": exact("-{0}"), "c": exact("-{0}")}),
    Row("positive", {"i": exact("{0}"), "f": exact("{0}"), "c": exact("{0}")}),
    Row(
        "square",
        {"i": wrap("{0} * {0}"), "f": value("{0} * {0}"), "c": value("ca_cmul_{T}({0}, {0})")},
    ),
    Row(
        "absolute",
        {
            "b": exact("{0}"),
            "i": exact("ca_iabs_{T}({0})"),
            "u": exact("{0}"),
            "f": exact("fabs({0})"),
            "c": exact("ca_cabs_{T}({0})"),
        },
    ),
    Row("fabs", {"f": exact("fabs({0})")}),
)
