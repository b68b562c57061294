"""Random sequences of reads and writes by index arrays and masks: what is remembered of them is never out of date."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import clarray

from ..conftest import policy_in_force
from .test_known_bounds import WRITES

SEQUENCES = 120
APART = {"another library", "the host"}  # arrays that share memory are another test's


def arrays(xp: ModuleType) -> Any:
    return SimpleNamespace(
        x=xp.arange(12.0),
        i=xp.array([3, 1, 2]),
        table=xp.array([[3, 1, 2], [0, 5, -1], [2, 2, 7]]),
        mask=xp.array([True, False, True] * 4),
    )


def flip_one(xp: ModuleType, v: Any, k: int) -> None:
    v.mask[k] = not bool(v.mask[k])


def set_again(xp: ModuleType, v: Any, k: int) -> None:
    v.i[...] = xp.array([3, 1, k])
    v.table[k, k] = k * 8  # out of bounds for k = 2


def write_rows(xp: ModuleType, v: Any, k: int) -> None:
    v.x[v.i] = xp.array([1.0, 2.0, 3.0])


STEPS: list[Callable[[ModuleType, Any, int], Any]] = [
    lambda xp, v, k: v.x[v.i] + 0,
    lambda xp, v, k: v.x[v.mask] + 0,
    lambda xp, v, k: v.x[~v.mask] + 0,
    lambda xp, v, k: v.x[v.table[k]] + 0,
    lambda xp, v, k: xp.take_along_axis(v.x, v.i, 0) + 0,
    lambda xp, v, k: v.x.reshape(6, 2)[v.i, v.i % 2] + 0,
    lambda xp, v, k: np.add.at(v.x, v.i, 1.0),
    write_rows,
    flip_one,
    set_again,
]
WAYS = [write for name, write in WRITES.items() if name not in APART]


def outcome(xp: ModuleType, seed: int) -> list[Any]:
    """What a sequence reads, or raises, and leaves."""
    rng, v = Random(seed), arrays(xp)
    found: list[Any] = []
    for _ in range(rng.randrange(4, 14)):
        step, write, k = rng.choice([*STEPS, None]), rng.choice(WAYS), rng.randrange(3)
        try:
            if step is None:
                write(v.i, xp)
            else:
                found.append(step(xp, v, k))
        except IndexError as error:
            found.append(str(error))
    return [*found, v.x, v.i]


@pytest.mark.parametrize("policy", ["own", "tiny-gpu"])
def test_sequences(policy: str) -> None:
    with policy_in_force(policy):
        for seed in range(SEQUENCES):
            for ours, theirs in zip(outcome(clarray, seed), outcome(np, seed), strict=True):
                if isinstance(theirs, str):
                    assert ours == theirs, seed
                elif theirs is not None:
                    np.testing.assert_array_equal(np.asarray(ours), theirs, err_msg=str(seed))
