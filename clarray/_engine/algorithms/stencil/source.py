"""The source of a stencil."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clarray._engine.algorithms.stencil.plan import NETWORK, RANKS, TABLE, StencilPlan
from clarray._engine.codegen.expression import Call, Inputs, Operand, converted, operand, parameters, scalar_parameters
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.expr.layout import STEPPED
from clarray._engine.expr.node import Node
from clarray._engine.ops.ctype import CType, Dialect, cast, compute_type
from clarray._engine.ops.dtypes import dtype_row
from clarray._engine.ops.ufuncs import emit, find_loop
from clarray._engine.values import dataclass

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities

BLOCK = 256  # weights whose products are summed before the sum is added to the others'
_BYTE = np.dtype(np.uint8)
_BOOL = np.dtype(bool)


@dataclass(frozen=True, slots=True, kw_only=True)
class TileType:
    """C types of what a tile holds (integers in the order of the values for order statistics), as text."""

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


def tile_dtype(form: str, dtype: np.dtype) -> np.dtype:
    """The dtype of a tile's elements."""
    if form in RANKS and dtype.kind == "f":
        return np.dtype(np.int64 if dtype.itemsize == 8 else np.int32)
    return dtype


def stencil_source(plan: StencilPlan, value: Node, nodes: Sequence[Node], capabilities: Capabilities) -> Source:
    """Render a stencil of `value` over its distinct inputs `nodes`."""
    dialect = make_dialect(capabilities, plan.vector)
    single = replace(dialect, width=1)
    root = converted(value, plan.value)
    inputs = Inputs(nodes, plan.accesses, dialect, base=True, prefix="i")
    scalars = Inputs(nodes, plan.accesses, single, base=True, prefix="i")
    call, call_1 = Call("value", root, inputs), Call("value_1", root, scalars)
    out = operand("y", plan.out, "unit" if plan.policy.chunked else "strided", dialect, base="yb")
    t = tile_types(plan.form, plan.value, dialect)
    params, arg_types, prepare = _parameters(plan, inputs, out, t)
    ranks = plan.form in RANKS
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
        form=plan.form,
        ranks=ranks,
        keyed=plan.value.kind == "f",
        weighted=not ranks,
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
        params=params,
        prepare=prepare,
        blocks=1 if plan.form == NETWORK else plan.policy.blocks if plan.policy.chunked else plan.policy.items,
        madd="" if ranks else multiply_add(plan.value, plan.exact, t, dialect),
        finish=finish_lines(plan.form, plan.value, plan.out, plan.divides, t, dialect),
        everyone=[*inputs.operands, out],
    )
    return Source("stencil", source(body, dialect, capabilities.function_attribute), tuple(arg_types))


def tile_types(form: str, dtype: np.dtype, dialect: Dialect) -> TileType:
    """The types of a tile for values of `dtype`."""
    held = tile_dtype(form, dtype)
    ctype = compute_type(held, dialect.width)
    value = compute_type(dtype, dialect.width)
    if held.kind == "c":
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


def _parameters(plan: StencilPlan, inputs: Inputs, out: Any, t: TileType) -> tuple[list[str], list[str], list[str]]:
    """Declarations, argument types, and the lines that make constants of some of them."""
    out_params, out_types = parameters(out, const=False)
    params, types = [*inputs.params, *out_params], [*inputs.arg_types, *out_types]
    if plan.form not in RANKS:
        params += [f"__global const {dtype_row(plan.value).storage} *w", "const long wo"]
        types += ["buffer", "int64"]
    if plan.form in (TABLE, *RANKS) or not plan.staged:
        params.append("__global const int *table")
        types.append("buffer")
    if plan.deep and plan.staged:
        params.append("__global const int *shifts")
        types.append("buffer")
    if plan.policy.chunked:
        params.append(f"__global {t.lane} *restrict scratch")
        types.append("buffer")
    outside, kinds, lines = scalar_parameters("cval", plan.value)
    params += outside
    types += kinds
    if plan.divides:
        divisor, kinds, _ = scalar_parameters("divisor", plan.value)
        params += divisor
        types += kinds
    numbers = [
        *("units", "down", "across", "height", *([] if plan.width else ["width"]), "pitch", "plane", "size", "planes"),
        *("taps", "step", "wanted", "low_y", "span_y", "low_x", "span_x", "inner"),
        *("ky", "my", "mode_y", "kx", "mx", "mode_x"),
    ]
    placed, kinds = frame_parameters(numbers, plan.rank, [*inputs.operands, out], plan.index)
    params += placed
    types += kinds
    return params, types, [*inputs.prepare, *lines]


def frame_parameters(
    names: Sequence[str], rank: int, operands: Sequence[Operand], index: str
) -> tuple[list[str], list[str]]:
    """Declare named numbers, windows along the outer axes and steps of the operands; give the types too."""
    numbers = list(names)
    for a in range(rank):
        numbers += [f"k{a}", f"m{a}", f"mode{a}"]
    for o in operands:
        numbers += [f"{o.name}k{a}" for a in range(rank)] + [f"{o.name}y"]
        numbers += [f"{o.name}s0"] if o.access in STEPPED else []
    return [f"const {index} {name}" for name in numbers], ["int32" if index == "int" else "int64"] * len(numbers)


def multiply_add(dtype: np.dtype, exact: bool, t: TileType, dialect: Dialect) -> str:
    """The body of a + x w."""
    if dtype.kind == "f":
        return f"return {'a + x * w' if exact else f'ca_muladd_{t.type}(x, w, a)'};"
    product = emit(find_loop(np.multiply, (dtype, dtype), (dtype,)), ["x", "w"], dialect)
    total = emit(find_loop(np.add, (dtype, dtype), (dtype,)), ["a", "p"], dialect)
    return f"const {t.type} p = {product}; return {total};"


def finish_lines(form: str, value: np.dtype, out: np.dtype, divides: bool, t: TileType, dialect: Dialect) -> list[str]:
    """The lines that make the output of a window's value."""
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
    if out == _BOOL and value.kind == "f":  # a byte of C: the fraction is cut off first
        byte = compute_type(_BYTE, dialect.width)
        lines.append(f"const {byte} b = {cast(name, value, _BYTE, dialect)};")
        return [*lines, f"return {cast('b', _BYTE, _BOOL, dialect)};"]
    return [*lines, f"return {cast(name, value, out, dialect)};"]
