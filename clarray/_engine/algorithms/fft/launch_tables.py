"""Compute the tables of roots that passes read on the host, and cache them on the device."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

import numpy as np

from clarray._engine.algorithms.fft.plan import TABLE_ARGUMENTS, PassPlan, computed_roots
from clarray._engine.algorithms.fft.roots import (
    chirp,
    chirp_spectrum,
    shift_of,
    stage_roots,
    two_tables,
    unit_roots,
)
from clarray._engine.runtime import Device, Memory

_NAME = "roots of unity"
_CACHE_BYTES = 1 << 26  # per device


class ChirpTable(NamedTuple):
    """A table of factors: the chirp of `n` values, or its spectrum of `size` values if `size` is not 0."""

    n: int
    size: int = 0


class Tables(NamedTuple):
    """Tables in one memory, and their offsets by the name of the kernel argument."""

    memory: Memory
    offsets: dict[str, int]


def tables_for(
    device: Device, plan: PassPlan, m: int, order: int, chirps: tuple[ChirpTable | None, ChirpTable | None]
) -> Tables:
    """Return the tables of a pass from a least-recently-used cache.

    Parameters
    ----------
    m : int
        Positions of the pass.
    order : int
        Order of the roots for real values. 0: no such roots.
    chirps : tuple
        Factors before and after the transform.
    """
    lanes = plan.lanes if plan.policy.chunked and plan.rooted else 0
    rooted = plan.rooted and not computed_roots(plan.policy, plan.work.itemsize)
    key = plan.radices, plan.work, plan.policy.chunked, lanes, m if rooted else 1, order, chirps
    cached: OrderedDict[object, Tables] = device.attached.setdefault(_NAME, OrderedDict())
    tables = cached.get(key)
    if tables is None:
        tables = cached[key] = _compute_tables(device, plan, lanes, m if rooted else 0, order, chirps)
        total = sum(entry.memory.nbytes for entry in cached.values())
        while total > _CACHE_BYTES and len(cached) > 1:
            total -= cached.popitem(last=False)[1].memory.nbytes
    cached.move_to_end(key)
    return tables


def _compute_tables(
    device: Device,
    plan: PassPlan,
    lanes: int,
    m: int,
    order: int,
    chirps: tuple[ChirpTable | None, ChirpTable | None],
) -> Tables:
    """Compute the tables of a pass.

    Parameters
    ----------
    lanes : int
        Lanes of a vector of roots between passes, or 0 for scalar roots.
    m : int
        Positions of the pass, or 0 if the pass reads no roots between passes.
    """
    dtype = np.result_type(plan.work, np.complex64)
    parts = [stage_roots(plan.radices, dtype, by_output=not plan.policy.chunked)]

    def append(table: np.ndarray) -> int:
        offset = sum(part.size for part in parts)
        parts.append(table)
        return offset

    whole = plan.points * m
    offsets = dict.fromkeys(TABLE_ARGUMENTS, 0)
    for prefix, length in (("", whole if m else 0), ("real_", order)):
        if length:
            coarse, fine = two_tables(length, dtype)
            offsets |= {
                f"{prefix}coarse": append(coarse),
                f"{prefix}fine": append(fine),
                f"{prefix}shift": shift_of(length),
            }
        if not prefix and m and lanes:
            offsets["lane_roots"] = append(_lane_roots(plan.points, lanes, whole, dtype))
    for name, table in zip(("before_at", "after_at"), chirps, strict=True):
        if table is not None:
            offsets[name] = append(_chirp_values(table, dtype))
    return Tables(device.upload(np.concatenate([*parts, np.ones(1, dtype)])), offsets)


def _chirp_values(table: ChirpTable, dtype: np.dtype) -> np.ndarray:
    return chirp_spectrum(*table, dtype) if table.size else chirp(table.n, dtype)


def _lane_roots(points: int, lanes: int, order: int, dtype: np.dtype) -> np.ndarray:
    """Return the roots of neighbouring positions for each output of a pass: a vector of real parts, then imaginary."""
    roots = unit_roots(np.arange(points)[:, None] * np.arange(lanes), order, dtype)
    return np.stack([roots.real, roots.imag], axis=1).ravel().view(dtype)
