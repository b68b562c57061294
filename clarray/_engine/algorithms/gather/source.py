"""The sources of gathers and scatters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from clarray._engine.algorithms.gather.plan import GatherPlan
from clarray._engine.codegen.expression import Call, Inputs, Operand
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.expr.layout import STEPPED
from clarray._engine.expr.node import Node

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities

BITS = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong", 16: "ulong2"}

MOVING = ("gather", "scatter", "own", "settle")  # between the array, z, and what lies in order, y
NOTING = ("mark", "claim", "settle", "offer", "collect", "rise")  # mostly with a word per element of the array


def gather_source(plan: GatherPlan, numbers: Node, nodes: Sequence[Node], capabilities: Capabilities) -> Source:
    """Render a gather or scatter by `numbers`, of int64, over their distinct inputs `nodes`."""
    dialect = make_dialect(capabilities, 1)
    inputs = Inputs(nodes, plan.accesses, dialect, base=False)
    inputs.operands = [_placed(o, plan) for o in inputs.operands]
    storage, note = BITS[plan.itemsize], _note(plan)
    arrays, array_kinds = _arrays(plan, storage, note)
    stepped = [o.step for o in inputs.operands if o.access in STEPPED]
    loops, loop_kinds = _loops(plan, [o.name for o in inputs.operands], stepped)
    body = render(
        "gather/chunks" if plan.policy.chunked else "gather/tiles",
        d=dialect,
        V=plan.vector if plan.policy.chunked else 1,
        in_flight=plan.vector,
        spread=1,
        I=plan.index,
        policy=plan.policy,
        inputs=inputs,
        value=Call("value", numbers, inputs),
        op=plan.op,
        note=note,
        mode=plan.mode,
        storage=storage,
        rows=plan.after_rank >= 0,
        list_rank=plan.list_rank,
        close=plan.close,
        single=plan.single,
        divides=plan.divides,
        params=[*inputs.params, *arrays, *loops],
        before_rank=plan.before_rank,
        chosen_rank=plan.chosen_rank,
        after_rank=max(0, plan.after_rank),
        work_group=plan.policy.work_group,
    )
    text = source(body, dialect, capabilities.function_attribute)
    if note == "ulong":
        needed = "base" if plan.op == "mark" else "extended"
        text = f"#pragma OPENCL EXTENSION cl_khr_int64_{needed}_atomics : enable\n{text}"
    return Source(plan.op, text, (*inputs.arg_types, *array_kinds, *loop_kinds))


def _note(plan: GatherPlan) -> str:
    """C type of the word per element of the array."""
    return "ulong" if plan.wide or plan.op in ("offer", "collect") else "uint"


def _arrays(plan: GatherPlan, storage: str, note: str) -> tuple[list[str], list[str]]:
    """Parameters that are no inputs of the numbers: what is checked, noted and moved; and their types."""
    params, kinds = [], []
    if plan.mode == "raise":
        params.append("__global int *error")
        kinds.append("buffer")
    if plan.mode != "known" or plan.op == "own":
        params.append("const long bound")
        kinds.append("int64")
    if plan.op in NOTING:
        params.append(f"volatile __global {note} *notes")
        kinds.append("buffer")
    for name, ops, written in (
        ("z", (*MOVING, "collect"), plan.op != "gather"),
        ("y", (*MOVING, "resolve", "offer"), plan.op in ("gather", "resolve")),
    ):
        if plan.op in ops:
            params += [f"__global {'' if written else 'const '}{storage} *{name}p", f"const long {name}o"]
            kinds += ["buffer", "int64"]
    return params, kinds


def _loops(plan: GatherPlan, sources: Sequence[str], steps: Sequence[str]) -> tuple[list[str], list[str]]:
    """Parameters of the loops, in the order of `gather.plan.sizes`, and their types."""
    names, extents = _sizes(plan, sources, steps)
    params = ["const long units", *(f"const {plan.index} {name}" for name in names)]
    kinds = ["int64", *["int32" if plan.index == "int" else "int64"] * len(names)]
    if plan.divides:
        params += [p for n in extents for p in (f"const uint {n}_f", f"const uint {n}_s")]
        kinds += ["uint32"] * 2 * len(extents)
    return params, kinds


def _placed(o: Operand, plan: GatherPlan) -> Operand:
    """An input of the numbers: read in even steps, or at a base that follows from the list's loops."""
    if plan.list_rank:
        return replace(o, base=f"{o.name}b", step="0")
    base = o.start if o.access == "index" else "0"
    return replace(o, base=base, step=f"{o.name}s" if o.access in STEPPED else o.step)


def _sizes(plan: GatherPlan, sources: Sequence[str], steps: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names of the extents and strides, and of the extents alone, in the order of `gather.plan.sizes`."""
    names, extents = ["count"], ["count"]
    if plan.after_rank >= 0:
        names += ["n0", "zs0"]
        extents.append("n0")
    elif plan.policy.chunked:
        names.append("blocks")
    for prefix, rank in (("b", plan.before_rank), ("c", plan.chosen_rank), ("a", plan.after_rank)):
        for a in range(rank):
            names += [f"{prefix}{a}", f"z{prefix}{a}"]
            extents.append(f"{prefix}{a}")
    if not plan.list_rank:
        return [*names, *steps], extents
    lists = [f"l{a}" for a in range(plan.list_rank)]
    along = [f"{source}l{a}" for source in sources for a in range(plan.list_rank)]
    return [*names, *lists, *along], [*extents, *lists]
