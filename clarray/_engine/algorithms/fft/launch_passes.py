"""The launch of one pass of a Fourier transform, and of the last one with what is done to its values.

What a pass is told follows from its place in the transform, which `OnePass` holds for as long as the pass is pending,
and from how its operands lie.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clarray._engine.algorithms.fft import plan as plans
from clarray._engine.algorithms.fft.launch_tables import Section, tables_for
from clarray._engine.algorithms.fft.plan import COMPLEX, HALF, PAIRS, PARTED, SWAP, TABLE, Ending, Pass, PassPlan
from clarray._engine.algorithms.fft.policy import FftPolicy
from clarray._engine.algorithms.fft.source import pass_source
from clarray._engine.expr.layout import furthest, index_type, merge
from clarray._engine.expr.node import CONST, INDEX, Node
from clarray._engine.expr.overlap import same_strides
from clarray._engine.expr.transform_epilogue import TransformEpilogue
from clarray._engine.expr.view import Shape
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.launch.kernel_cache import KernelCache, Launch
from clarray._engine.launch.operands import COSTLY, Operands, collect_operands, leaf_arguments
from clarray._engine.runtime import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """A complex transform of `n` values, and how it loads and stores.

    Parameters
    ----------
    have, bound : int
        Values that there are along the axis, and that the transform takes: zeros follow either.
    whole : int
        Of HERMITIAN and HALF: the position that is opposite to zero.
    before, after : tuple of str
        Steps.
    order : int
        Of the roots that make a half spectrum of pairs, or pairs of it; 0 for none.
    chirp_before, chirp_after : Section or None
        What a TABLE step multiplies with.
    stored : int
        Values that are stored, of those transformed.
    extent : int
        Of the result along the axis.
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
    chirp_before: Section | None = None
    chirp_after: Section | None = None
    scale: float = 1.0


class Lines(NamedTuple):
    """How many lines there are before the axis, and after it."""

    outer: int
    inner: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OnePass:
    """A pass and its place in a transform: all that it is specialised on, but for what it reads and what follows.

    Parameters
    ----------
    core : Core
    step : Pass
    lines : Lines
    axis : int
        Of the operand: the one its lines lie along.
    order : tuple of int
        In which the operand's axes are gone through.
    out_order : tuple of int
        In which those of the result lie in memory.
    work : dtype
        Of the parts.
    policy : FftPolicy
        By which the transform was divided into passes.
    """

    core: Core
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


class _Followed(NamedTuple):
    """What follows a pass: the operands, their loops over the result, and the extents and strides of these by name."""

    ending: Ending | None
    operands: Operands
    sizes: dict[str, Any]
    furthest: int
    key: tuple[Any, ...]


def pass_launch(cache: KernelCache, here: OnePass, value: Node, finish: TransformEpilogue | None, out: Node) -> Launch:
    """The launch of a pass.

    Parameters
    ----------
    value : Node
        What it reads; a pending one is computed while it is loaded.
    finish : TransformEpilogue or None
        What is done to its values before they are stored.
    out : Node
        Where they are stored: a leaf without gaps.
    """
    core, step, policy = here.core, here.step, here.policy
    operands = collect_operands(value)
    strides = operands.strides(len(value.shape))
    lines = [
        (value.shape[k], tuple(s[k] for s in strides)) for k in here.order if k != here.axis and value.shape[k] > 1
    ]
    kept = merge(lines)
    followed = _followed(here, finish, out)
    most = max(furthest(value.shape, strides, 2 * max(here.units * step.points, out.size)), followed.furthest)
    plan = _plan(here, value, operands, len(kept), followed.ending, index_type(most, policy.chunked))
    key = ("fft", value.sig, operands.pattern, plan, followed.key)
    kernel = cache.kernel_for(key, pass_source, plan, value, operands.nodes, finish, cache.capabilities)
    tables = tables_for(cache.device, plan, step.m, core.order, (core.chirp_before, core.chirp_after))
    cache.persistent[id(tables.memory.buffer)] = tables.memory  # so that captures know it
    nbytes = operands.nbytes + followed.operands.nbytes + out.size * out.dtype.itemsize
    groups, keep = _groups(cache, here, plan.lanes, nbytes)
    values: dict[str, Any] = {"tables": tables.memory.buffer, "scale": core.scale, **tables.places, **followed.sizes}
    if keep is not None:
        values["scratch"] = keep.buffer
    inner = here.lines.inner
    values["stride"] = inner * core.extent if step.m == 1 else step.points * step.m * step.s
    values |= {"units": here.units, "m": step.m, "s": step.s, "inner": inner, "limit": core.stored * inner}
    values |= {"have": core.have, "bound": core.bound, "whole": core.whole, "k": [n for n, _ in reversed(kept)]}
    for number, (name, each) in enumerate(zip(operands.names, strides, strict=True)):
        values[f"{name}s0"] = each[here.axis]
        values[f"{name}k"] = [steps[number] for _, steps in reversed(kept)]
    args = kernel.arguments(
        inputs=operands.arguments(), more=followed.operands.arguments(), **leaf_arguments(y=out), **values
    )
    inline = policy.chunked and COSTLY * nbytes <= cache.policies.elementwise.inline_bytes
    return Launch(kernel, (groups,), (policy.work_group,), args, inline, nbytes, (keep, tables.memory))


def _plan(here: OnePass, value: Node, operands: Operands, rank: int, ending: Ending | None, index: str) -> PassPlan:
    core, step, policy = here.core, here.step, here.policy
    radices = plans.radices(step.points, policy.radix, joined=not policy.chunked)
    padded = core.have < (2 * core.bound if core.load == PAIRS else core.whole + 1 if core.load == HALF else core.bound)
    whole = not padded and core.load == COMPLEX and set(core.before) <= {SWAP}
    return PassPlan(
        radices=radices,
        work=here.work,
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
        plain=whole and value.memory is not None and value.dtype.kind == "c",
        across=step.m > 1 or step.s > 1,
        out_across=step.s > 1,
        lanes=plans.lanes(policy, step.points, radices[0], here.work.itemsize, here.units),
        index=index,
        policy=policy,
        ending=ending,
    )


def _groups(cache: KernelCache, here: OnePass, lanes: int, nbytes: int) -> tuple[int, Memory | None]:
    """How many work-groups there are, and the memory that they work in, if that is not local."""
    groups = -(-here.units // lanes)
    if not here.policy.chunked:
        return groups, None
    groups = max(1, min(groups, cache.units * here.policy.groups_per_unit, nbytes // (1 << 15)))
    return groups, cache.device.allocate(groups * 4 * here.step.points * lanes * here.work.itemsize)


def _followed(here: OnePass, finish: TransformEpilogue | None, out: Node) -> _Followed:
    if finish is None or finish.root is finish.transformed:
        return _Followed(None, Operands(()), {}, 0, ())
    operands = Operands(finish.others)
    placed = operands.strides(len(out.shape))
    classes = iter([_ending_access(node, s, out) for node, s in zip(operands.non_constants, placed, strict=True)])
    accesses = tuple(["const" if n.op is CONST else next(classes) for n in operands.nodes])
    kinds = [each for each in accesses if each != "const"]
    moved = [s for s, kind in zip(placed, kinds, strict=True) if kind in ("strided", "index")]
    names = [f"e{number}" for number, kind in enumerate(accesses) if kind in ("strided", "index")]
    kept = (
        merge([(out.shape[k], tuple(s[k] for s in moved)) for k in here.out_order if out.shape[k] > 1]) if moved else []
    )
    sizes: dict[str, Any] = {"g": [extent for extent, _ in reversed(kept)]}
    for number, name in enumerate(names):
        sizes[f"{name}g"] = [steps[number] for _, steps in reversed(kept)]
    key = (finish.root.sig, Operands(finish.root.inputs).pattern)
    return _Followed(Ending(accesses, len(kept)), operands, sizes, furthest(out.shape, placed), key)


def _ending_access(node: Node, strides: Shape, out: Node) -> str:
    """How an operand is read beside a result: where that is stored, at one place, or where its own strides say."""
    if node.op is INDEX:
        return "index"
    if not any(strides):
        return "zero"
    return "unit" if same_strides(out.shape, strides, out.strides) else "strided"
