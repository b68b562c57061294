"""Launches of stencils: windows of an array made into values, at once.

A stencil is an algorithm of its own, so its result is memory; its operand may be pending, and is then
computed while it is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clarray.codegen.expression import distinct
from clarray.codegen.stencil import stencil_source, tile_dtype
from clarray.evaluate import evaluate
from clarray.evaluate.scan import settle
from clarray.evaluate.state import DeviceState, Launch, bytes_of, data_arguments, device_of, state_of
from clarray.expr.node import CONST, EAGER, INDEX, Node, contiguous_leaf
from clarray.expr.view import contiguous
from clarray.plan import stencil as plans
from clarray.plan.elementwise import index_type
from clarray.plan.layout import STEPPED, access, aligned, reach
from clarray.plan.reduce import power_of_two
from clarray.plan.stencil import MODES, Frame, Reach, StencilPlan, Tiling
from clarray.runtime import Memory

Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Window:
    """What becomes of the values around a position.

    Parameters
    ----------
    form : str
        One of `clarray.plan.stencil`.
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


def stencil(
    value: Node, window: Window, modes: tuple[str, ...], cval: Any, dtype: np.dtype, out_dtype: np.dtype,
    out_shape: tuple[int, ...] | None = None,
) -> Node:  # fmt: skip
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
        state = state_of(device)
        settle(value)
        size = 1
        for extent in shape:
            size *= extent
        target = contiguous_leaf(device.allocate(size * out_dtype.itemsize), shape, out_dtype)
        if size:
            if not value.size:
                raise ValueError("an array without elements has no windows")
            _prepare(state, value, window, modes, cval, dtype, target).run()
        if value.flags & EAGER:
            device.synchronize()
    return target


def _kinds(nodes: list[Node], frame: Frame, chunked: bool, explicit: bool) -> tuple[str, ...]:
    """Access class of each distinct input along x."""
    kinds = []
    number = 0
    for node in nodes:
        if node.op is CONST:
            kinds.append("const")
            continue
        number += 1
        if node.op is INDEX:
            kinds.append("index")
        elif chunked:
            kinds.append(access(frame.x.steps[number], explicit and node.dtype.itemsize > 2))
        else:
            kinds.append("strided")
    return tuple(kinds)


def _prepare(
    state: DeviceState, value: Node, window: Window, modes: tuple[str, ...], cval: Any, dtype: np.dtype, target: Node,
) -> Launch:  # fmt: skip
    policy = state.policies.stencil
    pattern, nodes = distinct(value.inputs or (value,))
    frame = frame_of(value, window.spans, nodes, target)
    held = tile_dtype(window.form, dtype)
    found = plans.window_reach(frame, window.spans, window.shifts)
    wide = _dtypes(value, nodes) | {dtype, held, target.dtype}
    complex_ = any(d.kind == "c" for d in wide)
    vector = 1 if complex_ else max(1, min(policy.max_width, policy.vector_bytes // max(d.itemsize for d in wide)))
    if policy.chunked:
        tiling = plans.cpu_tiling(frame, found, held.itemsize, vector, policy)
    else:
        local = state.capabilities.local_bytes
        tiling = plans.gpu_tiling(frame, found, held.itemsize, policy, local)
        if not tiling.size and value.memory is None and value.op is not CONST and value.args:
            evaluate(value)  # every tap would compute it again
            return _prepare(state, value, window, modes, cval, dtype, target)
    plan = _plan(state, window, dtype, held, nodes, frame, found, tiling, vector, target)
    key = ("stencil", value.sig, pattern, plan)
    kernel = state.prepared.get(key)
    if kernel is None:
        source = stencil_source(plan, value, nodes, state.capabilities)
        kernel = state.keep(key, state.kernel(source))
    return _launch(state, kernel, plan, window, nodes, frame, found, tiling, modes, cval, target)


def frame_of(value: Node, spans: Spans, nodes: list[Node], target: Node) -> Frame:
    """The loops over a value, its inputs and its target."""
    ndim = len(value.shape)
    placed = [n for n in nodes if n.op is not CONST]
    operands = (contiguous(target.shape), *(aligned(n.shape, n.strides, ndim) for n in placed))
    return plans.stencil_frame(value.shape, target.shape, operands, spans)


def _dtypes(root: Node, nodes: list[Node]) -> set[np.dtype]:
    """Every dtype inside the tree: the widest one limits the vectors."""
    found = {root.dtype, *(n.dtype for n in nodes)}
    level = [root]
    while level:
        node = level.pop()
        if node.memory is None and node.args:
            found.update(node.op.in_dtypes)
            found.add(node.dtype)
            level.extend(node.args)
    return found


def _plan(
    state: DeviceState, window: Window, dtype: np.dtype, held: np.dtype, nodes: list[Node], frame: Frame,
    found: Reach, tiling: Tiling, vector: int, target: Node,
) -> StencilPlan:  # fmt: skip
    policy = state.policies.stencil
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
        limit = min(policy.tile_bytes, state.capabilities.local_bytes) // held.itemsize
        local = min(local, limit)
    return StencilPlan(
        form, _kinds(nodes, frame, chunked, vector > 1), dtype, target.dtype, window.exact,
        window.divisor is not None, len(frame.outer), len(found.planes) > 1 or any(map(any, found.planes)),
        vector, index, staged, 0 if chunked else tiling.width, lanes, local,
        window.taps if form == plans.NETWORK else 0, network, window.rank if form == plans.NETWORK else 0, policy,
    )  # fmt: skip


def furthest(frame: Frame) -> int:
    """The largest distance between two elements of one input."""
    extents = tuple(max(1, a.extent * (frame.inner if a is frame.x else 1)) for a in frame.axes)
    return max((reach(extents, tuple(a.steps[k] for a in frame.axes)) for k in range(1, len(frame.x.steps))), default=0)


def _launch(
    state: DeviceState, kernel: Any, plan: StencilPlan, window: Window, nodes: list[Node], frame: Frame,
    found: Reach, tiling: Tiling, modes: tuple[str, ...], cval: Any, target: Node,
) -> Launch:  # fmt: skip
    assert target.memory is not None
    policy = plan.policy
    keep: list[Any] = [nodes]
    args = [*data_arguments(nodes), target.memory.buffer, 0]
    if plan.form not in plans.RANKS:
        weights = window.weights
        if isinstance(weights, Node):
            assert weights.memory is not None
            args += [weights.memory.buffer, weights.offset]
        else:
            args += [constant_memory(state, weights, keep).buffer, 0]
    if plan.form in (plans.TABLE, *plans.RANKS) or not plan.staged:
        shifts = window.shifts or _line_shifts(window, len(modes))
        table = plans.places(frame, found, shifts, tiling)
        args.append(constant_memory(state, table, keep).buffer)
    if plan.deep and plan.staged:
        args.append(constant_memory(state, np.array(found.planes, np.int32), keep).buffer)
    units, down, across = plans.tiles(frame, tiling)
    groups = units
    if policy.chunked:
        nbytes = bytes_of(nodes) + target.size * target.dtype.itemsize
        groups = max(1, min(units, state.units * policy.groups_per_unit))
        if nbytes * max(1, window.taps) <= policy.inline_bytes:
            groups = 1
        scratch = state.device.allocate(groups * tiling.size * tile_dtype(plan.form, plan.value).itemsize)
        keep.append(scratch)
        args.append(scratch.buffer)
    args += scalar_arguments(cval, plan.value)
    if plan.divides:
        args += scalar_arguments(window.divisor, plan.value)
    args += [units, down, across, tiling.height, *([] if plan.width else [tiling.width]), tiling.pitch, tiling.plane]
    step = plans.line_step(frame, window.axis, tiling) if not window.shifts else 0
    args += [tiling.size, len(found.planes), window.taps, step, window.rank]
    args += [found.low_y, found.span_y, found.low_x, found.span_x, frame.inner]
    for axis in (frame.y, frame.x, *frame.outer):
        args += [axis.extent, axis.out_extent, 0 if axis.number is None else MODES.index(modes[axis.number])]
    for kind, k in [*_placed(plan.accesses), ("unit" if policy.chunked else "strided", 0)]:
        args += [a.steps[k] for a in frame.outer] + [frame.y.steps[k]]
        args += [frame.x.steps[k]] if kind in STEPPED else []
    nbytes = bytes_of(nodes) + target.size * target.dtype.itemsize
    inline = nbytes * max(1, window.taps) <= policy.inline_bytes
    return Launch(kernel, (groups,), (policy.work_group,), args, inline, nbytes, keep)


def _placed(accesses: tuple[str, ...]) -> list[tuple[str, int]]:
    """Access class and number among the operands of every input that is no constant."""
    kinds = [a for a in accesses if a != "const"]
    return list(zip(kinds, range(1, len(kinds) + 1), strict=True))


def _line_shifts(window: Window, ndim: int) -> tuple[tuple[int, ...], ...]:
    low = window.spans[window.axis][0]
    return tuple(tuple(low + t if a == window.axis else 0 for a in range(ndim)) for t in range(window.taps))


def scalar_arguments(value: Any, dtype: np.dtype) -> list[Any]:
    """What passes a number of `dtype` to a kernel."""
    if dtype.kind == "c":
        return [complex(value).real, complex(value).imag]
    return [int(value) if dtype.kind in "iub" else float(value)]


def constant_memory(state: DeviceState, array: np.ndarray, keep: list[Any]) -> Memory:
    """Device memory that holds a small array, kept: the same weights come again and again."""
    array = np.ascontiguousarray(array)
    key = ("stencil table", array.dtype.char, array.tobytes())
    found = state.prepared.get(key)
    if found is None:
        found = state.device.allocate(max(1, array.nbytes))
        state.device.write(found, 0, array)
        if array.nbytes <= 1 << 16:
            state.keep(key, found)
    keep.append(found)
    return found


__all__ = ["Window", "stencil"]
