"""The sources of gathers and scatters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from clarray.codegen.expression import Call, Inputs
from clarray.codegen.render import Source, make_dialect, render, source
from clarray.expr.node import Node
from clarray.plan.gather import GatherPlan
from clarray.plan.layout import STEPPED

if TYPE_CHECKING:
    from clarray.runtime import Capabilities

_BITS = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong", 16: "ulong2"}


def gather_source(
    plan: GatherPlan, numbers: Node, nodes: Sequence[Node], capabilities: Capabilities
) -> Source:
    """Render a gather or scatter by `numbers`, of int64, over their distinct inputs `nodes`."""
    dialect = make_dialect(capabilities, 1)
    inputs = Inputs(nodes, plan.accesses, dialect, base=False)
    inputs.operands = [
        replace(
            o, base=o.start if o.access == "index" else "0",
            step=f"{o.name}s" if o.access in STEPPED else o.step,
        )
        for o in inputs.operands
    ]  # fmt: skip
    stepped = [o for o in inputs.operands if o.access in STEPPED]
    storage, integer = _BITS[plan.itemsize], "int32" if plan.index == "int" else "int64"
    params = [*inputs.params, *(f"const long {o.step}" for o in stepped)]
    kinds = [*inputs.arg_types, *["int64"] * len(stepped)]
    listing = plan.op in ("mark", "claim", "check")
    if plan.mode == "raise":
        params.append("__global int *error")
        kinds.append("buffer")
    if plan.mode != "known":
        params.append("const long bound")
        kinds.append("int64")
    if plan.op in ("mark", "claim", "settle"):
        params.append("__global int *winners")
        kinds.append("buffer")
    if not listing:
        reads, writes = f"__global const {storage} *", f"__global {storage} *"
        gather = plan.op == "gather"
        params += [f"{reads if gather else writes}zp", "const long zo"]
        params += [f"{writes if gather else reads}yp", "const long yo"]
        kinds += ["buffer", "int64"] * 2
    rows = plan.after_rank >= 0
    names = ["count", *(["n0", "zs0"] if rows else ["blocks"])]
    for prefix, rank in (
        ("b", plan.before_rank), ("c", plan.chosen_rank), ("a", max(0, plan.after_rank)),
    ):  # fmt: skip
        for a in range(rank):
            names += [f"{prefix}{a}", f"z{prefix}{a}"]
    params += ["const long units", *(f"const {plan.index} {name}" for name in names)]
    kinds += ["int64", *[integer] * len(names)]
    body = render(
        "gather",
        d=dialect, V=plan.vector, spread=1, I=plan.index, policy=plan.policy, inputs=inputs,
        value=Call("value", numbers, inputs), op=plan.op, mode=plan.mode, storage=storage,
        rows=rows, close=plan.close, whole=plan.whole, single=plan.single, params=params,
        before_rank=plan.before_rank, chosen_rank=plan.chosen_rank,
        after_rank=max(0, plan.after_rank), work_group=plan.policy.work_group,
    )  # fmt: skip
    text = source(body, dialect, capabilities.function_attribute)
    return Source(plan.op, text, tuple(kinds))
