"""Every function with arrays that have an axis of no elements: NumPy's result, error and warnings along each axis."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from ..outcomes import differences, listed
from .test_every_function import FUNCTIONS, KEYWORDS, sample
from .test_odd_arguments import NAMES, source

pytestmark = pytest.mark.usefixtures("quick_builds")

SHAPES = ["(0,)", "(0, 3)", "(3, 0)", "(2, 0, 3)", "(0, 0)", "(1, 0)"]
AXES = ["None", "0", "1", "2", "-1", "(0, 1)", "()"]
DTYPES = ["i1", "?", "c8", "f2"]

# Functions, a part of the call or of what differs, and why it does.
KNOWN = [
    (
        ("median", "percentile", "quantile"),
        "axis=()",
        "NumPy reshapes what is nothing to an axis that it cannot tell the length of",
    ),
    (("histogram2d", "histogramdd"), "contiguous (C, F)", "NumPy's counts are a part of a larger array, and lie so"),
    (("polydiv",), "setting an array element", "NumPy takes the first row of several for a coefficient"),
]


def expression(value: Any, shape: str, dtype: str | None) -> str:
    """An argument of a sample as an expression, its arrays of no elements."""
    if isinstance(value, np.ndarray):
        return f"xp.zeros({shape}, {dtype or value.dtype.str[1:]!r})" if value.ndim else source(value)
    if isinstance(value, tuple | list):
        inner = "".join(f"{expression(each, shape, dtype)}, " for each in value)
        return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
    return source(value)


def along_axes(parameters: list[str], args: list[str], shape: str) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Positional arguments and keywords for each axis, and each keyword that reductions take."""
    number = parameters.index("axis")
    for axis in AXES:
        if number < len(args):
            yield [*args[:number], axis, *args[number + 1 :]], {}
            continue
        given = {"axis": axis}
        mask = f"xp.zeros({shape}, '?')"
        yield args, given
        for others in ({"keepdims": "True"}, {"initial": "2"}, {"where": mask}, {"initial": "2", "where": mask}):
            if others.keys() <= set(parameters):
                yield args, {**given, **others}


def calls(name: str) -> Iterator[str]:
    """The calls of a function, all of its arrays empty or one of them."""
    parameters = list(inspect.signature(getattr(np, name)).parameters)
    values = sample(name)
    keywords = {key: repr(value) for key, value in KEYWORDS.get(name, {}).items()}
    arrays = [k for k, value in enumerate(values) if isinstance(value, np.ndarray) and value.ndim]
    for shape in SHAPES:
        args = [expression(value, shape, None) for value in values]
        made: list[tuple[list[str], dict[str, str]]] = [(args, {})]
        made += [([expression(value, shape, dtype) for value in values], {}) for dtype in DTYPES]
        if "axis" in parameters:
            made += along_axes(parameters, args, shape)
        if len(arrays) > 1:
            made += [([args[k] if j == k else source(v) for j, v in enumerate(values)], {}) for k in arrays]
        for positional, given in made:
            yield f"xp.{name}({', '.join([*positional, *(f'{k}={v}' for k, v in {**keywords, **given}.items())])})"


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name in NAMES])
def test_axes_of_nothing(name: str) -> None:
    parts = [part for names, part, _ in KNOWN if name in names]
    every = differences(calls(name))
    found = {c: text for c, text in every.items() if not any(part in c or part in text for part in parts)}
    assert not found, listed(found)
