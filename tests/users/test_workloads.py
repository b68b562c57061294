"""The benchmarks' whole programs at their tiny size: NumPy's answer, pending and statement by statement."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device
from tests.scripts import import_script

WORKLOADS = import_script("benchmarks", "workloads")


@pytest.fixture(scope="module", autouse=True)
def _on_a_device_with_float64() -> None:
    if not current_device().capabilities.fp64:
        pytest.skip("the device has no float64, NumPy's default")


def answer(program: Any, xp: ModuleType, upload: Any) -> list[np.ndarray]:
    given = [upload(x) if isinstance(x, np.ndarray) else x for x in program.inputs(WORKLOADS.TINY)]
    return WORKLOADS.answers(program.run(xp, *given), np.asarray)


# What is computed from memory that an ndarray shares is evaluated at each statement.
@pytest.mark.parametrize("upload", [clarray.array, clarray.asarray], ids=["pending", "at once"])
@pytest.mark.parametrize("name", WORKLOADS.PROGRAMS)
def test_program(name: str, upload: Any) -> None:
    program = WORKLOADS.PROGRAMS[name]
    mine, theirs = answer(program, clarray, upload), answer(program, np, np.asarray)
    assert WORKLOADS.difference(mine, theirs) is None


def test_each_program_has_each_size() -> None:
    for program in WORKLOADS.PROGRAMS.values():
        assert list(program.sizes) == [WORKLOADS.TINY, *WORKLOADS.SIZES]


def test_differences_are_found() -> None:
    one, other = np.array([1.0, 1000.0]), np.array([1.0 + 1e-8, 1000.0])
    assert WORKLOADS.difference([one], [other]) is None
    assert "off by" in WORKLOADS.difference([one], [one + np.array([0, 1e-3])])
    assert "off by" in WORKLOADS.difference([one], [one * [np.nan, 1]])
    assert "float32" in WORKLOADS.difference([one.astype("f4")], [one])
    assert "0 results" in WORKLOADS.difference([], [one])
    counts = np.arange(100)
    assert "0.01" in WORKLOADS.difference([counts], [counts + (counts == 7)])
    assert WORKLOADS.difference([counts], [counts + (counts == 7)], differing=0.02) is None


@pytest.mark.parametrize(
    ("peer", "limit", "says"),
    [("absent", 60.0, "KeyError: 'absent'"), ("numpy", 0.0, "no answer within 0 s"), ("numpy", 60.0, "exit status -9")],
)
def test_a_process_that_fails_says_why(tmp_path: Path, peer: str, limit: float, says: str) -> None:
    module = import_script("benchmarks", "worker")
    worker = module.Worker(peer, "crc16", WORKLOADS.TINY, tmp_path, limit)

    def ready_and_killed() -> None:
        worker.ready()
        worker.process.kill()
        worker.run()

    try:
        with pytest.raises(module.Gone, match=says):
            ready_and_killed()
    finally:
        worker.stop()
