"""Plans of gathers: plain values, no device."""

from __future__ import annotations

import numpy as np

from clarray._engine.algorithms.gather.plan import (
    divisor,
    gather_plan,
    gather_space,
    in_words,
    loop_arguments,
    word_elements,
    work_units,
)
from clarray._engine.tuning.rows import ROWS

ROWS_OF_64 = gather_space([], [(100, (1,))], [(1000, 64)], [(64, 1)])


def test_axes_are_merged() -> None:
    space = gather_space([(3, 20), (4, 5)], [(2, (3, 0)), (3, (1, 0))], [(1, 7)], [(2, 10), (5, 1)])
    assert space.before == ((12, 5),)
    assert space.lists == ((6, (1, 0)),)
    assert space.chosen == ()
    assert space.after == ((2, 10), (5, 1))
    assert space.size == 12 * 6 * 10


def test_rows_are_moved_in_words_of_16_bytes() -> None:
    assert word_elements(ROWS_OF_64, 4, [0, 0]) == 4
    assert word_elements(ROWS_OF_64, 4, [2, 0]) == 2
    assert word_elements(ROWS_OF_64, 1, [0, 0]) == 16
    assert word_elements(ROWS_OF_64, 16, [1, 3]) == 1
    space = in_words(ROWS_OF_64, 4)
    assert space.chosen == ((1000, 16),)
    assert space.after == ((16, 1),)
    assert in_words(gather_space([], [(9, (1,))], [(5, 4)], [(4, 1)]), 4).after == ()


def test_elements_that_lie_apart_are_not_joined() -> None:
    assert word_elements(gather_space([], [(9, (1,))], [(5, 1)], [(8, 5)]), 4, [0, 0]) == 1
    assert word_elements(gather_space([], [(9, (1,))], [(5, 3)], [(8, 1)]), 4, [0, 0]) == 1
    assert word_elements(gather_space([], [(9, (1,))], [(5, 1)], []), 4, [0, 0]) == 1


def test_a_list_in_several_loops_is_read_by_element() -> None:
    space = gather_space([], [(3, (1, 0)), (5, (0, 1))], [(7, 5), (5, 1)], [])
    plan = gather_plan("gather", "raise", ["memory", "memory"], space, 4, False, ROWS["nvidia"])
    assert plan.list_rank == 2
    assert plan.accesses == ("zero", "zero")
    assert plan.chosen_rank == 1
    assert work_units(space, plan) == 15
    found = loop_arguments(space, plan)
    assert (found["units"], found["count"]) == (15, 15)
    assert (found["before"], found["chosen"], found["after"]) == ([], [35, 1], [])
    # innermost first
    assert (found["l"], found["x0l"], found["x1l"]) == ([5, 3], (0, 1), (1, 0))
    # the shifts of 15, 35, 5 and 3
    assert found["divisors"][1::2] == [4, 6, 3, 2]


def test_division_by_factors() -> None:
    random = np.random.default_rng(1)
    largest = 2**31 - 1
    drawn = map(int, random.integers(1, largest, 50))
    for n in (1, 2, 3, 5, 7, 64, 641, 65535, 2**20 + 1, largest - 1, largest, *drawn):
        factor, shift = divisor(n)
        assert 0 <= factor < 2**32
        edges = [q * n + r for q in (0, 1, 2, largest // n) for r in (-1, 0, 1)]
        for x in (*edges, largest, *map(int, random.integers(0, largest, 20))):
            if 0 <= x <= largest:
                assert ((x * factor >> 32) + x) >> shift == x // n


def test_what_is_far_counts_in_64_bits() -> None:
    policy = ROWS["nvidia"]
    near = gather_plan("gather", "raise", ["memory"], ROWS_OF_64, 4, False, policy)
    far = gather_space([], [(100, (1 << 30,))], [(1000, 64)], [(64, 1)])
    assert near.index == "int"
    assert gather_plan("gather", "raise", ["memory"], far, 4, False, policy).index == "long"
    many = gather_space([], [(2**31, (1,))], [(1000, 1)], [])
    assert gather_plan("mark", "raise", ["memory"], many, 4, False, policy).wide
