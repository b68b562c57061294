"""The sources of factorizations of large matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clarray._engine.algorithms.factorization.plan import INTS, WARP, FactorizationPlan, PanelPlan, SubstitutionPlan
from clarray._engine.codegen.arguments import Fields, numbers
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.ops.dtypes import dtype_row

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities

SIDE = 16  # of a square of work-items
ITEMS = 64  # that multiply pivots
_UNROLLED = 256  # elements of a work-item for which code is written out


def arithmetic(dtype: np.dtype, multiply_add: str) -> dict[str, Any]:
    """What the arithmetic of elements is rendered with."""
    scalar = dtype_row(dtype).compute
    return {
        "complex_": dtype.kind == "c",
        "multiply_add": multiply_add,
        "R": scalar,
        "T": scalar,
        "M": "int",
        "I": "int",
        "V": 1,
        "flipped": False,
        "lit": lambda text: text + ("f" if scalar == "float" else ""),
    }


# Templates call an element E, and its real part R.
_WORK = ("__global E *wp", "long wo")
_INTS = ("__global int *ip", "long io")


def _source(name: str, fields: Fields, plan: FactorizationPlan, capabilities: Capabilities, **more: Any) -> Source:
    body = render(f"factorization/{name}", **arithmetic(plan.dtype, plan.multiply_add), params=fields.declared, **more)
    return Source.of(name, source(body, make_dialect(capabilities, 1), capabilities.function_attribute), fields)


def cholesky_block_source(plan: FactorizationPlan, capabilities: Capabilities) -> Source:
    """Render the factorization of a block on the diagonal."""
    flag = ("volatile __global int *flag", "long fo")
    fields = Fields(*_WORK, *flag, "const long pitch", "const int size")
    return _source("cholesky_block", fields, plan, capabilities, block=plan.block)


def panel_source(plan: FactorizationPlan, shape: PanelPlan, capabilities: Capabilities) -> Source:
    """Render the factorization of a panel with pivots."""
    stages, left = [], shape.items
    while left > 1:
        fan = min(8, left)
        left //= fan
        stages.append((left, fan))
    fields = Fields(*_WORK, *_INTS, "const long pitch", *numbers("int", ["rows", "size", "begins", "moves", "spare"]))
    return _source(
        "panel" if shape.each else "tall_panel",
        fields,
        plan,
        capabilities,
        width=shape.width,
        items=shape.items,
        each=shape.each,
        inner=shape.inner,
        search=shape.search,
        warp_size=WARP,
        unrolled=shape.each * shape.width <= _UNROLLED,
        stages=stages,
    )


def exchange_source(plan: FactorizationPlan, width: int, capabilities: Capabilities) -> Source:
    """Render the exchange of rows of a block of panels so wide."""
    fields = Fields(*_WORK, *_INTS, "const long pitch", "const int columns")
    return _source("exchange", fields, plan, capabilities, block=plan.block, width=width, items=plan.lines, ints=INTS)


def substitute_source(plan: FactorizationPlan, how: SubstitutionPlan, capabilities: Capabilities) -> Source:
    """Render the solution by a triangular block."""
    fields = Fields(
        *("__global const E *tp", "long to", "__global E *xp", "long xo", "__global E *yp", "long yo"),
        *(["__global const int *moves", "long mo"] if how.swapped else []),
        *numbers("long", ["ts", "tk", "xl", "xs", "yl", "ys", "lines"]),
        "const int size",
    )
    return _source(
        "substitute",
        fields,
        plan,
        capabilities,
        block=how.block,
        items=plan.lines,
        unit=how.unit,
        conjugated=how.conjugated and plan.dtype.kind == "c",
        swapped=how.swapped,
    )


def triangle_source(plan: FactorizationPlan, upper: bool, capabilities: Capabilities) -> Source:
    """Render the copy of a triangle."""
    scalar = dtype_row(plan.dtype).compute
    element = f"{scalar}2" if plan.dtype.kind == "c" else scalar
    buffers = (f"__global const {element} *wp", "long wo", f"__global {element} *xp", "long xo")
    fields = Fields(*buffers, *numbers("long", ["pitch", "n"]))
    return _source("triangle", fields, plan, capabilities, side=SIDE, upper=upper, E=element)


def signed_block_source(plan: FactorizationPlan, rounding: float, capabilities: Capabilities) -> Source:
    """Render the elimination of a block on the diagonal less signs that it chooses."""
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
