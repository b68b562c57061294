"""Render the kernels of gathers and scatters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from clarray._engine.algorithms.gather.plan import GatherPlan
from clarray._engine.codegen.arguments import Fields, Group, axes, by_axis, numbers
from clarray._engine.codegen.expression import Call, Inputs, Operand
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.expr.layout import STEPPED
from clarray._engine.expr.node import Node

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities

BITS = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong", 16: "ulong2"}

MOVING = ("gather", "scatter", "own", "settle")  # move elements between the array, z, and the contiguous leaf, y
NOTING = ("mark", "claim", "settle", "offer", "collect", "rise")  # use notes, mostly a word per element of the array


def gather_source(plan: GatherPlan, positions: Node, nodes: Sequence[Node], capabilities: Capabilities) -> Source:
    """Render a gather or scatter through `positions`, an int64 node with the distinct inputs `nodes`."""
    dialect = make_dialect(capabilities, 1)
    inputs = Inputs(nodes, plan.accesses, dialect, base=False)
    inputs.operands = [_with_base(o, plan) for o in inputs.operands]
    storage, note = BITS[plan.itemsize], _note_type(plan)
    fields = Fields(("inputs", inputs.params), *_arrays(plan, storage, note), *_loops(plan, inputs.operands))
    body = render(
        "gather/chunks" if plan.policy.chunked else "gather/tiles",
        d=dialect,
        V=plan.vector if plan.policy.chunked else 1,
        in_flight=plan.vector,
        spread=1,
        I=plan.index,
        policy=plan.policy,
        inputs=inputs,
        value=Call("value", positions, inputs=inputs),
        op=plan.op,
        note=note,
        mode=plan.mode,
        storage=storage,
        rows=plan.after_rank >= 0,
        list_rank=plan.list_rank,
        close=plan.close,
        single=plan.single,
        divides=plan.divides,
        params=fields.declared,
        before_rank=plan.before_rank,
        chosen_rank=plan.chosen_rank,
        after_rank=max(0, plan.after_rank),
        work_group=plan.policy.work_group,
    )
    text = source(body, dialect, capabilities.function_attribute)
    if note == "ulong":
        needed = "base" if plan.op == "mark" else "extended"
        text = f"#pragma OPENCL EXTENSION cl_khr_int64_{needed}_atomics : enable\n{text}"
    return Source.of(plan.op, text, fields)


def _note_type(plan: GatherPlan) -> str:
    """Return the C type of a note."""
    return "ulong" if plan.wide or plan.op in ("offer", "collect") else "uint"


def _arrays(plan: GatherPlan, storage: str, note: str) -> list[str]:
    """Declare the flag, the notes and the arrays."""
    params = []
    if plan.mode == "raise":
        params.append("__global int *error")
    if plan.mode != "known" or plan.op == "own":
        params.append("const long bound")
    if plan.op in NOTING:
        params.append(f"volatile __global {note} *notes")
    for name, ops, written in (
        ("z", (*MOVING, "collect"), plan.op != "gather"),
        ("y", (*MOVING, "resolve", "offer"), plan.op in ("gather", "resolve")),
    ):
        if plan.op in ops:
            params += [f"__global {'' if written else 'const '}{storage} *{name}p", f"const long {name}o"]
    return params


def _loops(plan: GatherPlan, sources: Sequence[Operand]) -> list[str | Group]:
    """Declare the extents and strides of `gather.plan.loop_arguments`: an extent and a stride for each axis."""
    index, extents = plan.index, ["count"]
    parts: list[str | Group] = ["const long units", f"const {index} count"]
    if plan.after_rank >= 0:
        parts += numbers(index, ["n0", "zs0"])
        extents.append("n0")
    elif plan.policy.chunked:
        parts.append(f"const {index} blocks")
    ranks = {"before": plan.before_rank, "chosen": plan.chosen_rank, "after": plan.after_rank}
    for group, rank in ranks.items():
        parts.append(by_axis(group, index, [group[0], f"z{group[0]}"], rank))
        extents += [f"{group[0]}{a}" for a in range(rank)]
    if plan.list_rank:
        parts += [axes(index, "l", plan.list_rank), *(axes(index, f"{o.name}l", plan.list_rank) for o in sources)]
        extents += [f"l{a}" for a in range(plan.list_rank)]
    else:
        parts += numbers(index, [o.step for o in sources if o.access in STEPPED])
    if plan.divides:
        parts.append(("divisors", numbers("uint", [name for n in extents for name in (f"{n}_f", f"{n}_s")])))
    return parts


def _with_base(o: Operand, plan: GatherPlan) -> Operand:
    """Return an input of the indices with its constant stride, or with a base computed in the loops of the list."""
    if plan.list_rank:
        return replace(o, base=f"{o.name}b", step="0")
    base = o.start if o.access == "index" else "0"
    return replace(o, base=base, step=f"{o.name}s" if o.access in STEPPED else o.step)
