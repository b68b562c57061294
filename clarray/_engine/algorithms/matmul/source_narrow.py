"""Render the kernel for products with few columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clarray._engine.algorithms.matmul.plan_narrow import NarrowPlan
from clarray._engine.algorithms.matmul.source import Turns, multiply_add, work_type
from clarray._engine.codegen.arguments import Fields, by_axis, numbers
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.ops.dtypes import dtype_row

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities


def narrow_source(plan: NarrowPlan, capabilities: Capabilities) -> Source:
    """Render the kernel of a narrow product."""
    a, b, c = (dtype_row(dtype) for dtype in (plan.a, plan.b, plan.out))
    complex_ = plan.work.kind == "c"
    scalar = work_type(plan.work).removesuffix("2") if complex_ else work_type(plan.work)
    real = np.dtype(np.float32 if scalar == "float" else np.float64) if complex_ else plan.work
    fields = Fields(
        f"__global const {a.storage} *restrict ap",
        "long ao",
        f"__global const {b.storage} *restrict bp",
        "long bo",
        f"__global {c.storage} *restrict cp",
        "long co",
        *numbers("long", ["m", "k", "units", "blocks", "as", "ak", "bk", "bn"]),
        by_axis("batch", "long", ["batch", "abatch", "bbatch"], plan.rank),
    )
    body = render(
        "matmul/narrow",
        S=scalar,
        T=f"{scalar}{plan.lanes}",
        V=plan.lanes,
        P=len(plan.pieces),
        R=plan.rows,
        n=plan.columns,
        several=plan.several,
        pieces=plan.pieces,
        complex_=complex_,
        a=a,
        b=b,
        c=c,
        a_unit=plan.a_unit,
        vectors=plan.b_unit and (b.kind == "c") == complex_,
        stream=plan.stream and capabilities.clang_builtins,
        rank=plan.rank,
        items=plan.items,
        b_aligned=plan.b_aligned,
        out_aligned=plan.out_aligned,
        turns=Turns(plan.items == 1),
        params=fields.declared,
        mac=multiply_add(real, plan.out),
    )
    text = source(body, make_dialect(capabilities, 1), capabilities.function_attribute)
    return Source.of("matmul_narrow", text, fields)
