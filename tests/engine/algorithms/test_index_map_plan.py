"""Plans of remaps and joins: plain values, no device."""

from __future__ import annotations

from clarray._engine.algorithms.index_map.plan import (
    CONSTANT,
    EDGE,
    SAME,
    WRAP,
    Axis,
    copy_count,
    index_map_plan,
    simplify,
)
from clarray._engine.algorithms.join.plan import is_short_join, join_plan
from clarray._engine.tuning.rows import ROWS


def test_axes_without_a_map_are_merged() -> None:
    assert simplify([Axis(SAME, 4, 30), Axis(SAME, 3, 10), Axis(SAME, 10, 1)]) == [Axis(SAME, 120, 1, 120)]
    assert simplify([Axis(SAME, 4, 60), Axis(SAME, 1, 7), Axis(SAME, 10, 1)]) == [
        Axis(SAME, 4, 60, 4),
        Axis(SAME, 10, 1, 10),
    ]
    assert simplify([]) == simplify([Axis(SAME, 1, 5)]) == [Axis(SAME, 1, 0)]


def test_maps_that_do_nothing_go() -> None:
    assert simplify([Axis(WRAP, 7, 1, 7, 14)]) == [Axis(SAME, 7, 1, 7)]
    assert simplify([Axis(EDGE, 9, 5, 1, 4)]) == [Axis(SAME, 9, 0, 9)]
    assert simplify([Axis(CONSTANT, 7, 1, 7, 0, (0, 0))]) == [Axis(SAME, 7, 1, 7)]


def test_a_map_takes_what_lies_within_it_along() -> None:
    assert simplify([Axis(WRAP, 7, 10, 7, -2), Axis(SAME, 10, 1)]) == [Axis(WRAP, 70, 1, 70, 50)]
    assert simplify([Axis(EDGE, 9, 10, 7, 1), Axis(SAME, 10, 1)])[0].map == EDGE
    assert len(simplify([Axis(CONSTANT, 9, 10, 7, 1, (2, 3)), Axis(WRAP, 10, 1, 10, 4)])) == 2


def test_widths_of_a_remap() -> None:
    gpu, cpu = ROWS["gpu"].elementwise, ROWS["cpu"].elementwise
    axes = [Axis(WRAP, 1 << 28, 1, 1 << 28, 5)]
    plan = index_map_plan(axes, 1 << 28, 1 << 28, 1, 4, gpu)
    assert (plan.maps, plan.vector, plan.index, plan.stream) == ((WRAP,), 4, "int", False)
    assert index_map_plan([Axis(WRAP, 1 << 30, 1, 1 << 30, 5)], 1 << 30, 1 << 30, 1, 1, gpu).index == "long"
    plan = index_map_plan(axes, 1 << 28, 1 << 28, 1, 16, cpu)
    assert (plan.vector, plan.index, plan.stream) == (1, "long", True)


def test_a_large_source_is_read_once_for_its_copies() -> None:
    assert copy_count([Axis(SAME, 3, 0), Axis(SAME, 1 << 20, 1)], 4, ROWS["gpu"].index_map) == 3
    assert copy_count([Axis(SAME, 3, 0), Axis(SAME, 1 << 19, 1)], 4, ROWS["gpu"].index_map) == 1
    assert copy_count([Axis(SAME, 3, 0), Axis(SAME, (1 << 20) + 1, 1)], 4, ROWS["gpu"].index_map) == 1
    assert copy_count([Axis(SAME, 3, 0), Axis(WRAP, 1 << 20, 1, 5)], 4, ROWS["gpu"].index_map) == 1
    assert copy_count([Axis(SAME, 3, 0)], 4, ROWS["gpu"].index_map) == 1


def test_what_is_joined_in_one_launch() -> None:
    assert is_short_join(1, [10, 20], 4, ROWS["gpu"].join)
    assert is_short_join(1 << 20, [1, 1], 4, ROWS["gpu"].join)
    assert not is_short_join(1, [1 << 20, 1 << 20], 4, ROWS["gpu"].join)
    assert not is_short_join(1 << 20, [64, 1], 4, ROWS["gpu"].join)
    assert not is_short_join(5, [3], 4, ROWS["gpu"].join)


def test_vectors_of_a_join() -> None:
    gpu = ROWS["gpu"]
    assert join_plan(8, [1, 2], 2, 0, 16, 4, gpu).whole
    assert not join_plan(8, [1, 2], 3, 0, 24, 4, gpu).whole
    assert join_plan(8, [1, 4], 8, 4, 64, 4, gpu).whole
    assert not join_plan(1, [5, 7], 9, 2, 9, 4, gpu).whole
    assert join_plan(1, [5, 7], 9, 4, 9, 4, gpu).single
