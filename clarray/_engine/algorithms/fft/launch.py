"""Launches of Fourier transforms along an axis: all passes but the last are run at once, the last one waits.

The operand may be pending: the first pass computes it while it reads. What is done to the result is computed by the
last pass as it stores. That pass is what stays pending: an operation on what the pass before it has left in memory, or
on the operand itself if there is no other. So a call raises its errors at once, and holds the memory that passes need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import NamedTuple

import numpy as np

from clarray._engine.algorithms.fft import plan as plans
from clarray._engine.algorithms.fft.launch_passes import Core, Lines, OnePass, pass_launch
from clarray._engine.algorithms.fft.launch_tables import Section
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
)
from clarray._engine.algorithms.fft.policy import FftPolicy
from clarray._engine.evaluate import evaluate, materialize_shared
from clarray._engine.expr.build import COST_LIMIT, reduction
from clarray._engine.expr.node import EAGER, Node, contiguous_leaf
from clarray._engine.expr.result_layout import result_view
from clarray._engine.expr.transform_epilogue import TransformEpilogue
from clarray._engine.expr.view import Shape, memory_order
from clarray._engine.launch.kernel_cache import KernelCache, Launch, device_of, kernel_cache_of
from clarray._engine.ops.transforms import Transform
from clarray._engine.runtime import Device

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


class _Source(NamedTuple):
    """What a pass reads: a value, the axis of its lines, and the order in which its axes are gone through."""

    value: Node
    axis: int
    order: Shape


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
        Pending: a pass whose result has no gaps, and axes that lie in memory as those of the value do.
    """
    device = device_of(value.inputs or (value,))
    with device.lock:
        cache = kernel_cache_of(device)
        materialize_shared(value)
        wide = np.result_type(value.dtype, np.complex64)
        order = tuple(memory_order(result_view(value)))
        place = order.index(axis)
        shape = tuple(value.shape[each] for each in order)
        lines = Lines(prod(shape[:place]), prod(shape[place + 1 :]))
        core = _core(cache, lines, n, value.shape[axis], kind, inverse, scale, np.dtype(wide.char.lower()))
        source = _Source(value, axis, order)
        if plans.direct(core.n, _policy(cache), wide.itemsize // 2):
            here, read = _but_last(cache, core, source, lines, order)
        else:
            here, read = _convolve(cache, core, source, lines, order)
        op = _operation(here, axis, np.dtype(wide.char.lower()) if here.core.store in (REAL, PAIRS) else wide)
        found = reduction(op, (read,), (*value.shape[:axis], core.extent, *value.shape[axis + 1 :]))
        return evaluate(found) if value.flags & EAGER or found.cost > COST_LIMIT else found


@lru_cache(maxsize=4096)
def _operation(here: OnePass, axis: int, out_dtype: np.dtype) -> Transform:
    code = ("fft", here, axis)
    beside = here.core.extent < here.policy.beside
    return Transform(
        name="fft",
        axes=(axis,),
        order=here.out_order,
        epilogue_inputs=beside,
        out_dtype=out_dtype,
        code=code,
        launch=_launch_last,
    )


def _launch_last(cache: KernelCache, code: tuple[str, OnePass, int], finish: TransformEpilogue, out: Node) -> Launch:
    return pass_launch(cache, code[1], finish.transformed.args[0], finish, out)


def _core(
    cache: KernelCache, lines: Lines, n: int, have: int, kind: str, inverse: bool, scale: float, work: np.dtype
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


def _convolve(cache: KernelCache, core: Core, source: _Source, lines: Lines, out_order: Shape) -> tuple[OnePass, Node]:
    """Transform any length by two transforms of another one (Bluestein, 1970), but for the last pass."""
    wide = np.result_type(source.value.dtype, np.complex64)
    size = plans.convolved(core.n, _policy(cache), wide.itemsize // 2)
    chirp = Section(core.n)
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
    between = _run(cache, first, source, lines)
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
    return _but_last(cache, last, _Source(between, 1, _PLAIN), lines, out_order)


def _run(cache: KernelCache, core: Core, source: _Source, lines: Lines) -> Node:
    """Launch the passes of a complex transform whose values are all stored; give them."""
    here, read = _but_last(cache, core, source, lines, _PLAIN)
    return _run_pass(cache, here, read, (lines.outer, core.n, lines.inner))


def _run_pass(cache: KernelCache, here: OnePass, read: Node, shape: Shape) -> Node:
    """Launch a pass that other passes follow; give what it stores."""
    wide = np.result_type(here.work, np.complex64)
    out = contiguous_leaf(cache.device.allocate(prod(shape) * wide.itemsize), shape, wide)
    pass_launch(cache, here, read, None, out).run()
    return out


def _but_last(cache: KernelCache, core: Core, source: _Source, lines: Lines, out_order: Shape) -> tuple[OnePass, Node]:
    """Launch the passes of a complex transform but for the last one: give that, and what it reads."""
    wide = np.result_type(source.value.dtype, np.complex64)
    work, policy = np.dtype(wide.char.lower()), _policy(cache)
    steps = plans.passes(core.n, lines.outer, lines.inner, policy, work.itemsize)
    if core.store == HALF and len(steps) > 1:
        return _parted(cache, core, source, lines, out_order)
    here = OnePass(
        core=core,
        step=steps[0],
        lines=lines,
        axis=source.axis,
        order=source.order,
        out_order=out_order,
        work=work,
        policy=policy,
    )
    read = source.value
    for step, following in pairwise(steps):
        between = replace(here.core, store=COMPLEX, after=(), stored=core.n, extent=core.n, chirp_after=None)
        shape = (lines.outer, step.m, step.points * step.s)
        read = _run_pass(cache, replace(here, core=between), read, shape)
        rest = replace(core, load=COMPLEX, before=(), have=core.n, bound=core.n, order=0, chirp_before=None)
        here = replace(here, core=rest, step=following, axis=1, order=_PLAIN)
    return here, read


def _parted(cache: KernelCache, core: Core, source: _Source, lines: Lines, out_order: Shape) -> tuple[OnePass, Node]:
    """Transform reals in pairs by several passes, and take the spectrum of the reals from that by the last pass."""
    half = core.n
    between = _run(cache, replace(core, store=COMPLEX, after=(), stored=half, extent=half), source, lines)
    last = replace(core, n=half + 1, have=half + 1, bound=half + 1, load=PARTED, store=COMPLEX, before=())
    here = OnePass(
        core=last,
        step=Pass(1, half + 1, lines.inner),
        lines=lines,
        axis=1,
        order=_PLAIN,
        out_order=out_order,
        work=np.dtype(between.dtype.char.lower()),
        policy=_policy(cache),
    )
    return here, between
