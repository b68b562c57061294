"""The source of a pass of a Fourier transform."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clarray._engine.algorithms.fft.plan import (
    COMPLEX,
    PLACES,
    SCALE,
    SWAP,
    Ending,
    PassPlan,
    bank_shift,
    computed_roots,
)
from clarray._engine.algorithms.fft.source_butterflies import LOOPED, Butterfly, prime_table
from clarray._engine.codegen.arguments import Fields, Group, axes, numbers
from clarray._engine.codegen.expression import Call, Inputs, converted, operand
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.expr.node import Node
from clarray._engine.expr.transform_epilogue import TransformEpilogue

if TYPE_CHECKING:
    from clarray._engine.ops.ctype import Dialect
    from clarray._engine.runtime import Capabilities

_NUMBERS = ("units", "m", "s", "have", "bound", "whole", "inner", "stride", "limit")


class _EndingCode:
    """What is done to a value as it is stored: a C function of it and of the operands beside the result."""

    def __init__(self, plan: Ending, finish: TransformEpilogue, dialect: Dialect) -> None:
        self.inputs = inputs = Inputs(finish.others, plan.accesses, dialect, base=True, prefix="e")
        transformed, root = finish.transformed, finish.root
        self.operands = [replace(o, step="0") for o in inputs.operands]  # each is moved to its element
        self.moved = [o.name for o in self.operands if o.access in ("strided", "index")]
        self.rank = plan.rank
        inputs.slots[id(transformed)] = "result"
        inputs.types.append(("result", transformed.dtype, False))
        self.call = Call("ending", root, inputs)
        self.out = operand("y", root.dtype, "unit", dialect, base="at_y")


def pass_source(
    plan: PassPlan, value: Node, nodes: Sequence[Node], finish: TransformEpilogue | None, capabilities: Capabilities
) -> Source:
    """Render a pass that loads `value` from its distinct inputs `nodes`, and does to its values what `finish` says."""
    dialect = make_dialect(capabilities, 1)
    inputs = Inputs(nodes, plan.accesses, dialect, base=True)
    wide = np.result_type(plan.work, np.complex64)
    call = Call("value", converted(value, plan.work if plan.real else wide), inputs)
    scalar = "float" if plan.work.itemsize == 4 else "double"
    chunked = plan.policy.chunked
    real_out = plan.store in ("real", "pairs")
    ending = _EndingCode(plan.ending, finish, dialect) if plan.ending is not None and finish is not None else None
    stored = f"{scalar}{'' if real_out else 2}"
    more = ending.inputs if ending is not None else None
    fields = Fields(
        ("inputs", inputs.params),
        ("more", more.params if more is not None else []),
        f"__global {ending.out.storage if ending is not None else stored} *yp",
        "const long yo",
        f"__global const {scalar}2 *tables",
        *([f"__global {scalar}{plan.lanes if plan.lanes > 1 else ''} *scratch"] if chunked else []),
        *_loop_fields(plan, inputs, ending),
        *numbers("int", PLACES),
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
        operands=[*inputs.operands, *(ending.operands if ending is not None else ())],
        prepare=[*inputs.prepare, *(more.prepare if more is not None else ())],
        value=call,
        ending=ending,
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
        simple_store=ending is None and plan.store == COMPLEX and not plan.cropped and set(plan.after) <= {SWAP, SCALE},
    )
    return Source.of("fft", source(body, dialect, capabilities.function_attribute), fields)


def _loop_fields(plan: PassPlan, inputs: Inputs, ending: _EndingCode | None) -> list[str | Group]:
    """Declare positions, the extents of the loops, and the strides of each operand, and of those beside the result."""
    index = plan.index
    parts: list[str | Group] = [*numbers(index, _NUMBERS), axes(index, "k", plan.rank)]
    for o in inputs.operands:
        parts += [f"const {index} {o.step}", axes(index, f"{o.name}k", plan.rank)]
    if ending is not None:
        parts.append(axes(index, "g", ending.rank))
        parts += [axes(index, f"{name}g", ending.rank) for name in ending.moved]
    return parts


class _Stage(NamedTuple):
    """Butterflies of a pass: their radix, what was done before them, for how many positions, and their roots' place."""

    radix: int
    before: int
    turns: int
    roots_at: int


def _stages(radices: tuple[int, ...]) -> list[_Stage]:
    found: list[_Stage] = []
    roots_at = 0
    for k, radix in enumerate(radices):
        turns = prod(radices[k + 1 :])
        found.append(_Stage(radix, prod(radices[:k]), turns, roots_at))
        roots_at += (radix - 1) * turns
    return found
