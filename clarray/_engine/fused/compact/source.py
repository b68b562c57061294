"""Render the sources of compactions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from clarray._engine.codegen.arguments import Fields, numbers
from clarray._engine.codegen.expression import Call, Inputs, Operand, operand
from clarray._engine.codegen.packed_moves import with_moved_bits
from clarray._engine.codegen.render import make_dialect, render, source
from clarray._engine.expr.layout import STEPPED
from clarray._engine.expr.node import Node
from clarray._engine.fused.compact.plan import LANES, CompactPlan

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities


def flag_ranks() -> np.ndarray:
    """Return the number of flags set before each bit, for each byte of flags, and their total in the top four bits."""
    flags = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    ends = flags.cumsum(axis=1, dtype=np.uint64)
    ranks = (ends - flags) << np.arange(0, 64, 8, dtype=np.uint64)
    return np.bitwise_or.reduce(ranks, axis=1) | ends[:, -1] << np.uint64(60)


def compact_source(
    plan: CompactPlan, value: Node, mask: Node, nodes: Sequence[Node], capabilities: Capabilities
) -> tuple[str, dict[str, Fields]]:
    """Render the passes that select `value` by `mask`, over their distinct inputs `nodes`."""
    dialect = make_dialect(capabilities, LANES if plan.explicit else 1)
    same = value is mask
    (value, mask), nodes = with_moved_bits((value, mask), nodes)
    inputs = Inputs(nodes, plan.accesses, dialect, base=False, aligned=plan.aligned)
    inputs.operands = [
        replace(o, base=o.start if o.access == "index" else "0", step=f"{o.name}s" if o.access in STEPPED else o.step)
        for o in inputs.operands
    ]
    out = operand("y", value.dtype, "unit", dialect)
    fields = _fields(plan, inputs, out)
    keep = Call("keep", mask, inputs=inputs)
    name = inputs.slots.get(id(value), "")
    origin, stride = f"{name}o", f"{name}s"  # start and stride of the index, if the values are positions
    template = "compact/chunks" if plan.policy.chunked else "compact/tiles"
    body = render(
        template,
        d=dialect,
        V=plan.vector,
        spread=1,
        I=plan.index,
        policy=plan.policy,
        inputs=inputs,
        out=out,
        keep=keep,
        value=keep if same else Call("value", value, inputs=inputs),
        same=same,
        params={name: each.declared for name, each in fields.items()},
        loads=plan.loads,
        single_pass=plan.single_pass,
        positional=plan.positional,
        origin=origin,
        stride=stride,
    )
    return source(body, dialect, capabilities.function_attribute), fields


def _fields(plan: CompactPlan, inputs: Inputs, out: Operand) -> dict[str, Fields]:
    """Declare the arguments of each pass. The compiled core fills those of ``compact_once`` itself, on a CPU."""
    steps = numbers(plan.index, [o.step for o in inputs.operands if o.access in STEPPED])
    size = f"const long {'n' if plan.policy.chunked else 'total'}"
    loop = (("inputs", inputs.params), ("steps", steps), ("size", [size]))
    result = f"__global {out.storage} *restrict yp"
    if not plan.policy.chunked:
        counts = "long *restrict counts"
        if plan.single_pass:
            look_back = ("const long tiles", "__global ulong *tile_state", "const ulong epoch")
            return {"compact_once": Fields(*loop, *look_back, f"__global {counts}", result)}
        return {
            "compact_count": Fields(*loop, f"__global {counts}"),
            "compact_write": Fields(*loop, f"__global const {counts}", result),
        }
    if plan.single_pass:
        return {"compact_once": Fields(*loop, "__global long *restrict counts", result)}
    ranks = ("__global const long *restrict counts", "__global const ulong *restrict places")
    counted = ("__global ulong *restrict flags", "__global long *restrict counts")
    return {
        "compact_count": Fields(*loop, *counted),
        "compact_write": Fields(*loop, "__global const ulong *restrict flags", *ranks, result),
    }
