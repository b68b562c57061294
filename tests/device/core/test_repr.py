"""Arrays as text: NumPy's to the letter, and of large arrays no more than what is shown comes to the host."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clarray
import clarray.random
import clarray.special

pytestmark = pytest.mark.usefixtures("quick_builds")

RANDOM = np.random.default_rng(5)
ARRAYS = {
    "0-d": np.float32(3.25),
    "empty": np.zeros((0, 3), np.int32),
    "empty axis": np.zeros(0, np.float32),
    "small": RANDOM.random((3, 4), dtype=np.float32),
    "int": np.arange(-2, 3),
    "long": RANDOM.random(2000, dtype=np.float32) * 1e6,
    "square": RANDOM.random((60, 60), dtype=np.float32),
    "unequal": np.arange(5000, dtype=np.uint8).reshape(2, 2500),
    "bool": np.arange(5000).reshape(50, 100) % 2 == 0,
    "complex": RANDOM.random((2, 2, 2, 300), dtype=np.float32) + 1j,
    "not finite": np.array([np.nan, np.inf, -np.inf, -0.0] * 300, np.float32),
    "ones": np.ones((40, 1, 50), np.int16),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "few": {"edgeitems": 1},
    "none": {"edgeitems": 0, "threshold": 3},
    "low threshold": {"threshold": 5},
    "rounded": {"precision": 2, "suppress": True, "sign": "+"},
    "narrow": {"linewidth": 28, "threshold": 2},
    "formatter": {"formatter": {"all": lambda x: "z"}},
    "older": {"legacy": "2.1"},
    "oldest": {"legacy": "1.13"},
    "overridden": {"override_repr": lambda x: f"<{x.size}>"},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("host", ARRAYS.values(), ids=ARRAYS)
def test_text_is_numpys(host: Any, options: dict[str, Any], same: Any) -> None:
    def body(xp: ModuleType) -> list[str]:
        x = xp.asarray(host)
        with np.printoptions(**options):
            texts = [repr(x), str(x), f"{x}", xp.array_repr(x, 40, 3, True), xp.array_str(x, 40, 3, True)]
            return [*texts, xp.array2string(x, 50, separator="; ", prefix="values", suffix="end", floatmode="fixed")]

    same(body)


def test_limits_of_one_call(same: Any) -> None:
    same(lambda xp: xp.array2string(xp.arange(100).reshape(10, 10), threshold=9, edgeitems=2, max_line_width=30))
    same(lambda xp: xp.array2string(xp.arange(3, dtype=np.float32), formatter={"float_kind": "{:.1f}".format}))
    same(lambda xp: np.array2string(xp.arange(2000)))
    same(lambda xp: np.array_repr(xp.arange(2000)) + np.array_str(xp.arange(2000)))


def test_only_the_corners_of_a_large_array_are_copied() -> None:
    x = clarray.zeros((3000, 2000), dtype=np.float32).evaluate()
    with clarray.profile() as profile:
        text = repr(x)
    assert text == repr(np.zeros((3000, 2000), np.float32))
    copied = [event for event in profile.records if event.name == "to host"]
    assert sum(event.nbytes for event in copied) == 4 * 9 * 4


def test_an_array_larger_than_memory_has_a_text() -> None:
    texts = [repr(xp.broadcast_to(xp.arange(3), (1 << 50, 3))) for xp in (np, clarray)]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("spec", ["", ".2f", "e"])
def test_format(spec: str, same: Any) -> None:
    same(lambda xp: format(xp.asarray(np.float32(2.5)), spec))
    if spec:
        with pytest.raises(TypeError, match="unsupported format string"):
            format(clarray.arange(3), spec)


@pytest.mark.parametrize(
    ("host", "width", "expected"),
    [
        (np.arange(4), 20, "0 1 2 3"),
        (np.zeros((0, 2), np.int8), 20, ""),
        (np.float32(1 / 3), 20, "0.3333"),
        (np.arange(1000), 20, "0 1 2 ... 998 999"),
        (np.arange(1000).reshape(10, 10, 10), 20, "0 1 2 ... 998 999"),
        (np.arange(1000).reshape(500, 2)[::-1], 24, "998 999 996 ... 3 0 1"),
        (np.array([1234567890123] * 3), 16, "1234567890123..."),
        (np.array([1234567890123]), 10, "1234567..."),
    ],
)
def test_one_line_for_xarray(host: np.ndarray, width: int, expected: str) -> None:
    found = clarray.asarray(host)._repr_inline_(width)
    assert found == expected
    assert len(found) <= width


def test_one_line_reads_only_both_ends() -> None:
    x = clarray.arange(1 << 20).reshape(1 << 10, 1 << 10).evaluate()
    with clarray.profile() as profile:
        x._repr_inline_(60)
    assert sum(event.nbytes for event in profile.records if event.name == "to host") < 1000


BIG = RANDOM.random((50, 70), dtype=np.float32)
PENDING: dict[str, Callable[[ModuleType, Any], Any]] = {
    "one operation": lambda xp, x: x + 1,
    "several": lambda xp, x: xp.sqrt(x) * 3 - x / 7,
    "another dtype": lambda xp, x: (x * 100).astype(np.int16),
    "bools": lambda xp, x: x > 0.5,
    "rows and columns": lambda xp, x: x[:, :1] * 2 + x[3] - x[0, 0] * 1,
    "a number repeated": lambda xp, x: xp.full((40, 30), 0.1) * 3,
    "positions": lambda xp, x: xp.arange(6000) * 2,
    "positions in rows": lambda xp, x: xp.arange(70) * x,
    "turned": lambda xp, x: x.T[::-1, ::2] * 3,
    "four axes": lambda xp, x: x.reshape(5, 10, 1, 70)[:, ::-1] - x.reshape(10, 5, 70)[:, :1],
    "choices": lambda xp, x: xp.where(x > 0.5, x, -x),
    "complex": lambda xp, x: x * 1j + 2,
    "a copy": lambda xp, x: xp.positive(x),
    "a part of itself": lambda xp, x: (x * 3).reshape(-1)[5:] * 2,
    "used twice": lambda xp, x: (lambda y: y * y + y)(x - 1),
}
REDUCING: dict[str, Callable[[ModuleType, Any], Any]] = {
    "rows that are summed": lambda xp, x: xp.broadcast_to(x, (40, 50, 70)).max(axis=0),
    "what a mask selects": lambda xp, x: x[x > 0.25] * 2,
    "less the largest": lambda xp, x: x - x.max(axis=1, keepdims=True),
    "of fewer axes": lambda xp, x: x + x.max(axis=0),
    "with an axis put back": lambda xp, x: x - x.max(axis=1)[:, None],
    "less the largest of its own": lambda xp, x: (lambda y: y - y.max())(x * 2),
}


@pytest.mark.parametrize("options", [{}, {"edgeitems": 1, "threshold": 10}, {"linewidth": 40}, {"threshold": 10**6}])
@pytest.mark.parametrize("body", (PENDING | REDUCING).values(), ids=PENDING | REDUCING)
def test_text_of_what_is_pending_is_numpys(body: Any, options: dict[str, Any]) -> None:
    texts = []
    for xp in (np, clarray):
        y = body(xp, xp.array(BIG))
        with np.printoptions(**options):
            line = y._repr_inline_(50) if xp is clarray else ""
            texts.append([repr(y), str(y)])
            if xp is clarray:
                assert (repr(y.evaluate()), y._repr_inline_(50)) == (texts[1][0], line)
    assert texts[0] == texts[1]


@pytest.mark.kernels_alone
@pytest.mark.parametrize("body", PENDING.values(), ids=PENDING)
def test_what_is_pending_stays_so(body: Any) -> None:
    y = body(clarray, clarray.array(BIG))
    pending = y._node.memory is None
    with clarray.profile() as profile:
        text, line = repr(y), y._repr_inline_(50)
    assert (y._node.memory is None) == pending
    assert profile.launches + profile.first_calls <= 6  # three parts, each perhaps with what is used twice
    assert sum(event.nbytes for event in profile.records if event.kind == "allocate") < 16 * 1024
    assert (text, line) == (repr(y.evaluate()), y._repr_inline_(50))


@pytest.mark.parametrize("body", [PENDING["several"], PENDING["used twice"], REDUCING["less the largest"]])
def test_a_text_leaves_writes_their_order(body: Any) -> None:
    """What is pending is still computed before its operands are overwritten, and once."""
    texts = []
    for xp in (np, clarray):
        x = xp.array(BIG)
        y = body(xp, x)
        before = repr(y)
        x[...] = 7
        texts.append((before, repr(y), repr(y * 1), repr(x)))
    assert texts[0] == texts[1]
    assert texts[0][0] == texts[0][1]


def test_an_expression_larger_than_memory_has_a_text() -> None:
    long = clarray.arange(1 << 25).evaluate()
    table = long.reshape(-1, 1) - long
    assert repr(table).endswith("shape=(33554432, 33554432))")
    lines = str(table).splitlines()
    assert lines[0].split() == ["[[", "0", "-1", "-2", "...", "-33554429", "-33554430", "-33554431]"]
    assert lines[-1].split() == ["[", "33554431", "33554430", "33554429", "...", "2", "1", "0]]"]
    assert table._repr_inline_(30) == "0 -1 -2 -3 -4 -5 ... 4 3 2 1 0"
    assert table._node.memory is None


def test_threads_print_what_another_computes() -> None:
    x = clarray.array(BIG)
    for _ in range(20):
        y = clarray.sqrt(x) * 2 + 1
        with ThreadPoolExecutor(4) as pool:
            texts = list(pool.map(lambda job: job(), [y.__repr__, y.evaluate, y.__repr__, y.__repr__]))
        assert texts[0] == texts[2] == texts[3] == repr(np.sqrt(BIG) * 2 + 1)


MADE_HERE: dict[str, Callable[[Any], Any]] = {  # what NumPy has no like of, or other values
    "random": lambda x: clarray.random.default_rng(3).random(5000),
    "normal": lambda x: clarray.random.default_rng(3).normal(size=(60, 70)),
    "integers": lambda x: clarray.random.default_rng(3).integers(0, 100, 5000),
    "a kernel with places": lambda x: clarray.ElementwiseKernel("T x", "T y", "y = x * n + i", "placed")(x[0] + x),
    "a special function": lambda x: clarray.special.erf(x),
    "a table of functions": lambda x: clarray.tril(x, -3),
}


@pytest.mark.parametrize("body", MADE_HERE.values(), ids=MADE_HERE)
def test_a_part_is_what_the_whole_has_there(body: Any) -> None:
    x = clarray.array(BIG)
    y = body(x)
    assert y._node.memory is None
    found = repr(y), y._repr_inline_(50)
    assert y._node.memory is None
    assert found == (repr(y.evaluate()), y._repr_inline_(50))
