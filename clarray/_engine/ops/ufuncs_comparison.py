"""Rows: comparison, logic and classification."""

from __future__ import annotations

from clarray._engine.ops.forms import Row, exact, test

__all__ = ["ROWS"]

ROWS = (
    Row(
        "equal",
        {
            "b": exact("~({0} ^ {1})"),
            "i": test("{0} == {1}"),
            "f": test("{0} == {1}"),
            "c": test("({0}.x == {1}.x) & ({0}.y == {1}.y)"),
            "iu": test("({0} >= ({T})(0)) & (as_{U}({0}) == {1})"),
            "ui": test("({1} >= ({I})(0)) & ({0} == as_{U}({1}))"),
        },
    ),
    Row(
        "not_equal",
        {
            "b": exact("{0} ^ {1}"),
            "i": test("{0} != {1}"),
            "f": test("{0} != {1}"),
            "c": test("({0}.x != {1}.x) | ({0}.y != {1}.y)"),
            "iu": test("({0} < ({T})(0)) | (as_{U}({0}) != {1})"),
            "ui": test("({1} < ({I})(0)) | ({0} != as_{U}({1}))"),
        },
    ),
    Row(
        "less",
        {
            "b": exact("~{0} & {1}"),
            "i": test("{0} < {1}"),
            "f": test("{0} < {1}"),
            "c": test("ca_cless_{T}({0}, {1})"),
            "iu": test("({0} < ({T})(0)) | (as_{U}({0}) < {1})"),
            "ui": test("({1} >= ({I})(0)) & ({0} < as_{U}({1}))"),
        },
    ),
    Row(
        "less_equal",
        {
            "b": exact("~{0} | {1}"),
            "i": test("{0} <= {1}"),
            "f": test("{0} <= {1}"),
            "c": test("ca_clesseq_{T}({0}, {1})"),
            "iu": test("({0} < ({T})(0)) | (as_{U}({0}) <= {1})"),
            "ui": test("({1} >= ({I})(0)) & ({0} <= as_{U}({1}))"),
        },
    ),
    Row(
        "greater",
        {
            "b": exact("{0} & ~{1}"),
            "i": test("{0} > {1}"),
            "f": test("{0} > {1}"),
            "c": test("ca_cless_{T}({1}, {0})"),
            "iu": test("({0} >= ({T})(0)) & (as_{U}({0}) > {1})"),
            "ui": test("({1} < ({I})(0)) | ({0} > as_{U}({1}))"),
        },
    ),
    Row(
        "greater_equal",
        {
            "b": exact("{0} | ~{1}"),
            "i": test("{0} >= {1}"),
            "f": test("{0} >= {1}"),
            "c": test("ca_clesseq_{T}({1}, {0})"),
            "iu": test("({0} >= ({T})(0)) & (as_{U}({0}) >= {1})"),
            "ui": test("({1} < ({I})(0)) | ({0} >= as_{U}({1}))"),
        },
    ),
    Row(
        "logical_and",
        {
            "b": exact("{0} & {1}"),
            "i": test("({0} != ({T})(0)) & ({1} != ({T})(0))"),
            "f": test("({0} != ({T})(0)) & ({1} != ({T})(0))"),
            "c": test("ca_cnonzero_{T}({0}) & ca_cnonzero_{T}({1})"),
        },
    ),
    Row(
        "logical_or",
        {
            "b": exact("{0} | {1}"),
            "i": test("({0} != ({T})(0)) | ({1} != ({T})(0))"),
            "f": test("({0} != ({T})(0)) | ({1} != ({T})(0))"),
            "c": test("ca_cnonzero_{T}({0}) | ca_cnonzero_{T}({1})"),
        },
    ),
    Row(
        "logical_xor",
        {
            "b": exact("{0} ^ {1}"),
            "i": test("({0} != ({T})(0)) ^ ({1} != ({T})(0))"),
            "f": test("({0} != ({T})(0)) ^ ({1} != ({T})(0))"),
            "c": test("ca_cnonzero_{T}({0}) ^ ca_cnonzero_{T}({1})"),
        },
    ),
    Row(
        "logical_not",
        {
            "b": exact("~{0}"),
            "i": test("{0} == ({T})(0)"),
            "f": test("{0} == ({T})(0)"),
            "c": test("ca_cnonzero_{T}({0}) == 0"),
        },
    ),
)
