"""Arrays that the garbage collector drops, which may run anywhere."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np


class _Cycle:
    """What only the garbage collector drops."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.me = self


def test_shared_memory_that_the_garbage_collector_drops(same: Any) -> None:
    """It may do so within any launch, which is waited for all the same before its values are looked at."""

    def body(xp: Any) -> Any:
        r = np.random.default_rng(11)
        found = []
        for _ in range(100):
            given = {name: xp.array(r.integers(0, 9, r.integers(1, 40)).astype(np.float32)) for name in "xy"}
            for step in ("xp.intersect1d(x, x)", "last[last > 2]", "xp.setxor1d(x, y)", "xp.union1d(x, last)"):
                _Cycle(xp.asarray(np.ones(100, np.float32)))
                given["last"] = eval(step, {"xp": xp}, given)
                found.append(given["last"])
        return found

    thresholds = gc.get_threshold()
    gc.set_threshold(30, 2, 2)
    try:
        same(body)
    finally:
        gc.set_threshold(*thresholds)
