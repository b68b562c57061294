"""Plans of parallel scans: plain values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clarray._engine.algorithms.scan.plan import (
    COLUMNS,
    LOOKBACK,
    ROWS,
    SPLIT,
    WHOLE,
    ParallelPlan,
    ParallelProblem,
    choose_partition,
    line_space,
    parallel_plan,
    tile_state_words,
)
from clarray._engine.algorithms.scan.policy import CPU, GPU, NVIDIA, ScanPolicy

FLOAT = np.dtype(np.float32)


def plan_of(shape: tuple[int, ...], axis: int, policy: ScanPolicy) -> tuple[ParallelPlan, tuple[int, ...]]:
    strides = tuple(np.empty(shape, np.int8).strides)
    lines = line_space(shape, axis, (strides, strides))
    problem = ParallelProblem(lines, ("",), (FLOAT, FLOAT), (0, 0), has_vectors=True, element_bytes=4)
    return parallel_plan(problem, policy), lines.kept


def test_forms() -> None:
    for policy in (CPU, GPU):
        assert plan_of((4096, 8192), 0, policy)[0].form == COLUMNS
        assert plan_of((4096, 8192), 1, policy)[0].form == ROWS
        assert plan_of((1 << 20, 2), 0, policy)[0].form == ROWS  # too few lines side by side


def test_few_lines_are_cut_and_many_are_not() -> None:
    long, kept = plan_of((1 << 25,), 0, CPU)
    assert choose_partition(long, kept, 1 << 25, 2, False).mode == SPLIT
    assert choose_partition(long, kept, 1 << 25, 2, True).mode == LOOKBACK
    assert choose_partition(long, kept, 1000, 2, True).mode == WHOLE
    rows, kept = plan_of((4096, 8192), 1, CPU)
    assert choose_partition(rows, kept, 8192, 2, True).mode == WHOLE
    down, kept = plan_of((16384, 16384), 0, NVIDIA)
    assert choose_partition(down, kept, 16384, 132, True).mode == LOOKBACK
    assert choose_partition(down, kept, 16384, 132, False).mode == SPLIT


def test_parts_cover_a_line() -> None:
    for policy in (replace(CPU, lookback=""), GPU):
        for size in (1 << 20, (1 << 20) + 1, 12345678):
            plan, kept = plan_of((size,), 0, policy)
            partition = choose_partition(plan, kept, size, 8, False)
            assert (partition.parts - 1) * partition.length < size <= partition.parts * partition.length


def test_short_lines_take_small_groups() -> None:
    assert plan_of((100000, 40), 1, GPU)[0].work_group == 32
    assert plan_of((100000, 4096), 1, GPU)[0].work_group == 256


def test_unaligned_rows_are_read_one_by_one() -> None:
    assert plan_of((1000, 1024), 1, GPU)[0].aligned
    assert not plan_of((1000, 1023), 1, GPU)[0].aligned


def test_every_tile_has_its_words() -> None:
    plan, kept = plan_of((1 << 24,), 0, NVIDIA)
    tiles = choose_partition(plan, kept, 1 << 24, 132, True).parts
    words, region = tile_state_words(plan, kept, tiles, 2)
    assert region >= 2 * (tiles + tiles // plan.block + tiles // plan.block**2 + 2)
    assert words == 2 + region
