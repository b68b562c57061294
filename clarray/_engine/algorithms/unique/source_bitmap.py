"""The source of a bitmap of keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clarray._engine.algorithms.unique.plan_bitmap import BitmapPlan
from clarray._engine.algorithms.unique.source_range_table import look
from clarray._engine.codegen.render import make_dialect, render, source
from clarray._engine.ops.ctype import compute_type

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities

_TALLY = ("buffer", "int64", "uint32", "buffer")
ARG_TYPES = {
    "bitmap_clear": ("buffer", "int64"),
    "bitmap_tally": _TALLY,
    "bitmap_next_tally": _TALLY,
    "bitmap_starts": ("buffer", "buffer"),
    "bitmap_split": (*_TALLY, "buffer"),
    "bitmap_next_split": (*_TALLY, "buffer"),
    "bitmap_set": ("buffer", "uint32", "buffer"),
    "bitmap_count": ("buffer", "buffer"),
    "bitmap_write": ("buffer", "buffer", "buffer"),
}


def bitmap_source(plan: BitmapPlan, capabilities: Capabilities) -> tuple[str, dict[str, tuple[str, ...]]]:
    """Render the kernels named in `ARG_TYPES`, as one program."""
    body = render(
        "unique/bitmap",
        lane=str(compute_type(plan.dtype)),
        kind=plan.dtype.kind,
        bits=plan.bits,
        items=plan.items,
        chunk=plan.chunk,
        window=plan.window,
        wg=plan.work_group,
        look=look(capabilities),
    )
    return source(body, make_dialect(capabilities, 1), capabilities.function_attribute), ARG_TYPES
