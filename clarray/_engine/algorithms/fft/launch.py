"""Launches of Fourier transforms along an axis: made and run at once, the result is memory.

The operand may be pending: the first pass computes it while it reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

import numpy as np

from clarray._engine.algorithms.fft import plan as plans
from clarray._engine.algorithms.fft.launch_tables import Section, tables_for
from clarray._engine.algorithms.fft.plan import (
    COMPLEX,
    HALF,
    HERMITIAN,
    PAIRS,
    PARTED,
    REAL,
    SCALE,
    SWAP,
    TABLE,
    Pass,
    PassPlan,
)
from clarray._engine.algorithms.fft.policy import FftPolicy
from clarray._engine.algorithms.fft.source import pass_source
from clarray._engine.evaluate import materialize_shared
from clarray._engine.expr.layout import furthest, index_type, merge
from clarray._engine.expr.node import EAGER, Node, contiguous_leaf, leaf
from clarray._engine.expr.result_layout import layout_of, view_of
from clarray._engine.expr.view import memory_order, transpose
from clarray._engine.launch.kernel_cache import KernelCache, Launch, device_of, kernel_cache_of
from clarray._engine.launch.operands import COSTLY, operands_of
from clarray._engine.runtime import Device
from clarray._engine.values import dataclass

__all__ = ["pay", "transform"]

_PLAIN = (0, 1, 2)  # outer, the axis, inner


def pay(device: Device, kind: str, lengths: Sequence[int], values: int, wide: bool) -> bool:
    """Whether lines of these lengths, of so many values in all, are transformed sooner by kernels than by the host.

    Parameters
    ----------
    kind : str
        'complex', 'forward' (of reals) or 'back' (to reals).
    wide : bool
        In float64.
    """
    policy = _policy(kernel_cache_of(device))
    least: int = getattr(policy.least, kind)[wide]
    return values >= least and all(n > 1 and plans.direct(n, policy, 8) for n in lengths)


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


def _policy(cache: KernelCache) -> FftPolicy:
    """The policy in force, as far as the device has room for its work-groups."""
    policy, has = cache.policies.fft, cache.capabilities
    room = has.local_bytes * 8 // 9  # the rest are gaps, see `plan.bank_shift`
    if policy.chunked or (policy.pass_bytes <= room and policy.work_group <= has.max_work_group):
        return policy
    return replace(
        policy,
        pass_bytes=min(policy.pass_bytes, room),
        work_group=min(policy.work_group, has.max_work_group),
    )


class _Shape(NamedTuple):
    outer: int
    inner: int


class _Source(NamedTuple):
    """What a pass reads: a value, the axis of its lines, and the order in which its axes are gone through."""

    value: Node
    axis: int
    order: tuple[int, ...]


def transform(value: Node, axis: int, n: int, kind: str, *, inverse: bool, scale: float) -> Node:
    """Transform along an axis.

    Parameters
    ----------
    value : Node
        float32, float64, complex64 or complex128, or what converts safely to the one wanted; not empty.
    axis : int
    n : int
        Values of the transform: along the axis the first ones are taken, or zeros follow. Of 'irfft' values of the
        result.
    kind : str
        'complex'; 'rfft', of reals to the first half of their spectrum; 'irfft', back.
    inverse : bool
        With the positive sign in the exponent; 'irfft' always is, 'rfft' never.
    scale : float
        What the result is multiplied by.

    Returns
    -------
    Node
        A new leaf, contiguous, whose axes lie in memory as those of the value do.
    """
    device = device_of(value.inputs or (value,))
    with device.lock:
        cache = kernel_cache_of(device)
        materialize_shared(value)
        wide = np.result_type(value.dtype, np.complex64)
        order = tuple(memory_order(layout_of(value)))
        place = order.index(axis)
        shape = tuple(value.shape[each] for each in order)
        lines = _Shape(prod(shape[:place]), prod(shape[place + 1 :]))
        core = _core(cache, lines, n, value.shape[axis], kind, inverse, scale, np.dtype(wide.char.lower()))
        shape = (*shape[:place], core.extent, *shape[place + 1 :])
        out_dtype = np.dtype(wide.char.lower()) if core.store in (REAL, PAIRS) else wide
        memory = device.allocate(prod(shape) * out_dtype.itemsize)
        target = contiguous_leaf(memory, shape, out_dtype)
        source = _Source(value, axis, order)
        if plans.direct(core.n, _policy(cache), wide.itemsize // 2):
            _run(cache, core, source, lines, target)
        else:
            _convolve(cache, core, source, lines, target)
        if value.flags & EAGER:
            device.synchronize()
    back = [order.index(each) for each in range(len(order))]
    return leaf(memory, *transpose(view_of(target), back), out_dtype)


def _core(
    cache: KernelCache, lines: _Shape, n: int, have: int, kind: str, inverse: bool, scale: float, work: np.dtype
) -> Core:
    swap = (SWAP,) if inverse else ()
    after = swap if scale == 1 else (*swap, SCALE)
    core = Core(n=n, have=have, bound=n, stored=n, extent=n, before=swap, after=after, scale=scale)
    half = n // 2
    if kind == "complex":
        return core
    if kind == "irfft":
        if n % 2:
            return replace(core, load=HERMITIAN, store=REAL, whole=n)
        return replace(core, n=half, bound=half, stored=half, load=HALF, store=PAIRS, whole=half, order=n)
    policy = _policy(cache)
    core = replace(core, stored=half + 1, extent=half + 1)
    direct = n % 2 == 0 and plans.direct(half, policy, work.itemsize)
    count = len(plans.passes(half, *lines, policy, work.itemsize)) if direct else 0
    if count == 1 or (count and not policy.chunked):
        return replace(core, n=half, bound=half, load=PAIRS, store=HALF, whole=half, order=n)
    return core


def _convolve(cache: KernelCache, core: Core, source: _Source, lines: _Shape, target: Node) -> None:
    """Transform any length by two transforms of another one (Bluestein, 1970)."""
    wide = np.result_type(source.value.dtype, np.complex64)
    size = plans.convolved(core.n, _policy(cache), wide.itemsize // 2)
    chirp = Section(core.n)
    shape = (lines.outer, size, lines.inner)
    memory = cache.device.allocate(prod(shape) * wide.itemsize)
    between = contiguous_leaf(memory, shape, wide)
    first = replace(
        core,
        n=size,
        stored=size,
        extent=size,
        store=COMPLEX,
        before=(*core.before, TABLE),
        after=(),
        chirp_before=chirp,
    )
    _run(cache, first, source, lines, between)
    swap = core.after[:1] if core.before else ()
    last = replace(
        core,
        n=size,
        have=size,
        bound=size,
        load=COMPLEX,
        before=(TABLE, SWAP),
        after=(SWAP, TABLE, *swap, SCALE),
        order=0,
        chirp_before=Section(core.n, size),
        chirp_after=chirp,
        scale=core.scale / size,
    )
    _run(cache, last, _Source(between, 1, _PLAIN), lines, target)


def _run(cache: KernelCache, core: Core, source: _Source, lines: _Shape, target: Node) -> None:
    """Launch the passes of a complex transform, from the value to a leaf."""
    wide = np.result_type(source.value.dtype, np.complex64)
    work = np.dtype(wide.char.lower())
    steps = plans.passes(core.n, lines.outer, lines.inner, _policy(cache), work.itemsize)
    if core.store == HALF and len(steps) > 1:
        _run_parted(cache, core, source, lines, target)
        return
    for number, step in enumerate(steps):
        last = number == len(steps) - 1
        here = core
        if number:
            here = replace(here, load=COMPLEX, before=(), have=core.n, bound=core.n, order=0, chirp_before=None)
        if not last:
            here = replace(here, store=COMPLEX, after=(), stored=core.n, extent=core.n, chirp_after=None)
            memory = cache.device.allocate(lines.outer * core.n * lines.inner * wide.itemsize)
            out = contiguous_leaf(memory, (lines.outer, step.m, step.points * step.s), wide)
        else:
            out = target
        _pass(cache, here, step, source, lines, work, out)
        source = _Source(out, 1, _PLAIN)


def _run_parted(cache: KernelCache, core: Core, source: _Source, lines: _Shape, target: Node) -> None:
    """Transform reals in pairs by several passes, and take the spectrum of the reals from that by one more."""
    wide = np.result_type(source.value.dtype, np.complex64)
    half = core.n
    memory = cache.device.allocate(lines.outer * half * lines.inner * wide.itemsize)
    between = contiguous_leaf(memory, (lines.outer, half, lines.inner), wide)
    _run(cache, replace(core, store=COMPLEX, after=(), stored=half, extent=half), source, lines, between)
    last = replace(core, n=half + 1, have=half + 1, bound=half + 1, load=PARTED, before=())
    one_value = Pass(1, half + 1, lines.inner)
    _pass(
        cache,
        replace(last, store=COMPLEX),
        one_value,
        _Source(between, 1, _PLAIN),
        lines,
        np.dtype(wide.char.lower()),
        target,
    )


def _pass(
    cache: KernelCache, core: Core, step: Pass, source: _Source, lines: _Shape, work: np.dtype, out: Node
) -> None:
    policy = _policy(cache)
    value, axis, order = source
    operands = operands_of(value)
    strides = operands.strides(len(value.shape))
    kept = merge([(value.shape[k], tuple(s[k] for s in strides)) for k in order if k != axis and value.shape[k] > 1])
    radices = plans.radices(step.points, policy.radix, joined=not policy.chunked)
    units = lines.outer * step.m * step.s
    count = plans.lanes(policy, step.points, radices[0], work.itemsize, units)
    most = furthest(value.shape, strides, 2 * max(units * step.points, out.size))
    padded = core.have < (2 * core.bound if core.load == PAIRS else core.whole + 1 if core.load == HALF else core.bound)
    whole = not padded and core.load == COMPLEX and set(core.before) <= {SWAP}
    plan = PassPlan(
        radices=radices,
        work=work,
        accesses=operands.kinds("strided"),
        rank=len(kept),
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
        lanes=count,
        index=index_type(most, policy.chunked),
        policy=policy,
    )
    key = ("fft", value.sig, operands.pattern, plan)
    kernel = cache.kernel_for(key, pass_source, plan, value, operands.nodes, cache.capabilities)
    tables = tables_for(cache.device, plan, step.m, core.order, (core.chirp_before, core.chirp_after))
    assert out.memory is not None
    cache.kept[id(tables.memory.buffer)] = tables.memory  # so that recordings know it
    args: list[Any] = operands.arguments()
    args += [out.memory.buffer, out.offset, tables.memory.buffer]
    nbytes = operands.nbytes + out.size * out.dtype.itemsize
    groups, keep = -(-units // count), None
    if policy.chunked:
        groups = max(1, min(groups, cache.units * policy.groups_per_unit, nbytes // (1 << 15)))
        keep = cache.device.allocate(groups * 4 * step.points * count * work.itemsize)
        args.append(keep.buffer)
    stride = lines.inner * core.extent if step.m == 1 else step.points * step.m * step.s
    args += [units, step.m, step.s, core.have, core.bound, core.whole, lines.inner, stride, core.stored * lines.inner]
    args += [extent for extent, _ in reversed(kept)]
    for number, each in enumerate(strides):
        args += [each[axis], *(steps[number] for _, steps in reversed(kept))]
    args += [*tables.places, core.scale]
    inline = policy.chunked and COSTLY * nbytes <= cache.policies.elementwise.inline_bytes
    Launch(kernel, (groups,), (policy.work_group,), args, inline, nbytes, (keep, tables.memory)).run()
