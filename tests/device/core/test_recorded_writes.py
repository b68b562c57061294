"""Recorded calls that write to an operand: what reads it, pending, has what was there before."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

import clarray
from clarray._engine import speedups

from .test_recordings import TIMES, Operands, check, operands

pytestmark = pytest.mark.skipif(speedups.native is None, reason="the compiled core is not there, or not wanted")


def by_indices(xp: ModuleType, v: Operands) -> None:
    v["x"][v["i"]] = 3.0


def by_indices_of_an_array(xp: ModuleType, v: Operands) -> None:
    v["x"][xp.unique(v["i"] % 30)[:2]] = v["y"][:2]


def by_a_mask(xp: ModuleType, v: Operands) -> None:
    v["x"][v["m"]] = -1.0


def by_a_mask_in_place(xp: ModuleType, v: Operands) -> None:
    v["x"][v["m"]] += v["y"][v["m"]]


def sorted_in_place(xp: ModuleType, v: Operands) -> None:
    v["a"].sort(axis=0)


def a_view_sorted(xp: ModuleType, v: Operands) -> None:
    v["x"][::-2].sort()


def put(xp: ModuleType, v: Operands) -> None:
    xp.put(v["x"], v["i"], v["y"], mode="wrap")


def added_at(xp: ModuleType, v: Operands) -> None:
    np.add.at(v["n"], v["i"], 2)


def taken_out(xp: ModuleType, v: Operands) -> None:
    xp.take(v["y"], v["i"], out=v["x"][:12], mode="wrap")


def summed_out(xp: ModuleType, v: Operands) -> None:
    np.add.accumulate(v["x"], out=v["y"])


def over_itself(xp: ModuleType, v: Operands) -> None:
    v["x"][1:] = xp.concatenate((v["x"][:10], v["x"][11:]))


def copied_where(xp: ModuleType, v: Operands) -> None:
    xp.copyto(v["x"], v["y"], where=v["m"])


def by_a_ufunc(xp: ModuleType, v: Operands) -> None:
    xp.multiply(v["x"], v["y"], out=v["x"])


def by_a_ufunc_of_a_view(xp: ModuleType, v: Operands) -> None:
    np.subtract(v["x"][1:], v["x"][:-1], v["x"][:-1])


def by_a_ufunc_backwards(xp: ModuleType, v: Operands) -> None:
    xp.maximum(v["x"] + v["n"], 2, out=v["x"][::-1])


def by_a_ufunc_where(xp: ModuleType, v: Operands) -> None:
    xp.sqrt(v["n"], out=v["y"], where=v["n"] > 0)


def by_a_ufunc_of_a_sum(xp: ModuleType, v: Operands) -> None:
    np.true_divide(v["a"], v["a"].sum(axis=1, keepdims=True) * 2 + 1, out=v["a"])


WRITES = [by_indices, by_indices_of_an_array, by_a_mask, by_a_mask_in_place, sorted_in_place, a_view_sorted, put]
WRITES += [added_at, taken_out, summed_out, over_itself, copied_where]
WRITES += [by_a_ufunc, by_a_ufunc_of_a_view, by_a_ufunc_backwards, by_a_ufunc_where, by_a_ufunc_of_a_sum]


@pytest.mark.parametrize("write", WRITES)
def test_writes(write: Callable[[ModuleType, Operands], None]) -> None:
    """Also to arrays that something pending reads, which is computed before."""
    for seed in range(2 * TIMES):
        ours, theirs = operands(clarray, seed), operands(np, seed)
        pending = [v["x"] * 2 + v["y"] for v in (ours, theirs)] if seed % 3 == 1 else []
        also = [v["n"] - v["a"].sum() for v in (ours, theirs)] if seed % 3 == 2 else []
        for xp, v in ((clarray, ours), (np, theirs)):
            write(xp, v)
        for name, value in theirs.items():
            check(ours[name], value)
        for pair in (pending, also):
            if pair:
                check(*pair)


@pytest.mark.parametrize("write", WRITES)
def test_writes_to_one_array(write: Callable[[ModuleType, Operands], None]) -> None:
    ours, theirs = operands(clarray, 1), operands(np, 1)
    for _ in range(TIMES):
        write(clarray, ours)
        write(np, theirs)
    for name, value in theirs.items():
        check(ours[name], value)
