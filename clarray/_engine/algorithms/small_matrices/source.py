"""Render the kernel of factorizations of small matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clarray._engine.algorithms.small_matrices.plan import FAILURES, PARTS, SmallMatricesPlan, vector_types
from clarray._engine.codegen.arguments import Fields, by_axis, numbers
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.ops.dtypes import dtype_row

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities


def small_matrices_source(plan: SmallMatricesPlan, capabilities: Capabilities) -> Source:
    """Render one operation on every matrix of a stack."""
    complex_ = plan.work.kind == "c"
    scalar, stored = dtype_row(plan.work).compute, dtype_row(plan.dtype)
    element = f"{stored.compute}2" if complex_ else stored.compute
    right = plan.operation == "solve"
    checked = plan.operation in FAILURES
    pointers = [f"__global const {element} *ap", "long ao"]
    pointers += [f"__global const {element} *bp", "long bo"] if right else []
    buffers = [f"__global {element} *xp"]
    buffers += [f"__global {stored.compute} *yp"] if plan.operation == "slogdet" else []
    buffers += ["volatile __global int *flag"] if checked else []
    buffers += [f"__global {scalar} *scratch"] if plan.scratch else []
    fields = Fields(
        *pointers,
        *buffers,
        "const int n",
        *numbers("long", ["columns", "matrices", "as", "ak", *(("bs", "bk") if right else ()), "xm", "xs", "xk"]),
        by_axis("batch", "long", ["batch", "ab", *(["bb"] if right else [])], plan.rank),
    )
    body = render(
        f"small_matrices/{'group' if plan.shared else 'item'}",
        operation=plan.operation,
        right=right,
        right_sides=plan.right_sides,
        checked=checked,
        complex_=complex_,
        flipped=plan.flipped and complex_,
        T=stored.compute,
        C="int" if plan.local_columns else "long",
        V=plan.lanes,
        **vector_types(scalar, plan.lanes),
        lit=lambda text: text + ("f" if scalar == "float" else ""),
        room=plan.capacity,
        items=plan.items,
        local=plan.local,
        held=plan.local_columns,
        unrolled=plan.unrolled,
        loaded=plan.load_width,
        stored=plan.store_width,
        chunked=plan.chunked,
        rank=plan.rank,
        parts=PARTS,
        params=fields.declared,
    )
    text = source(body, make_dialect(capabilities, 1), capabilities.function_attribute)
    return Source.of("small_matrices", text, fields)
