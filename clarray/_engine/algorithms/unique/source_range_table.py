"""Render the kernel of a table of the values that occur."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from clarray._engine.algorithms.unique.plan_range_table import RangeTablePlan
from clarray._engine.codegen.arguments import Fields, numbers
from clarray._engine.codegen.expression import Call, Inputs
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.expr.node import Node
from clarray._engine.ops.ctype import compute_type
from clarray._engine.ops.dtypes import dtype_row
from clarray._engine.ops.monoids import literal

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities


def atomic_load(capabilities: Capabilities) -> Callable[[str], str]:
    """Return the expression that reads a word which other work-items change by atomic operations.

    It is a plain load, whose value may be stale. Oclgrind would report a data race, so it gets an atomic operation.
    """
    if capabilities.platform == "Oclgrind":
        return lambda pointer: f"atomic_or({pointer}, 0)"
    return lambda pointer: f"*({pointer})"


def range_table_source(plan: RangeTablePlan, value: Node, nodes: Sequence[Node], capabilities: Capabilities) -> Source:
    """Render the table of `value`, bool or integer, over its distinct inputs `nodes`."""
    dialect = make_dialect(capabilities, plan.vector if plan.explicit else 1)
    inputs = Inputs(nodes, plan.accesses, dialect, base=True, aligned=plan.aligned)
    call = Call("value", value, inputs=inputs)
    dtype = value.dtype
    limits = (0, 0) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    fields = Fields(
        ("inputs", inputs.params),
        "__global char *memory",
        "__global long *ranges",
        "const long ranges_at",
        "const long n",
        ("steps", numbers(plan.index, [o.step for o in inputs.operands if o.access in ("strided", "index")])),
    )
    body = render(
        "unique/range_table",
        d=dialect,
        V=plan.vector,
        spread=1,
        I=plan.index,
        policy=plan.policy,
        inputs=inputs,
        value=call,
        params=fields.declared,
        atomic_load=atomic_load(capabilities),
        slots=plan.slots,
        counted=plan.counted,
        checked=plan.checked,
        lane=str(compute_type(dtype)),
        wide_type=str(compute_type(dtype, dialect.width)),
        unsigned="u" + dtype_row(dtype).storage.removeprefix("u"),
        smallest=literal(limits[0], dtype),
        largest=literal(limits[1], dtype),
        block=plan.block,
    )
    return Source.of("range_table", source(body, dialect, capabilities.function_attribute), fields)
