"""Render the kernel of a hash table of few values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clarray._engine.algorithms.unique.plan_hash_table import HashTablePlan, multiplier
from clarray._engine.algorithms.unique.source_range_table import atomic_load
from clarray._engine.codegen.arguments import Fields, numbers
from clarray._engine.codegen.expression import Call, Inputs
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.expr.node import Node
from clarray._engine.ops.ctype import compute_type
from clarray._engine.ops.dtypes import dtype_row

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities

_NANS = {4: "0x7fc00000", 8: "0x7ff8000000000000UL"}


def hash_table_source(plan: HashTablePlan, value: Node, nodes: Sequence[Node], capabilities: Capabilities) -> Source:
    """Render the hash table of `value`, of 32 or 64 bits, over its distinct inputs `nodes`."""
    dialect = make_dialect(capabilities, plan.vector if plan.explicit else 1)
    inputs = Inputs(nodes, plan.accesses, dialect, base=True, aligned=plan.aligned)
    call = Call("value", value, inputs=inputs)
    itemsize = value.dtype.itemsize
    key = {4: "uint", 8: "ulong"}[itemsize]
    fields = Fields(
        ("inputs", inputs.params),
        f"__global {key} *memory",
        "__global int *notes",
        "const long notes_at",
        "const long n",
        ("steps", numbers(plan.index, [o.step for o in inputs.operands if o.access in ("strided", "index")])),
    )
    body = render(
        "unique/hash_table",
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
        limit=plan.limit,
        equal_nan=plan.equal_nan,
        lane=str(compute_type(value.dtype)),
        wide_type=str(compute_type(value.dtype, dialect.width)),
        kind=dtype_row(value.dtype).kind,
        key=key,
        nan=_NANS[itemsize],
        multiplier=f"{multiplier(itemsize):#x}" + ("UL" if itemsize == 8 else "U"),
        shift=8 * itemsize - plan.slots.bit_length() + 1,
    )
    return Source.of("hash_table", source(body, dialect, capabilities.function_attribute), fields)
