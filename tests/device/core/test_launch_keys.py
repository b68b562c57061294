"""The launch kept for some operands is the right one for all that take it: its key tells all that its plan goes by."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.launch.first_calls import setting
from clarray._engine.launch.kernel_cache import kernel_cache_of
from clarray._engine.runtime import current_device

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
