"""Render the kernels of the passes of Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clarray._engine.algorithms.fft.plan import (
    COMPLEX,
    SCALE,
    SWAP,
    TABLE_ARGUMENTS,
    EpiloguePlan,
    PassPlan,
    bank_shift,
    computed_roots,
)
from clarray._engine.algorithms.fft.source_butterflies import LOOPED, Butterfly, prime_table
from clarray._engine.codegen.arguments import Fields, Group, axes, numbers
from clarray._engine.codegen.expression import Call, Inputs, converted, operand
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.expr.epilogues import TransformEpilogue
from clarray._engine.expr.node import Node

if TYPE_CHECKING:
    from clarray._engine.ops.ctype import Dialect
    from clarray._engine.runtime import Capabilities

_NUMBERS = ("units", "m", "s", "have", "bound", "whole", "inner", "stride", "limit")


class _EpilogueCode:
    """An epilogue as a C function of a transformed value and the operands of the epilogue."""

    def __init__(self, plan: EpiloguePlan, epilogue: TransformEpilogue, dialect: Dialect) -> None:
        self.inputs = inputs = Inputs(epilogue.others, plan.accesses, dialect, base=True, prefix="e")
        transformed, root = epilogue.transformed, epilogue.root
        self.operands = [replace(o, step="0") for o in inputs.operands]  # their bases are moved to each element
        self.moved = [o.name for o in self.operands if o.access in ("strided", "index")]
        self.rank = plan.rank
        inputs.slots[id(transformed)] = "result"
        inputs.types.append(("result", transformed.dtype, False))
        self.call = Call("ending", root, inputs=inputs)
        self.out = operand("y", root.dtype, "unit", dialect, base="at_y")


def pass_source(
    plan: PassPlan, value: Node, nodes: Sequence[Node], epilogue: TransformEpilogue | None, capabilities: Capabilities
) -> Source:
    """Render a pass that loads `value` from its distinct inputs `nodes` and applies the epilogue."""
    dialect = make_dialect(capabilities, 1)
    inputs = Inputs(nodes, plan.accesses, dialect, base=True)
    wide = np.result_type(plan.work, np.complex64)
    call = Call("value", converted(value, plan.work if plan.real else wide), inputs=inputs)
    scalar = "float" if plan.work.itemsize == 4 else "double"
    chunked = plan.policy.chunked
    real_out = plan.store in ("real", "pairs")
    code = None
    if plan.epilogue is not None and epilogue is not None:
        code = _EpilogueCode(plan.epilogue, epilogue, dialect)
    stored = f"{scalar}{'' if real_out else 2}"
    more = code.inputs if code is not None else None
    fields = Fields(
        ("inputs", inputs.params),
        ("more", more.params if more is not None else []),
        f"__global {code.out.storage if code is not None else stored} *yp",
        "const long yo",
        f"__global const {scalar}2 *tables",
        *([f"__global {scalar}{plan.lanes if plan.lanes > 1 else ''} *scratch"] if chunked else []),
        *_loop_fields(plan, inputs, code),
        *numbers("int", TABLE_ARGUMENTS),
        f"const {scalar} scale",
    )
    names = ("re", "im") if chunked else ("re[c]", "im[c]")
    body = render(
        "fft/vectors" if chunked else "fft/tiles",
        d=dialect,
        V=1,
        spread=1,
        I=plan.index,
        L=plan.lanes,
        policy=plan.policy,
        chunked=chunked,
        scalar=scalar,
        points=plan.points,
        butterfly_stages=_stages(plan.radices),
        butterflies={r: Butterfly(r, *names, scalar).text for r in set(plan.radices)},
        prime_tables=[prime_table(r, scalar) for r in sorted(set(plan.radices)) if r > LOOPED],
        inputs=inputs,
        operands=[*inputs.operands, *(code.operands if code is not None else ())],
        prepare=[*inputs.prepare, *(more.prepare if more is not None else ())],
        value=call,
        ending=code,
        stored_type=stored,
        params=fields.declared,
        rank=plan.rank,
        real=plan.real,
        form=plan.load,
        stored=plan.store,
        before=plan.before,
        after=plan.after,
        rooted=plan.rooted,
        computed=plan.rooted and computed_roots(plan.policy, plan.work.itemsize),
        bank_shift=bank_shift(plan.work.itemsize),
        padded=plan.padded,
        bounded=plan.bounded,
        cropped=plan.cropped,
        plain=plan.plain,
        across=plan.across,
        out_across=plan.out_across,
        simple_store=code is None and plan.store == COMPLEX and not plan.cropped and set(plan.after) <= {SWAP, SCALE},
    )
    return Source.of("fft", source(body, dialect, capabilities.function_attribute), fields)


def _loop_fields(plan: PassPlan, inputs: Inputs, epilogue: _EpilogueCode | None) -> list[str | Group]:
    """Declare positions, the extents of the loops, and the strides of the operands of the pass and its epilogue."""
    index = plan.index
    parts: list[str | Group] = [*numbers(index, _NUMBERS), axes(index, "k", plan.rank)]
    for o in inputs.operands:
        parts += [f"const {index} {o.step}", axes(index, f"{o.name}k", plan.rank)]
    if epilogue is not None:
        parts.append(axes(index, "g", epilogue.rank))
        parts += [axes(index, f"{name}g", epilogue.rank) for name in epilogue.moved]
    return parts


class _Stage(NamedTuple):
    """The butterflies of a stage of a pass.

    Parameters
    ----------
    radix : int
    stride : int
        The product of the radices of earlier stages.
    positions : int
        The product of the radices of later stages.
    roots_at : int
        Offset of the roots of the stage in the tables.
    """

    radix: int
    stride: int
    positions: int
    roots_at: int


def _stages(radices: tuple[int, ...]) -> list[_Stage]:
    stages: list[_Stage] = []
    roots_at = 0
    for k, radix in enumerate(radices):
        positions = prod(radices[k + 1 :])
        stages.append(_Stage(radix, prod(radices[:k]), positions, roots_at))
        roots_at += (radix - 1) * positions
    return stages
