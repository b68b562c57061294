"""The plans of scans and of updates at positions: plain values."""

from __future__ import annotations

import pytest

from clarray._engine.algorithms.scan.plan import BLOCK, line_blocks, line_space, scan_plan
from clarray._engine.algorithms.scatter.plan import scatter_space, split
from clarray._engine.tuning.rows import CPU, GPU


@pytest.mark.parametrize("policies", [CPU, GPU], ids=["cpu", "gpu"])
@pytest.mark.parametrize("updates", [1, 10**6])
@pytest.mark.parametrize("targets", [1, 5, 1000, 10**7])
@pytest.mark.parametrize("columns", [1, 3, 10**6])
def test_every_target_has_one_owner(policies, updates, targets, columns) -> None:
    found = split(updates, targets, columns, policies, 8)
    assert found.parts * found.per_part >= targets > (found.parts - 1) * found.per_part
    per_block = found.columns_per_block
    assert found.blocks * per_block >= columns > (found.blocks - 1) * per_block


def test_list_of_positions_keeps_its_order() -> None:
    space = scatter_space((2, 3), [(1, 2)], (4, 5), [(5, 1), (1, 4)])
    assert space.indices == (2, 3)
    assert scatter_space((2, 3), [(3, 1)], (), [(), ()]).indices == (6,)
    assert scatter_space((2, 3), [], (4, 5), [(5, 1)]).rest == (20,)


def test_lines_side_by_side_are_taken_in_blocks() -> None:
    down = line_space((100, 40), 0, ((40, 1), (40, 1)))
    along = line_space((100, 40), 1, ((40, 1), (40, 1)))
    plans = [scan_plan(s, 100, ("strided",), False, CPU.elementwise) for s in (down, along)]
    assert [p.block for p in plans] == [BLOCK, 1]
    assert line_blocks(down.kept, BLOCK) == 3
    assert scan_plan(down, 100, ("strided",), False, GPU.elementwise).block == 1


def test_positions_are_as_wide_as_they_must_be() -> None:
    for size, index in [(1000, "int"), (2**31, "long")]:
        lines = line_space((size,), 0, ((1,), (1,)))
        assert scan_plan(lines, size, ("strided",), False, GPU.elementwise).index == index
