"""Statements, run often, leave nothing behind: neither objects, nor blocks of Python's memory, nor references."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray

pytestmark = pytest.mark.usefixtures("quick_builds")

COUNT = int(
    os.environ.get("STATEMENTS", "1500")
)  # of each kind; docs/engineering/testing.md says how many have been run
ROUNDS = 3
SLACK = 200  # what is kept weakly, by number rather than for good

FLOAT = np.dtype(np.float32)


class Arrays:
    """What the statements work on."""

    def __init__(self) -> None:
        self.x, self.y = (clarray.array(np.ones(64, np.float32)).evaluate() for _ in range(2))
        self.u = clarray.array(np.ones((8, 8))).evaluate()
        self.i = clarray.array(np.ones(4, np.int8)).evaluate()
        self.k = clarray.array(np.arange(48) % 7).evaluate()
        self.at = clarray.array(np.array([3, -1, 40])).evaluate()
        clarray.synchronize()


def in_place(a: Arrays) -> None:
    a.x += 1
    a.x -= 1.0
    a.x *= a.y


def pending(a: Arrays) -> None:
    z = a.x + a.y
    z += 1
    z *= a.y


def numbers(a: Arrays) -> None:
    k = a.x[3]
    k += 1
    float(k * 2.0 - a.y[1])


def held(a: Arrays) -> None:
    z = a.x + 1
    a.x[:] = z - 1


def of_its_own(a: Arrays) -> None:
    a.x[:] = a.x * 1.0


def selection(a: Arrays) -> None:
    (a.x[a.x > 0] * 2).evaluate()
    a.u[a.u > 1].evaluate()
    a.i[a.i == 1].evaluate()


def stencil(a: Arrays) -> None:
    a.x[1:-1] = (a.y[1:-1] + a.y[2:] + a.y[:-2]) * 0.25


def assignments(a: Arrays) -> None:
    a.x[3] = 1
    a.x[4] = a.x[3] * 0.5 + a.y[7] * 0.5
    a.x[1:-1] = a.y[2:]


def reductions(a: Arrays) -> None:
    float(a.x.sum())
    a.u.sum(axis=0).evaluate()
    (a.x - a.x.mean()).evaluate()
    int(a.k.max())
    (a.k > 3).any()


def products(a: Arrays) -> None:
    float(a.x @ a.y)
    (a.u @ a.x[:8]).evaluate()
    (a.u @ a.u).evaluate()
    clarray.outer(a.x[:3], a.y[:4]).evaluate()


def recordings(a: Arrays) -> None:
    clarray.concatenate((a.x, a.y))
    clarray.stack((a.x, a.y), axis=1)
    clarray.roll(a.k, 2)
    a.k.cumsum()
    a.u.std(axis=0)


def sorting(a: Arrays) -> None:
    clarray.sort(a.k)
    clarray.argsort(a.k, kind="stable")
    clarray.unique(a.k)
    a.k.sort()


def indices(a: Arrays) -> None:
    a.x[a.at]
    a.x.take(a.at)
    a.u[a.at % 8, 1].evaluate()
    a.k[a.at] = 5
    a.k[a.k > 5] = 0


def selections(a: Arrays) -> None:
    part = a.k[a.k > 2]
    (part * 2 + 1).sum()
    clarray.nonzero(a.k)
    int(clarray.count_nonzero(a.k > 3))
    clarray.where(a.x > 0, a.x, a.y).evaluate()


STATEMENTS: dict[str, Callable[[Arrays], Any]] = {
    "operators": lambda a: (a.x + a.y, a.x * 1.5, 1 - a.x, a.x < 3, -a.x),
    "evaluated": lambda a: (a.x + a.y).evaluate(),
    "strided": lambda a: (a.u.T + a.u[::-1]).evaluate(),
    "views": lambda a: (a.x[1:-1], a.u[1:, ::2], a.u[3]),
    "elements": lambda a: (float(a.x[3]), int(a.i[1]), a.u[2, 2]),
    "a dtype of its own": lambda a: clarray.zeros(3, np.dtype(np.float32, metadata={"a": 1})) + 1,
    **{f.__name__: f for f in (in_place, pending, numbers, held, of_its_own, selection, stencil, assignments)},
    **{f.__name__: f for f in (reductions, products, recordings, sorting, indices, selections)},
    "out of bounds": lambda a: a.x[99],
    "out of range": lambda a: a.i.__setitem__(0, 300),
    "unlike shapes": lambda a: a.x + a.u,
    "no number": lambda a: a.x + "a",
    "no slice": lambda a: a.x["a":],
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_nothing_is_left(name: str) -> None:
    arrays, statement = Arrays(), STATEMENTS[name]
    watched = [arrays.x, arrays.y, arrays.y._node, arrays.y._node.memory, arrays.y._node.readers, FLOAT, 1, 64, ()]

    def run(count: int) -> np.ndarray:
        for _ in range(count):
            with contextlib.suppress(IndexError, OverflowError, ValueError, TypeError):
                statement(arrays)
        clarray.synchronize()
        gc.collect()
        return np.array([len(gc.get_objects()), sys.getallocatedblocks(), *map(sys.getrefcount, watched)])

    run(500)  # until kernels, launches and tables are there
    for _ in range(ROUNDS):  # other threads (builds, the disk, pytest) take and free blocks too: once, not each time
        before = run(COUNT)
        grown = run(COUNT) - before
        if (abs(grown) < SLACK).all():
            break
    else:
        pytest.fail(f"every {COUNT} statements leave {grown.tolist()}")
