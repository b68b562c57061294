"""The benchmarks' region programs at a small size: NumPy's results, and counts of their operations."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device
from tests.scripts import import_script

REGIONS = import_script("benchmarks", "region_programs")
DIFFERENCE = import_script("benchmarks", "workloads").difference
SIZE = 4096


@pytest.fixture(scope="module", autouse=True)
def _on_a_device_with_float64() -> None:
    if not current_device().capabilities.fp64:
        pytest.skip("the device has no float64, NumPy's default")


# Their kernels take a second to compile: one program of four, and the others with `--exhaustive`.
SOME = [
    pytest.param(name, marks=pytest.mark.exhaustive if number % 4 else [])
    for number, name in enumerate(REGIONS.PROGRAMS)
]


@pytest.mark.parametrize("name", SOME)
def test_program(name: str) -> None:
    program, given = REGIONS.PROGRAMS[name], REGIONS.draw(name, SIZE)
    expected = program.compute(np, *given)
    results = program.compute(clarray, *map(clarray.array, given))
    assert all(np.all(np.isfinite(x)) for x in expected)
    assert DIFFERENCE([np.asarray(x) for x in results], [np.asarray(x) for x in expected]) is None


@pytest.mark.parametrize("name", REGIONS.PROGRAMS)
def test_text_can_be_traced(name: str) -> None:
    """No statement writes into an array, and the docstring gives the formulas' source."""
    tree = ast.parse(Path(inspect.getfile(REGIONS.PROGRAMS[name])).read_text())
    compute = next(f for f in tree.body if isinstance(f, ast.FunctionDef) and f.name == "compute")
    targets = [t for node in ast.walk(compute) if isinstance(node, ast.Assign) for t in node.targets]
    written = [t for t in targets if isinstance(t, ast.Subscript) and ast.unparse(t.value) != "value"]
    assert not written
    assert not [node for node in ast.walk(compute) if isinstance(node, ast.AugAssign)]
    assert "\nSource: " in (ast.get_docstring(tree) or "")


def test_the_set_is_large_enough() -> None:
    counts = [REGIONS.count_operations(name) for name in REGIONS.PROGRAMS]
    assert len(counts) >= 20
    assert sum(30 <= count <= 300 for count in counts) >= 20


def test_first_run_and_bursts_agree_with_numpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_script("benchmarks", "region_worker")
    monkeypatch.setenv("CLARRAY_CACHE_DIR", str(tmp_path / "cache"))
    workers = [module.Worker(peer, "black_scholes_greeks", str(SIZE), tmp_path, 120.0) for peer in ("numpy", "clarray")]
    try:
        for worker in workers:
            worker.ready()
            assert worker.run()[2] is None
            assert worker.ask("burst")["seconds"] > 0
        counts = workers[1].ask("count")
        assert counts["launches"] + counts["host_launches"] >= 1
        assert counts["least_bytes"] == 15 * 8 * SIZE
        assert counts["floor_seconds"] > 0
    finally:
        for worker in workers:
            worker.stop()
