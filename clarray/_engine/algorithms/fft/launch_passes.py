"""Launch single passes of Fourier transforms. The last pass may have an epilogue.

The arguments of a pass follow from its position in the transform, which a `TransformPass` holds while the pass is
pending, and from the strides of its operands.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clarray._engine.algorithms.fft import plan as plans
from clarray._engine.algorithms.fft.launch_tables import ChirpTable, tables_for
from clarray._engine.algorithms.fft.plan import COMPLEX, HALF, PAIRS, PARTED, SWAP, TABLE, EpiloguePlan, Pass, PassPlan
from clarray._engine.algorithms.fft.policy import FftPolicy
from clarray._engine.algorithms.fft.source import pass_source
from clarray._engine.expr.epilogues import TransformEpilogue
from clarray._engine.expr.graph import signature_of
from clarray._engine.expr.layout import furthest, index_type, merge
from clarray._engine.expr.node import CONST, INDEX, Node
from clarray._engine.expr.overlap import same_strides
from clarray._engine.expr.view import Shape
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.launch.kernel_cache import KernelCache, Launch
from clarray._engine.launch.operands import COSTLY, Operands, collect_operands, leaf_arguments
from clarray._engine.runtime import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class ComplexTransform:
    """A complex transform of `n` values, with its loads and stores.

    Parameters
    ----------
    have, bound : int
        Values of the operand along the axis, and values that the transform loads. Both are padded with zeros.
    whole : int
        For HERMITIAN and HALF: the position whose value is the conjugate of the value at 0.
    before, after : tuple of str
        Steps between loading and transforming, and between transforming and storing.
    order : int
        Order of the roots that convert between pairs and half a spectrum. 0: no conversion.
    chirp_before, chirp_after : ChirpTable or None
        Factors of a TABLE step.
    stored : int
        Number of transformed values that are stored.
    extent : int
        Extent of the result along the axis.
    scale : float
    """

    n: int
    have: int
    bound: int
    stored: int
    extent: int
    load: str = COMPLEX
    store: str = COMPLEX
    whole: int = 0
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    order: int = 0
    chirp_before: ChirpTable | None = None
    chirp_after: ChirpTable | None = None
    scale: float = 1.0


class Lines(NamedTuple):
    """The number of positions along the axes before and after the transformed axis, in memory order."""

    outer: int
    inner: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformPass:
    """A pass and its position in a transform: the specialization without the operand and the epilogue.

    Parameters
    ----------
    core : ComplexTransform
    step : Pass
    lines : Lines
    axis : int
        The axis of the operand along its lines.
    order : tuple of int
        The axes of the operand, outermost loop first.
    out_order : tuple of int
        The axes of the result in memory order, outermost first.
    work : dtype
        The dtype of real and imaginary parts.
    policy : FftPolicy
        The policy that divided the transform into passes.
    """

    core: ComplexTransform
    step: Pass
    lines: Lines
    axis: int
    order: tuple[int, ...]
    out_order: tuple[int, ...]
    work: np.dtype
    policy: FftPolicy

    @property
    def units(self) -> int:
        return self.lines.outer * self.step.m * self.step.s


class _EpilogueOperands(NamedTuple):
    """The operands of an epilogue, their accesses, and the extents and strides of their loops by name."""

    plan: EpiloguePlan | None
    operands: Operands
    sizes: dict[str, Any]
    furthest: int
    key: tuple[Any, ...]


def pass_launch(
    cache: KernelCache, transform_pass: TransformPass, value: Node, epilogue: TransformEpilogue | None, out: Node
) -> Launch:
    """Return the launch of a pass.

    Parameters
    ----------
    value : Node
        The operand. A pending node is computed while it is loaded.
    epilogue : TransformEpilogue or None
        The operations on transformed values before they are stored.
    out : Node
        A contiguous leaf, in any memory order of its axes.
    """
    core, step, policy = transform_pass.core, transform_pass.step, transform_pass.policy
    operands = collect_operands(value)
    strides = operands.strides(len(value.shape))
    lines = [
        (value.shape[k], tuple(s[k] for s in strides))
        for k in transform_pass.order
        if k != transform_pass.axis and value.shape[k] > 1
    ]
    kept = merge(lines)
    others = _epilogue_operands(transform_pass, epilogue, out)
    values_moved = 2 * max(transform_pass.units * step.points, out.size)
    last_position = max(furthest(value.shape, strides, values_moved), others.furthest)
    plan = _plan(transform_pass, value, operands, len(kept), others.plan, index_type(last_position, policy.chunked))
    key = ("fft", operands.signature, plan, others.key)
    kernel = cache.kernel_for(key, pass_source, plan, value, operands.nodes, epilogue, cache.capabilities)
    tables = tables_for(cache.device, plan, step.m, core.order, (core.chirp_before, core.chirp_after))
    cache.persistent[id(tables.memory.buffer)] = tables.memory  # so that captured calls may use it
    nbytes = operands.nbytes + others.operands.nbytes + out.size * out.dtype.itemsize
    groups, scratch = _groups(cache, transform_pass, plan.lanes, nbytes)
    values: dict[str, Any] = {"tables": tables.memory.buffer, "scale": core.scale, **tables.offsets, **others.sizes}
    if scratch is not None:
        values["scratch"] = scratch.buffer
    inner = transform_pass.lines.inner
    values["stride"] = inner * core.extent if step.m == 1 else step.points * step.m * step.s
    values |= {"units": transform_pass.units, "m": step.m, "s": step.s, "inner": inner, "limit": core.stored * inner}
    values |= {"have": core.have, "bound": core.bound, "whole": core.whole, "k": [n for n, _ in reversed(kept)]}
    for number, (name, operand_strides) in enumerate(zip(operands.names, strides, strict=True)):
        values[f"{name}s0"] = operand_strides[transform_pass.axis]
        values[f"{name}k"] = [steps[number] for _, steps in reversed(kept)]
    args = kernel.arguments(
        inputs=operands.arguments(), more=others.operands.arguments(), **leaf_arguments(y=out), **values
    )
    inline = policy.chunked and COSTLY * nbytes <= cache.policies.elementwise.inline_bytes
    return Launch(kernel, (groups,), (policy.work_group,), args, inline, nbytes, (scratch, tables.memory))


def _plan(
    transform_pass: TransformPass,
    value: Node,
    operands: Operands,
    rank: int,
    epilogue: EpiloguePlan | None,
    index: str,
) -> PassPlan:
    core, step, policy = transform_pass.core, transform_pass.step, transform_pass.policy
    radices = plans.radices(step.points, policy.radix, joined=not policy.chunked)
    padded = core.have < (2 * core.bound if core.load == PAIRS else core.whole + 1 if core.load == HALF else core.bound)
    copied = not padded and core.load == COMPLEX and set(core.before) <= {SWAP}
    return PassPlan(
        radices=radices,
        work=transform_pass.work,
        accesses=operands.kinds("strided"),
        rank=rank,
        real=value.dtype.kind != "c",
        load=core.load,
        store=core.store,
        before=core.before,
        after=core.after,
        rooted=step.m > 1 and core.load != PARTED,
        padded=padded,
        bounded=TABLE in core.before,
        cropped=core.store != HALF and core.stored < core.n and step.m == 1,
        plain=copied and value.memory is not None and value.dtype.kind == "c",
        across=step.m > 1 or step.s > 1,
        out_across=step.s > 1,
        lanes=plans.lanes(policy, step.points, radices[0], transform_pass.work.itemsize, transform_pass.units),
        index=index,
        policy=policy,
        epilogue=epilogue,
    )


def _groups(cache: KernelCache, transform_pass: TransformPass, lanes: int, nbytes: int) -> tuple[int, Memory | None]:
    """Return the number of work-groups, and their scratch memory if they do not use local memory."""
    groups, policy = -(-transform_pass.units // lanes), transform_pass.policy
    if not policy.chunked:
        return groups, None
    groups = max(1, min(groups, cache.units * policy.groups_per_unit, nbytes // (1 << 15)))
    values = groups * 4 * transform_pass.step.points * lanes
    return groups, cache.device.allocate(values * transform_pass.work.itemsize)


def _epilogue_operands(
    transform_pass: TransformPass, epilogue: TransformEpilogue | None, out: Node
) -> _EpilogueOperands:
    if epilogue is None or epilogue.root is epilogue.transformed:
        return _EpilogueOperands(None, Operands(()), {}, 0, ())
    operands = Operands(epilogue.others)
    strides = operands.strides(len(out.shape))
    classes = iter([_epilogue_access(node, s, out) for node, s in zip(operands.non_constants, strides, strict=True)])
    accesses = tuple(["const" if n.op is CONST else next(classes) for n in operands.nodes])
    kinds = [access for access in accesses if access != "const"]
    moved = [s for s, kind in zip(strides, kinds, strict=True) if kind in ("strided", "index")]
    names = [f"e{number}" for number, kind in enumerate(accesses) if kind in ("strided", "index")]
    axes = [k for k in transform_pass.out_order if out.shape[k] > 1]
    kept = merge([(out.shape[k], tuple(s[k] for s in moved)) for k in axes]) if moved else []
    sizes: dict[str, Any] = {"g": [extent for extent, _ in reversed(kept)]}
    for number, name in enumerate(names):
        sizes[f"{name}g"] = [steps[number] for _, steps in reversed(kept)]
    key = (signature_of(epilogue.root),)
    plan = EpiloguePlan(accesses, len(kept))
    return _EpilogueOperands(plan, operands, sizes, furthest(out.shape, strides), key)


def _epilogue_access(node: Node, strides: Shape, out: Node) -> str:
    """Return the access class of an operand of an epilogue."""
    if node.op is INDEX:
        return "index"
    if not any(strides):
        return "zero"
    return "unit" if same_strides(out.shape, strides, out.strides) else "strided"
