"""Rows: powers, roots, exponentials and logarithms.

``ulp`` bounds the error of float32 and float64 results in units in the last place: the largest seen
on PoCL, Intel's runtime and NVIDIA's, with random bit patterns and dense ranges, rounded up.
logaddexp and logaddexp2 cancel where the result is near 0; there the bound holds in ulp of the
operands, as NumPy's.
"""

from __future__ import annotations

from clarray._engine.ops.forms import Form, Row, exact, value

__all__ = ["ROWS"]

_POWER = {
    "i": exact("ca_ipow_{T}({0}, {1})"),
    "f": value("ca_pow_{T}({0}, {1})"),
    "c": value("ca_cpow_{T}({0}, {1})"),
}


def _function(real: str, complex_: str) -> dict[str, Form]:
    return {"f": value(real + "({0})"), "c": value(f"ca_{complex_}_{{T}}({{0}})")}


ROWS = (
    Row("exp", _function("exp", "cexp"), ulp=1.5),
    Row("exp2", _function("exp2", "cexp_two"), ulp=2),
    Row("expm1", _function("expm1", "cexp_minus_one"), ulp=1),
    Row("log", _function("log", "clog"), ulp=1),
    Row("log2", _function("log2", "clog_two"), ulp=1.5),
    Row("log10", _function("log10", "clog_ten"), ulp=2),
    Row("log1p", _function("log1p", "clog_one_plus"), ulp=1.5),
    Row("sqrt", _function("sqrt", "csqrt")),
    Row("cbrt", {"f": value("cbrt({0})")}, ulp=1),
    Row("power", _POWER, ulp=2, unlike="iu"),  # NumPy raises where an exponent is negative
    Row("float_power", _POWER, ulp=2),
    Row("hypot", {"f": value("hypot({0}, {1})")}, ulp=2),
    Row("logaddexp", {"f": value("ca_logaddexp_{T}({0}, {1})")}, ulp=3),
    Row("logaddexp2", {"f": value("ca_logaddexp_two_{T}({0}, {1})")}, ulp=3),
)
