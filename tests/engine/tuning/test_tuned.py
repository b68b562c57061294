"""Results of tuning as values: what a file may say, and what it makes of a row."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from clarray._engine.tuning import Tuned, select
from clarray._engine.tuning.rows import CPU, NVIDIA, ROWS
from clarray._engine.tuning.search_space import ALGORITHMS, row_kind, search_space
from clarray._engine.tuning.selection import SHARED_FROM

DEVICE = "a device, driver 1"
KEPT = Tuned(DEVICE, "cpu", "2026-11-21", "reduce 1.50 times as fast", {"reduce": {"loads": 8}})


class Cpu:
    kind = "cpu"
    vendor = "any"
    wide_registers = False
    handover_seconds = 0.0
    calls_code = False


def test_json_and_back() -> None:
    assert Tuned.from_json(KEPT.to_json(), DEVICE) == KEPT


@pytest.mark.parametrize(
    "change",
    [
        {"format": 0},
        {"device": "another"},
        {"row": 3},
        {"date": None},
        {"changes": []},
        {"changes": {"reduce": 8}},
    ],
)
def test_what_is_foreign_or_damaged_is_nothing(change: dict[str, Any]) -> None:
    assert Tuned.from_json(KEPT.to_json() | change, DEVICE) is None


@pytest.mark.parametrize("found", [None, [], "text", 7, {}])
def test_what_is_no_result_is_nothing(found: object) -> None:
    assert Tuned.from_json(found, DEVICE) is None


def test_a_result_changes_its_fields_only() -> None:
    made = KEPT.apply(CPU)
    assert made.reduce == replace(CPU.reduce, loads=8)
    assert made.source == "tuned on 2026-11-21"
    assert made.measured.startswith(CPU.measured)
    assert "1.50 times" in made.measured
    assert replace(made, reduce=CPU.reduce, source=CPU.source, measured=CPU.measured) == CPU


@pytest.mark.parametrize(
    "changes",
    [
        {"reduce": {"loads": 7}},
        {"reduce": {"loads": 8.0}},
        {"reduce": {"loads": True}},
        {"reduce": {"work_group": 3}},
        {"reduce": {"no_such_field": 1}},
        {"no_such_algorithm": {"loads": 8}},
        {"name": {"loads": 8}},
    ],
)
def test_only_what_tuning_tries_is_taken(changes: dict[str, dict[str, Any]]) -> None:
    assert replace(KEPT, changes=changes).apply(CPU) is CPU


def test_a_result_from_before_an_algorithm_had_a_policy_leaves_that_as_shipped() -> None:
    older = KEPT.to_json()
    assert "gather" not in older["changes"]  # type: ignore[operator]
    found = Tuned.from_json(older, DEVICE)
    assert found is not None
    assert found.apply(CPU).gather == CPU.gather


def test_a_field_that_no_longer_exists_makes_a_result_nothing() -> None:
    assert replace(KEPT, changes={"scan": {"short": 32}}).apply(CPU) is CPU


def test_a_result_for_another_row_is_left() -> None:
    assert KEPT.apply(NVIDIA) is NVIDIA


def test_the_selector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLARRAY_POLICY", raising=False)
    device: Any = Cpu()
    assert select(device) is CPU
    assert select(device, KEPT).reduce.loads == 8
    device.wide_registers = True
    assert select(device).products.vector_bytes == 2 * CPU.products.vector_bytes
    assert select(device, KEPT).reduce.loads == 8
    # threads that are slow to wake: the calling one does more of what is waited for, but for what tuning has found
    device.handover_seconds = 16e-6
    assert select(device).reduce.inline_bytes == 2 * CPU.reduce.inline_bytes
    assert select(device).elementwise == CPU.elementwise
    device.handover_seconds = 1.0
    assert select(device).compact.inline_bytes == 4 * CPU.compact.inline_bytes
    found = replace(KEPT, changes={"reduce": {"inline_bytes": 1 << 18}})
    assert select(device, found).reduce.inline_bytes == 1 << 18
    assert select(device, found).histogram.inline_bytes == 4 * CPU.histogram.inline_bytes
    # threads of the core's own, which are there at once: it does little by itself, but for what tuning has found
    device.calls_code = True
    for name, most in SHARED_FROM.items():
        assert getattr(select(device), name).inline_bytes == most <= getattr(CPU, name).inline_bytes
    assert select(device, found).reduce.inline_bytes == 1 << 18
    monkeypatch.setenv("CLARRAY_POLICY", "tiny-cpu")
    forced = select(device, KEPT)
    assert forced.source == "forced by CLARRAY_POLICY"
    assert forced.reduce == ROWS["tiny-cpu"].reduce


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("row", [CPU, NVIDIA], ids=lambda row: row.name)
def test_the_search_space_names_fields_of_the_policy(algorithm: str, row: Any) -> None:
    policy = getattr(row, algorithm)
    known = {f.name: getattr(policy, f.name) for f in fields(policy)}
    for name, values in search_space(algorithm, row_kind(row)).items():
        assert name in known
        assert all(type(v) is type(known[name]) for v in values)
        assert len(set(values)) == len(values)


def test_nothing_else_can_be_searched() -> None:
    with pytest.raises(ValueError, match="elementwise, reduce"):
        search_space("everything", "cpu")
