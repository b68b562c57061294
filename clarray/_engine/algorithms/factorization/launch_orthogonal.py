"""Launches of QR of large matrices by Cholesky's factors: divisions by triangles, and signs as of reflections."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from clarray._engine.algorithms.factorization.launch import Lines, block_plan, substitution
from clarray._engine.algorithms.factorization.plan import SubstitutionPlan
from clarray._engine.algorithms.factorization.source import signed_block_source
from clarray._engine.algorithms.matmul.launch import update_launch
from clarray._engine.expr.node import Node, contiguous_leaf, leaf, memory_of
from clarray._engine.launch.kernel_cache import KernelCache, Launch, device_of, kernel_cache_of
from clarray._engine.launch.sequence import LaunchSequence
from clarray._engine.runtime import Memory


def divide(x: Node, r: Node) -> None:
    """Replace X by X R^-1, whose rows are solved for by substitution: backward errors are small row by row.

    Parameters
    ----------
    x : Node
        A leaf (n, m) that nothing pending reads, contiguous, with elements: the transposed matrix, as rows of X are
        solved for side by side.
    r : Node
        A leaf (n, n), contiguous, upper triangular, no zero on its diagonal.
    """
    device = device_of((x, r))
    with device.lock:
        cache, memories = kernel_cache_of(device), (memory_of(x), memory_of(r))
        places = (x.shape, x.offset, r.offset, x.dtype)
        key = ("divide", *places, cache.policies.factorization, cache.policies.matmul)
        cache.value_for(key, _divide_steps, cache, x, r).run(memories, (0, 0))


def _divide_steps(cache: KernelCache, x: Node, r: Node) -> LaunchSequence:
    return LaunchSequence(_divide_launches(cache, x, r), (memory_of(x), memory_of(r)))


def _divide_launches(cache: KernelCache, x: Node, r: Node) -> Iterator[Launch]:
    (n, m), dtype, plan = x.shape, x.dtype, block_plan(cache, x.dtype)
    how = SubstitutionPlan(block=plan.block)
    for k in range(0, n, plan.block):
        size, end = min(plan.block, n - k), min(k + plan.block, n)
        lines = Lines(memory_of(x), x.offset + k * m, 1, m)
        places = {"t": Lines(memory_of(r), r.offset + k * (n + 1), 1, n), "x": lines, "y": lines}
        yield substitution(cache, plan, how, places, m, size)
        if end < n:
            right = leaf(memory_of(r), (n - end, size), (1, n), r.offset + k * n + end, dtype)
            found = leaf(memory_of(x), (size, m), (m, 1), x.offset + k * m, dtype)
            left = leaf(memory_of(x), (n - end, m), (m, 1), x.offset + end * m, dtype)
            yield update_launch(cache, right, found, left)


def reflected_signs(q: Node, rounding: float) -> Node:
    """The signs that columns of Q have in a QR by Householder's reflections, as LAPACK's, of those that Q has here.

    Q less a diagonal of signs, each the one that the pivot before it has not, is eliminated without pivots.

    Parameters
    ----------
    q : Node
        A leaf (n, n) that nothing pending reads, contiguous, with elements: the first n rows of Q, of which R has a
        positive diagonal. It is overwritten.
    rounding : float
        How far an element that is 1 may be from it.

    Returns
    -------
    Node
        A new leaf (n,), real, of 1 and -1.

    References
    ----------
    G. Ballard, J. Demmel, L. Grigori, M. Jacquelin, H. D. Nguyen, E. Solomonik, "Reconstructing Householder Vectors
    from Tall-Skinny QR", IPDPS 2014.
    """
    device = device_of((q,))
    with device.lock:
        dtype = np.dtype(q.dtype.char.lower())
        signs = contiguous_leaf(device.allocate(q.shape[0] * dtype.itemsize), q.shape[:1], dtype)
        cache, memories = kernel_cache_of(device), (memory_of(q), memory_of(signs))
        key = ("signs", q.shape, q.offset, q.dtype, rounding, cache.policies.factorization, cache.policies.matmul)
        cache.value_for(key, _sign_steps, cache, q, memories[1], rounding).run(memories, (0, 0))
    return signs


def _sign_steps(cache: KernelCache, q: Node, signs: Memory, rounding: float) -> LaunchSequence:
    return LaunchSequence(_sign_launches(cache, q, signs, rounding), (memory_of(q), signs))


def _sign_launches(cache: KernelCache, q: Node, signs: Memory, rounding: float) -> Iterator[Launch]:
    n, dtype, plan, work = q.shape[0], q.dtype, block_plan(cache, q.dtype), memory_of(q)
    eliminate = cache.kernel_for(
        ("signed block", plan, rounding), signed_block_source, plan, rounding, cache.capabilities
    )
    below_it = SubstitutionPlan(block=plan.block)
    beside_it = SubstitutionPlan(block=plan.block, unit=True)
    for k in range(0, n, plan.block):
        size, end = min(plan.block, n - k), min(k + plan.block, n)
        corner, rest = q.offset + k * (n + 1), n - end
        args = eliminate.arguments(wp=work.buffer, wo=corner, sp=signs.buffer, so=k, pitch=n, size=size)
        yield Launch(eliminate, (1,), (plan.block,), args, False, 2 * size**2 * dtype.itemsize)
        if not rest:
            return
        below, beside = corner + size * n, corner + size
        lines = Lines(work, below, n, 1)
        places = {"t": Lines(work, corner, 1, n), "x": lines, "y": lines}
        yield substitution(cache, plan, below_it, places, rest, size)
        lines = Lines(work, beside, 1, n)
        places = {"t": Lines(work, corner, n, 1), "x": lines, "y": lines}
        yield substitution(cache, plan, beside_it, places, rest, size)
        left = leaf(work, (rest, size), (n, 1), below, dtype)
        right = leaf(work, (size, rest), (n, 1), beside, dtype)
        yield update_launch(cache, left, right, leaf(work, (rest, rest), (n, 1), below + size, dtype))
