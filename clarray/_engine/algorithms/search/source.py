"""Render the kernel of a binary search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clarray._engine.algorithms.search.plan import SearchPlan
from clarray._engine.codegen.arguments import Fields, numbers
from clarray._engine.codegen.expression import Call, Inputs, converted, operand
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.expr.node import Node
from clarray._engine.ops.ctype import cast, compute_type
from clarray._engine.ops.dtypes import dtype_row

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities


def search_source(plan: SearchPlan, value: Node, nodes: Sequence[Node], capabilities: Capabilities) -> Source:
    """Render the search of the elements of `value`, over its distinct inputs `nodes`."""
    dialect = make_dialect(capabilities, 1)
    inputs = Inputs(nodes, plan.accesses, dialect, base=True)
    needle = converted(value, plan.dtype)
    line = operand("sorted", plan.sorted_dtype, "strided", dialect)
    sorter = ["__global const long *sorter", "const long sortero", "const long sorters"]
    fields = Fields(
        ("inputs", inputs.params),
        f"__global const {line.storage} *sortedp",
        "const long sortedo",
        *(sorter if plan.sorter else []),
        f"__global {'long' if plan.membership is None else 'uchar'} *yp",
        *numbers("long", ["yo", "n", "m", "sorteds0"]),
        ("steps", numbers(plan.index, [o.step for o in inputs.operands if o.access in ("strided", "index")])),
    )

    def entry(position: str) -> str:
        """Return the sorted element at a position, in the dtype of the comparison."""
        if plan.sorter:
            position = f"sorter[sortero + ({position}) * sorters]"
        at = f"sortedo + ({position}) * sorteds0"
        text = f"sortedp[{at}]"
        if line.kind == "b":
            text = f"((char)(-({text} != 0)))"
        elif line.packed:
            text = line.packed.load.format(at=at, p="sortedp")
        return cast(text, plan.sorted_dtype, plan.dtype, dialect)

    call = Call("value", needle, inputs=inputs)
    body = render(
        "search/search",
        d=dialect,
        V=plan.vector,
        spread=1,
        I=plan.index,
        P="long",
        policy=plan.policy,
        inputs=inputs,
        value=call,
        params=fields.declared,
        lane=str(compute_type(plan.dtype)),
        kind=dtype_row(plan.dtype).kind,
        side=plan.side,
        found=plan.membership,
        cast_at=entry,
    )
    return Source.of("search", source(body, dialect, capabilities.function_attribute), fields)
