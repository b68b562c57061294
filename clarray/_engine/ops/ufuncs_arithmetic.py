"""Rows: arithmetic, division and its remainders."""

from __future__ import annotations

from clarray._engine.ops.forms import Row, exact, value, wrap

__all__ = ["ROWS"]

_FLOOR_DIVIDE = {
    "i": exact("ca_ifloordiv_{T}({0}, {1})"),
    "u": exact("ca_idiv_{T}({0}, {1})"),
    "f": value("ca_floordiv_{T}({0}, {1})"),
}
_REMAINDER = {
    "i": exact("ca_iremainder_{T}({0}, {1})"),
    "u": exact("ca_ifmod_{T}({0}, {1})"),
    "f": value("ca_remainder_{T}({0}, {1})"),
}

ROWS = (
    Row(
        "add",
        {
            "b": exact("{0} | {1}"),
            "i": wrap("{0} + {1}"),
            "f": value("{0} + {1}"),
            "c": value("{0} + {1}"),
        },
    ),
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
    Row("floor_divide", _FLOOR_DIVIDE, unlike="f"),
    Row("remainder", _REMAINDER, unlike="f"),
    Row("divmod", _FLOOR_DIVIDE, _REMAINDER),
    Row("fmod", {"i": exact("ca_ifmod_{T}({0}, {1})"), "f": exact("ca_fmod_{T}({0}, {1})")}),
    Row("negative", {"i": wrap("-{0}"), "f": exact("-{0}"), "c": exact("-{0}")}),
    Row("positive", {"i": exact("{0}"), "f": exact("{0}"), "c": exact("{0}")}),
    Row(
        "reciprocal",
        {
            "i": exact("ca_ireciprocal_{T}({0})"),
            "f": value("({T})(1) / {0}"),
            "c": value("ca_creciprocal_{T}({0})"),
        },
    ),
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
    Row("conjugate", {"i": exact("{0}"), "f": exact("{0}"), "c": exact("({T})({0}.x, -{0}.y)")}),
)
