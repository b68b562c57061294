"""Run Fourier transforms along an axis: launch all passes but the last eagerly, and return the last as a pending node.

The first pass computes a pending operand while it loads it. The last pass computes the epilogue while it stores. It is
a pending operation on the output of the pass before it, or on the operand of a transform of a single pass. So a call
raises its errors immediately, and holds the memory of its passes.
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
from clarray._engine.algorithms.fft.launch_passes import ComplexTransform, Lines, TransformPass, pass_launch
from clarray._engine.algorithms.fft.launch_tables import ChirpTable
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
from clarray._engine.expr.build import reduction
from clarray._engine.expr.epilogues import TransformEpilogue
from clarray._engine.expr.growth import is_costly
from clarray._engine.expr.node import EAGER, Node, contiguous_leaf
from clarray._engine.expr.result_layout import result_view
from clarray._engine.expr.view import Shape, memory_order
from clarray._engine.launch.kernel_cache import KernelCache, Launch, device_of, kernel_cache_of
from clarray._engine.ops.transforms import Transform
from clarray._engine.runtime import Device

__all__ = ["is_profitable", "transform"]

_PLAIN_ORDER = (0, 1, 2)  # outer, the axis, inner


def is_profitable(device: Device, kind: str, lengths: Sequence[int], values: int, wide: bool) -> bool:
    """Return whether kernels transform lines of these lengths faster than a library on the host.

    Parameters
    ----------
    kind : str
        'complex', 'forward' (of reals) or 'back' (to reals).
    lengths : sequence of int
        The length of the lines along each transformed axis.
    values : int
        The number of values in all lines.
    wide : bool
        Whether the transform is in double precision.
    """
    policy = _policy(kernel_cache_of(device))
    least: int = getattr(policy.least, kind)[wide]
    return values >= least and all(n > 1 and plans.is_direct(n, policy, 8) for n in lengths)


def _policy(cache: KernelCache) -> FftPolicy:
    """Return the policy in force, limited to the local memory and the work-groups of the device."""
    policy, device = cache.policies.fft, cache.capabilities
    pass_bytes = device.local_bytes * 8 // 9  # the rest is padding, see `plan.bank_shift`
    if policy.chunked or (policy.pass_bytes <= pass_bytes and policy.work_group <= device.max_work_group):
        return policy
    return replace(
        policy,
        pass_bytes=min(policy.pass_bytes, pass_bytes),
        work_group=min(policy.work_group, device.max_work_group),
    )


class _Request(NamedTuple):
    """A requested transform along an axis.

    Parameters
    ----------
    n : int
        Values of the transform, or values of the result of 'irfft'.
    have : int
        Values of the operand along the axis.
    kind : str
        'complex', 'rfft' or 'irfft'.
    inverse : bool
    scale : float
    """

    n: int
    have: int
    kind: str
    inverse: bool
    scale: float


class _Source(NamedTuple):
    """The operand of a pass, the axis of its lines, and its axes in memory order."""

    value: Node
    axis: int
    order: Shape


def transform(value: Node, axis: int, n: int, kind: str, *, inverse: bool, scale: float) -> Node:
    """Transform along an axis.

    Parameters
    ----------
    value : Node
        A node that is not empty. Its dtype converts safely to complex64 or complex128.
    axis : int
    n : int
        Values of the transform. The operand is cropped or padded with zeros along the axis. For 'irfft', values of
        the result.
    kind : str
        'complex', 'rfft' (reals to the first half of their spectrum) or 'irfft' (half a spectrum to reals).
    inverse : bool
        Whether the exponent is positive. True for 'irfft' and False for 'rfft'.
    scale : float
        Factor of the result.

    Returns
    -------
    Node
        A pending pass. Its result is contiguous, with axes in the memory order of the operand.
    """
    device = device_of(value)
    with device.lock:
        cache = kernel_cache_of(device)
        materialize_shared(value)
        wide = np.result_type(value.dtype, np.complex64)
        order = tuple(memory_order(result_view(value)))
        position = order.index(axis)
        shape = tuple(value.shape[k] for k in order)
        lines = Lines(prod(shape[:position]), prod(shape[position + 1 :]))
        request = _Request(n, value.shape[axis], kind, inverse, scale)
        core = _complex_transform(request, lines, _policy(cache), np.dtype(wide.char.lower()))
        source = _Source(value, axis, order)
        if plans.is_direct(core.n, _policy(cache), wide.itemsize // 2):
            last, operand = _launch_all_but_last(cache, core, source, lines, order)
        else:
            last, operand = _launch_convolution(cache, core, source, lines, order)
        op = _last_pass(last, axis, np.dtype(wide.char.lower()) if last.core.store in (REAL, PAIRS) else wide)
        result = reduction(op, (operand,), (*value.shape[:axis], core.extent, *value.shape[axis + 1 :]))
        return evaluate(result) if value.flags & EAGER or is_costly(result) else result


@lru_cache(maxsize=4096)
def _last_pass(last: TransformPass, axis: int, out_dtype: np.dtype) -> Transform:
    """Return the operation of the pending node of a last pass."""
    code = ("fft", last, axis)
    return Transform(
        name="fft",
        axes=(axis,),
        order=last.out_order,
        epilogue_inputs=last.core.extent < last.policy.epilogue_inputs_below,
        out_dtype=out_dtype,
        code=code,
        launch=_launch_last,
    )


def _launch_last(
    cache: KernelCache, code: tuple[str, TransformPass, int], epilogue: TransformEpilogue, out: Node
) -> Launch:
    return pass_launch(cache, code[1], epilogue.transformed.args[0], epilogue, out)


def _complex_transform(request: _Request, lines: Lines, policy: FftPolicy, work: np.dtype) -> ComplexTransform:
    """Choose the complex transform that computes a requested transform, with its loads and stores.

    Parameters
    ----------
    work : dtype
        The dtype of real and imaginary parts.
    """
    n, have, kind, inverse, scale = request
    swap = (SWAP,) if inverse else ()
    after = swap if scale == 1 else (*swap, SCALE)
    core = ComplexTransform(n=n, have=have, bound=n, stored=n, extent=n, before=swap, after=after, scale=scale)
    half = n // 2
    if kind == "complex":
        return core
    if kind == "irfft":
        if n % 2:
            return replace(core, load=HERMITIAN, store=REAL, whole=n)
        return replace(core, n=half, bound=half, stored=half, load=HALF, store=PAIRS, whole=half, order=n)
    core = replace(core, stored=half + 1, extent=half + 1)
    direct = n % 2 == 0 and plans.is_direct(half, policy, work.itemsize)
    count = len(plans.passes(half, *lines, policy, work.itemsize)) if direct else 0
    if count == 1 or (count and not policy.chunked):
        return replace(core, n=half, bound=half, load=PAIRS, store=HALF, whole=half, order=n)
    return core


def _launch_convolution(
    cache: KernelCache, core: ComplexTransform, source: _Source, lines: Lines, out_order: Shape
) -> tuple[TransformPass, Node]:
    """Launch all passes but the last of a transform of any length, by two transforms of another length.

    Bluestein (1970). Return the last pass and its operand.
    """
    wide = np.result_type(source.value.dtype, np.complex64)
    size = plans.convolution_length(core.n, _policy(cache), wide.itemsize // 2)
    chirp = ChirpTable(core.n)
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
    between = _launch_all(cache, first, source, lines)
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
        chirp_before=ChirpTable(core.n, size),
        chirp_after=chirp,
        scale=core.scale / size,
    )
    return _launch_all_but_last(cache, last, _Source(between, 1, _PLAIN_ORDER), lines, out_order)


def _launch_all(cache: KernelCache, core: ComplexTransform, source: _Source, lines: Lines) -> Node:
    """Launch all passes of a complex transform that stores all its values. Return the output."""
    last, operand = _launch_all_but_last(cache, core, source, lines, _PLAIN_ORDER)
    return _launch_pass(cache, last, operand, (lines.outer, core.n, lines.inner))


def _launch_pass(cache: KernelCache, transform_pass: TransformPass, operand: Node, shape: Shape) -> Node:
    """Launch a pass without an epilogue. Return its output."""
    wide = np.result_type(transform_pass.work, np.complex64)
    out = contiguous_leaf(cache.device.allocate(prod(shape) * wide.itemsize), shape, wide)
    pass_launch(cache, transform_pass, operand, None, out).run()
    return out


def _launch_all_but_last(
    cache: KernelCache, core: ComplexTransform, source: _Source, lines: Lines, out_order: Shape
) -> tuple[TransformPass, Node]:
    """Launch all passes of a complex transform but the last. Return the last pass and its operand."""
    wide = np.result_type(source.value.dtype, np.complex64)
    work, policy = np.dtype(wide.char.lower()), _policy(cache)
    steps = plans.passes(core.n, lines.outer, lines.inner, policy, work.itemsize)
    if core.store == HALF and len(steps) > 1:
        return _launch_paired_reals(cache, core, source, lines, out_order)
    current = TransformPass(
        core=core,
        step=steps[0],
        lines=lines,
        axis=source.axis,
        order=source.order,
        out_order=out_order,
        work=work,
        policy=policy,
    )
    operand = source.value
    for step, following in pairwise(steps):
        between = replace(current.core, store=COMPLEX, after=(), stored=core.n, extent=core.n, chirp_after=None)
        shape = (lines.outer, step.m, step.points * step.s)
        operand = _launch_pass(cache, replace(current, core=between), operand, shape)
        rest = replace(core, load=COMPLEX, before=(), have=core.n, bound=core.n, order=0, chirp_before=None)
        current = replace(current, core=rest, step=following, axis=1, order=_PLAIN_ORDER)
    return current, operand


def _launch_paired_reals(
    cache: KernelCache, core: ComplexTransform, source: _Source, lines: Lines, out_order: Shape
) -> tuple[TransformPass, Node]:
    """Launch the transform of pairs of reals. Return the pass to the spectrum of the reals, and its operand."""
    half = core.n
    between = _launch_all(cache, replace(core, store=COMPLEX, after=(), stored=half, extent=half), source, lines)
    spectrum = replace(core, n=half + 1, have=half + 1, bound=half + 1, load=PARTED, store=COMPLEX, before=())
    last = TransformPass(
        core=spectrum,
        step=Pass(1, half + 1, lines.inner),
        lines=lines,
        axis=1,
        order=_PLAIN_ORDER,
        out_order=out_order,
        work=np.dtype(between.dtype.char.lower()),
        policy=_policy(cache),
    )
    return last, between
