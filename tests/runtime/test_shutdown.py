"""Objects that the last garbage collection deletes compute: no thread can be started then."""

from __future__ import annotations

from typing import Any

import pytest

LATE = """
import gc
import os

import numpy

import clarray

gc.set_threshold(10**9)  # the cycles below live until the interpreter shuts down


class Late:
    def __init__(self, work):
        self.work, self.me = work, self

    def __del__(self, write=os.write):
        try:
            found = self.work()
        except BaseException as error:
            found = repr(error)
        write(1, f"{found} ".encode())


x = clarray.arange(5000, dtype="float32").evaluate()
large = numpy.ones(6_000_000, "float32")


def compute(x=x):
    return float((x * 1.5 + 2).max() + (x - 3).min())


def index(x=x):
    return int(x[(x * 7 + 1)[:10].astype("int64")][1])


def copy(clarray=clarray, large=large):
    return float(clarray.array(large)[-1])


def load_modules(clarray=clarray, x=x):
    return len(clarray.unique(x % 7))


for work in (compute, index, copy, load_modules):
    Late(work)
"""


@pytest.mark.parametrize("tier", ["0", "1"])
def test_the_last_garbage_computes(tier: str, fresh: Any) -> None:
    """Up to Python 3.11 a thread that is started while the interpreter shuts down never begins."""
    done = fresh(LATE, CLARRAY_TIER=tier)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.split()) == sorted(["7497.5", "8", "1.0", "7"])
