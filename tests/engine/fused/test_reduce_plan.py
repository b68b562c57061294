"""The plans of reductions: plain values, no device."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from itertools import product as positions
from math import prod
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clarray._engine.expr.view import contiguous
from clarray._engine.fused.reduce.plan import (
    COLUMNS,
    ROWS,
    ReduceSpace,
    TaskShape,
    ascending,
    lanes_for,
    merge_row_tasks,
    power_of_two,
    reduce_space,
    rows_per_item,
    split,
)
from clarray._engine.tuning import ReducePolicy
from clarray._engine.tuning.rows import CPU, GPU, TINY_CPU, TINY_GPU

POLICIES = [row.reduce for row in (CPU, GPU, TINY_CPU, TINY_GPU)]
PRODUCTS = [row.products for row in (CPU, TINY_CPU)]
NAMES = [row.name for row in (CPU, GPU, TINY_CPU, TINY_GPU)]


def space_of(
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    strides: tuple[int, ...],
    ordered: bool = False,
    vector: int = 4,
    short: int = 3,
) -> ReduceSpace:
    kept = [a for a in range(len(shape)) if a not in axes]
    out = [0] * len(shape)
    for axis, stride in zip(kept, contiguous(tuple(shape[a] for a in kept)), strict=True):
        out[axis] = stride
    return reduce_space(shape, axes, (tuple(out), strides), vector, short, ordered)


def visited(space: ReduceSpace) -> list[tuple[int, int]]:
    """Places of the output and of the input, in the order of the loops."""
    shape = space.kept + space.reduced
    steps = [k + r for k, r in zip(space.kept_strides, space.reduced_strides, strict=True)]
    return [
        tuple(  # type: ignore[misc]
            offset + sum(i * s for i, s in zip(index, step, strict=True))
            for offset, step in zip(space.offsets, steps, strict=True)
        )
        for index in positions(*map(range, shape))
    ]


@st.composite
def arrays(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Shape, strides (permuted, stepped, turned round, repeated) and reduced axes of an array."""
    ndim = draw(st.integers(0, 4))
    shape = draw(st.tuples(*[st.integers(1, 5)] * ndim))
    order = draw(st.permutations(range(ndim)))
    strides, step = [0] * ndim, 1
    for axis in order:
        factor = draw(st.sampled_from([1, 1, 1, 2, 3, -1, -2, 0]))
        strides[axis] = step * factor
        step *= shape[axis] * max(1, abs(factor))
    axes = tuple(a for a in range(ndim) if draw(st.booleans()))
    return shape, tuple(strides), axes


@settings(max_examples=300)
@given(arrays(), st.booleans(), st.sampled_from([1, 4, 16]), st.sampled_from([3, 32]))
def test_loops_visit_each_element_once(array: Any, ordered: bool, vector: int, short: int) -> None:
    shape, strides, axes = array
    space = space_of(shape, axes, strides, ordered, vector, short)
    kept = [a for a in range(len(shape)) if a not in axes]
    places = contiguous(tuple(shape[a] for a in kept))
    wanted = [
        (
            sum(index[a] * s for a, s in zip(kept, places, strict=True)),
            sum(i * s for i, s in zip(index, strides, strict=True)),
        )
        for index in positions(*map(range, shape))
    ]
    assert Counter(visited(space)) == Counter(wanted)
    if ordered:  # the elements of each output come in C order
        for output in range(math.prod(shape[a] for a in kept)):
            assert [p for o, p in visited(space) if o == output] == [p for o, p in wanted if o == output]


def test_axes_merge() -> None:
    assert space_of((2, 3, 4), (0, 1, 2), (12, 4, 1)).reduced == (24,)
    assert space_of((2, 3, 4), (2,), (12, 4, 1))[:2] == ((6,), (4,))
    assert space_of((2, 3, 4), (1,), (12, 4, 1))[:2] == ((2, 4), (3,))
    assert space_of((2, 3, 4), (0, 1, 2), (1, 2, 6)).reduced == (24,)  # Fortran order
    assert space_of((2, 3), (0, 1), (-3, -1)).reduced == (6,)  # turned round
    assert space_of((2, 1, 3), (0, 1, 2), (3, 99, 1)).reduced == (6,)


def test_one_element_is_a_row() -> None:
    for shape in [(), (1,), (1, 1)]:
        space = space_of(shape, tuple(range(len(shape))), (7,) * len(shape))
        assert (space.form, space.kept, space.reduced) == (ROWS, (), (1,))


@pytest.mark.parametrize(
    ("shape", "axis", "strides", "form"),
    [
        ((100, 100), 1, (100, 1), ROWS),
        ((100, 100), 0, (100, 1), COLUMNS),
        ((100, 100), 1, (1, 100), COLUMNS),
        ((100, 100), 0, (1, 100), ROWS),
        # a short row is summed by one work-item, with neighbouring outputs side by side
        ((100, 2), 1, (2, 1), COLUMNS),
        ((2, 100), 0, (100, 1), COLUMNS),
        # too few outputs for a vector, and many rows
        ((100, 2), 0, (2, 1), ROWS),
        ((2, 100), 1, (100, 1), ROWS),
    ],
)
def test_form(shape: Any, axis: int, strides: Any, form: str) -> None:
    assert space_of(shape, (axis,), strides).form == form


@settings(max_examples=200)
@given(arrays())
def test_ascending(array: Any) -> None:
    shape, strides, _ = array
    values = [sum(i * s for i, s in zip(index, strides, strict=True)) for index in positions(*map(range, shape))]
    assert ascending(shape, strides) == all(a < b for a, b in pairwise(values))


def shares(space: ReduceSpace, policy: ReducePolicy, vector: int, units: int, most: int = 2**52, block: int = 1) -> Any:
    inner = ((space.kept if space.form == COLUMNS else space.reduced) or (1,))[-1]
    lanes = lanes_for(space.form, prod(space.kept), inner, prod(space.reduced), vector, policy)
    return lanes, split(
        space,
        TaskShape(
            vector=vector,
            lanes=lanes,
            strip=policy.strip if space.form == COLUMNS else 1,
            loads=policy.loads,
            block=block,
        ),
        policy,
        units,
        False,
        most,
    )


SHAPES = [(1, 1), (1, 7), (7, 1), (3, 1000), (1000, 3), (1000, 1000), (1, 2**31), (2**20, 2)]


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("axis", [0, 1, None])
def test_parts_cover_everything_once(policy: ReducePolicy, shape: Any, axis: int | None) -> None:
    axes = (0, 1) if axis is None else (axis,)
    for units in (1, 4, 132):
        space = space_of(shape, axes, (shape[1], 1), False, 4, policy.short)
        lanes, found = shares(space, policy, 4, units)
        assert lanes == power_of_two(lanes) <= policy.work_group
        inner = space.reduced[-1] if space.form == ROWS and space.reduced else 1
        rows = prod(space.reduced) // inner
        assert found.row_parts * found.rows_per_part >= rows
        assert (found.row_parts - 1) * found.rows_per_part < max(1, rows)
        assert found.inner_parts * found.inner_per_part >= inner
        assert (found.inner_parts - 1) * found.inner_per_part < inner
        assert found.tasks == found.blocks * found.parts
        assert 1 <= found.groups <= max(1, found.tasks)
        # split only where outputs do not fill the device, and into parts worth a launch
        if found.parts > 1:
            assert found.blocks < units * policy.groups_per_unit
            assert prod(space.kept) * prod(space.reduced) >= policy.min_split


@pytest.mark.parametrize("policy", PRODUCTS, ids=["cpu", "tiny-cpu"])
@pytest.mark.parametrize("shape", [*SHAPES, (3, 10**6), (10**6, 3), (12345, 678), (1, 2**24 + 77)], ids=str)
@pytest.mark.parametrize("axis", [0, 1, None])
def test_parts_hold_whole_blocks(policy: ReducePolicy, shape: Any, axis: int | None) -> None:
    for units, block in positions((1, 3, 64), (2, 8)):
        space = space_of(shape, (0, 1) if axis is None else (axis,), (shape[1], 1), False, 4, policy.short)
        _, found = shares(space, policy, 4, units, block=block)
        if space.form == COLUMNS:
            assert found.rows_per_part % block == 0
            assert (
                found.row_parts * found.rows_per_part
                >= prod(space.reduced)
                > ((found.row_parts - 1) * found.rows_per_part)
            )
        else:
            inner = space.reduced[-1] if space.reduced else 1
            assert found.inner_per_part % (4 * block) == 0
            assert found.inner_parts * found.inner_per_part >= inner > (found.inner_parts - 1) * found.inner_per_part


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_no_part_is_too_long_to_count_in_float32(policy: ReducePolicy) -> None:
    for shape in [(2**28, 64), (2**20, 2**12), (2**30, 1), (2**27, 3)]:
        space = space_of(shape, (0,), (shape[1], 1), False, 4, policy.short)
        _, found = shares(space, policy, 4, 1, most=2**23)
        along = found.inner_per_part if space.form == ROWS else 1
        assert found.rows_per_part * along <= 2**24


def test_equal_sizes_give_equal_plans() -> None:
    space = space_of((1000, 3000), (1,), (3000, 1))
    assert shares(space, GPU.reduce, 4, 132) == shares(space, GPU.reduce, 4, 132)


def test_order_that_matters_is_not_split() -> None:
    space = space_of((1, 100000), (1,), (100000, 1), ordered=True)
    assert space.form == ROWS
    task = TaskShape(vector=1, lanes=1, strip=1, loads=1)
    assert split(space, task, GPU.reduce, 132, True, 2**52).parts == 1


@given(st.integers(1, 300), st.integers(1, 300), st.sampled_from([CPU, TINY_CPU, GPU]))
def test_rows_abreast_are_all_somebodys(outputs, length, row):
    policy = row.reduce
    space = space_of((outputs, length), (1,), (length, 1))
    lanes = lanes_for(space.form, outputs, length, length, 4, policy)
    task = TaskShape(vector=4, lanes=lanes, strip=1, loads=policy.loads)
    division = split(space, task, policy, 2, False, 1 << 60)
    rows = rows_per_item(space, division, 4, policy)
    assert rows in (1, policy.rows_per_item)
    if rows > 1:
        found = merge_row_tasks(division, rows)
        assert division.parts == 1
        assert (found.tasks - 1) * rows < outputs <= found.tasks * rows
        assert 1 <= found.groups <= found.tasks
