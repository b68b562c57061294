"""Launch stencils, which compute each output from a window of the input.

A stencil cannot be fused into its users, so its result is materialized. A pending operand is computed in the kernel's
loads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clarray._engine.algorithms.stencil import plan as plans
from clarray._engine.algorithms.stencil.plan import (
    MODES,
    Frame,
    Spans,
    StencilPlan,
    StencilProblem,
    TiledForm,
    Tiling,
    Window,
)
from clarray._engine.algorithms.stencil.policy import StencilPolicy
from clarray._engine.algorithms.stencil.source import stencil_source
from clarray._engine.evaluate import evaluate, materialize_shared
from clarray._engine.expr.layout import STEPPED
from clarray._engine.expr.node import CONST, EAGER, Node, contiguous_leaf, memory_of, replanned
from clarray._engine.expr.view import contiguous
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.launch.kernel_cache import KernelCache, Launch, device_of, kernel_cache_of
from clarray._engine.launch.operands import Operands, collect_operands
from clarray._engine.runtime import Kernel, Memory


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
        With at least one axis.
    modes : tuple of str
        Extension beyond the ends of each axis: one of `MODES`.
    cval : number
        The constant of mode 'constant'.
    dtype : dtype
        Of the computation.
    out_shape : tuple of int, optional
        By default the shape of the value.

    Returns
    -------
    Node
        A new C-contiguous leaf.
    """
    device = device_of(value)
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
            _launch(cache, Call(value, window, modes, cval, dtype, target)).run()
        if value.flags & EAGER:
            device.synchronize()
    return target


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A kernel, and its arguments except the buffers of operands, output and scratch memory."""

    kernel: Kernel
    groups: int
    values: dict[str, Any]  # by argument name
    scratch: int  # bytes
    inline: bool
    nbytes: int
    memories: list[Memory]  # of the weights and tables in `values`


class Call(NamedTuple):
    """The arguments of `stencil`, and its output."""

    value: Node
    window: Window
    modes: tuple[str, ...]
    cval: Any
    dtype: np.dtype
    target: Node


def _launch(cache: KernelCache, call: Call) -> Launch:
    value, window, modes, cval, dtype, target = call
    operands = collect_operands(value)
    layouts = tuple((n.shape, n.strides) if n.op is not CONST else None for n in operands.nodes)
    key = ("window", operands.signature, layouts, target.shape, window, modes, repr(cval), dtype, target.dtype)
    if isinstance(window.weights, Node):  # such a window is used once
        prepared = _prepare(cache, call, operands)
    else:
        prepared = cache.value_for(key, _prepare, cache, call, operands)
    if prepared is None:
        evaluate(value)
        return _launch(cache, call)
    values = prepared.values | {"yp": memory_of(target).buffer, "yo": 0}
    if isinstance(window.weights, Node):
        values |= {"w": memory_of(window.weights).buffer, "wo": window.weights.offset}
    owners: list[Any] = [operands, prepared.memories]
    if prepared.scratch:
        scratch = cache.device.allocate(prepared.scratch)
        owners.append(scratch)
        values["scratch"] = scratch.buffer
    args = prepared.kernel.arguments(inputs=operands.arguments(), **values)
    group = cache.policies.stencil.work_group
    return Launch(prepared.kernel, (prepared.groups,), (group,), args, prepared.inline, prepared.nbytes, owners)


def _prepare(cache: KernelCache, call: Call, operands: Operands) -> Prepared | None:
    """Prepare the launch for operands of this layout; None if a pending value must be computed before."""
    policy, value, window = cache.policies.stencil, call.value, call.window
    frame = frame_for(value, window.spans, operands, call.target.shape, policy)
    reach = plans.window_reach(frame, window.spans, window.shifts)
    problem = StencilProblem(window, frame, reach, call.dtype, call.target.dtype, call.target.size)
    dtypes = {*operands.dtypes(value), call.dtype, problem.tile_dtype, problem.out}
    vector = plans.vector_width(dtypes, policy)
    tiling = plans.stencil_tiling(problem, vector, policy, cache.capabilities)
    if not policy.chunked and not tiling.size and value.memory is None and value.args:
        return None  # without a tile every tap would compute the value again
    accesses = operands.accesses(frame.x.steps[1:], vector > 1) if policy.chunked else operands.kinds("strided")
    plan = plans.stencil_plan(problem, TiledForm(tiling, vector, accesses), policy, cache.capabilities)
    key = ("stencil", operands.signature, plan)
    kernel = cache.kernel_for(key, stencil_source, plan, value, operands.nodes, cache.capabilities)
    values, memories = _arguments(cache, call, plan, problem, tiling)
    nbytes = operands.nbytes + call.target.size * call.target.dtype.itemsize
    inline = nbytes * max(1, window.taps) <= policy.inline_bytes
    groups, scratch = values["units"], 0
    if policy.chunked:
        groups = 1 if inline else max(1, min(groups, cache.units * policy.groups_per_unit))
        scratch = groups * tiling.size * plans.tile_dtype(plan.form, plan.value).itemsize
    return Prepared(
        kernel=kernel,
        groups=groups,
        values=values,
        scratch=scratch,
        inline=inline,
        nbytes=nbytes,
        memories=memories,
    )


def frame_for(
    value: Node, spans: Spans, operands: Operands, out_shape: tuple[int, ...], policy: StencilPolicy
) -> Frame:
    """Return the loops over a value, its inputs and its output."""
    strides = (contiguous(out_shape), *operands.strides(len(value.shape)))
    return plans.stencil_frame(value.shape, out_shape, strides, spans, policy.joined)


def _arguments(
    cache: KernelCache, call: Call, plan: StencilPlan, problem: StencilProblem, tiling: Tiling
) -> tuple[dict[str, Any], list[Memory]]:
    """Return the kernel's arguments by name, and the memories of its tables."""
    window, frame, reach, modes = call.window, problem.frame, problem.reach, call.modes
    memories: list[Memory] = []

    def upload(array: np.ndarray) -> Any:
        memories.append(constant_memory(cache, array))
        return memories[-1].buffer

    values: dict[str, Any] = {"cval": scalar_arguments(call.cval, plan.value)}
    if plan.form not in plans.RANKS and not isinstance(window.weights, Node):
        values |= {"w": upload(window.weights), "wo": 0}
    if plan.form in (plans.TABLE, *plans.RANKS) or not plan.staged:
        shifts = window.shifts or _line_shifts(window, len(modes))
        values["table"] = upload(plans.tap_offsets(frame, reach, shifts, tiling))
    if plan.deep and plan.staged:
        values["shifts"] = upload(np.array(reach.planes, np.int32))
    if plan.divides:
        values["divisor"] = scalar_arguments(window.divisor, plan.value)
    if not plan.width:
        values["width"] = tiling.width
    units, down, across = plans.tiles(frame, tiling)
    step = plans.line_step(frame, window.axis, tiling) if not window.shifts else 0
    values |= {"units": units, "down": down, "across": across, "height": tiling.height, "pitch": tiling.pitch}
    values |= {"plane": tiling.plane, "size": tiling.size, "planes": len(reach.planes)}
    values |= {"taps": window.taps, "step": step, "wanted": window.rank, "inner": frame.inner}
    values |= {"low_y": reach.low_y, "span_y": reach.span_y, "low_x": reach.low_x, "span_x": reach.span_x}
    values |= frame_arguments(frame, modes, plan.accesses, "unit" if plan.policy.chunked else "strided")
    return values, memories


def frame_arguments(frame: Frame, modes: tuple[str, ...], accesses: tuple[str, ...], out_access: str) -> dict[str, Any]:
    """Return the extents and modes of the loops and the strides of inputs and output, by argument name."""

    def extents(axis: plans.Axis) -> list[int]:
        return [axis.extent, axis.out_extent, 0 if axis.number is None else MODES.index(modes[axis.number])]

    values: dict[str, Any] = {"outer": [number for axis in frame.outer for number in extents(axis)]}
    values |= zip(("ky", "my", "mode_y"), extents(frame.y), strict=True)
    values |= zip(("kx", "mx", "mode_x"), extents(frame.x), strict=True)
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
    """Return the kernel arguments of a scalar of `dtype`."""
    if dtype.kind == "c":
        return [complex(value).real, complex(value).imag]
    return [int(value) if dtype.kind in "iub" else float(value)]


def constant_memory(cache: KernelCache, array: np.ndarray) -> Memory:
    """Upload an array. A small one is cached, because calls often repeat their weights."""
    array = np.ascontiguousarray(array)
    key = ("stencil table", array.dtype.char, array.tobytes())
    if array.nbytes > 1 << 16:
        return _upload(cache, array)
    return cache.value_for(key, _upload, cache, array)


def _upload(cache: KernelCache, array: np.ndarray) -> Memory:
    memory = cache.device.allocate(max(1, array.nbytes))
    cache.device.write(memory, 0, array)
    return memory


__all__ = ["Window", "stencil"]
