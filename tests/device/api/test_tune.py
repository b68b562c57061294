"""`python -m clarray tune`: what is faster and right is kept, what is kept is used, and nothing else."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._api import tune as tuning
from clarray._api.tune_workloads import workloads
from clarray._engine.evaluate import kernel_cache_of
from clarray._engine.launch.tuned_files import forget, load_tuned, store_tuned, tuned_path
from clarray._engine.runtime import Device, current_device
from clarray._engine.tuning import Tuned, select
from clarray._engine.tuning.rows import ROWS
from clarray._engine.tuning.search_space import ALGORITHMS, row_kind, search_space


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Device]:
    monkeypatch.setenv("CLARRAY_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("CLARRAY_POLICY", raising=False)
    found = current_device()
    before = kernel_cache_of(found).policies
    yield found
    kernel_cache_of(found).policies = before
    kernel_cache_of(found).prepared.clear()


def values(device: Device) -> tuple[int, int]:
    """Two values of `groups_per_unit` that the device's row does not have."""
    shipped = select(device.capabilities).elementwise.groups_per_unit
    space = tuning.spaces(select(device.capabilities), ["elementwise"])["elementwise"]
    first, second, *_ = (v for v in space["groups_per_unit"] if v != shipped)
    return first, second


def fake_clock(device: Device, seconds: dict[int, float]) -> Any:
    """A clock by which a call takes what its policy's `groups_per_unit` says."""
    now = itertools.count()

    def clock() -> float:
        next(now)
        clock.time += seconds.get(kernel_cache_of(device).policies.elementwise.groups_per_unit, 2.0)  # type: ignore[attr-defined]
        return float(clock.time)  # type: ignore[attr-defined]

    clock.time = 0.0  # type: ignore[attr-defined]
    return clock


def tuned(device: Device, seconds: dict[int, float], **kwargs: Any) -> tuple[Tuned, list[str]]:
    said: list[str] = []
    space = {"elementwise": {"groups_per_unit": values(device)}}
    found = tuning.tune(
        device, elements=500, rounds=1, clock=fake_clock(device, seconds), say=said.append, within=space, **kwargs
    )
    return found, said


def test_the_fastest_value_is_found(device: Device) -> None:
    before = kernel_cache_of(device).policies
    first, second = values(device)
    found, said = tuned(device, {first: 1.5, second: 1.0})
    assert found.changes == {"elementwise": {"groups_per_unit": second}}
    assert found.row == select(device.capabilities).name
    assert "2.00 times as fast" in said[0]
    assert kernel_cache_of(device).policies is before


def test_what_is_hardly_faster_is_left(device: Device) -> None:
    first, second = values(device)
    found, said = tuned(device, {first: 1.99, second: 3.0})
    assert found.changes == {}
    assert said == ["elementwise  as shipped"]


def test_a_wrong_answer_never_counts(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = values(device)
    right = tuning.asnumpy

    def wrong(a: Any) -> np.ndarray:
        off = kernel_cache_of(device).policies.elementwise.groups_per_unit == second
        return right(a) + off

    monkeypatch.setattr(tuning, "asnumpy", wrong)
    found, _ = tuned(device, {first: 1.5, second: 0.1})
    assert found.changes == {"elementwise": {"groups_per_unit": first}}


def test_a_value_the_device_refuses_never_counts(device: Device) -> None:
    row = select(device.capabilities)
    bench = tuning.Bench(device, row, "elementwise", 100, 1, lambda: 0.0, workloads("elementwise")[:1])
    far = replace(row.elementwise, work_group=1 << 20)
    assert bench.compare(far, row.elementwise) is None
    assert bench.compare(row.elementwise, row.elementwise) is not None


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_workload_runs_and_repeats(device: Device, algorithm: str) -> None:
    row = select(device.capabilities)
    bench = tuning.Bench(device, row, algorithm, 2000, 1, lambda: 0.0, workloads(algorithm))
    bench._exact.clear()
    assert bench.is_exact(getattr(row, algorithm))


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_value_that_is_tried_gives_the_same_answers(device: Device, algorithm: str) -> None:
    row = select(device.capabilities)
    bench = tuning.Bench(device, row, algorithm, 5000, 1, lambda: 0.0, workloads(algorithm))
    for field, values in search_space(algorithm, row_kind(row)).items():
        for value in values:
            assert bench.is_exact(replace(getattr(row, algorithm), **{field: value})), (field, value)


@pytest.mark.parametrize("row", ["cpu", "gpu"])
def test_tuning_reaches_every_algorithm(row: str) -> None:
    lapacks = ["factorization", "spectral"] if row == "cpu" else []
    assert [a for a in ALGORITHMS if a not in tuning.spaces(ROWS[row], ALGORITHMS)] == lapacks


def test_a_result_is_kept_and_used(device: Device, capsys: pytest.CaptureFixture[str]) -> None:
    first, _ = values(device)
    assert load_tuned(device) is None
    row = select(device.capabilities)
    kept = Tuned(device.identity, row.name, "2026-11-21", "fast", {"elementwise": {"groups_per_unit": first}})
    assert store_tuned(device, kept)
    assert load_tuned(device) == kept
    tuning.install(device, kept)
    assert kernel_cache_of(device).policies.elementwise.groups_per_unit == first
    clarray.show_config(details=True)
    shown = capsys.readouterr().out
    assert f"  {'tuning row':25} '{row.name}', tuned on 2026-11-21\n" in shown
    assert f"groups_per_unit={first}" in shown
    x = clarray.arange(1000, dtype="float32")
    assert float((x * 2).sum()) == 999000
    forget(device)
    assert load_tuned(device) is None


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "no json", "foreign"])
def test_a_damaged_file_is_as_none(device: Device, damage: str) -> None:
    kept = Tuned(device.identity, "cpu", "2026-11-21", "fast", {})
    store_tuned(device, kept)
    path = tuned_path(device)
    data = path.read_bytes()
    if damage == "no json":
        from clarray._engine.launch import tuned_files as files

        files._cache().store(path.name, b"not { json")
    elif damage == "foreign":
        from clarray._engine.launch import tuned_files as files

        files._cache().store_json(path.name, replace(kept, device="another").to_json())
    else:
        path.write_bytes({"cut": data[:-3], "changed": data[:-1] + b"!", "empty": b""}[damage])
    assert load_tuned(device) is None
    assert select(device.capabilities, load_tuned(device)).source == "shipped"


def test_the_command(device: Device, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = values(device)
    monkeypatch.setattr(tuning, "spaces", lambda row, names: {"elementwise": {"groups_per_unit": (first, second)}})
    usual: Any = tuning.tune.__kwdefaults__
    monkeypatch.setattr(tuning.tune, "__kwdefaults__", {**usual, "clock": fake_clock(device, {first: 1.0})})
    assert tuning.main(["--dry-run"]) == 0
    assert "groups_per_unit" in capsys.readouterr().out
    assert load_tuned(device) is None
    assert tuning.main(["--quick", "--size", "300"]) == 0
    assert str(tuned_path(device)) in capsys.readouterr().out
    found = load_tuned(device)
    assert found is not None
    assert found.changes == {"elementwise": {"groups_per_unit": first}}
    assert kernel_cache_of(device).policies.source.startswith("tuned on ")
    # what is not measured again stays
    store_tuned(device, replace(found, changes={"reduce": {}, **found.changes}))
    assert tuning.main(["--only", "elementwise", "--size", "300"]) == 0
    again = load_tuned(device)
    assert again is not None
    assert set(again.changes) == {"reduce", "elementwise"}
    assert tuning.main(["--reset"]) == 0
    assert load_tuned(device) is None
    assert kernel_cache_of(device).policies.source == "shipped"


def test_what_is_wrong_is_said_in_a_line(
    device: Device, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tuning.main(["--only", "everything", "--dry-run"]) == 1
    assert "elementwise, reduce" in capsys.readouterr().err
    monkeypatch.setenv("CLARRAY_POLICY", "tiny-cpu")
    assert tuning.main(["--quick"]) == 1
    assert capsys.readouterr().err.startswith("clarray: CLARRAY_POLICY")


def test_a_pipe_gets_the_report_alone(device: Device, capsys: pytest.CaptureFixture[str]) -> None:
    _, said = tuned(device, {})
    assert said
    assert capsys.readouterr().err == ""


def test_a_fresh_process_uses_what_was_kept(device: Device, tmp_path: Path) -> None:
    first, _ = values(device)
    row = select(device.capabilities)
    store_tuned(
        device, Tuned(device.identity, row.name, "2026-11-21", "fast", {"elementwise": {"groups_per_unit": first}})
    )
    script = "import clarray; clarray.show_config()"
    environment = {**os.environ, "CLARRAY_CACHE_DIR": str(tmp_path)}
    shown = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60)
    assert "tuned on 2026-11-21" in shown.stdout
    command = [sys.executable, "-m", "clarray", "tune", "--dry-run"]
    listed = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert listed.returncode == 0
    assert "elementwise" in listed.stdout
