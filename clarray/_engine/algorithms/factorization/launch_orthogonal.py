"""Launch the steps of QR of large matrices by Cholesky: division by a triangle, and the signs of reflections."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from clarray._engine.algorithms.factorization.launch import Lines, SubstitutionOperands, block_plan, substitution
from clarray._engine.algorithms.factorization.plan import SubstitutionPlan
from clarray._engine.algorithms.factorization.source import signed_block_source
from clarray._engine.algorithms.matmul.launch import update_launch
from clarray._engine.expr.node import Node, contiguous_leaf, leaf, memory_of
from clarray._engine.launch.kernel_cache import KernelCache, Launch, device_of, kernel_cache_of
from clarray._engine.launch.sequence import LaunchSequence
from clarray._engine.runtime import Memory


def divide(x: Node, r: Node) -> None:
    """Replace X by X R^-1. Substitution solves each row of X, so backward errors are small for each row.

    Parameters
    ----------
    x : Node
        The transposed X, so that neighbouring work-items solve its rows: a contiguous nonempty leaf (n, m) without
        pending users.
    r : Node
        A leaf (n, n), contiguous, upper triangular, without zeros on its diagonal.
    """
    device = device_of(x, r)
    with device.lock:
        cache, memories = kernel_cache_of(device), (memory_of(x), memory_of(r))
        layout = (x.shape, x.offset, r.offset, x.dtype)
        key = ("divide", *layout, cache.policies.factorization, cache.policies.matmul)
        cache.value_for(key, _divide_sequence, cache, x, r).run(memories, (0, 0))


def _divide_sequence(cache: KernelCache, x: Node, r: Node) -> LaunchSequence:
    return LaunchSequence(_divide_launches(cache, x, r), (memory_of(x), memory_of(r)))


def _divide_launches(cache: KernelCache, x: Node, r: Node) -> Iterator[Launch]:
    (n, m), dtype, plan = x.shape, x.dtype, block_plan(cache, x.dtype)
    form = SubstitutionPlan(block=plan.block)
    for k in range(0, n, plan.block):
        size, end = min(plan.block, n - k), min(k + plan.block, n)
        lines = Lines(memory_of(x), x.offset + k * m, 1, m)
        operands = SubstitutionOperands(Lines(memory_of(r), r.offset + k * (n + 1), 1, n), lines, lines)
        yield substitution(cache, plan, form, operands, m, size)
        if end < n:
            right = leaf(memory_of(r), (n - end, size), (1, n), r.offset + k * n + end, dtype)
            solved = leaf(memory_of(x), (size, m), (m, 1), x.offset + k * m, dtype)
            trailing = leaf(memory_of(x), (n - end, m), (m, 1), x.offset + end * m, dtype)
            yield update_launch(cache, right, solved, trailing)


def reflected_signs(q: Node, rounding: float) -> Node:
    """Return the signs that relate the columns of Q to those of LAPACK's QR by Householder reflections.

    A diagonal of signs, each opposite to its pivot, is subtracted from Q during an elimination without row exchanges.

    Parameters
    ----------
    q : Node
        The first n rows of Q, whose R has a positive diagonal: a contiguous nonempty leaf (n, n) without pending
        users. It is overwritten.
    rounding : float
        Bound on the rounding error of an element that is 1.

    Returns
    -------
    Node
        A new leaf (n,), real, of 1 and -1.

    References
    ----------
    G. Ballard, J. Demmel, L. Grigori, M. Jacquelin, H. D. Nguyen, E. Solomonik, "Reconstructing Householder Vectors
    from Tall-Skinny QR", IPDPS 2014.
    """
    device = device_of(q)
    with device.lock:
        dtype = np.dtype(q.dtype.char.lower())
        signs = contiguous_leaf(device.allocate(q.shape[0] * dtype.itemsize), q.shape[:1], dtype)
        cache, memories = kernel_cache_of(device), (memory_of(q), memory_of(signs))
        key = ("signs", q.shape, q.offset, q.dtype, rounding, cache.policies.factorization, cache.policies.matmul)
        cache.value_for(key, _sign_sequence, cache, q, memories[1], rounding).run(memories, (0, 0))
    return signs


def _sign_sequence(cache: KernelCache, q: Node, signs: Memory, rounding: float) -> LaunchSequence:
    return LaunchSequence(_sign_launches(cache, q, signs, rounding), (memory_of(q), signs))


def _sign_launches(cache: KernelCache, q: Node, signs: Memory, rounding: float) -> Iterator[Launch]:
    n, dtype, plan, work = q.shape[0], q.dtype, block_plan(cache, q.dtype), memory_of(q)
    eliminate = cache.kernel_for(
        ("signed block", plan, rounding), signed_block_source, plan, rounding, cache.capabilities
    )
    by_upper = SubstitutionPlan(block=plan.block)
    by_lower = SubstitutionPlan(block=plan.block, unit=True)
    for k in range(0, n, plan.block):
        size, end = min(plan.block, n - k), min(k + plan.block, n)
        corner, rest = q.offset + k * (n + 1), n - end
        args = eliminate.arguments(wp=work.buffer, wo=corner, sp=signs.buffer, so=k, pitch=n, size=size)
        yield Launch(eliminate, (1,), (plan.block,), args, False, 2 * size**2 * dtype.itemsize)
        if not rest:
            return
        below, right = corner + size * n, corner + size  # offsets of the panels below the block and to its right
        lines = Lines(work, below, n, 1)
        operands = SubstitutionOperands(Lines(work, corner, 1, n), lines, lines)
        yield substitution(cache, plan, by_upper, operands, rest, size)
        lines = Lines(work, right, 1, n)
        operands = SubstitutionOperands(Lines(work, corner, n, 1), lines, lines)
        yield substitution(cache, plan, by_lower, operands, rest, size)
        lower = leaf(work, (rest, size), (n, 1), below, dtype)
        upper = leaf(work, (size, rest), (n, 1), right, dtype)
        yield update_launch(cache, lower, upper, leaf(work, (rest, rest), (n, 1), below + size, dtype))
