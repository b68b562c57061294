"""Render the kernels of index maps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clarray._engine.algorithms.gather.source import BITS
from clarray._engine.algorithms.index_map.plan import CONSTANT, SAME, IndexMapPlan
from clarray._engine.codegen.arguments import Fields, Group, numbers
from clarray._engine.codegen.render import Source, make_dialect, render, source

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities


def index_map_source(plan: IndexMapPlan, capabilities: Capabilities) -> Source:
    """Render the kernel of an index map."""
    dialect = make_dialect(capabilities, 1)
    storage = BITS[plan.itemsize]
    words = -(-plan.itemsize // 8)
    parts: list[str | Group] = [f"__global {storage} *yp", f"__global const {storage} *zp"]
    parts += numbers("long", ["zo", "size", *(["copies"] if plan.copies else [])])
    for a, map in enumerate(plan.maps):
        parts += numbers(plan.index, [f"n{a}", f"zs{a}", *([] if map == SAME else [f"m{a}", f"b{a}"])])
        if map == CONSTANT:
            parts += [(f"{side}{a}", numbers("ulong", [f"{side}{a}_{k}" for k in range(words)])) for side in "lr"]
    fields = Fields(*parts)
    body = render(
        "index_map/index_map",
        maps=plan.maps,
        V=plan.vector,
        I=plan.index,
        policy=plan.policy,
        storage=storage,
        params=fields.declared,
        copies=plan.copies,
        stream=plan.stream and capabilities.clang_builtins,
        word=lambda name: f"(ulong2)({name}_0, {name}_1)" if words == 2 else f"({storage}){name}_0",
    )
    return Source.of("index_map", source(body, dialect, capabilities.function_attribute), fields)
