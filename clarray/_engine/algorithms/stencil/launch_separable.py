"""Launch lines of weights on a GPU, two crossing lines in one kernel."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from clarray._engine.algorithms.stencil.launch import (
    constant_memory,
    frame_arguments,
    frame_for,
    scalar_arguments,
)
from clarray._engine.algorithms.stencil.plan import EVEN, LINE, ODD, Frame, Window, input_span
from clarray._engine.algorithms.stencil.plan_separable import VECTOR, Line, SeparablePlan, is_rectangle, line_tile
from clarray._engine.algorithms.stencil.policy import StencilPolicy
from clarray._engine.algorithms.stencil.source_separable import separable_source
from clarray._engine.evaluate import materialize_shared
from clarray._engine.expr.layout import ALIGNMENT, index_type, starts_aligned
from clarray._engine.expr.node import CONST, EAGER, Node, contiguous_leaf, replanned
from clarray._engine.launch.kernel_cache import KernelCache, Launch, device_of, kernel_cache_of
from clarray._engine.launch.operands import Operands, collect_operands
from clarray._engine.ops.dtypes import dtype_row
from clarray._engine.runtime import Kernel, Memory


@replanned
def separable_stencil(
    value: Node, windows: tuple[Window, ...], modes: tuple[str, ...], cval: Any, dtype: np.dtype, out_dtype: np.dtype
) -> Node | None:
    """Slide a line of weights over an array, and a second line over the result.

    Parameters
    ----------
    windows : tuple of Window
        One or two windows along different axes.
    modes : tuple of str
        Extension beyond the ends of each axis.
    out_dtype : dtype
        Of the output, and of the intermediate result.

    Returns
    -------
    Node or None
        A new leaf. None if the device or the shape needs a pass for each line.
    """
    device = device_of(value)
    cache = kernel_cache_of(device)
    policy = cache.policies.stencil
    if not policy.unrolled or not value.size or dtype.kind != "f":
        return None
    if any(w.form not in (LINE, EVEN, ODD) or w.divisor is not None for w in windows):
        return None
    with device.lock:
        materialize_shared(value)
        if value.memory is None and value.op is CONST:
            return None
        call = Call(value, windows, modes, cval, dtype, out_dtype)
        prepared, operands = _prepared(cache, call)
        if prepared is None:
            return None
        memory = device.allocate(value.size * out_dtype.itemsize)
        target = contiguous_leaf(memory, value.shape, out_dtype)
        buffers = {"yp": memory.buffer, "yo": 0, "w": prepared.weights.buffer}
        args = prepared.kernel.arguments(inputs=operands.arguments(), **buffers, **prepared.values)
        group = policy.work_group
        Launch(prepared.kernel, (prepared.groups,), (group,), args, False, prepared.nbytes, prepared).run()
        if value.flags & EAGER:
            device.synchronize()
    return target


class Call(NamedTuple):
    """The arguments of `separable_stencil`."""

    value: Node
    windows: tuple[Window, ...]
    modes: tuple[str, ...]
    cval: Any
    dtype: np.dtype
    out_dtype: np.dtype


class Prepared(NamedTuple):
    """A kernel, and its arguments except the buffers of operands, output and weights."""

    kernel: Kernel
    groups: int
    weights: Memory
    values: dict[str, Any]
    nbytes: int


class Cross(NamedTuple):
    """The windows along y and along x, at least one of them, and the height and width of a tile."""

    down: Window | None
    across: Window | None
    tile: tuple[int, int]


def _prepared(cache: KernelCache, call: Call) -> tuple[Prepared | None, Operands]:
    value, *rest = call
    operands = collect_operands(value)
    layouts = tuple(
        (n.shape, n.strides, n.offset * n.dtype.itemsize % ALIGNMENT) if n.op is not CONST else None
        for n in operands.nodes
    )
    windows, modes, cval, dtype, out_dtype = rest
    key = ("lines", operands.signature, layouts, value.shape, windows, modes, repr(cval), dtype, out_dtype)
    return cache.value_for(key, _prepare, cache, call, operands), operands


def _prepare(cache: KernelCache, call: Call, operands: Operands) -> Prepared | None:
    """Prepare the launch for operands of this layout; None if it does not fit one kernel."""
    value, windows, policy = call.value, call.windows, cache.policies.stencil
    spans = tuple(next((w.spans[a] for w in windows if w.axis == a), (0, 0)) for a in range(len(value.shape)))
    frame = frame_for(value, spans, operands, value.shape, policy)
    # without a shift the axis of a window is an outer loop like any other
    if not is_rectangle(frame, tuple(w.axis for w in windows)):
        return None
    cross = _cross(call, frame, policy, cache.capabilities.local_bytes)
    if cross is None or 2 * frame.y.out_extent < cross.tile[0]:
        return None
    plan = _plan(call, operands, frame, cross, policy)
    key = ("stencil lines", operands.signature, plan)
    kernel = cache.kernel_for(key, separable_source, plan, value, operands.nodes, cache.capabilities)
    weights = np.concatenate([w.weights for w in (cross.down, cross.across) if w is not None])
    rows = -(-frame.y.out_extent // plan.height)
    columns = -(-(frame.x.out_extent * frame.inner) // plan.width)
    values = {"cval": scalar_arguments(call.cval, plan.value), "down": rows, "across": columns, "inner": frame.inner}
    values |= frame_arguments(frame, call.modes, plan.accesses, "unit")
    groups = rows * columns * prod(axis.out_extent for axis in frame.outer)
    nbytes = operands.nbytes + value.size * call.out_dtype.itemsize
    return Prepared(kernel, groups, constant_memory(cache, weights), values, nbytes)


def _cross(call: Call, frame: Frame, policy: StencilPolicy, local_bytes: int) -> Cross | None:
    """Assign the windows to y and x, and choose a tile; None if their order matters or no tile fits."""
    by_axis = {w.axis: w for w in call.windows}
    down = None if frame.y.number is None else by_axis[frame.y.number]
    across = None if frame.x.number is None else by_axis[frame.x.number]
    if down is not None and call.windows[0] is across and not _commute(call):
        return None
    tile = line_tile(_line(down), _line(across), frame.inner, call.dtype.itemsize, policy, local_bytes)
    return None if tile is None else Cross(down, across, tile)


def _commute(call: Call) -> bool:
    """Return whether y may be filtered before x: not if `cval` mixes with values or the intermediate is truncated."""
    constant = any(call.modes[w.axis] == "constant" for w in call.windows) and call.cval != 0
    return call.out_dtype.kind == "f" and not constant


def _line(window: Window | None) -> Line | None:
    if window is None:
        return None
    low, high = window.spans[window.axis]
    return Line(window.form, window.taps, -low, high)


def _plan(call: Call, operands: Operands, frame: Frame, cross: Cross, policy: StencilPolicy) -> SeparablePlan:
    value, dtype, out = call.value, call.dtype, call.out_dtype
    steps = [a.steps[0] for a in (*frame.outer, frame.y)]
    aligned = all(s % VECTOR == 0 for s in steps) and (frame.x.out_extent * frame.inner) % VECTOR == 0
    wide_load = (  # only of a leaf in the dtype of the computation: expressions and casts are loaded by element
        value.memory is not None
        and value.dtype == dtype
        and frame.x.steps[1] == 1
        and starts_aligned(dtype, value.offset, *(a.steps[1] for a in (*frame.outer, frame.y)))
        and dtype.itemsize == 4
    )
    largest = max(input_span(frame), value.size, 2 * max(a.extent for a in frame.axes)) + 1024
    window = cross.down or cross.across
    assert window is not None
    return SeparablePlan(
        accesses=operands.kinds("strided"),
        value=dtype,
        out=out,
        exact=window.exact,
        down=_line(cross.down),
        across=_line(cross.across),
        inner=frame.inner,
        rank=len(frame.outer),
        height=cross.tile[0],
        width=cross.tile[1],
        index=index_type(largest, False),
        wide_load=wide_load,
        wide_store=aligned and out.kind in "iuf" and not dtype_row(out).packed,
        policy=policy,
    )
