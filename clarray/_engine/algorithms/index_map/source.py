"""The source of an index map."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clarray._engine.algorithms.gather.source import BITS
from clarray._engine.algorithms.index_map.plan import CONSTANT, SAME, IndexMapPlan
from clarray._engine.codegen.render import Source, make_dialect, render, source

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities


def index_map_source(plan: IndexMapPlan, capabilities: Capabilities) -> Source:
    """Render the kernel; its arguments are the result, the source, sizes, and then each axis."""
    dialect = make_dialect(capabilities, 1)
    storage, integer = BITS[plan.itemsize], "int32" if plan.index == "int" else "int64"
    params = [f"__global {storage} *yp", f"__global const {storage} *zp", "const long zo", "const long size"]
    kinds = ["buffer", "buffer", "int64", "int64"]
    if plan.copies:
        params.append("const long copies")
        kinds.append("int64")
    words = -(-plan.itemsize // 8)
    for a, map in enumerate(plan.maps):
        names = [f"n{a}", f"zs{a}", *([] if map == SAME else [f"m{a}", f"b{a}"])]
        params += [f"const {plan.index} {name}" for name in names]
        kinds += [integer] * len(names)
        if map == CONSTANT:
            params += [f"const ulong {side}{a}_{k}" for side in "lr" for k in range(words)]
            kinds += ["uint64"] * (2 * words)
    body = render(
        "index_map/index_map",
        maps=plan.maps,
        V=plan.vector,
        I=plan.index,
        policy=plan.policy,
        storage=storage,
        params=params,
        copies=plan.copies,
        stream=plan.stream and capabilities.clang_builtins,
        word=lambda name: f"(ulong2)({name}_0, {name}_1)" if words == 2 else f"({storage}){name}_0",
    )
    return Source("index_map", source(body, dialect, capabilities.function_attribute), tuple(kinds))
