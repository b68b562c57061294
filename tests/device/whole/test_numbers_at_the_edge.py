"""Numbers at the edge of their range, and axes in every form: NumPy's result or NumPy's error, and no hang."""

from __future__ import annotations

import faulthandler
from collections.abc import Iterator

import numpy as np
import pytest

import clarray

from ..outcomes import differences, listed

EDGES = ("-1", "0", "2**31 - 1", "2**31", "2**32", "2**40", "2**62", "2**63", "2**64", "-2**31", "-2**63", "np.nan")
X = "xp.array([[1.25, -3e300, np.inf], [5.0, 0.0, 2.5]])"
CALLS = [
    *(f"xp.round({x}, {{}})" for x in (X, "xp.array([15, 25])", "xp.array([1.5], 'f4')", "xp.array([1.5j])")),
    *(f"xp.{f}({X}, axis={{}})" for f in ("sum", "max", "cumsum", "sort", "flip", "median", "squeeze", "concatenate")),
    *(f"xp.{f}({X}, {{}}, 0)" for f in ("swapaxes", "moveaxis", "rollaxis", "take")),
    f"xp.expand_dims({X}, {{}})",
    f"xp.lib.stride_tricks.as_strided({X}, ({{}},), (0,)).shape",
]
TENSORS = "xp.arange(6.0).reshape(2, 3), xp.arange(6.0).reshape(2, 3)"
AXES = [
    *("(0, 0)", "[0, 1]", "([0, 1], [0, 1])", "([0], [-2])", "(range(2), range(2))", "(np.arange(2), np.arange(2))"),
    *(
        "(np.int64(1), np.int8(1))",
        "(xp.arange(2), [0, 1])",
        "np.array([[0, 1], [0, 1]])",
        "xp.array([[0, 1], [0, 1]])",
    ),
    *("2", "0", "np.int64(2)", "np.array(2)", "xp.array(2)", "2.0", "(0.0, 0.0)", "(np.array([0.0]), [0])"),
    *("(range(-2, 0), range(-2, 0))", "(-1, (1,))", "([0, 0], [0, 0])", "(range(2), [0])", "([2], [0])", "None"),
]


@pytest.fixture(autouse=True)
def limited() -> Iterator[None]:
    """End the process with a traceback if a call hangs."""
    faulthandler.dump_traceback_later(120, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("call", CALLS)
def test_edges(call: str) -> None:
    left_out = {"-2**31"}  # as an axis it stands for None in NumPy's own code
    if "as_strided" in call:
        left_out.update(edge for edge in EDGES if edge.startswith("2**"))  # NumPy looks at no bounds
    found = differences(call.format(edge) for edge in EDGES if edge not in left_out)
    assert not found, listed(found)


@pytest.mark.usefixtures("tier")
def test_axes_of_tensordot() -> None:
    found = differences(f"xp.tensordot({TENSORS}, {axes})" for axes in AXES)
    assert not found, listed(found)


@pytest.mark.parametrize(
    ("grid", "block"), [((2**63,), (1,)), ((2**62,), (4,)), ((2**31, 2**31, 2), (1,)), ((2**64,), (1,))]
)
def test_grids_too_large_are_refused(grid: tuple[int, ...], block: tuple[int, ...]) -> None:
    kernel = clarray.RawKernel("kernel void one(global int *x) { x[0] = 1; }", "one")
    x = clarray.zeros(1, np.int32)
    with pytest.raises(ValueError, match="work-items"):
        kernel(grid, block, (x,))
    assert x.tolist() == [0]
