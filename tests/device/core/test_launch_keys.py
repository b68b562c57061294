"""The launch kept for some operands is the right one for all that take it: its key tells all that its plan goes by."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.fused.elementwise.launch import _prepare_strided as prepare_strided
from clarray._engine.launch.host_tier import setting
from clarray._engine.launch.kernel_cache import kernel_cache_of
from clarray._engine.runtime import current_device
from clarray._engine.speedups import native

from ..conftest import policy_in_force

BASE = np.arange(32, dtype=np.float32)
# Starts where an aligned vector may lie and where it may not, steps, and single elements.
KEYS = [np.s_[:8], np.s_[1:9], np.s_[4:12], np.s_[1:17:2], np.s_[1:2], np.s_[4:5]]
LONG = KEYS[:4]

# What is computed of arrays that lie so.
STATEMENTS: dict[str, tuple[Callable[..., Any], list[list[slice]]]] = {
    "new": (lambda x, y, out, i, j: (x[i] + y[j]).evaluate(), [KEYS, KEYS]),
    "new, columns": (lambda x, y, out, i, j: (x[i] + y[j, None]).evaluate(), [LONG, KEYS]),
    "into": (lambda x, y, out, i, j, k: out.__setitem__(k, x[i] * y[j]), [LONG, KEYS[3:], LONG]),
    "a copy": (lambda x, y, out, i, k: out.__setitem__(k, x[i]), [KEYS, LONG]),
    "in place": (lambda x, y, out, i, k: out[k].__iadd__(x[i]), [KEYS, LONG]),
    "a number": (lambda x, y, out, k: out.__setitem__(k, 3.5), [KEYS]),
    "sum": (lambda x, y, out, i, j: (x[i] * y[j]).sum().evaluate(), [LONG, KEYS]),
    "sum of columns": (lambda x, y, out, i, j: (x[i] * y[j, None]).max(0).evaluate(), [LONG, LONG[:2]]),
    "product": (lambda x, y, out, i, j: (x[i] @ y[j]).evaluate(), [LONG, LONG]),
}


pytestmark = [pytest.mark.usefixtures("quick_builds"), pytest.mark.usefixtures("kernels_stay")]


@pytest.fixture(params=["own", "gpu"], autouse=True)
def in_force(request: pytest.FixtureRequest) -> Iterator[None]:
    with policy_in_force(request.param):
        yield


@pytest.mark.parametrize("name", STATEMENTS)
def test_launches_are_those_of_the_operands_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setting, "on", False)
    statement, places = STATEMENTS[name]
    x, y, out = (clarray.array(BASE) for _ in range(3))
    prepared, recent = kernel_cache_of(x.device).prepared, current_device().recent

    def launched(case: tuple[slice, ...]) -> tuple[Any, ...]:
        statement(x, y, out, *case)
        return recent[-1]

    cases = list(itertools.product(*places))
    alone = []
    for case in cases:
        prepared.clear()
        alone.append(launched(case))
    numbers = list(range(len(cases)))
    for seed in range(6):  # whichever comes first is the one that is kept
        random.Random(seed).shuffle(numbers)
        prepared.clear()
        for number in numbers:
            assert launched(cases[number]) == alone[number], cases[number]


def copied(part: Any) -> Any:
    """A table of its own with the same elements, computed: NumPy's, or clarray's."""
    made = part + 0
    return made if isinstance(made, np.ndarray) else made.evaluate()


# Statements whose slices are others with each number, as in factorizations: over `a` and `b`, tables of 20 x 30.
EXTENTS: dict[str, Callable[[Any, Any, int], Any]] = {
    "a vector and itself backwards": lambda a, b, k: a[0, :k].__iadd__(a[0, :k][::-1] * 2),
    "new, every other": lambda a, b, k: (a[1, ::2][: k - 4] + b[2, : k - 4]).__iadd__(1),
    "both backwards": lambda a, b, k: a[0, :k][::-1].__isub__(b[1, :k][::-1]),
    "a column": lambda a, b, k: a.__setitem__(np.s_[k:, 3], b[k, k:20] - b[2, 2]),
    "a block": lambda a, b, k: a[k:, k:].__imul__(b[k:, k:]),
    "an outer product": lambda a, b, k: a[k:, k:].__isub__(b[k:, 0, None] * b[0, k:]),
    "transposed": lambda a, b, k: a[: k - 4, : k - 4].__iadd__(b.T[: k - 4, : k - 4]),  # fewer than go in tiles
    "upside down": lambda a, b, k: a.__setitem__(np.s_[:k, 1:], b[:k, 1:][::-1]),
    "all of it backwards": lambda a, b, k: a[:k, :k][::-1, ::-1].__iadd__(b[:k, :k][::-1, ::-1]),
    "a number": lambda a, b, k: a.__setitem__(np.s_[k:, :k], 3),
    "whole rows": lambda a, b, k: a[k:].__imul__(b[k:]),
    "a column for all": lambda a, b, k: a.__setitem__(np.s_[:k], b[:k, :1]),
    "three axes": lambda a, b, k: a.reshape(20, 5, 6)[:k, 1:4, :5].__iadd__(b.reshape(20, 5, 6)[-k:, :3, 1:]),
    "an outer product of its own": lambda a, b, k: a[k:, k:].__isub__(np.outer(a[k:, 0], a[0, k:])),
    "a whole table": lambda a, b, k: b[k:, k:].__imul__(copied(a[k:, k:])),
    "a whole table into another": lambda a, b, k: copied(a[k:, k:]).__iadd__(b[k:, k:]),
    "new, of a whole table": lambda a, b, k: (copied(a[k:, k:]) - b[0, k:]).__iadd__(1),
    "whole and a column": lambda a, b, k: b[k:, k:].__isub__(copied(a[k:, k:]) * copied(a[k:, 2])[:, None]),
    "whole, three axes": lambda a, b, k: b.reshape(20, 5, 6)[:k, 1:4, :5].__iadd__(
        copied(a.reshape(20, 5, 6)[:k, 1:4, :5])
    ),
    "a copy of a column": lambda a, b, k: b[k:, 3].__iadd__(a[k:, 4].copy()),
    "new, three axes": lambda a, b, k: (a.reshape(20, 5, 6)[:k, 1:4, :5] + b.reshape(20, 5, 6)[-k:, :3, 1:]).__iadd__(
        1
    ),
}


@pytest.mark.parametrize("name", EXTENTS)
def test_launches_for_all_extents(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever extents come first: what is computed is right, by as many groups as if they were the only ones."""
    monkeypatch.setattr(setting, "on", False)
    recent, prepared = current_device().recent, kernel_cache_of(current_device()).prepared
    tables = [np.random.default_rng(k).integers(0, 9, (20, 30)).astype(np.float32) for k in range(2)]

    def launched(k: int) -> tuple[Any, ...]:
        (a, b), (ours, theirs) = [t.copy() for t in tables], map(clarray.array, tables)
        expected, found = EXTENTS[name](a, b, k), EXTENTS[name](ours, theirs, k)
        np.testing.assert_array_equal(ours.get(), a)
        if found is not None:
            np.testing.assert_array_equal(found.get(), expected)
        return recent[-1]

    numbers = list(range(5, 20))  # of which some leave a slice of one element
    alone = {}
    for k in numbers:
        prepared.clear()
        alone[k] = launched(k)
    for seed in range(3):
        random.Random(seed).shuffle(numbers)
        prepared.clear()
        for k in numbers:
            assert launched(k) == alone[k], k


# Loops that go through axes turned round or moved are prepared for each extent.
TURNED = {"a vector and itself backwards", "both backwards", "all of it backwards", "transposed"}


@pytest.mark.skipif(native is None, reason="there is no compiled core")
@pytest.mark.parametrize("name", [name for name in EXTENTS if name not in TURNED])
def test_no_extents_are_new(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a loop over other slices at each step has prepared for the first of them serves all."""
    monkeypatch.setattr(setting, "on", False)
    prepared = []
    monkeypatch.setattr(
        "clarray._engine.fused.elementwise.launch._prepare_strided",
        lambda *given: prepared.append(given) or prepare_strided(*given),
    )
    kernel_cache_of(current_device()).prepared.clear()
    a, b = (clarray.array(np.ones((20, 30), np.float32)) for _ in range(2))
    for k in range(5, 19):
        found = EXTENTS[name](a, b, k)
        if found is not None:
            found.evaluate()
        if k == 12:  # rows have begun at all places that a kernel minds
            prepared.clear()
    assert not prepared


def test_names_are_told_from_strings() -> None:
    """A call with an argument too many is none with a name, however often that was made."""
    x = clarray.arange(30)
    for _ in range(4):
        clarray.roll(x, 1, axis=0).evaluate()
        clarray.cumsum(x, axis=0).evaluate()
    for call in (lambda: clarray.roll(x, 1, "axis", 0), lambda: clarray.cumsum(x, "axis", 0)):
        with pytest.raises(TypeError):
            call()
