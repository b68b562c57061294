"""Every function with an argument that it has to refuse, or to take as NumPy does: the same outcome.

A call is that of `test_every_function`, but for one argument. What is known to differ from NumPy is in KNOWN.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from ..outcomes import differences, listed
from .test_every_function import FUNCTIONS, KEYWORDS, NO_CALL, sample

pytestmark = pytest.mark.usefixtures("quick_builds")

# By the name of the parameter. Most are refused, which compiles nothing.
ODD = {
    "axis": ["'0'", "1.5", "9", "-9", "(0, 0)", "(0, 9)", "np.int64(0)", "xp.array(0)", "{}"],
    "order": ["'X'", "''", "'c'", "'f'", "0", "None"],
    "mode": ["'bad'", "None", "[]"],
    "out": ["3", "'a'", "[0]", "xp.zeros((7, 7, 7))"],
    "keepdims": ["1", "0"],
    "casting": ["'bad'", "None"],
    "kind": ["'bad'", "5"],
    "side": ["'bad'", "None"],
    "method": ["'bad'", "None"],
    "where": ["xp.array([1, 0, 1, 1])", "xp.array([True, False])"],
    "dtype": ["'bad'", "5"],
    "ddof": ["'a'", "1.5"],
    "k": ["'a'", "None", "xp.array(1)"],
    "n": ["'a'", "-1"],
    "num": ["'a'", "-1", "2.5"],
    "repeats": ["-1", "1.5", "[1, 2]"],
    "shape": ["-1", "'a'", "(2, -1)", "2.5", "xp.array(2)"],
    "indices_or_sections": ["0", "5"],
    "bins": ["0", "'bad'", "[3, 1]", "2.5"],
    "range": ["(5, 0)", "(0, np.inf)", "(1,)"],
    "kth": ["9", "1.5", "'a'"],
    "q": ["101", "-1", "'a'", "np.nan"],
    "indexing": ["'bad'"],
    "bitorder": ["'bad'", "None"],
    "trim": ["'x'", "None"],
}
FIRST = ["xp.array(3.5, 'f4')", "xp.zeros(0, 'f4')", "xp.zeros((0, 3), 'f4')"]
# Functions, and what stands in a call that differs from NumPy's: why.
KNOWN: list[tuple[tuple[str, ...], str, str]] = [
    (("bincount",), "", "the dtype is looked at before the number of axes"),
    (("cumulative_prod", "cumulative_sum"), "(0, 9)", "several axes are refused before their numbers are looked at"),
    (("histogram2d", "histogramdd"), "", "NumPy's counts are a view of a larger array; a 0-d sample is refused"),
    (("nanmean", "nanvar", "nanstd"), "out=", "TypeError where NumPy happens to ask a number for its dtype"),
    (("std", "var", "nanstd", "nanvar"), "ddof='a'", "the subtraction that fails is Python's, not a ufunc's"),
    (("poly", "polyder", "polyint", "roots"), "xp.array(3.5", "a 0-d array is a polynomial of one coefficient"),
    (("polyint",), "k='a'", "no texts"),
    (("pad",), "mode=[]", "ValueError, as for any other mode that is none"),
    (("trim_zeros",), "{}", "a dict is no tuple of axes"),
    (("rot90",), "k='a'", "NumPy 2.4 takes the remainder of a text, 2.5 asks it for a number"),
    (("eye", "identity", "copyto"), "", "test_arguments and the chapters' own tests say what they refuse"),
]


def source(value: Any) -> str:
    """An argument of a sample as an expression."""
    if isinstance(value, np.ndarray):
        return f"xp.array({value.tolist()!r}, {value.dtype.str[1:]!r})"
    if isinstance(value, tuple | list):
        inner = "".join(f"{source(each)}, " for each in value)
        return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
    return f"xp.{value.__name__}" if callable(value) else repr(value)


def calls(name: str) -> list[str]:
    """The calls of a function with one odd argument."""
    parameters = list(inspect.signature(getattr(np, name)).parameters.values())
    args = [source(each) for each in sample(name)]
    given = {key: repr(value) for key, value in KEYWORDS.get(name, {}).items()}
    found = [[value, *args[1:]] for value in FIRST if args and args[0].startswith("xp.array")]
    made = [(each, given) for each in found]
    for number, parameter in enumerate(parameters):
        for odd in ODD.get(parameter.name, []):
            if number < len(args) and parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
                made.append(([*args[:number], odd, *args[number + 1 :]], given))
            elif parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                made.append((args, {**given, parameter.name: odd}))
    return [f"xp.{name}({', '.join([*a, *(f'{key}={value}' for key, value in kw.items())])})" for a, kw in made]


def has_signature(name: str) -> bool:
    try:
        inspect.signature(getattr(np, name))
    except ValueError:
        return False
    return not any(callable(each) and each.__name__ == "<lambda>" for each in sample(name))


NAMES = [name for name in FUNCTIONS if name not in NO_CALL and hasattr(np, name) and has_signature(name)]


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("name", NAMES)
def test_odd_arguments(name: str) -> None:
    every = differences(calls(name))
    found = {
        call: unlike
        for call, unlike in every.items()
        if not any(name in names and part in call for names, part, _ in KNOWN)
    }
    assert not found, listed(found)
