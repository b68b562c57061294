"""Programs are memory of the runtime's: as many are kept as are used, and not all that ever were."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.launch import kernel_cache
from clarray._engine.launch.kernel_cache import KernelCache
from clarray._engine.runtime import current_device
from clarray._engine.runtime.programs import Program

LIMIT = 6
UFUNCS = ("add", "subtract", "multiply", "maximum", "minimum", "copysign", "fmod", "hypot")
NUMBERS = np.array([1.5, -2, 4], np.float32)


@pytest.fixture
def alive(monkeypatch: pytest.MonkeyPatch) -> Iterator[weakref.WeakSet[Program]]:
    """The programs made since; and a device whose cache keeps few of them."""
    made: weakref.WeakSet[Program] = weakref.WeakSet()
    init = Program.__init__

    def noted(self: Program, *args: Any) -> None:
        init(self, *args)
        made.add(self)

    monkeypatch.setattr(Program, "__init__", noted)
    monkeypatch.setattr(kernel_cache, "PROGRAM_LIMIT", LIMIT)
    device = current_device()
    device.release_programs()
    device.recent.clear()
    with monkeypatch.context() as patch:
        patch.setitem(kernel_cache._caches, device, KernelCache(device))
        yield made
    kernel_cache.kernel_cache_of(device).prepared = {}  # whose launches the core uses again


def one(xp: Any, x: Any, name: str) -> list[Any]:
    """One program of its own, and two that all have."""
    y = getattr(xp, name)(x, x * x)
    return [y, y.sum(), xp.cumsum(y)]


def compare(names: Any) -> None:
    x = clarray.array(NUMBERS)
    for name in names:
        for ours, theirs in zip(one(clarray, x, name), one(np, NUMBERS, name), strict=True):
            np.testing.assert_allclose(ours.get(), theirs, rtol=1e-5)


def test_programs_that_are_not_used_go(alive: weakref.WeakSet[Program], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "RELOAD_SECONDS", -1.0)  # no time is short
    for _ in range(2):  # what is gone is made again
        compare(UFUNCS)
        assert len(current_device().sources) <= LIMIT
        assert len(alive) <= LIMIT + len(current_device().recent)


def test_what_is_used_by_turns_is_kept(alive: weakref.WeakSet[Program]) -> None:
    for _ in range(5):
        compare(UFUNCS)
    kept = set(alive)
    assert len(kept) > LIMIT
    compare(UFUNCS)
    assert set(alive) == kept
