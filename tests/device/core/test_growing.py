"""What the compiled core grows, against what the Python functions that it has twins of grow: nodes and errors."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._core import conversion
from clarray._engine import speedups
from clarray._engine.expr import build
from clarray._engine.expr.node import MASKED, Node, Selection, constant
from clarray._engine.ops.monoids import fold_monoid, reduction_op
from clarray._engine.ops.promotion import resolve
from clarray._engine.ops.special import select_loop
from clarray._engine.ops.ufuncs import find_loop
from clarray._engine.speedups import references
from clarray._numpy.reduction import reduce_calls

pytestmark = pytest.mark.skipif(speedups.native is None, reason="the compiled core is not there, or not wanted")

FLOAT = np.dtype(np.float32)
FIELDS = ("op", "shape", "dtype", "size", "flags", "sig", "memory")


def leaf(*shape: int, dtype: Any = np.float32) -> Node:
    return clarray.ones(shape, dtype).evaluate()._node


def operands() -> dict[str, Any]:
    """Nodes of every kind, new ones for each comparison."""
    x = clarray.ones((3, 4), np.float32).evaluate()
    host = clarray.asarray(np.ones((3, 4), np.float32))
    return {
        "leaf": x._node,
        "view": x[::-1]._node,
        "row": x[1]._node,
        "one": leaf(1, 1),
        "column": leaf(3, 1),
        "nothing": leaf(0, 4),
        "pending": (x + 1)._node,
        "reduced": x.sum()._node,
        "selected": x[x > 0]._node,
        "constant": constant(2.0, FLOAT),
        "integers": leaf(3, 4, dtype=np.int16),
        "shared": host._node,
        "other": leaf(2, 5),
    }


def described(grow: Any) -> Any:
    """What a call gives: the fields of a node, or the error."""
    try:
        node = grow()
    except (ValueError, TypeError, OverflowError) as error:
        return type(error), str(error)
    mine = [getattr(node, name) for name in FIELDS if not (node.flags & MASKED and name in ("shape", "size"))]
    return mine, [n.sig for n in node.args], [n.sig for n in node.inputs], isinstance(node, Selection)


@pytest.mark.parametrize("second", operands())
@pytest.mark.parametrize("first", operands())
def test_growing_is_the_same(first: str, second: str) -> None:
    found = []
    for binary, unary in ((build.binary, build.unary), (references["binary"], references["unary"])):
        made = operands()
        a, b = made[first], made[second]
        add = find_loop(np.add, *resolve(np.add, (a.dtype, b.dtype)))
        found.append(described(partial(binary, add, a, b)))
        if first != "selected":  # `nary` sees to that
            negative = find_loop(np.negative, *resolve(np.negative, (b.dtype,)))
            found[-1] += described(partial(unary, negative, made["leaf" if second == "selected" else second]))
    assert build.binary is not references["binary"]
    assert found[0] == found[1]


@pytest.mark.parametrize("third", operands())
@pytest.mark.parametrize("first", ["leaf", "row", "one", "pending", "selected", "constant"])
def test_growing_of_three_is_the_same(first: str, third: str) -> None:
    found = []
    for nary in (build.nary, references["nary"]):
        made = operands()
        args = made[first], made["column"], made[third]
        found.append(described(partial(nary, select_loop(made[third].dtype), args)))
    assert build.nary is not references["nary"]
    assert found[0] == found[1]


@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("name", operands())
def test_growing_reductions_is_the_same(name: str, axis: int | None) -> None:
    found = []
    for reduction in (build.reduction, references["reduction"]):
        node = operands()[name]
        shape = (3,) if node.flags & MASKED else node.shape
        axes = tuple(range(len(shape))) if axis is None else (axis % max(len(shape), 1),)
        op = reduction_op(fold_monoid(np.add, node.dtype), axes, len(shape), False)
        kept = tuple(n for a, n in enumerate(shape) if a not in axes)
        found.append(described(partial(reduction, op, (node,), kept)))
    assert build.reduction is not references["reduction"]
    assert found[0] == found[1]


AXES = (None, 0, 1, -1, -2, 2, -3, True, np.int64(1), 1.5, "0", (0,), (), 2**70)
UFUNCS = (np.add, np.multiply, np.maximum, np.logical_or, np.subtract, np.bitwise_and, np.negative, np.hypot)


@pytest.mark.parametrize("dtype", ["float32", "bool", "int8", "complex64"])
@pytest.mark.parametrize("ufunc", UFUNCS)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_reductions_by_ufuncs_are_the_same(ufunc: np.ufunc, dtype: str) -> None:
    """Whatever the shape and the axis; where a value is said that is the usual one, or another."""
    assert reduce_calls.ufunc_reduce is not references["ufunc_reduce"]
    for shape in ((2, 3), (3,), (), (0, 2), (1, 1)):
        x = clarray.array((np.arange(np.prod(shape)) % 3 - 1).reshape(shape).astype(dtype))
        for axis in AXES:
            for rest in ((), (None, None), (None, None, True), ("float64",), (None, None, False, 2)):
                twin, reference = reduce_calls.ufunc_reduce, references["ufunc_reduce"]
                calls = [partial(f, ufunc, x, axis, *rest) for f in (twin, reference)]
                ours, theirs = (described(lambda call=call: call()._node) for call in calls)
                assert ours == theirs


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint64", "bool", "complex64"])
def test_numbers_are_the_same(dtype: str) -> None:
    twin, reference = conversion.scalar, references["scalar"]
    assert twin is not reference
    for value in (0, 1, 100, *((float("nan"), -0.0) if np.dtype(dtype).kind in "fc" else ())):
        vector = clarray.array(np.array([1, value]).astype(dtype))
        for made in (vector[1, ...], vector[1:].reshape(()), vector[1:].max()):
            ours, theirs = (f(made.copy(), "complex" if dtype == "complex64" else "float") for f in (twin, reference))
            assert (type(ours), repr(ours)) == (type(theirs), repr(theirs))


def test_readers_are_noted_and_pruned() -> None:
    x = clarray.ones(5).evaluate()
    kept = [x + k for k in range(3)]
    for _ in range(1000):
        x + 1
    readers = x._node.readers
    assert len(readers) < 2 * build.PRUNE_AT
    alive = [r() for r in readers if r() is not None]
    assert all(any(node is k._node for node in alive) for k in kept)
    x[:] = 7
    assert [float(k[0]) for k in kept] == [1, 2, 3]
