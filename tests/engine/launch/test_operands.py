"""What launches derive of a kernel's inputs: no device."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from clarray._engine.expr.node import Node, constant, index, leaf
from clarray._engine.launch.operands import Operands, collect_operands, stride_arguments

F4, I8, C8 = map(np.dtype, ("f4", "i8", "c8"))


def array(shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0, dtype: np.dtype = F4) -> Node:
    memory: Any = SimpleNamespace(cost=1, shared=False, readers=[], buffer="buffer")
    return leaf(memory, shape, strides, offset, dtype)


ROWS = array((4, 8), (8, 1), 16)
COLUMN = array((4, 1), (1, 0), 3)
PLACES = index((4, 8), (8, 1), I8)
TWO, COMPLEX = constant(2.0, F4), constant(1 + 2j, C8)


def test_each_input_counts_once() -> None:
    operands = collect_operands(ROWS, TWO, ROWS, PLACES, TWO)
    assert operands.nodes == [ROWS, TWO, PLACES]
    assert operands.non_constants == [ROWS, PLACES]
    assert operands.nbytes == 4 * 32
    assert collect_operands(ROWS, TWO).signature != collect_operands(ROWS, ROWS).signature
    assert collect_operands().nodes == []


def test_constants_have_neither_strides_nor_steps() -> None:
    operands = Operands([TWO, ROWS, COMPLEX, PLACES, COLUMN])
    assert operands.kinds("") == ("const", "", "const", "index", "")
    assert operands.strides(3) == ((0, 8, 1), (0, 8, 1), (0, 1, 0))
    assert operands.accesses([2, 1, 0]) == ("const", "strided", "const", "index", "zero")
    assert operands.accesses([2, 2, -1], pairs=True) == ("const", "pairs", "const", "index", "strided")
    assert operands.arguments() == [2.0, "buffer", 16, 1.0, 2.0, 0, "buffer", 3]
    assert operands.arguments([1, 2, 3]) == [2.0, "buffer", 17, 1.0, 2.0, 2, "buffer", 6]


def test_strides_are_told_innermost_first_and_unit_ones_not() -> None:
    kinds = ["unit", "const", "strided", "zero", "index"]
    assert stride_arguments(kinds, [(7, 1), (5, 3), (2, 0), (8, 1)]) == [7, 3, 5, 2, 1, 8]
    assert stride_arguments(["unit", "strided"], [(1,), (9,)]) == [9]


@pytest.mark.parametrize(
    ("strides", "shift", "aligned"),
    [
        ((8, 1), 0, True),
        ((6, 1), 0, False),
        ((8, 1), 3, False),
        ((8, 1), -4, True),
        ((6, 2), 3, True),
        ((1,), -2, False),
    ],
)
def test_rows_start_aligned_if_their_places_and_distances_do(strides: tuple, shift: int, aligned: bool) -> None:
    operands = Operands([TWO, ROWS, PLACES])
    steps = [strides, (3, 1)]  # an index is not loaded, so nothing is asked of it
    assert operands.rows_aligned(steps, operands.shifted_offsets([shift, 1])) is aligned


def test_arrays_start_aligned_if_their_offsets_are() -> None:
    assert Operands([TWO, ROWS, PLACES]).are_aligned
    assert not Operands([ROWS, COLUMN]).are_aligned
