"""``nditer`` and ``nested_iters``: the elements, and where what they write goes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

from ..conftest import check_same

READING = {
    "elements": lambda xp, x: [int(v) for v in xp.nditer(x)],
    "order": lambda xp, x: [int(v) for v in xp.nditer(x.T, order="C")],
    "indices": lambda xp, x: [xp.nditer(x, flags=["multi_index"]).multi_index],
    "together": lambda xp, x: [(int(a), int(b)) for a, b in xp.nditer([x, x[0]])],
    "allocated": lambda xp, x: np.nditer([np.asarray(x), None]).operands[1].shape,
    "nested": lambda xp, x: [[int(v) for v in xp.nested_iters(x, [[0], [1]])[1]]],
    "list": lambda xp, x: [int(v) for v in xp.nditer([1, 2])],
    "pending": lambda xp, x: [int(v) for v in xp.nditer(x + 1)],
    "no elements": lambda xp, x: [int(v) for v in xp.nditer(x[:0], flags=["zerosize_ok"])],
}
WRITING = {
    "nditer": lambda xp, x, **how: xp.nditer(x, **how),
    "nested": lambda xp, x, **how: xp.nested_iters(x, [[], [0, 1]], **how)[1],
}


@pytest.mark.parametrize("name", READING)
def test_reading(name: str) -> None:
    check_same(lambda xp: READING[name](xp, xp.arange(6).reshape(2, 3)))


@pytest.mark.parametrize("part", [np.s_[:], np.s_[::-1, 1:]])
@pytest.mark.parametrize("name", WRITING)
def test_writing(name: str, part: Any) -> None:
    """It reaches an array in host memory; of other memory there is an error, and nothing is lost."""

    def written(xp: Any) -> Any:
        x = xp.arange(6).reshape(2, 3)
        for value in WRITING[name](xp, x[part], op_flags=["readwrite"]):
            value[...] = 2 * value
        return x + 1

    if current_device().capabilities.host_memory:
        check_same(written)
    else:
        with pytest.raises(ValueError, match="read-only"):
            written(clarray)
