"""The sources of a compaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clarray._engine.codegen.expression import Call, Inputs, operand
from clarray._engine.codegen.moving import moving
from clarray._engine.codegen.render import make_dialect, render, source
from clarray._engine.expr.layout import STEPPED
from clarray._engine.expr.node import Node
from clarray._engine.fused.compact.plan import LANES, CompactPlan

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities


class Kernels(NamedTuple):
    """A program's text, and the types of its kernels' arguments by their names."""

    text: str
    arg_types: dict[str, tuple[str, ...]]


def places() -> np.ndarray:
    """For each byte of flags, the number of flags set before each bit, and in the top four bits, in all."""
    flags = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    ends = flags.cumsum(axis=1, dtype=np.uint64)
    found = (ends - flags) << np.arange(0, 64, 8, dtype=np.uint64)
    return np.bitwise_or.reduce(found, axis=1) | ends[:, -1] << np.uint64(60)


def compact_source(
    plan: CompactPlan, value: Node, mask: Node, nodes: Sequence[Node], capabilities: Capabilities
) -> Kernels:
    """Render the passes that keep `value` where `mask` is set, over their distinct inputs `nodes`."""
    dialect = make_dialect(capabilities, LANES if plan.explicit else 1)
    same = value is mask
    (value, mask), nodes = moving((value, mask), nodes)
    inputs = Inputs(nodes, plan.accesses, dialect, base=False, aligned=plan.aligned)
    inputs.operands = [
        replace(o, base=o.start if o.access == "index" else "0", step=f"{o.name}s" if o.access in STEPPED else o.step)
        for o in inputs.operands
    ]
    stepped = [o for o in inputs.operands if o.access in STEPPED]
    integer = "int32" if plan.index == "int" else "int64"
    params = [*inputs.params, *(f"const {plan.index} {o.step}" for o in stepped)]
    kinds = [*inputs.arg_types, *[integer] * len(stepped)]
    out = operand("y", value.dtype, "unit", dialect)
    keep = Call("keep", mask, inputs)
    name = inputs.slots.get(id(value), "")
    origin, stride = f"{name}o", f"{name}s"  # of an index, where the values are positions
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
        value=keep if same else Call("value", value, inputs),
        same=same,
        params=params,
        loads=plan.loads,
        once=plan.once,
        positional=plan.positional,
        origin=origin,
        stride=stride,
    )
    if plan.once:
        table = {"compact_once": ["buffer"] * 2 if plan.policy.chunked else ["int64", "uint64", "buffer", "buffer"]}
    elif plan.policy.chunked:
        table = {"compact_count": ["buffer"] * 2, "compact_write": ["buffer"] * 4}
    else:
        table = {"compact_count": ["buffer"], "compact_write": ["buffer"] * 2}
    text = source(body, dialect, capabilities.function_attribute)
    return Kernels(text, {name: (*kinds, "int64", *rest) for name, rest in table.items()})
