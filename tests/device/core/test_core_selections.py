"""Selections of few elements by a mask: computed by the compiled core as Python computes them."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine import speedups
from clarray._engine.evaluate import evaluate
from clarray._engine.launch.host_tier import setting
from clarray._engine.runtime import Device, current_device

from ..conftest import assert_same
from .test_recordings import python_calls

pytestmark = pytest.mark.usefixtures("quick_builds")

SIZES = (1, 2, 7, 8, 9, 63, 64, 65, 129, 5000)
MASKS = {
    "some": lambda n: np.arange(n) % 3 == 1,
    "none": lambda n: np.zeros(n, bool),
    "all": lambda n: np.ones(n, bool),
    "last": lambda n: np.arange(n) == n - 1,
}


@pytest.fixture(autouse=True)
def by_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setting, "on", False)
    monkeypatch.setattr(Device, "several", False)


@pytest.mark.parametrize("mask", MASKS)
def test_what_is_selected(dtype: str, mask: str) -> None:
    for n in SIZES:
        values, chosen = (np.arange(n) % 7).astype(dtype), MASKS[mask](n)
        x, m = clarray.array(values), clarray.array(chosen)
        for _ in range(2):
            assert_same(x[m], values[chosen])
            assert_same((x + x)[~m], (values + values)[~chosen])
            assert_same(x[x == x[0]], values[values == values[0]])


@pytest.mark.parametrize("n", [5, 100])
def test_what_reads_it_before_and_after(n: int) -> None:
    values = np.arange(n, dtype=np.float32)
    x = clarray.array(values)
    for _ in range(3):
        one = x[x > 2]
        before, other = one * 2, one + 1
        one.evaluate()
        x[:] = -1  # what reads it does not read this
        assert_same(before, values[values > 2] * 2)
        assert_same(other, values[values > 2] + 1)
        assert_same(one, values[values > 2])
        assert one.shape == (n - 3,)
        x[:] = clarray.array(values)


def test_layouts_that_are_pythons() -> None:
    values = np.arange(48, dtype=np.float32).reshape(6, 8)
    views = [
        lambda a: a.T,
        lambda a: a[:, ::2],
        lambda a: a[::-1],
        lambda a: a[2:4],
        lambda a: a[:, 1:2],
        lambda a: a[0],
    ]
    for view in views:
        expected, found = view(values), view(clarray.array(values))
        for _ in range(2):
            assert_same(found[found > 9], expected[expected > 9])
            assert_same((found * 2)[found > 9], (expected * 2)[expected > 9])


def test_bounds_of_integers_are_remembered() -> None:
    table, places = np.arange(50.0), np.arange(40)
    i = clarray.array(places) % 20
    for _ in range(2):
        chosen = i[i > 4]
        chosen.evaluate()
        assert_same(clarray.array(table)[chosen], table[(places % 20)[places % 20 > 4]])


def test_threads_that_compute_one() -> None:
    values = np.arange(1000, dtype=np.float32)
    x = clarray.array(values)
    for _ in range(20):
        one, found = x[x > 500], []
        threads = [threading.Thread(target=lambda one=one, found=found: found.append(one.get())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [f.tolist() for f in found] == [values[values > 500].tolist()] * 4


@pytest.mark.skipif(speedups.native is None, reason="there is no compiled core")
@pytest.mark.parametrize("name", ["float32", "float16", "bool"])
def test_no_python_runs(name: str) -> None:
    device = current_device()
    if device.inline is None or not device.capabilities.host_memory:
        pytest.skip("the host waits for the number of elements")
    x: Any = clarray.array((np.arange(100) % 2).astype(name))
    calls = []
    for _ in range(6):
        selected = x[x == 1]
        calls.append(python_calls(partial(evaluate, selected._node)))
    assert min(calls) == 0
