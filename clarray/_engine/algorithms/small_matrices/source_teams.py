"""Render the kernel of orthogonal factorizations of small matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clarray._engine.algorithms.small_matrices.plan import vector_types
from clarray._engine.algorithms.small_matrices.plan_teams import FAILURES, MAX_SWEEPS, TeamsPlan
from clarray._engine.codegen.arguments import Fields, by_axis, numbers
from clarray._engine.codegen.render import Source, make_dialect, render, source
from clarray._engine.ops.dtypes import dtype_row

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities


def teams_source(plan: TeamsPlan, capabilities: Capabilities) -> Source:
    """Render one operation on every matrix of a stack."""
    complex_ = plan.work.kind == "c"
    scalar, stored = dtype_row(plan.work).compute, dtype_row(plan.dtype).compute
    element = f"{stored}2" if complex_ else stored
    results = outputs(plan.operation, plan.mode)
    buffers = [f"__global {stored if real else element} *{name}p" for name, real in results.items()]
    buffers += ["volatile __global int *flag"] if plan.operation in FAILURES else []
    buffers += [f"__global {scalar} *scratch"] if plan.scratch else []
    fields = Fields(
        f"__global const {element} *ap",
        "long ao",
        *buffers,
        *numbers("int", ["m", "n", "wanted"]),
        *numbers("long", ["matrices", "as", "ak", *(f"{name}{step}" for name in results for step in "msk")]),
        by_axis("batch", "long", ["batch", "ab"], plan.rank),
    )
    limits = np.finfo(scalar if scalar != "float" else "float32")
    body = render(
        "small_matrices/team",
        operation=plan.operation,
        mode=plan.mode,
        right=False,
        complex_=complex_,
        flipped=plan.flipped and complex_,
        T=stored,
        V=plan.lanes,
        **vector_types(scalar, plan.lanes),
        lit=lambda text: text + ("f" if scalar == "float" else ""),
        epsilon=f"{limits.eps!s}{'f' if scalar == 'float' else ''}",
        most_exponent=limits.maxexp - 24,
        most_sweeps=MAX_SWEEPS,
        items=plan.items,
        teams=plan.teams,
        spread=plan.spread,
        spaces=plan.spaces,
        small=_team_arrays(plan),
        scratch=plan.scratch,
        chunked=plan.chunked,
        rank=plan.rank,
        params=fields.declared,
    )
    text = source(body, make_dialect(capabilities, 1), capabilities.function_attribute)
    return Source.of("small_matrices", text, fields)


def outputs(operation: str, mode: str) -> dict[str, bool]:
    """Return the kernel's name of each result, and whether the result is real for complex matrices."""
    if operation == "qr":
        return {"y": False} if mode == "r" else {"x": False, "y": False}
    if mode == "values":
        return {"y": True}
    return {"x": False, "y": True} if operation == "eigh" else {"x": False, "y": True, "z": False}


def _team_arrays(plan: TeamsPlan) -> list[tuple[str, str, str, str, int]]:
    """Return the arrays of a team besides its matrices: macro, macro arguments, index expression, type and size."""
    longest, columns = plan.small
    pairs = -(-columns // 2)
    arrays = []
    if plan.operation != "qr":
        arrays += [("KEY", "k", "k", "R", longest)]
    if plan.operation == "eigh":
        arrays += [("Z", "k", "k", "E", pairs), ("H", "k", "k", "E", pairs)]
    elif plan.mode != "values":
        arrays += [("T", "k", "k", "E", longest)]
    if plan.spread > 1:
        shared = pairs * plan.spread
        arrays += [("SUMS", "k, part, which", f"((k) * {plan.spread} + (part)) * 2 + (which)", "R", 2 * shared)]
        arrays += [("PRODUCTS", "k, part", f"(k) * {plan.spread} + (part)", "E", shared)]
    return arrays
