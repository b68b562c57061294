"""Render the kernel of updates at indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from clarray._engine.algorithms.scatter.plan import ScatterPlan
from clarray._engine.codegen.arguments import Fields, axes, numbers
from clarray._engine.codegen.expression import Call, Inputs, operand, parameters
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.expr.node import Node
from clarray._engine.ops.special import cast_loop
from clarray._engine.ops.ufuncs import Loop

if TYPE_CHECKING:
    import numpy as np

    from clarray._engine.runtime import Capabilities


def scatter_source(
    plan: ScatterPlan,
    loop: Loop,
    dtype: np.dtype,
    value: Node | None,
    nodes: Sequence[Node],
    capabilities: Capabilities,
) -> Source:
    """Render the update of elements of `dtype` by ``loop(element, value)``.

    Parameters
    ----------
    value : Node or None
        The second operand, over its distinct inputs `nodes`. None for a unary operation.
    """
    dialect = make_dialect(capabilities, 1)
    inputs = Inputs(nodes, plan.accesses, dialect, base=True)
    inputs.operands = [replace(o, step="0") for o in inputs.operands]
    current = Node(None, (), (), dtype, 1)
    inputs.slots[id(current)] = "y"
    inputs.types.append(("y", dtype, False))
    args = (current,) if value is None else (current, value)
    applied = Node(loop, args, (), loop.out_dtype, 1)
    updated = Node(cast_loop(dtype), (applied,), (), dtype, 1)
    call = Call("value", updated, inputs=inputs)
    target = operand("y", dtype, "zero", dialect)
    names = [o.name for o in inputs.operands]
    fields = Fields(
        ("inputs", inputs.params),
        "__global const long *restrict numbers",
        *parameters(target, const=False),
        *numbers("long", ["count", "targets", "per_part", "columns", "per_block", "blocks", "units"]),
        axes("long", "m", plan.list_rank),
        axes("long", "e", plan.chosen_rank),
        axes("long", "r", plan.rest_rank),
        *(axes("long", f"{name}m", plan.list_rank) for name in names),
        axes("long", "ye", plan.chosen_rank),
        *(axes("long", f"{name}r", plan.rest_rank) for name in (*names, "y")),
    )
    body = render(
        "scatter/scatter",
        d=dialect,
        V=1,
        spread=1,
        policy=plan.policy,
        inputs=inputs,
        value=call,
        target=target,
        list_rank=plan.list_rank,
        chosen_rank=plan.chosen_rank,
        rest_rank=plan.rest_rank,
        params=fields.declared,
    )
    return Source.of("scatter_update", source(body, dialect, capabilities.function_attribute), fields)
