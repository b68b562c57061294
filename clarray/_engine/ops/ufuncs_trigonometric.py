"""Rows: trigonometric and hyperbolic functions and their inverses, and units of angle."""

from __future__ import annotations

from clarray._engine.ops.forms import Form, Row, value

__all__ = ["ROWS"]


def _function(real: str, complex_: str) -> dict[str, Form]:
    return {"f": value(real + "({0})"), "c": value(f"ca_{complex_}_{{T}}({{0}})")}


_DEGREES = {"f": value("ca_degrees_{T}({0})")}
_RADIANS = {"f": value("ca_radians_{T}({0})")}

ROWS = (
    Row("sin", _function("ca_sin_{T}", "csin"), ulp=3.5),
    Row("cos", _function("ca_cos_{T}", "ccos"), ulp=3.5),
    Row("tan", _function("ca_tan_{T}", "ctan"), ulp=4),
    Row("arcsin", _function("asin", "casin"), ulp=2.5),
    Row("arccos", _function("acos", "cacos"), ulp=1.5),
    Row("arctan", _function("atan", "catan"), ulp=2.5),
    Row("arctan2", {"f": value("atan2({0}, {1})")}, ulp=3.5),
    Row("sinh", _function("sinh", "csinh"), ulp=2.5),
    Row("cosh", _function("cosh", "ccosh"), ulp=2.5),
    Row("tanh", _function("tanh", "ctanh"), ulp=2),
    Row("arcsinh", _function("asinh", "casinh"), ulp=2),
    Row("arccosh", _function("acosh", "cacosh"), ulp=2),
    Row("arctanh", _function("atanh", "catanh"), ulp=1.5),
    Row("degrees", _DEGREES, ulp=1),
    Row("rad2deg", _DEGREES, ulp=1),
    Row("radians", _RADIANS, ulp=1),
    Row("deg2rad", _RADIANS, ulp=1),
)
