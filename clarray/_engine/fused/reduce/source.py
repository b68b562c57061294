"""Render the sources of a reduction: the first launch, and the launch that combines its parts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from clarray._engine.codegen.arguments import Fields, Group, axes, numbers, signature
from clarray._engine.codegen.expression import Call, Inputs, Operand, operand, parameters, scalar_parameters
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.expr.epilogues import Epilogue
from clarray._engine.expr.node import Node
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.fused.reduce.monoid_code import MonoidCode, StateEntry
from clarray._engine.fused.reduce.plan import COLUMNS, ROWS, ReducePlan
from clarray._engine.fused.reduce.products import ProductCall, state_entry
from clarray._engine.ops.ctype import Dialect
from clarray._engine.ops.monoids import Monoid
from clarray._engine.tuning.policy import ReducePolicy

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities


class _EpilogueCode:
    """C function of an epilogue, whose parameters are the finished result and the constants.

    `tag` begins the names of the constants. It differs between the reductions of a pass.
    """

    def __init__(self, epilogue: Epilogue, dialect: Dialect, name: str = "epilogue", tag: str = "") -> None:
        self.name = name
        self.params: list[str] = []
        self.prepare: list[str] = []
        inputs = Inputs((), (), dialect, base=False)
        inputs.slots[id(epilogue.reduced)] = "result"
        inputs.types.append(("result", epilogue.reduced.dtype, False))
        self.constants: list[str] = []
        for number, node in enumerate(epilogue.constants):
            constant = f"e{tag}{number}"
            params, lines = scalar_parameters(constant, node.dtype)
            self.params += params
            self.prepare += lines
            inputs.slots[id(node)] = constant
            inputs.types.append((constant, node.dtype, True))
            self.constants.append(constant)
        self.text = Call(name, epilogue.root, inputs=inputs).text

    def call(self, result: str) -> str:
        return f"{self.name}({', '.join([result, *self.constants])})"


def member_tag(number: int) -> str:
    """Return what the names of a reduction have in them, by its number in the pass: a letter, or nothing."""
    return chr(ord("a") + number) if number else ""


def output_name(number: int) -> str:
    """Return the name in C of a reduction's output."""
    return f"y{number or ''}"


class _Member:
    """The code of one reduction of a pass. The first one's names are without a `tag`, as of a single reduction."""

    def __init__(
        self,
        number: int,
        plan: ReducePlan,
        monoid: Monoid,
        epilogue: Epilogue,
        inputs: Inputs,
        position: Node | None,
    ) -> None:
        self.tag = member_tag(number)
        self.suffix = f"_{self.tag}" if number else ""
        value, *masks = epilogue.reduced.args
        dialect, suffix = inputs.dialect, self.suffix
        entry = state_entry(value, monoid)
        # on a GPU all values of an iteration along a row are one block
        row_blocks = plan.form == ROWS and not plan.policy.chunked and entry.dtype.kind != "c"
        self.m = code = MonoidCode(
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
        self.value = (
            ProductCall(value, inputs, dialect) if plan.products else Call(f"value{suffix}", entry, inputs=inputs)
        )
        self.mask = Call(f"where{suffix}", masks[0], inputs=inputs) if masks else None
        final = plan.last or not plan.partial
        vectors = final and plan.form == COLUMNS and code.width > 1 and not epilogue.scalar
        self.out = operand(
            output_name(number),
            epilogue.root.dtype,
            plan.out_access,
            dialect if vectors else code.scalar,
            base="yb",
            aligned=plan.out_aligned,
        )
        self.epilogue = _EpilogueCode(epilogue, code.scalar, f"epilogue{suffix}", self.tag) if final else None
        self.wide_epilogue = _EpilogueCode(epilogue, dialect, f"epilogue_wide{suffix}", self.tag) if vectors else None
        functions = (self.value, self.mask, self.epilogue, self.wide_epilogue)
        self.text = "".join(function.text for function in functions if function is not None)
        self.prepare = self.epilogue.prepare if self.epilogue is not None else []

    def fields(self, plan: ReducePlan) -> list[str | Group]:
        """Declare the states, or the epilogue's constants and the output, or all of them and the counters."""
        states = _state_fields(self.m, self.tag)
        if self.epilogue is None:
            return [(f"states{self.tag}", states)]
        fields: list[str | Group] = [(f"constants{self.tag}", self.epilogue.params)]
        if plan.partial:
            volatile = [state.replace("__global", "volatile __global") for state in states]
            fields += [(f"states{self.tag}", volatile)]
            fields += [] if self.tag else ["volatile __global int *counters"]
        return [*fields, *parameters(self.out, const=False)]


_DEFINED = r"(?m)^(?:HELPER\s+\w+\s+(\w+)\(|typedef\s.*?(\w+);\s*$)"


def _renamed(text: str, suffix: str) -> str:
    """Return the C text with `suffix` after the names of all functions and types that it defines."""
    if not suffix:
        return text
    names = {name for pair in re.findall(_DEFINED, text) for name in pair if name}
    return re.sub(r"\b(?:" + "|".join(sorted(names)) + r")\b", lambda found: found[0] + suffix, text)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RowStages:
    """Reductions of rows that read each other's results, and the elementwise results of the same kernel.

    Parameters
    ----------
    counts : tuple of int
        Number of reductions of each stage. A stage reads the results of those before.
    results : tuple of Node
        The input that stands for each reduction's result.
    outputs : tuple of Node
        The elementwise results.
    accesses : tuple of str
        The access class of each output along a row.
    aligned : tuple of bool
        Whether each output's rows begin aligned for vectors.
    """

    counts: tuple[int, ...]
    results: tuple[Node, ...]
    outputs: tuple[Node, ...]
    accesses: tuple[str, ...]
    aligned: tuple[bool, ...]

    def fields(self, plan: ReducePlan) -> list[str | Group]:
        """Declare the strides of the outputs."""
        ranks = (("k", plan.kept_rank), ("r", plan.reduced_rank))
        return [axes(plan.index, f"z{n}{axis}", rank) for n in range(len(self.outputs)) for axis, rank in ranks]


def reduce_source(
    plan: ReducePlan,
    monoids: Sequence[Monoid],
    position: Node | None,
    nodes: Sequence[Node],
    epilogues: Sequence[Epilogue],
    capabilities: Capabilities,
    rows: RowStages | None = None,
) -> Source:
    """Render the first launch of some reductions over their distinct inputs `nodes`.

    Each reduction has a monoid and an epilogue, and combines values in the same order as alone.
    """
    dialect = make_dialect(capabilities, plan.vector if plan.explicit else 1)
    inputs = Inputs(nodes, plan.accesses, dialect, base=True, aligned=plan.aligned)
    inner = "k0" if plan.form == COLUMNS else "r0"
    operands = [_with_step(o, inner) for o in inputs.operands]
    for epilogue, result in zip(epilogues, rows.results if rows else (), strict=False):
        inputs.slots[id(epilogue.reduced)] = inputs.slots[id(result)]
    members = [
        _Member(number, plan, monoid, epilogue, inputs, position if monoid.indexed else None)
        for number, (monoid, epilogue) in enumerate(zip(monoids, epilogues, strict=True))
    ]
    step = _with_step(members[0].out, inner).step
    for member in members:  # the outputs have the same strides
        member.out = replace(member.out, step=step)
    out, *others = [member.out for member in members]
    final = plan.last or not plan.partial
    mapped = Call("mapped", *rows.outputs, inputs=inputs) if rows else None
    mapped_outs = [
        _with_step(operand(f"z{n}", root.dtype, access, dialect, base=f"z{n}b", aligned=aligned), inner)
        for n, (root, access, aligned) in enumerate(
            zip(rows.outputs, rows.accesses, rows.aligned, strict=True) if rows else ()
        )
    ]
    fields = Fields(
        ("inputs", inputs.params),
        *[field for member in members for field in member.fields(plan)],
        *[("mapped", [each for out in mapped_outs for each in parameters(out, const=False)]) for _ in [rows] if rows],
        ("loops", loop_fields(plan).declared),
        *(rows.fields(plan) if rows else []),
    )
    argument_list = signature(fields, capabilities.argument_struct)
    body = "".join(member.text for member in members) + (mapped.text if mapped else "") + argument_list.definition
    body += render(
        "reduce/reduce",
        d=dialect,
        V=plan.vector,
        X=plan.loads,
        I=plan.index,
        policy=plan.policy,
        members=members,
        stages=_stages(members, rows),
        mapped=mapped,
        mapped_outs=mapped_outs,
        m=members[0].m,
        value=members[0].value,
        masked=members[0].mask is not None,
        renamed=_renamed,
        form=plan.form,
        spread="side" if plan.spread else 1,
        lanes=plan.lanes,
        strip=plan.strip,
        wide=members[0].wide_epilogue is not None,
        partial=plan.partial,
        last=plan.last,
        rows_per_item=plan.rows_per_item,
        products=plan.products,
        common={operands[number].name for number in plan.common},
        out=out,
        operands=operands,
        all_operands=[*operands, *mapped_outs, out] if final else operands,
        other_outs=[(other.p, other.start) for other in others] if final else (),
        kept_rank=plan.kept_rank,
        reduced_rank=plan.reduced_rank,
        signature=argument_list,
        at_row=_at_row,
        prepare=[*inputs.prepare, *[line for member in members for line in member.prepare]],
    )
    text = source(body, dialect, capabilities.function_attribute)
    return Source("reduce", text, argument_list.types, fields)


def _stages(members: list[_Member], rows: RowStages | None) -> list[list[_Member]]:
    """Return the reductions of each stage: all of them if none reads another one's result."""
    waiting = iter(members)
    return [[next(waiting) for _ in range(count)] for count in rows.counts] if rows else [members]


class _Combined:
    """The code of one reduction in the launch that combines the parts of some reductions."""

    def __init__(
        self, number: int, policy: ReducePolicy, code: MonoidCode, epilogue: Epilogue, dialect: Dialect
    ) -> None:
        self.tag = member_tag(number)
        self.suffix = f"_{self.tag}" if number else ""
        self.m = code
        self.wide = _wide(self.m, policy)
        self.epilogue = _EpilogueCode(epilogue, self.m.scalar, f"epilogue{self.suffix}", self.tag)
        self.out = operand(output_name(number), epilogue.root.dtype, "zero", dialect, base="yb")

    @property
    def fields(self) -> list[str | Group]:
        """Declare the constants, the states and the output."""
        return [
            (f"constants{self.tag}", self.epilogue.params),
            (f"states{self.tag}", _state_fields(self.m, self.tag)),
            *parameters(self.out, const=False),
        ]


def combine_source(
    plan: ReducePlan,
    monoids: Sequence[Monoid],
    index_dtype: np.dtype,
    shared: bool,
    epilogues: Sequence[Epilogue],
    capabilities: Capabilities,
) -> Source:
    """Render the second launch, which combines the parts of the first one."""
    dialect = make_dialect(capabilities, 1)
    codes = [MonoidCode(monoid, dialect, monoid.accumulated_dtype, index_dtype) for monoid in monoids]
    members = [
        _Combined(number, plan.policy, code, epilogue, dialect)
        for number, (code, epilogue) in enumerate(zip(codes, epilogues, strict=True))
    ]
    fields = Fields(
        *[field for member in members for field in member.fields],
        *numbers("long", ["outputs", "parts"]),
        *(["const int lanes"] if shared else []),
        axes("long", "k", plan.kept_rank),
        axes("long", "yk", plan.kept_rank),
    )
    argument_list = signature(fields, capabilities.argument_struct)
    body = "".join(member.epilogue.text for member in members) + argument_list.definition
    body += render(
        "reduce/combine",
        d=dialect,
        V=1,
        spread=1,
        policy=plan.policy,
        members=members,
        renamed=_renamed,
        shared=shared,
        kept_rank=plan.kept_rank,
        signature=argument_list,
        prepare=[line for member in members for line in member.epilogue.prepare],
    )
    text = source(body, dialect, capabilities.function_attribute)
    return Source("combine_parts", text, argument_list.types, fields)


def _wide(code: MonoidCode, policy: ReducePolicy) -> MonoidCode | None:
    """Return the monoid for vectors of neighbouring outputs. None if the device or the monoid does not use vectors."""
    width = min(policy.max_width, policy.vector_bytes // max(dtype.itemsize for _, dtype in code.components))
    return code.at(width) if policy.explicit and code.joins and not code.complex and width > 1 else None


def _state_fields(code: MonoidCode, tag: str = "") -> list[str]:
    """Declare a buffer for each component of a state."""
    return [f"__global {code.lane(dtype)} *q{tag}_{name}" for name, dtype in code.components]


def _with_step(o: Operand, inner: str) -> Operand:
    """Return the operand with the stride parameter of the innermost loop."""
    if o.access == "unit":
        return o
    return replace(o, step=f"{o.name}{inner}")


def _at_row(o: Operand, x: int | str) -> Any:
    return replace(o, base=f"{o.base}_{x}")
