"""Summaries and examples of ufuncs, from which `clarray._api.ufunc_docstrings` writes their docstrings."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["TEXTS", "Text"]


class Text(NamedTuple):
    """The texts of one ufunc.

    Parameters
    ----------
    summary : str
        First line of the docstring.
    example : str
        A call without ``clarray.``, and its output on the next line.
    see : str
        Related functions, separated by commas.
    results : tuple of str
        Names and types of the outputs, if they do not follow from NumPy's table of dtypes.
    """

    summary: str
    example: str
    see: str = ""
    results: tuple[str, ...] = ()


_MANTISSA = "mantissa : DeviceArray of float", "exponent : DeviceArray of int32"
_PARTS = "fraction : DeviceArray of float", "whole : DeviceArray of float"

TEXTS: dict[str, Text] = {
    # Arithmetic
    "add": Text("Add two arrays element by element: ``x1 + x2``.", "add([1, 2, 3], 10).tolist()\n[11, 12, 13]"),
    "subtract": Text(
        "Subtract two arrays element by element: ``x1 - x2``.", "subtract([1, 2, 3], 1).tolist()\n[0, 1, 2]"
    ),
    "multiply": Text(
        "Multiply two arrays element by element: ``x1 * x2``.", "multiply([1, 2, 3], 10).tolist()\n[10, 20, 30]"
    ),
    "divide": Text(
        "Divide two arrays element by element: ``x1 / x2``. Integers are converted to floats.",
        "divide([1, 2, 3], 2).tolist()\n[0.5, 1.0, 1.5]",
        "floor_divide, remainder",
    ),
    "floor_divide": Text(
        "Divide two arrays and round down: ``x1 // x2``.",
        "floor_divide([7, -7], 2).tolist()\n[3, -4]",
        "divide, remainder, divmod",
    ),
    "remainder": Text(
        "Return the remainder of a division that rounds down: ``x1 % x2``. Its sign is the sign of `x2`.",
        "remainder([7, -7], 3).tolist()\n[1, 2]",
        "fmod, floor_divide",
    ),
    "divmod": Text(
        "Return quotients and remainders of a division that rounds down: ``x1 // x2`` and ``x1 % x2``.",
        "divmod([7, -7], 3)[0].tolist()\n[2, -3]\n>>> clarray.divmod([7, -7], 3)[1].tolist()\n[1, 2]",
        "floor_divide, remainder",
        ("quotient : DeviceArray", "remainder : DeviceArray"),
    ),
    "fmod": Text(
        "Return the remainder of a division that rounds towards zero, as C does. Its sign is the sign of `x1`.",
        "fmod([7, -7], 3).tolist()\n[1, -1]",
        "remainder",
    ),
    "negative": Text("Return the negative of each element: ``-x``.", "negative([1, -2]).tolist()\n[-1, 2]"),
    "positive": Text("Return a copy of each element: ``+x``.", "positive([1, -2]).tolist()\n[1, -2]"),
    "reciprocal": Text(
        "Return ``1 / x`` for each element. For integers, the division rounds towards zero.",
        "reciprocal([2.0, 4.0]).tolist()\n[0.5, 0.25]",
    ),
    "square": Text("Return the square of each element.", "square([1, -2, 3]).tolist()\n[1, 4, 9]", "sqrt, power"),
    "absolute": Text(
        "Return the absolute value of each element. For a complex number, this is the magnitude.",
        "absolute([-1, 2]).tolist()\n[1, 2]\n>>> clarray.absolute([3 + 4j]).round(6).tolist()\n[5.0]",
        "fabs, sign",
    ),
    "fabs": Text(
        "Return the absolute value of each element as a float.", "fabs([-1, 2]).tolist()\n[1.0, 2.0]", "absolute"
    ),
    "conjugate": Text(
        "Return the complex conjugate of each element: its imaginary part changes sign.",
        "conjugate([1 + 2j, 3 - 4j]).tolist()\n[(1-2j), (3+4j)]",
    ),
    "sign": Text(
        "Return the sign of each element: -1, 0 or 1. For a complex number `z`, it is ``z / abs(z)``.",
        "sign([-2.5, 0.0, 3.0]).tolist()\n[-1.0, 0.0, 1.0]",
        "signbit, copysign",
    ),
    "power": Text(
        "Raise each element of `x1` to the power of `x2`: ``x1 ** x2``.",
        "power([1, 2, 3], 2).tolist()\n[1, 4, 9]",
        "float_power, square, exp",
    ),
    "float_power": Text(
        "Raise each element of `x1` to the power of `x2`, as float64 or complex128.",
        "float_power([2, 4], -1).round(6).tolist()\n[0.5, 0.25]",
        "power",
    ),
    "gcd": Text(
        "Return the greatest common divisor of two arrays, element by element.",
        "gcd([12, 20], 8).tolist()\n[4, 4]",
        "lcm",
    ),
    "lcm": Text(
        "Return the least common multiple of two arrays, element by element.",
        "lcm([4, 6], 10).tolist()\n[20, 30]",
        "gcd",
    ),
    # Exponentials, logarithms, roots
    "exp": Text(
        "Return ``e ** x`` for each element.",
        "exp([0.0, 1.0]).round(6).tolist()\n[1.0, 2.718282]",
        "expm1, exp2, log",
    ),
    "exp2": Text("Return ``2 ** x`` for each element.", "exp2([0, 3]).round(6).tolist()\n[1.0, 8.0]", "exp, log2"),
    "expm1": Text(
        "Return ``e ** x - 1`` for each element, accurate even for small `x`.",
        "expm1([0.0, 1.0]).round(6).tolist()\n[0.0, 1.718282]",
        "exp, log1p",
    ),
    "log": Text(
        "Return the natural logarithm of each element.",
        "log([1.0, 10.0]).round(6).tolist()\n[0.0, 2.302585]",
        "log1p, log2, log10, exp",
    ),
    "log2": Text(
        "Return the logarithm to base 2 of each element.", "log2([1, 8]).round(6).tolist()\n[0.0, 3.0]", "log, exp2"
    ),
    "log10": Text(
        "Return the logarithm to base 10 of each element.", "log10([1, 1000]).round(6).tolist()\n[0.0, 3.0]", "log"
    ),
    "log1p": Text(
        "Return the natural logarithm of ``1 + x`` for each element, accurate even for small `x`.",
        "log1p([0.0, 1.0]).round(6).tolist()\n[0.0, 0.693147]",
        "log, expm1",
    ),
    "logaddexp": Text(
        "Return ``log(exp(x1) + exp(x2))``, even if the exponentials overflow.",
        "logaddexp([1000.0], [1000.0]).round(6).tolist()\n[1000.693147]",
        "logaddexp2",
    ),
    "logaddexp2": Text(
        "Return ``log2(2**x1 + 2**x2)``, even if the powers overflow.",
        "logaddexp2([2000.0], [2000.0]).round(6).tolist()\n[2001.0]",
        "logaddexp",
    ),
    "sqrt": Text(
        "Return the square root of each element. For a negative real number, it is NaN.",
        "sqrt([1, 4, 9]).tolist()\n[1.0, 2.0, 3.0]",
        "cbrt, square",
    ),
    "cbrt": Text("Return the cube root of each element.", "cbrt([8, -27]).round(6).tolist()\n[2.0, -3.0]", "sqrt"),
    "hypot": Text(
        "Return the hypotenuse of a right triangle: ``sqrt(x1**2 + x2**2)`` without overflow.",
        "hypot([3, 5], [4, 12]).round(6).tolist()\n[5.0, 13.0]",
    ),
    # Trigonometric and hyperbolic functions
    "sin": Text(
        "Return the sine of each angle in radians.", "sin([0.0, 1.0]).round(6).tolist()\n[0.0, 0.841471]", "arcsin, cos"
    ),
    "cos": Text(
        "Return the cosine of each angle in radians.",
        "cos([0.0, 1.0]).round(6).tolist()\n[1.0, 0.540302]",
        "arccos, sin",
    ),
    "tan": Text(
        "Return the tangent of each angle in radians.", "tan([0.0, 1.0]).round(6).tolist()\n[0.0, 1.557408]", "arctan"
    ),
    "arcsin": Text(
        "Return the inverse sine of each element, in radians from -pi/2 to pi/2.",
        "arcsin([0.0, 1.0]).round(6).tolist()\n[0.0, 1.570796]",
        "sin",
    ),
    "arccos": Text(
        "Return the inverse cosine of each element, in radians from 0 to pi.",
        "arccos([1.0, -1.0]).round(6).tolist()\n[0.0, 3.141593]",
        "cos",
    ),
    "arctan": Text(
        "Return the inverse tangent of each element, in radians from -pi/2 to pi/2.",
        "arctan([0.0, 1.0]).round(6).tolist()\n[0.0, 0.785398]",
        "arctan2, tan",
    ),
    "arctan2": Text(
        "Return the angle of the point with x coordinate `x2` and y coordinate `x1`, in radians from -pi to pi.",
        "arctan2([1.0, 1.0], [1.0, -1.0]).round(6).tolist()\n[0.785398, 2.356194]",
        "arctan, angle",
    ),
    "sinh": Text(
        "Return the hyperbolic sine of each element.", "sinh([0.0, 1.0]).round(6).tolist()\n[0.0, 1.175201]", "arcsinh"
    ),
    "cosh": Text(
        "Return the hyperbolic cosine of each element.",
        "cosh([0.0, 1.0]).round(6).tolist()\n[1.0, 1.543081]",
        "arccosh",
    ),
    "tanh": Text(
        "Return the hyperbolic tangent of each element.",
        "tanh([0.0, 1.0]).round(6).tolist()\n[0.0, 0.761594]",
        "arctanh",
    ),
    "arcsinh": Text(
        "Return the inverse hyperbolic sine of each element.",
        "arcsinh([0.0, 1.0]).round(6).tolist()\n[0.0, 0.881374]",
        "sinh",
    ),
    "arccosh": Text(
        "Return the inverse hyperbolic cosine of each element. For real numbers below 1, it is NaN.",
        "arccosh([1.0, 2.0]).round(6).tolist()\n[0.0, 1.316958]",
        "cosh",
    ),
    "arctanh": Text(
        "Return the inverse hyperbolic tangent of each element.",
        "arctanh([0.0, 0.5]).round(6).tolist()\n[0.0, 0.549306]",
        "tanh",
    ),
    "degrees": Text(
        "Convert angles from radians to degrees.",
        "degrees([0.0, clarray.pi]).round(6).tolist()\n[0.0, 180.0]",
        "radians",
    ),
    "radians": Text(
        "Convert angles from degrees to radians.", "radians([0, 180]).round(6).tolist()\n[0.0, 3.141593]", "degrees"
    ),
    "rad2deg": Text(
        "Convert angles from radians to degrees, the same as `degrees`.",
        "rad2deg([0.0, clarray.pi]).round(6).tolist()\n[0.0, 180.0]",
        "deg2rad",
    ),
    "deg2rad": Text(
        "Convert angles from degrees to radians, the same as `radians`.",
        "deg2rad([0, 180]).round(6).tolist()\n[0.0, 3.141593]",
        "rad2deg",
    ),
    # Comparisons and truth
    "equal": Text(
        "Return whether elements are equal: ``x1 == x2``.", "equal([1, 2, 3], 2).tolist()\n[False, True, False]"
    ),
    "not_equal": Text(
        "Return whether elements differ: ``x1 != x2``.", "not_equal([1, 2, 3], 2).tolist()\n[True, False, True]"
    ),
    "less": Text(
        "Return whether elements of `x1` are smaller: ``x1 < x2``.", "less([1, 2, 3], 2).tolist()\n[True, False, False]"
    ),
    "less_equal": Text(
        "Return whether elements of `x1` are smaller or equal: ``x1 <= x2``.",
        "less_equal([1, 2, 3], 2).tolist()\n[True, True, False]",
    ),
    "greater": Text(
        "Return whether elements of `x1` are larger: ``x1 > x2``.",
        "greater([1, 2, 3], 2).tolist()\n[False, False, True]",
    ),
    "greater_equal": Text(
        "Return whether elements of `x1` are larger or equal: ``x1 >= x2``.",
        "greater_equal([1, 2, 3], 2).tolist()\n[False, True, True]",
    ),
    "logical_and": Text(
        "Return whether both elements are true. Numbers other than zero are true.",
        "logical_and([True, True, False], [True, False, False]).tolist()\n[True, False, False]",
        "bitwise_and, all",
    ),
    "logical_or": Text(
        "Return whether at least one of two elements is true. Numbers other than zero are true.",
        "logical_or([True, True, False], [True, False, False]).tolist()\n[True, True, False]",
        "bitwise_or, any",
    ),
    "logical_xor": Text(
        "Return whether exactly one of two elements is true. Numbers other than zero are true.",
        "logical_xor([True, True, False], [True, False, False]).tolist()\n[False, True, False]",
        "bitwise_xor",
    ),
    "logical_not": Text(
        "Return whether each element is false. Zero is false.", "logical_not([0, 1, 2]).tolist()\n[True, False, False]"
    ),
    "isnan": Text(
        "Return whether each element is NaN.", "isnan([1.0, clarray.nan]).tolist()\n[False, True]", "isinf, isfinite"
    ),
    "isinf": Text(
        "Return whether each element is infinite, of either sign.",
        "isinf([1.0, -clarray.inf]).tolist()\n[False, True]",
        "isnan, isposinf, isneginf",
    ),
    "isfinite": Text(
        "Return whether each element is neither infinite nor NaN.",
        "isfinite([1.0, clarray.inf, clarray.nan]).tolist()\n[True, False, False]",
        "isinf, isnan",
    ),
    "signbit": Text(
        "Return whether the sign bit of each element is set, as for negative numbers and -0.0.",
        "signbit([-1.0, -0.0, 0.0]).tolist()\n[True, True, False]",
        "sign, copysign",
    ),
    "maximum": Text(
        "Return the larger of two elements, or NaN if one of them is NaN.",
        "maximum([1, 5, 3], 2).tolist()\n[2, 5, 3]",
        "fmax, max",
    ),
    "minimum": Text(
        "Return the smaller of two elements, or NaN if one of them is NaN.",
        "minimum([1, 5, 3], 2).tolist()\n[1, 2, 2]",
        "fmin, min",
    ),
    "fmax": Text(
        "Return the larger of two elements, ignoring NaN.",
        "fmax([1.0, clarray.nan], 2.0).tolist()\n[2.0, 2.0]",
        "maximum, nanmax",
    ),
    "fmin": Text(
        "Return the smaller of two elements, ignoring NaN.",
        "fmin([1.0, clarray.nan], 2.0).tolist()\n[1.0, 2.0]",
        "minimum, nanmin",
    ),
    "heaviside": Text(
        "Return the Heaviside step function: 0 for negative `x1`, 1 for positive `x1`, `x2` at zero.",
        "heaviside([-2.0, 0.0, 3.0], 0.5).tolist()\n[0.0, 0.5, 1.0]",
    ),
    # Rounding, and the parts of floats
    "floor": Text("Round each element down.", "floor([-1.5, 1.5]).tolist()\n[-2.0, 1.0]", "ceil, trunc, rint"),
    "ceil": Text("Round each element up.", "ceil([-1.5, 1.5]).tolist()\n[-1.0, 2.0]", "floor, trunc, rint"),
    "trunc": Text("Round each element towards zero.", "trunc([-1.5, 1.5]).tolist()\n[-1.0, 1.0]", "floor, ceil, rint"),
    "rint": Text(
        "Round each element to the nearest integer. Halves round to the nearest even integer.",
        "rint([0.5, 1.5, 2.4]).tolist()\n[0.0, 2.0, 2.0]",
        "round, floor, ceil, trunc",
    ),
    "modf": Text(
        "Split each element into its fractional and its whole part. Both have the sign of the element.",
        "modf([1.5, -2.25])[0].tolist()\n[0.5, -0.25]\n>>> clarray.modf([1.5, -2.25])[1].tolist()\n[1.0, -2.0]",
        "trunc, divmod",
        _PARTS,
    ),
    "frexp": Text(
        "Split each element into mantissa and exponent: ``x == mantissa * 2**exponent`` with a mantissa from 0.5 to 1.",
        "frexp([8.0, 0.75])[0].tolist()\n[0.5, 0.75]\n>>> clarray.frexp([8.0, 0.75])[1].tolist()\n[4, 0]",
        "ldexp",
        _MANTISSA,
    ),
    "ldexp": Text(
        "Multiply each element of `x1` by a power of two: ``x1 * 2**x2``.",
        "ldexp([0.5, 0.75], [4, 0]).tolist()\n[8.0, 0.75]",
        "frexp",
    ),
    "copysign": Text(
        "Return the magnitude of `x1` with the sign of `x2`, element by element.",
        "copysign([1.0, -2.0], -1.0).tolist()\n[-1.0, -2.0]",
        "sign, signbit",
    ),
    "nextafter": Text(
        "Return the next float after `x1` in the direction of `x2`.",
        "nextafter([1.0], 2.0).tolist()\n[1.0000000000000002]",
        "spacing",
    ),
    "spacing": Text(
        "Return the distance from each element to the next float of larger magnitude.",
        "spacing([1.0]).tolist()\n[2.220446049250313e-16]",
        "nextafter",
    ),
    # Bits
    "bitwise_and": Text(
        "Combine the bits of two arrays with AND: ``x1 & x2``.",
        "bitwise_and([5, 6], 3).tolist()\n[1, 2]",
        "logical_and",
    ),
    "bitwise_or": Text(
        "Combine the bits of two arrays with OR: ``x1 | x2``.", "bitwise_or([5, 6], 3).tolist()\n[7, 7]", "logical_or"
    ),
    "bitwise_xor": Text(
        "Combine the bits of two arrays with XOR: ``x1 ^ x2``.",
        "bitwise_xor([5, 6], 3).tolist()\n[6, 5]",
        "logical_xor",
    ),
    "invert": Text(
        "Invert the bits of each element: ``~x``. For bools, this is the logical negation.",
        "invert([0, 5]).tolist()\n[-1, -6]",
        "logical_not",
    ),
    "left_shift": Text(
        "Shift the bits of `x1` to the left by `x2`: ``x1 << x2``.", "left_shift([1, 3], 2).tolist()\n[4, 12]"
    ),
    "right_shift": Text(
        "Shift the bits of `x1` to the right by `x2`: ``x1 >> x2``.", "right_shift([4, 13], 2).tolist()\n[1, 3]"
    ),
    "bitwise_count": Text(
        "Count the bits that are set in the absolute value of each element.",
        "bitwise_count([5, 255]).tolist()\n[2, 8]",
        results=("DeviceArray of uint8",),
    ),
    # Products
    "matmul": Text(
        "Multiply two matrices, or two arrays of matrices: ``x1 @ x2``.",
        "matmul([[1, 2], [3, 4]], [[0, 1], [1, 0]]).tolist()\n[[2, 1], [4, 3]]",
        "dot, matvec, vecmat, einsum",
    ),
    "vecdot": Text(
        "Return the dot product of vectors along their last axes, with the complex conjugate of `x1`.",
        "vecdot([[1, 2], [3, 4]], [10, 1]).tolist()\n[12, 34]",
        "vdot, matmul",
    ),
    "matvec": Text(
        "Multiply matrices by vectors.", "matvec([[1, 2], [3, 4]], [10, 1]).tolist()\n[12, 34]", "vecmat, matmul"
    ),
    "vecmat": Text(
        "Multiply the complex conjugates of vectors by matrices.",
        "vecmat([10, 1], [[1, 2], [3, 4]]).tolist()\n[13, 24]",
        "matvec, matmul",
    ),
}
