"""Operands that lie in memory in different ways, and are of different dtypes, in one kernel.

A kernel loads each of its operands by dtype and by how its elements follow each other: vectors where they are
neighbours and aligned, single elements elsewhere. Whether one operand may be loaded so depends on the others too.
Every algorithm is asked with every pair of classes, and with pairs of dtypes in which each is converted to each that
it is promoted to, as planned for a CPU and for a GPU; `--exhaustive` asks with every pair of dtypes.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

from ..conftest import DTYPES, policy_in_force

pytestmark = pytest.mark.usefixtures("quick_builds")

Same = Callable[..., None]
ROWS, COLUMNS = 12, 64  # a work-item of a GPU has whole vectors of columns, and all that it takes
FP64 = current_device().capabilities.fp64
KINDS = [d for d in DTYPES if FP64 or d not in ("float64", "complex128")]

# Views of a larger array, all of one shape: how elements follow each other along the last axis, and from row to row.
CLASSES: dict[str, Callable[[Any], Any]] = {
    "contiguous": lambda b: b[:ROWS, :COLUMNS].copy(),
    "from an odd place": lambda b: b[3 : 3 + ROWS, 1 : 1 + COLUMNS],
    "one row for all": lambda b: b[5:6, 4 : 4 + COLUMNS],
    "one column for all": lambda b: b[:ROWS, 4:5],
    "every second": lambda b: b[:ROWS, : 2 * COLUMNS : 2],
    "backwards": lambda b: b[:ROWS, COLUMNS - 1 :: -1],
    "transposed": lambda b: b[:COLUMNS, :ROWS].T,
}
PAIRS = list(itertools.combinations_with_replacement(CLASSES.values(), 2))

ALGORITHMS: dict[str, Callable[[ModuleType, Any, Any], Any]] = {
    "elementwise": lambda xp, a, b: a + b,
    "sum down the columns": lambda xp, a, b: (a + b).sum(axis=0),
    "sum along the rows": lambda xp, a, b: (a + b).sum(axis=1),
    "position of the largest": lambda xp, a, b: (a + b).argmax(axis=0),
    "scan": lambda xp, a, b: xp.cumsum(a + b, axis=0),
    "selection": lambda xp, a, b: xp.broadcast_to(a, (ROWS, COLUMNS))[xp.broadcast_to(b, (ROWS, COLUMNS)) > 3],
    "product of matrices": lambda xp, a, b: a @ b.T,
    "stacked": lambda xp, a, b: xp.concatenate([xp.broadcast_to(a, (ROWS, COLUMNS)), b], axis=1),
}


@pytest.fixture(params=["own", "gpu"])
def row(request: pytest.FixtureRequest) -> Iterator[str]:
    """The device's own policies, and those of a GPU, which have scalar code and aligned vectors."""
    with policy_in_force(request.param):
        yield request.param


def base(dtype: str) -> np.ndarray:
    """Small whole numbers, unlike their neighbours, whose sums every dtype has exactly or wraps around."""
    values = (np.arange(66 * 200) * 7 % 11 % 6).reshape(66, 200).astype(dtype)
    return values * (1 + 1j) if values.dtype.kind == "c" else values


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_pair_of_classes(same: Same, row: str, algorithm: str) -> None:
    body = ALGORITHMS[algorithm]
    host = base("float32")
    for one, other in PAIRS:
        if algorithm == "stacked" and other(host).shape != (ROWS, COLUMNS):
            continue
        same(lambda xp, one=one, other=other: body(xp, one(xp.array(host)), other(xp.array(host))))


@pytest.mark.parametrize("dtype", [d for d in ("float64", "complex64") if d in KINDS])
def test_classes_of_other_sizes_in_columns(same: Same, dtype: str) -> None:
    host = base(dtype)
    with policy_in_force("gpu"):
        for one, other in PAIRS:
            same(lambda xp, one=one, other=other: (one(xp.array(host)) * other(xp.array(host))).sum(axis=0))


def test_halves_that_are_written_where_they_are_read(same: Same) -> None:
    """Converted while they are loaded and stored, at places that no vector's alignment is known of."""
    host = base("float16")

    def body(xp: ModuleType, one: Any, other: Any) -> Any:
        a, into = one(xp.array(host)), other(xp.array(host))
        if into.shape == (ROWS, COLUMNS):
            into = xp.add(a, 1, out=into, where=a > 2)
        return into, a * 2

    for one, other in itertools.product(CLASSES.values(), repeat=2):
        if other is not CLASSES["one row for all"]:
            same(lambda xp, one=one, other=other: body(xp, one, other))


def computed(*dtypes: str) -> bool:
    """Whether the device has the dtype that these promote to."""
    return FP64 or np.result_type(*dtypes).name not in ("float64", "complex128")


# A product of matrices converts its operands as it loads them: the smallest sizes that its vectors fit.
BATCHES = [((1, 3, 2), (5, 2, 4)), ((5, 3, 2), (2, 4)), ((2, 1, 3, 2), (5, 2, 4))]
UNLIKE = [("int32", "uint64"), ("uint64", "int32"), ("int64", "uint64"), ("float32", "int64"), ("bool", "float64")]


def converting(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Pairs in which each dtype is converted to each that it is promoted to: an operand is loaded so whatever is beside
    it."""
    made = {pair: {(dtype, np.result_type(*pair).name) for dtype in pair} for pair in pairs}
    left, found = set().union(*made.values()), []
    while left:
        found.append(max(pairs, key=lambda pair: len(made[pair] & left)))
        left -= made[found[-1]]
    return found


COMPUTED = [pair for pair in itertools.product(KINDS, repeat=2) if computed(*pair)]
UNORDERED = [pair for pair in COMPUTED if KINDS.index(pair[0]) <= KINDS.index(pair[1])]


def check_products(same: Same, pairs: list[tuple[str, str]]) -> None:
    rng = np.random.default_rng(0)
    for one, other in pairs:
        a, b = rng.integers(0, 5, (8, 16)).astype(one), rng.integers(0, 5, (16, 8)).astype(other)
        with policy_in_force("gpu"):
            same(lambda xp, a=a, b=b: xp.array(a) @ xp.array(b))


@pytest.mark.parametrize("turned", [False, True])
def test_products_of_every_conversion(same: Same, turned: bool) -> None:
    pairs = converting(UNORDERED)
    chosen = pairs[::2] if turned else pairs[1::2]  # either operand is the wider one
    check_products(same, [pair[::-1] for pair in chosen] if turned else chosen)


@pytest.mark.exhaustive
@pytest.mark.parametrize("one", KINDS)
def test_products_of_every_pair_of_dtypes(same: Same, one: str) -> None:
    check_products(same, [pair for pair in COMPUTED if pair[0] == one])


@pytest.mark.parametrize("shapes", BATCHES, ids=str)
def test_batches_of_unlike_dtypes(same: Same, row: str, shapes: tuple) -> None:
    rng = np.random.default_rng(0)
    for dtypes in UNLIKE if row == "gpu" else UNLIKE[::2]:  # two kernels each
        if computed(*dtypes):
            a, b = (rng.integers(0, 5, s).astype(d) for s, d in zip(shapes, dtypes, strict=True))
            same(lambda xp, a=a, b=b: xp.array(a) @ xp.array(b))


def check_reduction(one: str, others: list[str]) -> None:
    """Operands of unlike dtypes in one reduction down columns, each times the first."""
    first, *beside = [base(dtype)[k : ROWS + k, :COLUMNS] for k, dtype in enumerate((one, *others))]
    expected = functools.reduce(operator.add, [first * each for each in beside]).sum(axis=0)
    with policy_in_force("gpu"):
        ours = clarray.array(first)
        found = functools.reduce(operator.add, [ours * clarray.array(each) for each in beside]).sum(axis=0)
    np.testing.assert_array_equal(found.get(), expected)


@pytest.mark.parametrize("to", KINDS)
def test_reductions_of_every_conversion(to: str) -> None:
    """All that are converted to one dtype are in one kernel."""
    check_reduction(to, [dtype for dtype in KINDS if np.result_type(dtype, to) == np.dtype(to)])


@pytest.mark.exhaustive
@pytest.mark.parametrize("one", KINDS)
def test_reductions_of_every_pair_of_dtypes(one: str) -> None:
    for pair in UNORDERED:
        if pair[0] == one:
            check_reduction(one, [pair[1]])


@pytest.mark.parametrize("count", [97, 98, 99, 100])
def test_in_place_from_the_end(same: Same, row: str, count: int) -> None:
    """All operands run backwards, so the loop is turned round: it begins `count` elements further on."""

    def body(xp: ModuleType) -> Any:
        found, other = (xp.asarray(np.arange(256, dtype=np.float32) * k) for k in (1, 3))
        view = found[200::-1][:count]
        view += other[200::-1][:count]
        return found

    same(body)
