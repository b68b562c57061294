"""The roots that a pass reads: one memory with all of them, made on the host and kept on the device."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

import numpy as np

from clarray._engine.algorithms.fft.plan import PLACES, PassPlan, computed_roots
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
_KEPT_BYTES = 1 << 26  # of a device


class Section(NamedTuple):
    """A table that values are multiplied by: the chirp of n values, or its spectrum among `size`, if that is not 0."""

    n: int
    size: int = 0


class Tables(NamedTuple):
    """Memory, and the kernels' arguments that say where in it each table begins, by name."""

    memory: Memory
    places: dict[str, int]


def tables_for(
    device: Device, plan: PassPlan, m: int, order: int, sections: tuple[Section | None, Section | None]
) -> Tables:
    """Give the tables of a pass, those used last being kept.

    Parameters
    ----------
    m : int
        Positions of the pass.
    order : int
        Of the roots for real values; 0 for none.
    sections : tuple
        What values are multiplied by before, and after.
    """
    beside = plan.lanes if plan.policy.chunked and plan.rooted else 0
    rooted = plan.rooted and not computed_roots(plan.policy, plan.work.itemsize)
    key = plan.radices, plan.work, plan.policy.chunked, beside, m if rooted else 1, order, sections
    known: OrderedDict[object, Tables] = device.attached.setdefault(_NAME, OrderedDict())
    found = known.get(key)
    if found is None:
        found = known[key] = _made(device, plan, beside, m if rooted else 0, order, sections)
        total = sum(each.memory.nbytes for each in known.values())
        while total > _KEPT_BYTES and len(known) > 1:
            total -= known.popitem(last=False)[1].memory.nbytes
    known.move_to_end(key)
    return found


def _made(
    device: Device, plan: PassPlan, beside: int, m: int, order: int, sections: tuple[Section | None, Section | None]
) -> Tables:
    """Make the tables; `m` is 0 where no roots between passes are read."""
    dtype = np.result_type(plan.work, np.complex64)
    parts = [stage_roots(plan.radices, dtype, by_output=not plan.policy.chunked)]

    def put(table: np.ndarray) -> int:
        place = sum(part.size for part in parts)
        parts.append(table)
        return place

    whole = plan.points * m
    places = dict.fromkeys(PLACES, 0)
    for prefix, length in (("", whole if m else 0), ("real_", order)):
        if length:
            coarse, fine = two_tables(length, dtype)
            places |= {f"{prefix}coarse": put(coarse), f"{prefix}fine": put(fine), f"{prefix}shift": shift_of(length)}
        if not prefix and m and beside:
            places["lane_roots"] = put(_beside(plan.points, beside, whole, dtype))
    for name, section in zip(("before_at", "after_at"), sections, strict=True):
        if section is not None:
            places[name] = put(_section(section, dtype))
    return Tables(device.upload(np.concatenate([*parts, np.ones(1, dtype)])), places)


def _section(section: Section, dtype: np.dtype) -> np.ndarray:
    return chirp_spectrum(*section, dtype) if section.size else chirp(section.n, dtype)


def _beside(points: int, lanes: int, order: int, dtype: np.dtype) -> np.ndarray:
    """For each output of a pass the roots of neighbouring positions: the real parts of a vector, then the others."""
    roots = unit_roots(np.arange(points)[:, None] * np.arange(lanes), order, dtype)
    return np.stack([roots.real, roots.imag], axis=1).ravel().view(dtype)
