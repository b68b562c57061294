"""Render the kernels of joins."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from clarray._engine.algorithms.gather.source import BITS
from clarray._engine.algorithms.join.plan import JoinPlan
from clarray._engine.codegen.arguments import Fields, axes
from clarray._engine.codegen.render import Source, make_dialect, render, source

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities


def join_source(plan: JoinPlan, capabilities: Capabilities) -> Source:
    """Render the kernel of a join."""
    dialect = make_dialect(capabilities, 1)
    storage = BITS[plan.itemsize]
    parts = [(f"__global const {storage} *z{k}", f"const long o{k}") for k in range(plan.count)]
    fields = Fields(
        f"__global {storage} *yp",
        "const long yo",
        ("parts", chain(*parts)),
        "const long rows",
        f"const {plan.index} pitch",
        axes(plan.index, "e", plan.count),
    )
    body = render(
        "join/join",
        count=plan.count,
        V=plan.vector,
        I=plan.index,
        policy=plan.policy,
        storage=storage,
        params=fields.declared,
        single=plan.single,
        block=plan.block,
        whole=plan.whole,
        stream=plan.stream and capabilities.clang_builtins,
    )
    return Source.of("join", source(body, dialect, capabilities.function_attribute), fields)
