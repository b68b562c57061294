"""The source of a scan along an axis, or of the reductions of its segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from clarray.codegen.expression import Call, Inputs, Operand, operand, parameters
from clarray.codegen.reduce import MonoidCode
from clarray.codegen.render import Source, make_dialect, render, source
from clarray.expr.node import Node
from clarray.ops.monoids import Monoid, literal
from clarray.ops.special import cast_loop
from clarray.plan.scan import ScanPlan

if TYPE_CHECKING:
    from clarray.runtime import Capabilities


def scan_source(
    plan: ScanPlan, monoid: Monoid, value: Node, nodes: Sequence[Node], capabilities: Capabilities
) -> Source:
    """Render the scan of `value` over its distinct inputs `nodes`."""
    dialect = make_dialect(capabilities, 1)
    inputs = Inputs(nodes, plan.accesses, dialect, base=True)
    inputs.operands = [_placed(o, plan) for o in inputs.operands]
    entering = _converted(value, monoid.entering)
    call = Call("value", entering, inputs)
    out = _placed(operand("y", monoid.out_dtype, "strided", dialect), plan)
    out_params, out_types = parameters(out, const=False)
    everyone = [*inputs.operands, out]
    integer = "int32" if plan.index == "int" else "int64"
    positions = ["__global const long *at"] if plan.segmented else []
    counts = ["const long segments"] if plan.segmented else []
    numbers = ["n", *(f"k{a}" for a in range(plan.kept_rank))]
    for o in everyone:
        numbers += [f"{o.name}s", *(f"{o.name}k{a}" for a in range(plan.kept_rank))]
    params = [
        *inputs.params, *positions, *out_params, "const long units", "const long blocks", *counts,
        *(f"const {plan.index} {name}" for name in numbers),
    ]  # fmt: skip
    arg_types = [
        *inputs.arg_types, *["buffer"] * len(positions), *out_types,
        *["int64"] * (2 + len(counts)), *[integer] * len(numbers),
    ]  # fmt: skip
    body = call.text + render(
        "scan",
        d=dialect, V=1, spread=1, I=plan.index, policy=plan.policy, inputs=inputs, out=out,
        value=call, m=MonoidCode(monoid, dialect, entering.dtype, np.dtype(np.int64)),
        first=_first_state(monoid),
        everyone=everyone, pointers=[o for o in everyone if o.access != "index"], params=params,
        rank=plan.kept_rank, block=plan.block, segmented=plan.segmented,
    )  # fmt: skip
    text = source(body, dialect, capabilities.function_attribute)
    return Source("scan", text, tuple(arg_types))


def _first_state(monoid: Monoid) -> list[tuple[str, str]]:
    """The components of a state that has seen one value x, which no operation has touched yet."""
    found = [(monoid.components[0][0], "x")]
    for name, dtype in monoid.components[1:]:
        found.append((name, literal(dtype.kind == "b", dtype)))
    return found


def _placed(o: Operand, plan: ScanPlan) -> Operand:
    """The operand at line `first + l` of a row, with its stride along the scanned axis."""
    base = f"{o.name}b"
    if plan.kept_rank:
        base += f" + (first + l) * {o.name}k0"
    return replace(o, base=base, step=f"{o.name}s")


def _converted(value: Node, dtype: np.dtype) -> Node:
    """`value` in another dtype, as part of a kernel only: nothing is noted as its reader."""
    if value.dtype == dtype:
        return value
    return Node(
        cast_loop(dtype), (value,), value.shape, dtype, value.size, 0, 0, 0,
        value.inputs or (value,),
    )  # fmt: skip
