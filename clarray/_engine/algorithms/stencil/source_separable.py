"""Render the kernel of one or two lines of weights on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clarray._engine.algorithms.stencil.plan import LINE
from clarray._engine.algorithms.stencil.plan_separable import SeparablePlan
from clarray._engine.algorithms.stencil.source import finish_lines, frame_fields, multiply_add, tile_types
from clarray._engine.codegen.arguments import Fields, numbers
from clarray._engine.codegen.expression import Call, Inputs, converted, operand, parameters, scalar_parameters
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.expr.node import Node
from clarray._engine.ops.ctype import Dialect, cast
from clarray._engine.ops.dtypes import dtype_row

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities


def separable_source(plan: SeparablePlan, value: Node, nodes: Sequence[Node], capabilities: Capabilities) -> Source:
    """Render lines of weights over the distinct inputs `nodes` of `value`."""
    dialect = make_dialect(capabilities, 1)
    inputs = Inputs(nodes, plan.accesses, dialect, base=True, prefix="i")
    call = Call("value", converted(value, plan.value), inputs=inputs)
    out = operand("y", plan.out, "unit", dialect, base="yb")
    t = tile_types(LINE, plan.value, dialect)
    cval, prepare = scalar_parameters("cval", plan.value)
    fields = Fields(
        ("inputs", inputs.params),
        *parameters(out, const=False),
        f"__constant {dtype_row(plan.value).storage} *w",
        ("cval", cval),
        *numbers(plan.index, ["down", "across", "inner"]),
        *frame_fields(plan.rank, [*inputs.operands, out], plan.index),
    )
    body = call.text + render(
        "stencil/separable",
        d=dialect,
        V=1,
        spread=1,
        I=plan.index,
        plan=plan,
        policy=plan.policy,
        scalars=inputs,
        scalar=call,
        out=out,
        t=t,
        ranks=False,
        keyed=False,
        divides=False,
        exact=plan.exact,
        rank=plan.rank,
        params=fields.declared,
        prepare=[*inputs.prepare, *prepare],
        madd=multiply_add(plan.value, plan.exact, t, dialect),
        finish=finish_lines(LINE, plan.value, plan.out, False, t, dialect),
        kept=_rounding_lines(plan, dialect),
        everyone=[*inputs.operands, out],
    )
    return Source.of("stencil", source(body, dialect, capabilities.function_attribute), fields)


def _rounding_lines(plan: SeparablePlan, dialect: Dialect) -> list[str]:
    """Return the lines that round a value to the output's dtype."""
    if plan.out == plan.value:
        return ["return a;"]
    row = dtype_row(plan.out)
    stored = cast("a", plan.value, plan.out, dialect)
    return [f"const {row.compute} b = {stored};", f"return {cast('b', plan.out, plan.value, dialect)};"]
