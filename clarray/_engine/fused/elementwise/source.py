"""Render the source of an elementwise kernel from its plan and its expression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clarray._engine.codegen.arguments import arguments
from clarray._engine.codegen.expression import Call, Inputs, operand, parameters
from clarray._engine.codegen.packed_moves import with_moved_bits
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.expr.layout import STEPPED
from clarray._engine.expr.node import Node
from clarray._engine.fused.elementwise.plan import TILE, ElementwisePlan

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities


def elementwise_source(plan: ElementwisePlan, root: Node, nodes: Sequence[Node], capabilities: Capabilities) -> Source:
    """Render the kernel of `root` over its distinct inputs `nodes`."""
    dialect = make_dialect(capabilities, plan.vector if plan.explicit else 1)
    strided = plan.rank > 0
    (root,), nodes = with_moved_bits((root,), nodes)
    inputs = Inputs(nodes, plan.accesses, dialect, base=strided, aligned=plan.aligned)
    value = Call("value", root, inputs)
    out = operand(
        "y",
        root.dtype,
        plan.out_access,
        dialect,
        base="yb" if strided else "0",
        aligned=plan.aligned,
    )
    out_params, out_types = parameters(out, const=False)
    params = inputs.params + out_params
    arg_types = inputs.arg_types + out_types
    operands = [*inputs.operands, out]
    if strided:
        params += ["const long rows"] + [f"const {plan.index} n{a}" for a in range(plan.rank)]
        arg_types += ["int64"] + [f"int{32 if plan.index == 'int' else 64}"] * plan.rank
        for o in operands:
            axes = range(0 if o.access in STEPPED else 1, plan.rank)
            params += [f"const {plan.index} {o.name}s{a}" for a in axes]
            arg_types += [f"int{32 if plan.index == 'int' else 64}"] * len(axes)
    else:
        params.append(f"const {plan.index} n")
        arg_types.append(f"int{32 if plan.index == 'int' else 64}")
    policy = plan.policy
    argument_list = arguments(params, arg_types, capabilities.argument_struct)
    body = (
        value.text
        + argument_list.definition
        + render(
            _template(plan),
            d=dialect,
            V=plan.vector,
            spread=1,
            I=plan.index,
            policy=policy,
            inputs=inputs,
            value=value,
            out=out,
            arguments=argument_list,
            everyone=operands,
            flat=not strided,
            rank=plan.rank,
            axis=plan.tile_axis,
            T=TILE,
            staged_names=[f"x{k}" for k, staged in enumerate(plan.staged) if staged],
            segment=policy.segment or plan.vector,
            stream=plan.stream and capabilities.clang_builtins,
            group_attribute=(f"__attribute__((reqd_work_group_size({policy.work_group}, 1, 1)))"),
        )
    )
    return Source("elementwise", source(body, dialect, capabilities.function_attribute), argument_list.types)


def _template(plan: ElementwisePlan) -> str:
    """Return the template: plain loops, or for transposed operands tiles in local memory or blocks in the cache."""
    if not plan.tile_axis:
        return "elementwise/loops"
    return "elementwise/blocked" if plan.policy.chunked else "elementwise/tiled"
