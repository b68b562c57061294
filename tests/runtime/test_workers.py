"""Where the threads of PoCL's pool run: a core each where they are few, and nobody else's threads."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest

from clarray._engine.runtime import environment
from clarray._engine.runtime.backends.pocl import pool_threads, settings

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system gives threads no cores")

POOL = SimpleNamespace(
    name="pthread-AMD EPYC", max_compute_units=2, platform=SimpleNamespace(version="OpenCL 3.0 PoCL 3.0")
)
OTHER = SimpleNamespace(name="AMD EPYC", max_compute_units=2, platform=SimpleNamespace(version="OpenCL 3.0 LINUX"))


def placed(
    monkeypatch: Any, started: int, cores: set[int], devices: list[Any], refuse: bool = False
) -> dict[int, set[int]]:
    """Which threads of those that are started meanwhile are given which cores."""
    given: dict[int, set[int]] = {}
    listed = iter([{7}, {7} | {11 + k for k in range(started)}])
    monkeypatch.setattr(pool_threads, "_threads", lambda: next(listed))
    monkeypatch.setattr(os, "sched_getaffinity", lambda which: cores)
    monkeypatch.setattr(os, "sched_setscheduler", lambda *args: None)

    def give(thread: int, mask: set[int]) -> None:
        if refuse:
            raise PermissionError
        given[thread] = mask

    monkeypatch.setattr(os, "sched_setaffinity", give)
    with pool_threads.pin_threads(devices, lambda device: device is POOL):
        pass
    return given


def test_each_thread_of_a_small_pool_has_a_core(monkeypatch):
    assert placed(monkeypatch, 2, {4, 9}, [OTHER, POOL]) == {11: {4}, 12: {9}}


@pytest.mark.parametrize(
    ("started", "cores", "devices"),
    [
        (2, {4, 9}, [OTHER]),  # threads of another runtime
        (3, {4, 9}, [POOL]),  # also of another
        (2, {4, 9, 10}, [POOL]),  # fewer than cores: other processes' would meet on those
        (1, {4}, [SimpleNamespace(name="pthread", max_compute_units=1, platform=POOL.platform)]),
        (5, set(range(5)), [SimpleNamespace(name="pthread", max_compute_units=5, platform=POOL.platform)]),
        (0, {4, 9}, [POOL]),  # it was started before, by somebody else
        (2, {4, 9}, []),
    ],
)
def test_other_threads_stay_where_they_are(monkeypatch, started, cores, devices):
    assert placed(monkeypatch, started, cores, devices) == {}


@pytest.mark.parametrize("asked", ["0", "1"])
def test_who_asks_pocl_itself_is_left_to_it(monkeypatch, asked):
    monkeypatch.setenv("POCL_AFFINITY", asked)
    assert placed(monkeypatch, 2, {4, 9}, [POOL]) == {}


def test_a_system_that_refuses_is_no_error(monkeypatch):
    assert placed(monkeypatch, 2, {4, 9}, [POOL], refuse=True) == {}


@pytest.mark.skipif(not settings.has_wheel() or environment._has_driver("pocl"), reason="PoCL is not the wheel's")
def test_pocls_threads_have_cores_of_their_own(fresh):
    found = fresh(
        """
import os
from clarray._engine.runtime import devices
from clarray._engine.runtime.backends.pocl import pool_threads
before, mine = pool_threads._threads(), os.sched_getaffinity(0)
devices()
masks = [sorted(os.sched_getaffinity(thread)) for thread in pool_threads._threads() - before]
alone = len(masks) == len(mine) and 1 < len(mine) <= pool_threads.MAX_THREADS
print(sorted(masks) == [[core] for core in sorted(mine)] if alone else all(set(mask) == mine for mask in masks))
print(os.sched_getaffinity(0) == mine, os.sched_getscheduler(0) == os.SCHED_OTHER)
""",
        CLARRAY_DEVICE="pocl",
    )
    assert found.stdout.split() == ["True"] * 3
