"""Render the kernels of a bitmap of keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clarray._engine.algorithms.unique.plan_bitmap import BitmapPlan
from clarray._engine.algorithms.unique.source_range_table import atomic_load
from clarray._engine.codegen.arguments import Fields
from clarray._engine.codegen.render import make_dialect, render, source
from clarray._engine.ops.ctype import compute_type

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities


def bitmap_source(plan: BitmapPlan, capabilities: Capabilities) -> tuple[str, dict[str, Fields]]:
    """Render the kernels as one program, and return the arguments of each."""
    lane = str(compute_type(plan.dtype))
    fields = _fields(lane)
    body = render(
        "unique/bitmap",
        lane=lane,
        params={name: kernel.declared for name, kernel in fields.items()},
        kind=plan.dtype.kind,
        bits=plan.bits,
        items=plan.items,
        chunk=plan.chunk,
        window=plan.window,
        wg=plan.work_group,
        atomic_load=atomic_load(capabilities),
    )
    return source(body, make_dialect(capabilities, 1), capabilities.function_attribute), fields


def _fields(lane: str) -> dict[str, Fields]:
    """Declare the arguments of each kernel. The first split reads values, the second split keys."""
    fields = {
        "bitmap_clear": Fields("__global uint4 *map", "const long n"),
        "bitmap_starts": Fields("__global const uint *ends", "__global uint *found"),
        "bitmap_set": Fields("__global const uint *restrict keys", "const uint n", "__global uint *map"),
        "bitmap_count": Fields("__global const uint *restrict map", "__global uint *restrict found"),
        "bitmap_write": Fields(
            "__global const uint *restrict map", "__global const long *restrict starts", f"__global {lane} *restrict y"
        ),
    }
    for prefix, ctype in (("", lane), ("next_", "uint")):
        values = (f"__global const {ctype} *restrict x", "const long xo", "const uint n")
        fields[f"bitmap_{prefix}tally"] = Fields(*values, "__global uint *restrict found")
        split = ("__global uint *restrict places", "__global uint *restrict keys")
        fields[f"bitmap_{prefix}split"] = Fields(*values, *split)
    return fields
