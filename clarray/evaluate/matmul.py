"""Launches of matrix products: made and run at once, the result is memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray.codegen.matmul import tiled_source
from clarray.evaluate import evaluate, write
from clarray.evaluate.state import DeviceState, Launch, device_of, state_of
from clarray.expr import build
from clarray.expr.node import EAGER, Node, contiguous_leaf
from clarray.ops.monoids import fold_monoid, reduction_op
from clarray.ops.special import cast_loop
from clarray.plan.matmul import (
    Matrix,
    Problem,
    Side,
    TiledPlan,
    choose_parts,
    merge_batch,
    rounded,
    side_of,
    work_dtype,
)
from clarray.expr.view import contiguous


def matmul(a: Node, b: Node, target: Node) -> None:
    """Multiply matrices into a leaf.

    Parameters
    ----------
    a, b : Node
        Leaves of shapes (..., m, k) and (..., k, n), of equal batch axes (which may repeat: stride 0); nothing empty.
        Their dtypes must convert safely to the one that is summed in.
    target : Node
        A contiguous leaf (..., m, n) that shares no memory with the operands.
    """
    device = device_of((a, b, target))
    with device.lock:
        state = state_of(device)
        _run(state, a, b, target)
        if (a.flags | b.flags) & EAGER or (target.memory is not None and target.memory.shared):
            device.synchronize()


def _run(state: DeviceState, a: Node, b: Node, target: Node) -> None:
    work = work_dtype(target.dtype)
    batch, (ab, bb) = merge_batch(a.shape[:-2], (a.strides[:-2], b.strides[:-2]))
    problem = Problem(a.shape[-2], b.shape[-1], a.shape[-1], batch)
    left = Matrix(a.strides[-2], a.strides[-1], ab, a.offset, a.dtype.itemsize)
    right = Matrix(b.strides[-1], b.strides[-2], bb, b.offset, b.dtype.itemsize)
    _tiled(state, problem, left, right, work, a, b, target)


def _tiled(
    state: DeviceState, problem: Problem, left: Matrix, right: Matrix, work: np.dtype, a: Node, b: Node,
    target: Node,
) -> None:  # fmt: skip
    policy = state.policies.matmul
    found = choose_parts(problem, work.itemsize, state.units, policy)
    tile = found.tile
    most = max(1, policy.vector_bytes // work.itemsize) if work.kind != "c" else 1
    lanes = min(most, tile.item_rows, tile.item_columns)
    exact = work.kind in "iu"
    depth = found.part_depth if exact else rounded(policy, tile)
    split = found.parts > 1
    scratch = split or (target.dtype == np.float16 and depth < found.part_depth)
    out = target
    if scratch:
        sum_dtype = target.dtype if exact else work
        shape = (found.parts, *target.shape)
        out = contiguous_leaf(state.device.allocate(found.parts * target.size * sum_dtype.itemsize), shape, sum_dtype)
    sides = tuple(
        side_of(matrix, extent, node.dtype, work, tile, lanes)
        for matrix, extent, node in ((left, problem.m, a), (right, problem.n, b))
    )
    whole = out.dtype.itemsize == work.itemsize and out.dtype.kind != "b" and out.offset % lanes == 0
    plan = TiledPlan(
        tile, work, _fitting(sides[0], tile.rows, tile), _fitting(sides[1], tile.columns, tile), out.dtype,
        whole and problem.n % lanes == 0 and lanes > 1, lanes, len(problem.batch), policy,
    )  # fmt: skip
    key = ("matmul", plan)
    kernel = state.prepared.get(key)
    if kernel is None:
        kernel = state.keep(key, state.kernel(tiled_source(plan, state.capabilities)))
    args: list[Any] = []
    for node in (a, b, out):
        assert node.memory is not None
        args += [node.memory.buffer, node.offset]
    args += [problem.m, problem.n, problem.k, left.outer, left.inner, right.outer, right.inner]
    args += [found.parts, found.part_depth, depth, problem.matrices]
    for axis in reversed(range(len(problem.batch))):
        args += [problem.batch[axis], left.batch[axis], right.batch[axis]]
    groups = -(-problem.m // tile.rows) * -(-problem.n // tile.columns) * problem.matrices * found.parts
    nbytes = sum(n.size * n.dtype.itemsize for n in (a, b, out))
    Launch(kernel, (groups,), (tile.work_items,), args, nbytes <= policy.inline_bytes, nbytes).run()
    if scratch:
        _add_parts(out, target)


def _fitting(side: Side, outer: int, tile: Any) -> Side:
    """Vectors only where they divide the work between all work-items."""
    if outer * tile.depth // side.lanes % tile.work_items:
        return Side(side.dtype, side.along, 1)
    return side


def _add_parts(parts: Node, target: Node) -> None:
    """Add the sums of the parts, in their order, into the result."""
    ufunc = np.logical_or if target.dtype.kind == "b" else np.add
    op = reduction_op(fold_monoid(ufunc, parts.dtype), (0,), len(parts.shape), False)
    total = build.reduction(op, (parts,), target.shape)
    if total.dtype != target.dtype:
        total = build.unary(cast_loop(target.dtype), total)
    write(target, total)


__all__ = ["contiguous", "evaluate", "matmul"]
