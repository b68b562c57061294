"""Launches of lines of weights on a GPU, two of them in one kernel where they cross."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clarray._engine.algorithms.stencil.launch import (
    Window,
    constant_memory,
    frame_arguments,
    frame_of,
    furthest,
    scalar_arguments,
)
from clarray._engine.algorithms.stencil.plan import EVEN, LINE, ODD, Frame
from clarray._engine.algorithms.stencil.plan_separable import VECTOR, Line, SeparablePlan, is_rectangle, line_tile
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
    """Slide one line of weights over an array, and another one over the result.

    Parameters
    ----------
    windows : tuple of Window
        One or two, along different axes.
    modes : tuple of str
        Of every axis.
    out_dtype : dtype
        Of the output, and of what is between the two.

    Returns
    -------
    Node or None
        A new leaf; None where the device or the shape wants one pass after the other.
    """
    device = device_of(value.inputs or (value,))
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
        found, operands = _prepare(cache, value, windows, modes, cval, dtype, out_dtype)
        if found is None:
            return None
        memory = device.allocate(value.size * out_dtype.itemsize)
        target = contiguous_leaf(memory, value.shape, out_dtype)
        place = {"yp": memory.buffer, "yo": 0, "w": found.weights.buffer}
        args = found.kernel.arguments(inputs=operands.arguments(), **place, **found.sizes)
        Launch(found.kernel, (found.groups,), (policy.work_group,), args, False, found.nbytes, found).run()
        if value.flags & EAGER:
            device.synchronize()
    return target


class Prepared(NamedTuple):
    """A kernel, and all its arguments but those that differ from call to call."""

    kernel: Kernel
    groups: int
    weights: Memory
    sizes: dict[str, Any]
    nbytes: int


def _prepare(
    cache: KernelCache,
    value: Node,
    windows: tuple[Window, ...],
    modes: tuple[str, ...],
    cval: Any,
    dtype: np.dtype,
    out_dtype: np.dtype,
) -> tuple[Prepared | None, Operands]:
    operands = collect_operands(value)
    places = tuple(
        (n.shape, n.strides, n.offset * n.dtype.itemsize % ALIGNMENT) if n.op is not CONST else None
        for n in operands.nodes
    )
    key = ("lines", value.sig, operands.pattern, places, value.shape, windows, modes, repr(cval), dtype, out_dtype)
    found = cache.value_for(key, _planned, cache, value, operands, windows, modes, cval, dtype, out_dtype)
    return found, operands


def _planned(
    cache: KernelCache,
    value: Node,
    operands: Operands,
    windows: tuple[Window, ...],
    modes: tuple[str, ...],
    cval: Any,
    dtype: np.dtype,
    out_dtype: np.dtype,
) -> Prepared | None:
    policy = cache.policies.stencil
    spans = tuple(next((w.spans[a] for w in windows if w.axis == a), (0, 0)) for a in range(len(value.shape)))
    frame = frame_of(value, spans, operands, value.shape, cache.policies.stencil)
    # an axis of weights that reach nowhere is like any other
    if not is_rectangle(frame, tuple(w.axis for w in windows)):
        return None
    by_axis = {w.axis: w for w in windows}
    down = None if frame.y.number is None else by_axis[frame.y.number]
    across = None if frame.x.number is None else by_axis[frame.x.number]
    if (
        down is not None
        and across is not None
        and windows[0] is across
        and not _commute(modes, windows, cval, out_dtype)
    ):
        return None
    tile = line_tile(_line(down), _line(across), frame.inner, dtype.itemsize, policy, cache.capabilities.local_bytes)
    if tile is None or 2 * frame.y.out_extent < tile[0]:
        return None
    plan = _plan(cache, value, operands, frame, (down, across), tile, dtype, out_dtype)
    key = ("stencil lines", value.sig, operands.pattern, plan)
    kernel = cache.kernel_for(key, separable_source, plan, value, operands.nodes, cache.capabilities)
    weights = np.concatenate([w.weights for w in (down, across) if w is not None])
    rows = -(-frame.y.out_extent // plan.height)
    columns = -(-(frame.x.out_extent * frame.inner) // plan.width)
    sizes = {"cval": scalar_arguments(cval, plan.value), "down": rows, "across": columns, "inner": frame.inner}
    sizes |= frame_arguments(frame, modes, plan.accesses, "unit")
    groups = rows * columns
    for axis in frame.outer:
        groups *= axis.out_extent
    nbytes = operands.nbytes + value.size * out_dtype.itemsize
    return Prepared(kernel, groups, constant_memory(cache, weights, []), sizes, nbytes)


def _commute(modes: tuple[str, ...], windows: tuple[Window, ...], cval: Any, out: np.dtype) -> bool:
    """Whether the columns may be filtered before the rows: what lies outside may not mix, nor be cut off."""
    constant = any(modes[w.axis] == "constant" for w in windows) and cval != 0
    return out.kind == "f" and not constant


def _line(window: Window | None) -> Line | None:
    if window is None:
        return None
    low, high = window.spans[window.axis]
    return Line(window.form, window.taps, -low, high)


def _plan(
    cache: KernelCache,
    value: Node,
    operands: Operands,
    frame: Frame,
    windows: tuple[Window | None, Window | None],
    tile: tuple[int, int],
    dtype: np.dtype,
    out: np.dtype,
) -> SeparablePlan:
    steps = [a.steps[0] for a in (*frame.outer, frame.y)]
    aligned = all(s % VECTOR == 0 for s in steps) and (frame.x.out_extent * frame.inner) % VECTOR == 0
    wide_load = (  # of memory as it lies: what is computed of it goes through the loads by element
        value.memory is not None
        and value.dtype == dtype
        and frame.x.steps[1] == 1
        and starts_aligned(dtype, value.offset, *(a.steps[1] for a in (*frame.outer, frame.y)))
        and dtype.itemsize == 4
    )
    reached = max(furthest(frame), value.size, 2 * max(a.extent for a in frame.axes)) + 1024
    down, across = windows
    some = down or across
    assert some is not None
    return SeparablePlan(
        accesses=operands.kinds("strided"),
        value=dtype,
        out=out,
        exact=some.exact,
        down=_line(down),
        across=_line(across),
        inner=frame.inner,
        rank=len(frame.outer),
        height=tile[0],
        width=tile[1],
        index=index_type(reached, False),
        wide_load=wide_load,
        wide_store=aligned and out.kind in "iuf" and not dtype_row(out).packed,
        policy=cache.policies.stencil,
    )
