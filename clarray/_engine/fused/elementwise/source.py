"""Render the source of an elementwise kernel from its plan and its expression."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from clarray._engine.codegen.arguments import Fields, Group, axes, numbers, signature
from clarray._engine.codegen.expression import Call, Inputs, operand, parameters
from clarray._engine.codegen.packed_moves import with_moved_bits
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.expr.layout import STEPPED
from clarray._engine.expr.node import Node
from clarray._engine.fused.elementwise.plan import TILE, ElementwisePlan

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities


def elementwise_source(
    plan: ElementwisePlan, roots: Sequence[Node], nodes: Sequence[Node], capabilities: Capabilities
) -> Source:
    """Render the kernel of the expressions `roots` over their distinct inputs `nodes`."""
    dialect = make_dialect(capabilities, plan.vector if plan.explicit else 1)
    strided = plan.rank > 0
    roots, nodes = with_moved_bits(roots, nodes)
    inputs = Inputs(nodes, plan.accesses, dialect, base=strided, aligned=plan.aligned)
    value = Call("value", *roots, inputs=inputs)
    outs = [
        operand(name, root.dtype, access, dialect, base=f"{name}b" if strided else "0", aligned=plan.aligned)
        for name, root, access in zip(output_names(len(roots)), roots, plan.out_accesses, strict=True)
    ]
    loops = loop_fields(plan.index, plan.rank, plan.accesses, plan.out_accesses)
    outputs = [each for out in outs for each in parameters(out, const=False)]
    fields = Fields(("inputs", inputs.params), ("outputs", outputs), ("loops", loops.declared))
    argument_list = signature(fields, capabilities.argument_struct)
    policy = plan.policy
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
            outs=outs,
            signature=argument_list,
            all_operands=[*inputs.operands, *outs],
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
    text = source(body, dialect, capabilities.function_attribute)
    return Source("elementwise", text, argument_list.types, fields)


def output_names(count: int) -> list[str]:
    """Return the names in C of a kernel's outputs."""
    return ["y"] if count == 1 else [f"y{number}" for number in range(count)]


@lru_cache(maxsize=1024)
def loop_fields(index: str, rank: int, accesses: tuple[str, ...], out_accesses: tuple[str, ...]) -> Fields:
    """Declare the number of elements of a flat kernel, or the extents and the strides of the operands.

    Parameters
    ----------
    index : str
        C type of positions.
    rank : int
        Number of loops. 0 for a flat kernel.
    accesses : tuple of str
        Per distinct input: ``'const'`` or its access class.
    out_accesses : tuple of str
        Access class of each output.
    """
    if not rank:
        return Fields(f"const {index} n")
    strided = [(f"x{number}", access) for number, access in enumerate(accesses) if access != "const"]
    strides: list[Group] = []
    for name, access in (*strided, *zip(output_names(len(out_accesses)), out_accesses, strict=True)):
        first = 0 if access in STEPPED else 1  # the other access classes fix the innermost stride
        strides.append((f"{name}s", numbers(index, [f"{name}s{axis}" for axis in range(first, rank)])))
    return Fields("const long rows", axes(index, "n", rank), *strides)


def _template(plan: ElementwisePlan) -> str:
    """Return the template: plain loops, or for transposed operands tiles in local memory or blocks in the cache."""
    if not plan.tile_axis:
        return "elementwise/loops"
    return "elementwise/blocked" if plan.policy.chunked else "elementwise/tiled"
