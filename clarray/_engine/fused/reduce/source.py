"""Render the sources of a reduction: the first launch, and the launch that combines its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clarray._engine.codegen.arguments import Fields, Group, axes, numbers, signature
from clarray._engine.codegen.expression import Call, Inputs, Operand, operand, parameters, scalar_parameters
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.expr.graph import graph_of
from clarray._engine.expr.node import Node
from clarray._engine.fused.reduce.monoid_code import MonoidCode, StateEntry
from clarray._engine.fused.reduce.plan import COLUMNS, ROWS, ReducePlan
from clarray._engine.fused.reduce.products import ProductCall, state_entry
from clarray._engine.ops.ctype import Dialect
from clarray._engine.ops.monoids import Monoid
from clarray._engine.tuning.policy import ReducePolicy

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities


class Epilogue(NamedTuple):
    """The operations on a finished result before it is stored.

    Parameters
    ----------
    root : Node
        The expression above the reduction, or the reduction itself if there is none.
    reduced : Node
        The reduction.
    constants : tuple of Node
        The other inputs of the expression, which are constants.
    """

    root: Node
    reduced: Node
    constants: tuple[Node, ...]

    @property
    def scalar(self) -> bool:
        """Whether the source computes one result at a time, because a value is complex and so has no vectors."""
        graph = graph_of(self.root)
        operands = set() if self.root is self.reduced else set(graph_of(*self.reduced.args).pending)
        return any(node.dtype.kind == "c" for node in (*graph.pending, *self.constants) if node not in operands)


class _EpilogueCode:
    """C function of an epilogue, whose parameters are the finished result and the constants."""

    def __init__(self, epilogue: Epilogue, dialect: Dialect, name: str = "epilogue") -> None:
        self.name = name
        self.params: list[str] = []
        self.prepare: list[str] = []
        inputs = Inputs((), (), dialect, base=False)
        inputs.slots[id(epilogue.reduced)] = "result"
        inputs.types.append(("result", epilogue.reduced.dtype, False))
        self.constants: list[str] = []
        for number, node in enumerate(epilogue.constants):
            constant = f"e{number}"
            params, lines = scalar_parameters(constant, node.dtype)
            self.params += params
            self.prepare += lines
            inputs.slots[id(node)] = constant
            inputs.types.append((constant, node.dtype, True))
            self.constants.append(constant)
        self.text = Call(name, epilogue.root, inputs=inputs).text

    def call(self, result: str) -> str:
        return f"{self.name}({', '.join([result, *self.constants])})"


class _ResultCode:
    """Code of the first launch for a finished result: the output, and the epilogue if there is one."""

    def __init__(self, plan: ReducePlan, epilogue: Epilogue, code: MonoidCode, inner: str) -> None:
        final = plan.last or not plan.partial
        vectors = final and plan.form == COLUMNS and code.width > 1 and not epilogue.scalar
        out = operand(
            "y",
            epilogue.root.dtype,
            plan.out_access,
            code.dialect if vectors else code.scalar,
            base="yb",
            aligned=plan.out_aligned,
        )
        self.out = _with_step(out, inner)
        self.outs = [self.out] if final else []
        self.epilogue = _EpilogueCode(epilogue, code.scalar) if final else None
        self.wide = _EpilogueCode(epilogue, code.dialect, "epilogue_wide") if vectors else None
        self.text = "".join(function.text for function in (self.epilogue, self.wide) if function is not None)
        self.prepare = self.epilogue.prepare if self.epilogue is not None else []
        self.fields = self._fields(plan, code)

    def _fields(self, plan: ReducePlan, code: MonoidCode) -> list[str | Group]:
        """Declare the states, or the epilogue's constants and the output, or all of them and the counters."""
        states = _state_fields(code)
        if self.epilogue is None:
            return [("states", states)]
        fields: list[str | Group] = [("constants", self.epilogue.params)]
        if plan.partial:
            volatile = [state.replace("__global", "volatile __global") for state in states]
            fields += [("states", volatile), "volatile __global int *counters"]
        return [*fields, *parameters(self.out, const=False)]


def loop_fields(plan: ReducePlan) -> Fields:
    """Declare the numbers, extents and strides of a plan's loops. The output has strides of the kept axes."""
    final = plan.last or not plan.partial
    return _loop_fields(
        plan.index, plan.kept_rank, plan.reduced_rank, plan.accesses, plan.partial, not plan.lanes, final
    )


@lru_cache(maxsize=1024)
def _loop_fields(
    index: str, kept_rank: int, reduced_rank: int, accesses: tuple[str, ...], partial: bool, lanes: bool, final: bool
) -> Fields:
    counts = ["tasks", "outputs", "rows"]
    if partial:
        counts += ["parts", "rows_per_part", "inner_parts", "inner_per_part"]
    return Fields(
        *numbers("long", counts),
        *(["const int lanes"] if lanes else []),
        axes(index, "k", kept_rank),
        axes(index, "r", reduced_rank),
        *[
            axes(index, f"x{number}{axis}", rank)
            for number, access in enumerate(accesses)
            if access != "const"
            for axis, rank in (("k", kept_rank), ("r", reduced_rank))
        ],
        *([axes(index, "yk", kept_rank)] if final else []),
    )


def reduce_source(
    plan: ReducePlan,
    monoid: Monoid,
    position: Node | None,
    nodes: Sequence[Node],
    epilogue: Epilogue,
    capabilities: Capabilities,
) -> Source:
    """Render the first launch of an epilogue's reduction over its distinct inputs `nodes`."""
    value, *masks = epilogue.reduced.args
    dialect = make_dialect(capabilities, plan.vector if plan.explicit else 1)
    inputs = Inputs(nodes, plan.accesses, dialect, base=True, aligned=plan.aligned)
    inner = "k0" if plan.form == COLUMNS else "r0"
    operands = [_with_step(o, inner) for o in inputs.operands]
    entry = state_entry(value, monoid)
    # on a GPU all values of an iteration along a row are one block
    row_blocks = plan.form == ROWS and not plan.policy.chunked and entry.dtype.kind != "c"
    code = MonoidCode(
        monoid,
        dialect,
        entry.dtype,
        position.dtype if position is not None else np.dtype(np.int64),
        StateEntry(
            block=plan.loads * (plan.vector if row_blocks else 1),
            position=inputs.slots[id(position)] if position is not None else "",
            ascending=plan.ascending,
            product_dtype=value.dtype,
        ),
    )
    call = ProductCall(value, inputs, dialect) if plan.products else Call("value", entry, inputs=inputs)
    mask = Call("where", masks[0], inputs=inputs) if masks else None
    result = _ResultCode(plan, epilogue, code, inner)
    fields = Fields(("inputs", inputs.params), *result.fields, ("loops", loop_fields(plan).declared))
    argument_list = signature(fields, capabilities.argument_struct)
    functions = call.text + (mask.text if mask is not None else "") + result.text + argument_list.definition
    body = functions + render(
        "reduce/reduce",
        d=dialect,
        V=plan.vector,
        X=plan.loads,
        I=plan.index,
        policy=plan.policy,
        m=code,
        form=plan.form,
        spread="side" if plan.spread else 1,
        lanes=plan.lanes,
        strip=plan.strip,
        value=call,
        mask=mask,
        masked=mask is not None,
        epilogue=result.epilogue,
        wide_epilogue=result.wide,
        partial=plan.partial,
        last=plan.last,
        rows_per_item=plan.rows_per_item,
        products=plan.products,
        common={operands[number].name for number in plan.common},
        out=result.out,
        operands=operands,
        all_operands=[*operands, *result.outs],
        kept_rank=plan.kept_rank,
        reduced_rank=plan.reduced_rank,
        signature=argument_list,
        at_row=_at_row,
        prepare=inputs.prepare + result.prepare,
    )
    text = source(body, dialect, capabilities.function_attribute)
    return Source("reduce", text, argument_list.types, fields)


def combine_source(
    plan: ReducePlan,
    monoid: Monoid,
    index_dtype: np.dtype,
    shared: bool,
    epilogue: Epilogue,
    capabilities: Capabilities,
) -> Source:
    """Render the second launch, which combines the parts of the first one."""
    dialect = make_dialect(capabilities, 1)
    code = MonoidCode(monoid, dialect, monoid.accumulated_dtype, index_dtype)
    epilogue_code = _EpilogueCode(epilogue, code.scalar)
    out = operand("y", epilogue.root.dtype, "zero", dialect, base="yb")
    fields = Fields(
        ("constants", epilogue_code.params),
        ("states", _state_fields(code)),
        *parameters(out, const=False),
        *numbers("long", ["outputs", "parts"]),
        *(["const int lanes"] if shared else []),
        axes("long", "k", plan.kept_rank),
        axes("long", "yk", plan.kept_rank),
    )
    argument_list = signature(fields, capabilities.argument_struct)
    body = (
        epilogue_code.text
        + argument_list.definition
        + render(
            "reduce/combine",
            d=dialect,
            V=1,
            spread=1,
            policy=plan.policy,
            m=code,
            wide=_wide(code, plan.policy),
            shared=shared,
            epilogue=epilogue_code,
            out=out,
            kept_rank=plan.kept_rank,
            signature=argument_list,
            prepare=epilogue_code.prepare,
        )
    )
    text = source(body, dialect, capabilities.function_attribute)
    return Source("combine_parts", text, argument_list.types, fields)


def _wide(code: MonoidCode, policy: ReducePolicy) -> MonoidCode | None:
    """Return the monoid for vectors of neighbouring outputs. None if the device or the monoid does not use vectors."""
    width = min(policy.max_width, policy.vector_bytes // max(dtype.itemsize for _, dtype in code.components))
    return code.at(width) if policy.explicit and code.joins and not code.complex and width > 1 else None


def _state_fields(code: MonoidCode) -> list[str]:
    """Declare a buffer for each component of a state."""
    return [f"__global {code.lane(dtype)} *q_{name}" for name, dtype in code.components]


def _with_step(o: Operand, inner: str) -> Operand:
    """Return the operand with the stride parameter of the innermost loop."""
    if o.access == "unit":
        return o
    return replace(o, step=f"{o.name}{inner}")


def _at_row(o: Operand, x: int | str) -> Any:
    return replace(o, base=f"{o.base}_{x}")
