"""Render the kernels of factorizations of large matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clarray._engine.algorithms.factorization.plan import INTS, WARP, FactorizationPlan, PanelPlan, SubstitutionPlan
from clarray._engine.codegen.arguments import Fields, numbers
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.ops.dtypes import dtype_row

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities

SIDE = 16  # work-items along each side of a square work-group
ITEMS = 64  # work-items that multiply pivots
_UNROLLED = 256  # the most elements of a work-item for which loops are unrolled


def arithmetic(dtype: np.dtype) -> dict[str, Any]:
    """Return the template variables of the arithmetic of elements."""
    scalar = dtype_row(dtype).compute
    return {
        "complex_": dtype.kind == "c",
        "R": scalar,
        "T": scalar,
        "M": "int",
        "I": "int",
        "V": 1,
        "flipped": False,
        "lit": lambda text: text + ("f" if scalar == "float" else ""),
    }


# The templates name the element type E and its real type R.
_WORK = ("__global E *wp", "long wo")
_INTS = ("__global int *ip", "long io")


def _source(name: str, fields: Fields, plan: FactorizationPlan, capabilities: Capabilities, **more: Any) -> Source:
    body = render(f"factorization/{name}", **arithmetic(plan.dtype), params=fields.declared, **more)
    return Source.of(name, source(body, make_dialect(capabilities, 1), capabilities.function_attribute), fields)


def cholesky_block_source(plan: FactorizationPlan, capabilities: Capabilities) -> Source:
    """Render the factorization of a block on the diagonal."""
    flag = ("volatile __global int *flag", "long fo")
    fields = Fields(*_WORK, *flag, "const long pitch", "const int size")
    return _source("cholesky_block", fields, plan, capabilities, block=plan.block)


def panel_source(plan: FactorizationPlan, form: PanelPlan, capabilities: Capabilities) -> Source:
    """Render the factorization of a panel with pivots."""
    stages, candidates = [], form.items  # the tree of the pivot search
    while candidates > 1:
        fan_in = min(8, candidates)
        candidates //= fan_in
        stages.append((candidates, fan_in))
    fields = Fields(*_WORK, *_INTS, "const long pitch", *numbers("int", ["rows", "size", "begins", "moves", "spare"]))
    return _source(
        "panel" if form.each else "tall_panel",
        fields,
        plan,
        capabilities,
        width=form.width,
        items=form.items,
        each=form.each,
        inner=form.inner,
        search=form.search,
        warp_size=WARP,
        unrolled=form.each * form.width <= _UNROLLED,
        stages=stages,
    )


def exchange_source(plan: FactorizationPlan, width: int, capabilities: Capabilities) -> Source:
    """Render the exchange of rows of a block whose panels have `width` columns."""
    fields = Fields(*_WORK, *_INTS, "const long pitch", "const int columns")
    return _source("exchange", fields, plan, capabilities, block=plan.block, width=width, items=plan.lines, ints=INTS)


def substitute_source(plan: FactorizationPlan, form: SubstitutionPlan, capabilities: Capabilities) -> Source:
    """Render the solution by a triangular block."""
    fields = Fields(
        *("__global const E *tp", "long to", "__global E *xp", "long xo", "__global E *yp", "long yo"),
        *(["__global const int *moves", "long mo"] if form.swapped else []),
        *numbers("long", ["ts", "tk", "xl", "xs", "yl", "ys", "lines"]),
        "const int size",
    )
    return _source(
        "substitute",
        fields,
        plan,
        capabilities,
        block=form.block,
        items=plan.lines,
        unit=form.unit,
        conjugated=form.conjugated and plan.dtype.kind == "c",
        swapped=form.swapped,
    )


def triangle_source(plan: FactorizationPlan, upper: bool, capabilities: Capabilities) -> Source:
    """Render the copy of a triangle."""
    scalar = dtype_row(plan.dtype).compute
    element = f"{scalar}2" if plan.dtype.kind == "c" else scalar
    buffers = (f"__global const {element} *wp", "long wo", f"__global {element} *xp", "long xo")
    fields = Fields(*buffers, *numbers("long", ["pitch", "n"]))
    return _source("triangle", fields, plan, capabilities, side=SIDE, upper=upper, E=element)


def signed_block_source(plan: FactorizationPlan, rounding: float, capabilities: Capabilities) -> Source:
    """Render the elimination of a diagonal block from which a diagonal of signs is subtracted."""
    fields = Fields(*_WORK, "__global R *sp", "long so", "const long pitch", "const int size")
    return _source("signed_block", fields, plan, capabilities, block=plan.block, rounding=rounding)


def determinant_source(plan: FactorizationPlan, operation: str, capabilities: Capabilities) -> Source:
    """Render the product of pivots, for 'det' or 'slogdet'."""
    scalar = dtype_row(plan.dtype).compute
    element = f"{scalar}2" if plan.dtype.kind == "c" else scalar
    fields = Fields(
        *("__global const E *wp", "long wo", "__global const int *ip", "long io", f"__global {element} *xp", "long xo"),
        *([f"__global {scalar} *yp", "long yo"] if operation == "slogdet" else []),
        *numbers("long", ["pitch", "n"]),
    )
    return _source(
        "determinant",
        fields,
        plan,
        capabilities,
        operation=operation,
        items=ITEMS,
        right=False,
    )
