"""Render the kernels of matrix products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clarray._engine.algorithms.matmul.plan import OperandLoad, PackedPlan, PackPlan, TiledPlan
from clarray._engine.algorithms.matmul.policy_tensor import WarpTile
from clarray._engine.codegen.arguments import Fields, by_axis, numbers
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.ops.dtypes import Packed, dtype_row

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities

_UNSIGNED = {4: "uint", 8: "ulong"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TileOperand:
    """An operand of a tiled kernel, as the template uses it: C names, types and numbers."""

    name: str
    type: str
    packed: Packed | None
    dtype_kind: str
    side: int
    extent: str
    along: bool
    lanes: int
    loads: int

    @property
    def outer(self) -> str:
        """The argument for the stride along the kept axis."""
        return f"{self.name}s"

    @property
    def inner(self) -> str:
        """The argument for the stride along the summed axis."""
        return f"{self.name}k"


def work_type(work: np.dtype) -> str:
    """Return the C type of one element of the sum."""
    if work.kind in "iu":
        return _UNSIGNED[work.itemsize]
    row = dtype_row(work)
    return f"{row.compute}2" if row.kind == "c" else row.compute


def multiply_add(work: np.dtype, out: np.dtype) -> str:
    """Return the C text of ``MAC(a, b, c)``, a multiply-add, and ``ADD(a, b)``, for scalars and vectors."""
    if work.kind == "c":
        t = work_type(work)
        return (
            f"HELPER {t} MAC({t} a, {t} b, {t} c) {{\n"
            f"  return ({t})(MULTIPLY_ADD(-a.y, b.y, MULTIPLY_ADD(a.x, b.x, c.x)), "
            f"MULTIPLY_ADD(a.y, b.x, MULTIPLY_ADD(a.x, b.y, c.y)));\n}}\n#define ADD(a, b) ((a) + (b))\n"
        )
    if out.kind == "b":
        return "#define MAC(a, b, c) (((a) & (b)) | (c))\n#define ADD(a, b) ((a) | (b))\n"
    product = "MULTIPLY_ADD(a, b, c)" if work.kind == "f" else "((a) * (b) + (c))"
    return f"#define MAC(a, b, c) {product}\n#define ADD(a, b) ((a) + (b))\n"


def _tile_operand(name: str, extent: str, load: OperandLoad, outer: int, plan: TiledPlan) -> TileOperand:
    row = dtype_row(load.dtype)
    loads = outer * plan.tile.depth // load.lanes // plan.tile.work_items
    return TileOperand(
        name=name,
        type=row.storage,
        packed=row.packed,
        dtype_kind=row.kind,
        side=outer,
        extent=extent,
        along=load.along,
        lanes=load.lanes,
        loads=loads,
    )


def tiled_source(plan: TiledPlan, capabilities: Capabilities) -> Source:
    """Render the tiled kernel: work-items multiply, or warps on tensor cores."""
    tile = plan.tile
    a = _tile_operand("a", "m", plan.a, tile.rows, plan)
    b = _tile_operand("b", "n", plan.b, tile.columns, plan)
    out, scaled = dtype_row(plan.out).storage, plan.update is not None and plan.update.scaled
    real = work_type(plan.work).removesuffix("2")
    fields = Fields(
        f"__global const {a.type} *ap",
        "long ao",
        f"__global const {b.type} *bp",
        "long bo",
        f"__global {out} *cp",
        "long co",
        *numbers("long", ["m", "n", "k", "as", "ak", "bs", "bk", "parts", "part_depth", "depth", "matrices"]),
        by_axis("batch", "long", ["batch", "ab", "bb"], plan.rank),
        *(["const long cs"] if plan.update else []),
        *(["const long cm"] if scaled else []),
        *([f"__global const {out} *dp", "long d_o", "const long ds", "const long dm"] if scaled else []),
        *([f"const {real} alpha", f"const {real} beta"] if scaled else []),
    )
    name, context = ("matmul/tensor", {}) if isinstance(tile, WarpTile) else _work_item_context(plan)
    body = render(
        name,
        W=work_type(plan.work),
        t=tile,
        items=tile.work_items,
        a=a,
        b=b,
        complex_=plan.work.kind == "c",
        c_vectors=plan.out_vectors,
        rank=plan.rank,
        params=fields.declared,
        band=plan.policy.band,
        update=plan.update,
        **context,
    )
    dialect = make_dialect(capabilities, 1)
    text = source(body, dialect, capabilities.function_attribute)
    return Source.of("matmul", text, fields)


def _work_item_context(plan: TiledPlan) -> tuple[str, dict[str, Any]]:
    """Return the template without tensor cores, and the names that only this template needs."""
    row = dtype_row(plan.out)
    c = TileOperand(
        name="c",
        type=row.storage,
        packed=row.packed,
        dtype_kind=row.kind,
        side=0,
        extent="",
        along=False,
        lanes=1,
        loads=0,
    )
    return "matmul/tiled", {
        "L": plan.lanes,
        "itemsize": plan.work.itemsize,
        "c": c,
        "total": (plan.policy.total or (plan.update is not None and plan.update.scaled)) and plan.work.kind in "fc",
        "mac": multiply_add(plan.work, plan.out),
    }


class Turns(NamedTuple):
    """The distribution of units of work: contiguous chunks per work-item, else round-robin."""

    chunked: bool


def pack_source(plan: PackPlan, capabilities: Capabilities) -> Source:
    """Render the kernel that packs one operand."""
    row = dtype_row(plan.dtype)
    complex_ = plan.work.kind == "c"
    scalar = work_type(plan.work).removesuffix("2") if complex_ else work_type(plan.work)
    fields = Fields(
        f"__global const {row.storage} *restrict xp",
        "long xo",
        f"__global {scalar} *restrict pp",
        *numbers("long", ["extent", "k", "outer", "inner", "units"]),
        by_axis("batch", "long", ["batch", "step"], plan.rank),
    )
    body = render(
        "matmul/pack",
        S=scalar,
        R=plan.width,
        packed=row.packed,
        kind=row.kind,
        complex_=complex_,
        along=plan.along,
        unit=plan.unit,
        rank=plan.rank,
        block=plan.block,
        chunks=Turns(True),
        params=fields.declared,
    )
    text = source(body, make_dialect(capabilities, 1), capabilities.function_attribute)
    return Source.of("matmul_pack", text, fields)


def packed_source(plan: PackedPlan, capabilities: Capabilities) -> Source:
    """Render the kernel that multiplies packed operands."""
    row = dtype_row(plan.out)
    complex_ = plan.work.kind == "c"
    scalar = work_type(plan.work).removesuffix("2") if complex_ else work_type(plan.work)
    vector = f"{scalar}{plan.lanes}" if plan.lanes > 1 else scalar
    fields = Fields(
        f"__global const {scalar} *ap",
        f"__global const {vector} *bp",
        f"__global {row.storage} *cp",
        "long co",
        *numbers("long", ["m", "n", "k", "block_rows", "block_columns", "parts", "part_depth", "depth", "matrices"]),
        by_axis("batch", "long", ["batch", "am", "bm"], plan.rank),
    )
    real = np.dtype(np.float32 if scalar == "float" else np.float64) if complex_ else plan.work
    direct = not complex_ and plan.lanes > 1 and plan.out.kind != "b" and plan.out.itemsize == plan.work.itemsize
    body = render(
        "matmul/packed",
        T=vector,
        S=scalar,
        V=plan.lanes,
        P=plan.vectors,
        R=plan.rows,
        complex_=complex_,
        packed=row.packed,
        kind=row.kind,
        c_type=row.storage,
        direct=direct,
        rank=plan.rank,
        params=fields.declared,
        mac=multiply_add(real, plan.out),
    )
    text = source(body, make_dialect(capabilities, 1), capabilities.function_attribute)
    return Source.of("matmul_packed", text, fields)
