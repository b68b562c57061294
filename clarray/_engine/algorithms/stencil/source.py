"""Render the kernel of a stencil."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clarray._engine.algorithms.stencil.plan import NETWORK, RANKS, TABLE, StencilPlan, tile_dtype
from clarray._engine.codegen.arguments import Fields, Group, axes, by_axis, numbers
from clarray._engine.codegen.expression import Call, Inputs, Operand, converted, operand, parameters, scalar_parameters
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.expr.layout import STEPPED
from clarray._engine.expr.node import Node
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.ops.ctype import CType, Dialect, cast, compute_type
from clarray._engine.ops.dtypes import dtype_row
from clarray._engine.ops.ufuncs import emit, find_loop

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities

BLOCK = 256  # weights whose products are summed in one block; blocks are then added
_BYTE = np.dtype(np.uint8)
_BOOL = np.dtype(bool)


@dataclass(frozen=True, slots=True, kw_only=True)
class TileType:
    """The C types of a tile's elements, as text. Order statistics hold integers in the order of the values."""

    type: str
    lane: str
    value: str
    value_lane: str
    bits: int
    unsigned: str
    unsigned_lane: str
    signed: str
    top: str
    sign: str


def stencil_source(plan: StencilPlan, value: Node, nodes: Sequence[Node], capabilities: Capabilities) -> Source:
    """Render a stencil of `value` over its distinct inputs `nodes`."""
    dialect = make_dialect(capabilities, plan.vector)
    single = replace(dialect, width=1)
    root = converted(value, plan.value)
    inputs = Inputs(nodes, plan.accesses, dialect, base=True, prefix="i")
    scalars = Inputs(nodes, plan.accesses, single, base=True, prefix="i")
    call, call_1 = Call("value", root, inputs=inputs), Call("value_1", root, inputs=scalars)
    out = operand("y", plan.out, "unit" if plan.policy.chunked else "strided", dialect, base="yb")
    t = tile_types(plan.form, plan.value, dialect)
    fields = _fields(plan, inputs, out, t)
    prepare = [*inputs.prepare, *scalar_parameters("cval", plan.value)[1]]
    body = call.text + (call_1.text if plan.vector > 1 else "")
    body += render(
        "stencil/rows" if plan.policy.chunked else "stencil/tile",
        d=dialect,
        V=plan.vector,
        spread=1,
        I=plan.index,
        policy=plan.policy,
        inputs=inputs,
        scalars=scalars,
        value=call,
        scalar=call_1 if plan.vector > 1 else call,
        out=out,
        t=t,
        **_form_variables(plan, t, dialect),
        exact=plan.exact,
        divides=plan.divides,
        rank=plan.rank,
        deep=plan.deep,
        direct=not plan.staged,
        width=plan.width or "width",
        lanes=plan.lanes,
        local_size=plan.local,
        network=plan.network,
        target=plan.target,
        taps_known=plan.taps,
        bools=plan.value == _BOOL,
        block=BLOCK,
        params=fields.declared,
        prepare=prepare,
        everyone=[*inputs.operands, out],
    )
    return Source.of("stencil", source(body, dialect, capabilities.function_attribute), fields)


def _form_variables(plan: StencilPlan, t: TileType, dialect: Dialect) -> dict[str, Any]:
    """Return the template variables of the function of a window."""
    ranks, policy = plan.form in RANKS, plan.policy
    return {
        "form": plan.form,
        "ranks": ranks,
        "keyed": plan.value.kind == "f",
        "weighted": not ranks,
        "blocks": 1 if plan.form == NETWORK else policy.blocks if policy.chunked else policy.items,
        "madd": "" if ranks else multiply_add(plan.value, plan.exact, t, dialect),
        "finish": finish_lines(plan.form, plan.value, plan.out, plan.divides, t, dialect),
    }


def tile_types(form: str, dtype: np.dtype, dialect: Dialect) -> TileType:
    """Return the types of a tile for values of `dtype`."""
    element = tile_dtype(form, dtype)
    ctype = compute_type(element, dialect.width)
    value = compute_type(dtype, dialect.width)
    if element.kind == "c":
        return TileType(
            type=str(ctype),
            lane=str(ctype),
            value=str(value),
            value_lane=str(value),
            bits=0,
            unsigned="",
            unsigned_lane="",
            signed="",
            top="",
            sign="",
        )
    bits = ctype.bits
    return TileType(
        type=str(ctype),
        lane=str(ctype.lane),
        value=str(value),
        value_lane=str(value.lane),
        bits=bits,
        unsigned=str(ctype.uint),
        unsigned_lane=str(ctype.uint.lane),
        signed=str(ctype.int_),
        top=hex(2 ** (bits - 1) - 1) + ("L" if bits == 64 else ""),
        sign="0" if ctype.is_unsigned else hex(2 ** (bits - 1)) + ("UL" if bits == 64 else ""),
    )


def _fields(plan: StencilPlan, inputs: Inputs, out: Operand, t: TileType) -> Fields:
    parts: list[str | Group] = [("inputs", inputs.params), *parameters(out, const=False)]
    if plan.form not in RANKS:
        parts += [f"__global const {dtype_row(plan.value).storage} *w", "const long wo"]
    if plan.form in (TABLE, *RANKS) or not plan.staged:
        parts.append("__global const int *table")
    if plan.deep and plan.staged:
        parts.append("__global const int *shifts")
    if plan.policy.chunked:
        parts.append(f"__global {t.lane} *restrict scratch")
    parts.append(("cval", scalar_parameters("cval", plan.value)[0]))
    if plan.divides:
        parts.append(("divisor", scalar_parameters("divisor", plan.value)[0]))
    parts += numbers(plan.index, ["units", "down", "across", "height", *([] if plan.width else ["width"])])
    parts += numbers(plan.index, ["pitch", "plane", "size", "planes", "taps", "step", "wanted"])
    parts += numbers(plan.index, ["low_y", "span_y", "low_x", "span_x", "inner"])
    return Fields(*parts, *frame_fields(plan.rank, [*inputs.operands, out], plan.index))


def frame_fields(rank: int, operands: Sequence[Operand], index: str) -> list[str | Group]:
    """Declare the arguments that `frame_arguments` returns."""
    parts: list[str | Group] = [*numbers(index, ["ky", "my", "mode_y", "kx", "mx", "mode_x"])]
    parts.append(by_axis("outer", index, ["k", "m", "mode"], rank))
    for o in operands:
        parts += [axes(index, f"{o.name}k", rank), f"const {index} {o.name}y"]
        parts += [f"const {index} {o.name}s0"] if o.access in STEPPED else []
    return parts


def multiply_add(dtype: np.dtype, exact: bool, t: TileType, dialect: Dialect) -> str:
    """Return the body of the function that computes ``a + x * w``."""
    if dtype.kind == "f":
        return f"return {'a + x * w' if exact else f'ca_muladd_{t.type}(x, w, a)'};"
    product = emit(find_loop(np.multiply, (dtype, dtype), (dtype,)), ["x", "w"], dialect)
    total = emit(find_loop(np.add, (dtype, dtype), (dtype,)), ["a", "p"], dialect)
    return f"const {t.type} p = {product}; return {total};"


def finish_lines(form: str, value: np.dtype, out: np.dtype, divides: bool, t: TileType, dialect: Dialect) -> list[str]:
    """Return the lines that convert a window's value to the output."""
    lines = []
    name = "a"
    if form in RANKS and value.kind == "f":
        ctype = CType(t.lane, dialect.width)
        top = f"({t.type})({t.top})"
        lines.append(f"const {t.value} v = as_{t.value}(a ^ ((a >> {ctype.bits - 1}) & {top}));")
        name = "v"
    if divides:
        lines.append(f"const {t.value} d = {name} / ({t.value})(divisor);")
        name = "d"
    if out == _BOOL and value.kind == "f":  # SciPy converts through a byte, which truncates
        byte = compute_type(_BYTE, dialect.width)
        lines.append(f"const {byte} b = {cast(name, value, _BYTE, dialect)};")
        return [*lines, f"return {cast('b', _BYTE, _BOOL, dialect)};"]
    return [*lines, f"return {cast(name, value, out, dialect)};"]
