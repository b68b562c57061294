"""Products of stacks of matrices lie in memory as NumPy's do, whichever algorithm computes them."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from ..conftest import check_same

pytestmark = pytest.mark.usefixtures("quick_builds")

# Stacks of either operand: of the same shape, with axes that the other lacks or repeats.
STACKS = [
    ((3, 4), (3, 4)),
    ((3, 4), (4,)),
    ((4,), (3, 4)),
    ((3, 4), (3, 1)),
    ((3, 1), (1, 4)),
    ((3, 1, 2), (4, 2)),
    ((2, 3, 4), (3, 1)),
    ((5,), ()),
    ((), (5,)),
]


@pytest.mark.parametrize("dtype", ["i2", "f4", "c8"])
@pytest.mark.parametrize("stacks", STACKS, ids=str)
@pytest.mark.parametrize("order", ["C", "F"])
def test_strides(stacks: tuple[tuple[int, ...], tuple[int, ...]], dtype: str, order: Any) -> None:
    def body(xp: ModuleType) -> Any:
        a = xp.array(np.ones((*stacks[0], 2, 6), dtype, order=order))
        b = xp.array(np.ones((*stacks[1], 6, 3), dtype, order=order))
        products = np.matmul(a, b), np.matmul(b.mT, a.mT), np.matvec(a, b[..., 0]) if hasattr(np, "matvec") else a
        return [(p, tuple(s for s, n in zip(p.strides, p.shape, strict=True) if n > 1)) for p in products]

    check_same(body)
