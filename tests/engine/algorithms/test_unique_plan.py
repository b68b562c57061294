"""Plans of tables of distinct values, without a device."""

from __future__ import annotations

import numpy as np
import pytest

from clarray._engine.algorithms.unique import plan_bitmap, plan_hash_table, plan_range_table
from clarray._engine.algorithms.unique.plan_range_table import RangeTablePlan, slots_for
from clarray._engine.tuning.rows import CPU, GPU, ROWS

NAMES = ["bool", "int8", "uint16", "int32", "uint64"]


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("name", NAMES)
def test_slots(row: str, name: str) -> None:
    policies, dtype = ROWS[row], np.dtype(name)
    few = policies.unique.few
    for counted in (False, True):
        for size in (1, few - 1, few, 2**31):
            slots = slots_for(dtype, size, counted, policies)
            assert slots & (slots - 1) == 0
            if dtype.itemsize <= 2 and slots:
                assert slots == 1 << 8 * dtype.itemsize  # every value has one
            if counted and not policies.reduce.chunked:
                assert slots * 4 <= 16 << 10  # of local memory


def test_small_dtypes_always_have_a_table() -> None:
    for policies in (CPU, GPU):
        for name in ("bool", "int8", "uint16"):
            assert slots_for(np.dtype(name), 1, False, policies)
    assert slots_for(np.dtype(np.int32), GPU.unique.few, False, GPU) == GPU.unique.range_slots
    assert slots_for(np.dtype(np.int32), GPU.unique.few - 1, False, GPU) == GPU.unique.few_slots


@pytest.mark.parametrize("row", ROWS)
def test_groups_have_something_to_do(row: str) -> None:
    policy = ROWS[row].reduce
    for size in (1, 100, 10**6, 2**33):
        plan = RangeTablePlan(
            accesses=("unit",),
            vector=4,
            explicit=False,
            index="int",
            aligned=False,
            slots=1 << 12,
            counted=False,
            checked=True,
            block=4096,
            policy=policy,
        )
        groups = plan_range_table.group_count(size, plan, 2)
        assert 1 <= groups <= 2 * policy.groups_per_unit
        other = plan_hash_table.HashTablePlan(
            accesses=("unit",),
            vector=4,
            explicit=False,
            index="int",
            aligned=False,
            slots=2048,
            limit=1024,
            equal_nan=True,
            policy=policy,
        )
        assert 1 <= plan_range_table.group_count(size, other, 2) <= 2 * policy.groups_per_unit


def test_a_table_of_few_values_always_has_a_free_slot() -> None:
    for row in ROWS.values():
        policy = row.reduce
        beyond = policy.max_width if policy.chunked else policy.work_group
        # every work-item, or lane, that has looked at the count may add the values of one load
        assert row.unique.hash_limit + 1 + beyond < row.unique.hash_slots


def test_what_is_worth_trying() -> None:
    assert plan_hash_table.is_worth_trying(np.dtype(np.float64), 1 << 20, CPU)
    assert not plan_hash_table.is_worth_trying(np.dtype(np.float64), 1 << 25, GPU)
    assert plan_hash_table.is_worth_trying(np.dtype(np.float32), 1 << 25, GPU)
    assert not plan_hash_table.is_worth_trying(np.dtype(np.complex64), 1 << 25, CPU)
    assert not plan_hash_table.is_worth_trying(np.dtype(np.float16), 1 << 25, CPU)


@pytest.mark.parametrize("row", ROWS)
def test_bitmaps_fit_local_memory(row: str) -> None:
    policies = ROWS[row]
    for local in (32 << 10, 48 << 10, 64 << 10):
        plan = plan_bitmap.bitmap_plan(np.dtype(np.float32), 1 << 28, policies, local)
        assert (plan is None) == policies.reduce.chunked
        if plan is not None:
            assert 4 * (plan.work_group * plan.items + 2 * 256) <= local
            assert 4 * plan.window <= local
            assert (1 << (plan.bits - 5)) % plan.chunk == 0
            assert plan.chunk % plan.work_group == 0


def test_bitmaps_are_for_very_many_values_of_32_bits() -> None:
    for name, size in (("int32", 1 << 27), ("int32", 1 << 31), ("int64", 1 << 28), ("complex64", 1 << 28)):
        assert plan_bitmap.bitmap_plan(np.dtype(name), size, GPU, 48 << 10) is None
    assert plan_bitmap.bitmap_plan(np.dtype(np.int32), 1 << 28, GPU, 48 << 10) is not None


def test_dense_runs_are_sorted() -> None:
    assert plan_bitmap.has_runs(np.arange(64, dtype=np.int32))
    assert plan_bitmap.has_runs(np.full(64, 1.5, np.float32))
    assert not plan_bitmap.has_runs(np.arange(64, dtype=np.int32) * 1000)
