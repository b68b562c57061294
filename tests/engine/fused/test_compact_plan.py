"""Plans of compactions and gathers: plain values, no device."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clarray._engine.expr.layout import access
from clarray._engine.fused.compact.plan import CompactOperands, compact_plan, flat_step, parts
from clarray._engine.fused.compact.source import flag_ranks
from clarray._engine.tuning.rows import ROWS


def test_even_steps() -> None:
    assert flat_step((3, 4), (4, 1)) == 1
    assert flat_step((3, 4), (8, 2)) == 2
    assert flat_step((3, 4), (0, 0)) == 0
    assert flat_step((1, 4), (99, -1)) == -1
    assert flat_step((3, 4), (1, 3)) is None
    assert flat_step((), ()) == 0
    assert [access(s) for s in (1, 0, -1)] == ["unit", "zero", "strided"]


def test_ranks_of_flags() -> None:
    table = flag_ranks()
    for flags in (0, 1, 0b01001101, 255):
        before = [(flags & ((1 << k) - 1)).bit_count() for k in range(8)]
        assert [int(table[flags]) >> 8 * k & 15 for k in range(8)] == before
        assert int(table[flags]) >> 60 == flags.bit_count()


def operands_of(loaded: list[np.dtype], computed: list[np.dtype]) -> CompactOperands:
    return CompactOperands(accesses=("unit",), loaded=loaded, computed=computed, largest_position=1000, aligned=True)


def test_tiles_fit_local_memory() -> None:
    dtypes = [np.dtype(n) for n in ("bool", "float16", "float32", "float64", "complex128")]
    for name in ("gpu", "nvidia", "tiny-gpu"):
        policy = ROWS[name].compact
        for loaded in dtypes:
            for result in dtypes:
                plan = compact_plan(operands_of([loaded], [result]), False, False, policy)
                assert plan.tile * max(4, result.itemsize) <= policy.local_bytes
                assert plan.vector * plan.loads <= 32


def test_parts_are_worth_their_launch() -> None:
    policy = replace(ROWS["cpu"].compact, groups_per_unit=2, chunk_bytes=1 << 16)
    dtype = [np.dtype(np.float32)]
    plan = compact_plan(operands_of(dtype, dtype), False, False, policy)
    assert parts(100, 400, 8, plan) == 1
    assert parts(1 << 25, 1 << 27, 8, plan) == 16
