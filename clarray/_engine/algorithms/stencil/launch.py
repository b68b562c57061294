"""Launches of stencils: windows of an array made into values, at once.

A stencil is an algorithm of its own, so its result is memory; its operand may be pending, and is then
computed while it is read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._engine.algorithms.stencil import plan as plans
from clarray._engine.algorithms.stencil.plan import MODES, Frame, Reach, StencilPlan, Tiling
from clarray._engine.algorithms.stencil.policy import StencilPolicy
from clarray._engine.algorithms.stencil.source import stencil_source, tile_dtype
from clarray._engine.evaluate import evaluate, materialize_shared
from clarray._engine.expr.layout import STEPPED, index_type, reach
from clarray._engine.expr.node import CONST, EAGER, Node, contiguous_leaf, memory_of, replanned
from clarray._engine.expr.view import contiguous
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.fused.reduce.plan import power_of_two
from clarray._engine.launch.kernel_cache import KernelCache, Launch, device_of, kernel_cache_of
from clarray._engine.launch.operands import Operands, collect_operands
from clarray._engine.runtime import Kernel, Memory

Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Window:
    """What becomes of the values around a position; a launch is prepared once for each object.

    Parameters
    ----------
    form : str
        One of `clarray._engine.algorithms.stencil.plan`.
    spans : tuple of (int, int)
        Least and greatest shift along each axis.
    shifts : tuple of tuple of int
        Of every tap, along every axis; empty for the lines.
    weights : ndarray or Node or None
        In the dtype of the computation; a node is a contiguous leaf.
    taps : int
        How many there are.
    axis : int
        Of a line.
    rank : int
        Of an order statistic: how many values are before it.
    divisor : number or None
        Sums are divided by it.
    exact : bool
        See `StencilPlan`.
    """

    form: str
    spans: Spans
    shifts: tuple[tuple[int, ...], ...] = ()
    weights: Any = None
    taps: int = 0
    axis: int = 0
    rank: int = 0
    divisor: Any = None
    exact: bool = False


@replanned
def stencil(
    value: Node,
    window: Window,
    modes: tuple[str, ...],
    cval: Any,
    dtype: np.dtype,
    out_dtype: np.dtype,
    out_shape: tuple[int, ...] | None = None,
) -> Node:
    """Slide a window over an array.

    Parameters
    ----------
    value : Node
        Of at least one axis.
    modes : tuple of str
        What stands beyond the ends of each axis: one of `MODES`.
    cval : number
        The constant of mode 'constant'.
    dtype : dtype
        What is computed in.
    out_shape : tuple of int, optional
        The value's, where none is given.

    Returns
    -------
    Node
        A new C-contiguous leaf.
    """
    device = device_of(value.inputs or (value,))
    shape = value.shape if out_shape is None else out_shape
    with device.lock:
        cache = kernel_cache_of(device)
        materialize_shared(value)
        size = 1
        for extent in shape:
            size *= extent
        target = contiguous_leaf(device.allocate(size * out_dtype.itemsize), shape, out_dtype)
        if size:
            if not value.size:
                raise ValueError("an array without elements has no windows")
            _prepare(cache, value, window, modes, cval, dtype, target).run()
        if value.flags & EAGER:
            device.synchronize()
    return target


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A kernel, and all its arguments but those that differ from call to call."""

    kernel: Kernel
    groups: int
    values: dict[str, Any]  # by the kernel's names
    scratch: int  # bytes
    inline: bool
    nbytes: int
    keep: list[Any]


def _prepare(
    cache: KernelCache,
    value: Node,
    window: Window,
    modes: tuple[str, ...],
    cval: Any,
    dtype: np.dtype,
    target: Node,
) -> Launch:
    operands = collect_operands(value)
    places = tuple((n.shape, n.strides) if n.op is not CONST else None for n in operands.nodes)
    key = ("window", value.sig, operands.pattern, places, target.shape, window, modes, repr(cval), dtype, target.dtype)
    given = (cache, value, operands, window, modes, cval, dtype, target)
    # a window whose weights are a node is used once
    found = _planned(*given) if isinstance(window.weights, Node) else cache.value_for(key, _planned, *given)
    if found is None:
        evaluate(value)
        return _prepare(cache, value, window, modes, cval, dtype, target)
    values = found.values | {"yp": memory_of(target).buffer, "yo": 0}
    if isinstance(window.weights, Node):
        values |= {"w": memory_of(window.weights).buffer, "wo": window.weights.offset}
    keep: list[Any] = [operands, found.keep]
    if found.scratch:
        scratch = cache.device.allocate(found.scratch)
        keep.append(scratch)
        values["scratch"] = scratch.buffer
    args = found.kernel.arguments(inputs=operands.arguments(), **values)
    group = cache.policies.stencil.work_group
    return Launch(found.kernel, (found.groups,), (group,), args, found.inline, found.nbytes, keep)


def _planned(
    cache: KernelCache,
    value: Node,
    operands: Operands,
    window: Window,
    modes: tuple[str, ...],
    cval: Any,
    dtype: np.dtype,
    target: Node,
) -> Prepared | None:
    """The launch of a window over arrays that lie so; None where a pending value has to be computed before."""
    policy = cache.policies.stencil
    frame = frame_of(value, window.spans, operands, target.shape, cache.policies.stencil)
    held = tile_dtype(window.form, dtype)
    found = plans.window_reach(frame, window.spans, window.shifts)
    wide = {*operands.dtypes(value), dtype, held, target.dtype}
    complex_ = any(d.kind == "c" for d in wide)
    vector = 1 if complex_ else max(1, min(policy.max_width, policy.vector_bytes // max(d.itemsize for d in wide)))
    if policy.chunked:
        tiling = plans.cpu_tiling(frame, found, held.itemsize, vector, policy)
    else:
        local = cache.capabilities.local_bytes
        tiling = plans.gpu_tiling(frame, found, held.itemsize, policy, local)
        if not tiling.size and value.memory is None and value.args:
            return None  # every tap would compute it again
    plan = _plan(cache, window, dtype, held, operands, frame, found, tiling, vector, target)
    key = ("stencil", value.sig, operands.pattern, plan)
    kernel = cache.kernel_for(key, stencil_source, plan, value, operands.nodes, cache.capabilities)
    return _arguments(cache, kernel, plan, window, operands, frame, found, tiling, modes, cval, target)


def frame_of(value: Node, spans: Spans, operands: Operands, out_shape: tuple[int, ...], policy: StencilPolicy) -> Frame:
    """The loops over a value, its inputs and its output."""
    strides = (contiguous(out_shape), *operands.strides(len(value.shape)))
    return plans.stencil_frame(value.shape, out_shape, strides, spans, policy.joined)


def _plan(
    cache: KernelCache,
    window: Window,
    dtype: np.dtype,
    held: np.dtype,
    operands: Operands,
    frame: Frame,
    found: Reach,
    tiling: Tiling,
    vector: int,
    target: Node,
) -> StencilPlan:
    policy = cache.policies.stencil
    chunked = policy.chunked
    form = window.form
    staged = tiling.size > 0
    network: tuple[tuple[int, int, bool, bool], ...] = ()
    if form == plans.SELECT and window.taps <= policy.network and staged:
        form, network = plans.NETWORK, plans.rank_network(window.taps, window.rank)
    halo = 4 * sum(high - low for low, high in window.spans) + sum(abs(low) for low, _ in window.spans)
    index = index_type(max(furthest(frame), target.size, 2 * max(a.extent for a in frame.axes)) + halo, chunked)
    lanes = local = 0
    if not chunked:
        rows = (tiling.height + found.span_y) * len(found.planes)
        lanes = max(min(32, policy.work_group), policy.work_group // power_of_two(max(1, rows)))
        local = power_of_two(tiling.size) if staged else 0
        limit = min(policy.tile_bytes, cache.capabilities.local_bytes) // held.itemsize
        local = min(local, limit)
    return StencilPlan(
        form=form,
        accesses=operands.accesses(frame.x.steps[1:], vector > 1) if chunked else operands.kinds("strided"),
        value=dtype,
        out=target.dtype,
        exact=window.exact,
        divides=window.divisor is not None,
        rank=len(frame.outer),
        deep=len(found.planes) > 1 or any(map(any, found.planes)),
        vector=vector,
        index=index,
        staged=staged,
        width=0 if chunked else tiling.width,
        lanes=lanes,
        local=local,
        taps=window.taps if form == plans.NETWORK else 0,
        network=network,
        target=window.rank if form == plans.NETWORK else 0,
        policy=policy,
    )


def furthest(frame: Frame) -> int:
    """The largest distance between two elements of one input."""
    extents = tuple(max(1, a.extent * (frame.inner if a is frame.x else 1)) for a in frame.axes)
    return max((reach(extents, tuple(a.steps[k] for a in frame.axes)) for k in range(1, len(frame.x.steps))), default=0)


def _arguments(
    cache: KernelCache,
    kernel: Kernel,
    plan: StencilPlan,
    window: Window,
    operands: Operands,
    frame: Frame,
    found: Reach,
    tiling: Tiling,
    modes: tuple[str, ...],
    cval: Any,
    target: Node,
) -> Prepared:
    policy = plan.policy
    keep: list[Any] = []
    values: dict[str, Any] = {"cval": scalar_arguments(cval, plan.value)}
    if plan.form not in plans.RANKS and not isinstance(window.weights, Node):
        values |= {"w": constant_memory(cache, window.weights, keep).buffer, "wo": 0}
    if plan.form in (plans.TABLE, *plans.RANKS) or not plan.staged:
        shifts = window.shifts or _line_shifts(window, len(modes))
        values["table"] = constant_memory(cache, plans.places(frame, found, shifts, tiling), keep).buffer
    if plan.deep and plan.staged:
        values["shifts"] = constant_memory(cache, np.array(found.planes, np.int32), keep).buffer
    units, down, across = plans.tiles(frame, tiling)
    nbytes = operands.nbytes + target.size * target.dtype.itemsize
    inline = nbytes * max(1, window.taps) <= policy.inline_bytes
    groups, scratch = units, 0
    if policy.chunked:
        groups = 1 if inline else max(1, min(units, cache.units * policy.groups_per_unit))
        scratch = groups * tiling.size * tile_dtype(plan.form, plan.value).itemsize
    if plan.divides:
        values["divisor"] = scalar_arguments(window.divisor, plan.value)
    if not plan.width:
        values["width"] = tiling.width
    step = plans.line_step(frame, window.axis, tiling) if not window.shifts else 0
    values |= {"units": units, "down": down, "across": across, "height": tiling.height, "pitch": tiling.pitch}
    values |= {"plane": tiling.plane, "size": tiling.size, "planes": len(found.planes)}
    values |= {"taps": window.taps, "step": step, "wanted": window.rank, "inner": frame.inner}
    values |= {"low_y": found.low_y, "span_y": found.span_y, "low_x": found.low_x, "span_x": found.span_x}
    values |= frame_arguments(frame, modes, plan.accesses, "unit" if policy.chunked else "strided")
    return Prepared(
        kernel=kernel,
        groups=groups,
        values=values,
        scratch=scratch,
        inline=inline,
        nbytes=nbytes,
        keep=keep,
    )


def frame_arguments(frame: Frame, modes: tuple[str, ...], accesses: tuple[str, ...], out_access: str) -> dict[str, Any]:
    """Extents and modes of the loops, and the strides of the inputs and of the output, by the kernels' names."""

    def window(axis: plans.Axis) -> list[int]:
        return [axis.extent, axis.out_extent, 0 if axis.number is None else MODES.index(modes[axis.number])]

    values: dict[str, Any] = {"outer": [number for axis in frame.outer for number in window(axis)]}
    values |= zip(("ky", "my", "mode_y"), window(frame.y), strict=True)
    values |= zip(("kx", "mx", "mode_x"), window(frame.x), strict=True)
    inputs = [(f"i{number}", kind) for number, kind in enumerate(accesses) if kind != "const"]
    for k, (name, kind) in enumerate([("y", out_access), *inputs]):
        values |= {f"{name}k": [axis.steps[k] for axis in frame.outer], f"{name}y": frame.y.steps[k]}
        if kind in STEPPED:
            values[f"{name}s0"] = frame.x.steps[k]
    return values


def _line_shifts(window: Window, ndim: int) -> tuple[tuple[int, ...], ...]:
    low = window.spans[window.axis][0]
    return tuple(tuple(low + t if a == window.axis else 0 for a in range(ndim)) for t in range(window.taps))


def scalar_arguments(value: Any, dtype: np.dtype) -> list[Any]:
    """What passes a number of `dtype` to a kernel."""
    if dtype.kind == "c":
        return [complex(value).real, complex(value).imag]
    return [int(value) if dtype.kind in "iub" else float(value)]


def constant_memory(cache: KernelCache, array: np.ndarray, keep: list[Any]) -> Memory:
    """Device memory that holds a small array, kept: the same weights come again and again."""
    array = np.ascontiguousarray(array)
    key = ("stencil table", array.dtype.char, array.tobytes())
    large = array.nbytes > 1 << 16
    found = _written(cache, array) if large else cache.value_for(key, _written, cache, array)
    keep.append(found)
    return found


def _written(cache: KernelCache, array: np.ndarray) -> Memory:
    memory = cache.device.allocate(max(1, array.nbytes))
    cache.device.write(memory, 0, array)
    return memory


__all__ = ["Window", "stencil"]
