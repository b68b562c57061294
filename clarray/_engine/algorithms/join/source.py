"""The source of a join."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clarray._engine.algorithms.gather.source import BITS
from clarray._engine.algorithms.join.plan import JoinPlan
from clarray._engine.codegen.render import Source, make_dialect, render, source

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities


def join_source(plan: JoinPlan, capabilities: Capabilities) -> Source:
    """Render the kernel; its arguments are the result, the arrays, and then sizes."""
    dialect = make_dialect(capabilities, 1)
    storage, integer = BITS[plan.itemsize], "int32" if plan.index == "int" else "int64"
    params = [f"__global {storage} *yp", "const long yo"]
    for k in range(plan.count):
        params += [f"__global const {storage} *z{k}", f"const long o{k}"]
    names = ["pitch", *(f"e{k}" for k in range(plan.count))]
    params += ["const long rows", *(f"const {plan.index} {name}" for name in names)]
    kinds = [*["buffer", "int64"] * (plan.count + 1), "int64", *[integer] * len(names)]
    body = render(
        "join/join",
        count=plan.count,
        V=plan.vector,
        I=plan.index,
        policy=plan.policy,
        storage=storage,
        params=params,
        single=plan.single,
        block=plan.block,
        whole=plan.whole,
        stream=plan.stream and capabilities.clang_builtins,
    )
    return Source("join", source(body, dialect, capabilities.function_attribute), tuple(kinds))
