"""Launches of factorizations of large matrices: a list of them per size, made once, and run for each matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from clarray._engine.algorithms.factorization.launch_trial import pivot_search
from clarray._engine.algorithms.factorization.plan import (
    INTS,
    FactorizationPlan,
    PanelPlan,
    SubstitutionPlan,
    block_width,
    factorization_plan,
    panel_plan,
    takes_large,
)
from clarray._engine.algorithms.factorization.policy import FactorizationPolicy
from clarray._engine.algorithms.factorization.source import (
    ITEMS,
    SIDE,
    cholesky_block_source,
    determinant_source,
    exchange_source,
    panel_source,
    substitute_source,
    triangle_source,
)
from clarray._engine.algorithms.matmul.launch import update_launch
from clarray._engine.algorithms.small_matrices.plan import FAILURES
from clarray._engine.expr.node import EAGER, Node, contiguous_leaf, leaf, memory_of, transposed_leaf, view_leaf
from clarray._engine.launch.kernel_cache import KernelCache, Launch, device_of, kernel_cache_of
from clarray._engine.launch.sequence import LaunchSequence
from clarray._engine.runtime import Device, Memory
from clarray._engine.writing import write

_INT32 = np.dtype(np.int32)
_ALIGNED = 16  # bytes: rows begin at multiples


def takes_matrix(device: Device) -> bool:
    """Whether the device factorizes matrices of any size itself, rather than the host's library."""
    cache = kernel_cache_of(device)
    tiled = not cache.policies.matmul.packed
    return tiled and takes_large(cache.policies.factorization, device.capabilities.host_memory)


def takes_orthogonal(device: Device, elements: int) -> bool:
    """Whether the device orthogonalizes the columns of a matrix of so many elements itself."""
    return takes_matrix(device) and elements >= kernel_cache_of(device).policies.factorization.least_orthogonal


def cholesky(a: Node, upper: bool) -> Node:
    """Factorize each matrix of a stack, one after the other.

    Parameters
    ----------
    a : Node
        A leaf (..., n, n) of float32, float64, complex64 or complex128, with elements.
    upper : bool
        Read the upper triangle and give the upper factor.

    Returns
    -------
    Node
        A new leaf.

    Raises
    ------
    LinAlgError
        A matrix is not positive definite; the device is waited for.

    References
    ----------
    J. Dongarra, I. Duff, D. Sorensen, H. van der Vorst, "Numerical Linear Algebra for High-Performance Computers",
    SIAM 1998, section 5.4: right-looking Cholesky by blocks.
    """
    device = device_of((a,))
    with device.lock:
        cache = kernel_cache_of(device)
        n, dtype = a.shape[-1], a.dtype
        pitch = _pitch(n, dtype)
        work, ints = device.allocate(n * pitch * dtype.itemsize), device.allocate(INTS * _INT32.itemsize)
        device.fill_zero(ints)
        found = _empty(device, a.shape, dtype)
        memories = (work, ints, memory_of(found))
        key = ("cholesky", n, dtype, upper, cache.policies.factorization, cache.policies.matmul)
        steps = cache.value_for(key, _cholesky_steps, cache, n, dtype, upper, memories)
        for number, matrix in enumerate(_matrices(a)):
            # the other triangle is this one's of the transposed matrix
            write(leaf(work, (n, n), (pitch, 1), 0, dtype), transposed_leaf(matrix) if upper else matrix)
            steps.run(memories, (0, 0, number * n * n))
        if device.read_scalar(ints, 0, _INT32):
            raise LinAlgError(FAILURES["cholesky"])
        _wait_for_host(device, a)
    return found


def solve(a: Node, b: Node) -> Node:
    """Solve with each matrix of a stack, one after the other.

    Parameters
    ----------
    a, b : Node
        Leaves (..., n, n) and (..., n, columns) of one dtype, float32, float64, complex64 or complex128, and with the
        same stack, which may repeat (stride 0); `a` has elements.

    Returns
    -------
    Node
        A new leaf.

    Raises
    ------
    LinAlgError
        A matrix is singular; the device is waited for.

    References
    ----------
    J. Dongarra, I. Duff, D. Sorensen, H. van der Vorst, "Numerical Linear Algebra for High-Performance Computers",
    SIAM 1998, section 5.4: right-looking LU by blocks.
    """
    device = device_of((a, b))
    with device.lock:
        cache = kernel_cache_of(device)
        found = _empty(device, b.shape, b.dtype)
        ints = _eliminate(cache, "solve", a, b, (found,), b.shape[-2] * b.shape[-1])
        if device.read_scalar(ints, 0, _INT32):
            raise LinAlgError(FAILURES["solve"])
        _wait_for_host(device, a, b)
    return found


def determinant(operation: str, a: Node) -> tuple[Node, ...]:
    """Do 'det' or 'slogdet' with each matrix of a stack, one after the other.

    Parameters
    ----------
    operation : str
    a : Node
        A leaf (..., n, n) of float32, float64, complex64 or complex128, with elements.

    Returns
    -------
    tuple of Node
        New leaves, one for each result.
    """
    device = device_of((a,))
    with device.lock:
        dtypes = [a.dtype, np.dtype(a.dtype.char.lower())][: 1 if operation == "det" else 2]
        found = tuple(_empty(device, a.shape[:-2], dtype) for dtype in dtypes)
        _eliminate(kernel_cache_of(device), operation, a, None, found, 1)
        _wait_for_host(device, a)
    return found


def _eliminate(
    cache: KernelCache, operation: str, a: Node, b: Node | None, found: tuple[Node, ...], size: int
) -> Memory:
    """Do LU of each matrix, and what is to follow, into results of `size` elements each; give what was noted."""
    n, columns, dtype = a.shape[-1], 0 if b is None else b.shape[-1], a.dtype
    device, pitch = cache.device, _pitch(n, dtype)
    work = device.allocate((n + columns) * pitch * dtype.itemsize)
    noted = _noted(block_plan(cache, dtype), cache.policies.factorization)
    ints = device.allocate((INTS + 4 * noted + n) * _INT32.itemsize)
    device.fill_zero(ints)
    memories: tuple[Memory, ...] = (work, ints, *map(memory_of, found))
    key = (operation, n, columns, dtype, cache.policies.factorization, cache.policies.matmul)
    steps = cache.value_for(key, _lu_steps, cache, operation, n, columns, dtype, memories)
    rights = _matrices(b) if b is not None and columns else None
    for number, matrix in enumerate(_matrices(a)):
        write(leaf(work, (n, n), (pitch, 1), 0, dtype), transposed_leaf(matrix))
        if rights is not None:
            write(leaf(work, (columns, n), (pitch, 1), n * pitch, dtype), transposed_leaf(next(rights)))
        steps.run(memories, (0, 0, *(number * size for _ in found)))
    return ints


def _empty(device: Device, shape: tuple[int, ...], dtype: np.dtype) -> Node:
    """A leaf whose elements the memory happens to hold."""
    return contiguous_leaf(device.allocate(prod(shape) * dtype.itemsize), shape, dtype)


def _matrices(stack: Node) -> Iterator[Node]:
    """Each matrix of a stack, where it lies."""
    for place in np.ndindex(*stack.shape[:-2]):
        offset = stack.offset + sum(i * step for i, step in zip(place, stack.strides, strict=False))
        yield view_leaf(stack, stack.shape[-2:], stack.strides[-2:], offset)


def _wait_for_host(device: Device, *operands: Node) -> None:
    if any(node.flags & EAGER for node in operands):
        device.synchronize()


def _pitch(n: int, dtype: np.dtype) -> int:
    """How far the lines of a matrix lie apart: vectors begin where they may."""
    lanes = max(1, _ALIGNED // dtype.itemsize)
    return -(-n // lanes) * lanes


def block_plan(cache: KernelCache, dtype: np.dtype) -> FactorizationPlan:
    capabilities, policies = cache.capabilities, cache.policies
    local_bytes, multiply_add = capabilities.local_bytes, policies.matmul.multiply_add
    return factorization_plan(dtype, policies.factorization, local_bytes, multiply_add)


# Lists of launches ----------------------------------------------------------------------------


def _cholesky_steps(
    cache: KernelCache, n: int, dtype: np.dtype, upper: bool, memories: Sequence[Memory]
) -> LaunchSequence:
    return LaunchSequence(_cholesky_launches(cache, n, dtype, upper, *memories), memories)


def _cholesky_launches(
    cache: KernelCache, n: int, dtype: np.dtype, upper: bool, work: Memory, ints: Memory, found: Memory
) -> Iterator[Launch]:
    plan, pitch = block_plan(cache, dtype), _pitch(n, dtype)
    factorize = cache.kernel_for(("cholesky block", plan), cholesky_block_source, plan, cache.capabilities)
    how = SubstitutionPlan(block=plan.block, conjugated=True)
    for k in range(0, n, plan.block):
        size = min(plan.block, n - k)
        corner, end = k * (pitch + 1), k + size
        args = factorize.arguments(wp=work.buffer, wo=corner, flag=ints.buffer, fo=0, pitch=pitch, size=size)
        yield Launch(factorize, (1,), (plan.block,), args, False, size**2 * dtype.itemsize)
        if end == n:
            break
        lines = corner + size * pitch
        below_corner = Lines(work, lines, pitch, 1)
        places = {"t": Lines(work, corner, pitch, 1), "x": below_corner, "y": below_corner}
        yield substitution(cache, plan, how, places, n - end, size)
        below = leaf(work, (n - end, size), (pitch, 1), lines, dtype)
        left = leaf(work, (n - end, n - end), (pitch, 1), end * (pitch + 1), dtype)
        yield update_launch(cache, below, transposed_leaf(below), left, True, True)
    copy = cache.kernel_for(("triangle", plan, upper), triangle_source, plan, upper, cache.capabilities)
    side = -(-n // SIDE)
    args = copy.arguments(wp=work.buffer, wo=0, xp=found.buffer, xo=0, pitch=pitch, n=n)
    yield Launch(copy, (side, side), (SIDE, SIDE), args, False, 2 * n * n * dtype.itemsize)


def _lu_steps(
    cache: KernelCache, operation: str, n: int, columns: int, dtype: np.dtype, memories: Sequence[Memory]
) -> LaunchSequence:
    return LaunchSequence(_lu_launches(cache, operation, n, columns, dtype, *memories), memories)


def _lu_launches(
    cache: KernelCache,
    operation: str,
    n: int,
    columns: int,
    dtype: np.dtype,
    work: Memory,
    ints: Memory,
    *found: Memory,
) -> Iterator[Launch]:
    """LU of the first lines of what lies in `work`, which are columns; the other lines are right sides."""
    plan, pitch = block_plan(cache, dtype), _pitch(n, dtype)
    k, most, search = 0, cache.capabilities.max_work_group, pivot_search(cache, plan)
    while k < n:
        shape = panel_plan(n - k, dtype.itemsize, cache.policies.factorization, most, search)
        end = min(k + block_width(plan, cache.policies.factorization, shape, n - k), n)
        yield from _panel_launches(cache, plan, shape, n, k, end, work, ints)
        lines, size, block, moves = n + columns - end, end - k, shape.width, INTS
        if lines and size > block:
            kernel = cache.kernel_for(("exchange", plan, block), exchange_source, plan, block, cache.capabilities)
            place = {"wp": work.buffer, "wo": k * (pitch + 1), "ip": ints.buffer, "io": 0}
            args = kernel.arguments(pitch=pitch, columns=size, **place)
            yield Launch(kernel, (-(-size // plan.lines),), (plan.lines,), args, False, size**2 * dtype.itemsize)
            block, moves = plan.block, INTS + 2 * plan.block
        if lines:
            yield from _update_launches(cache, plan, block, n, (k, end), lines, moves, work, ints)
        k = end
    if operation != "solve":
        kernel = cache.kernel_for((operation, plan), determinant_source, plan, operation, cache.capabilities)
        place = {"wp": work.buffer, "wo": 0, "ip": ints.buffer, "io": 0}
        for name, memory in zip("xy", found, strict=False):
            place |= {f"{name}p": memory.buffer, f"{name}o": 0}
        args = kernel.arguments(pitch=pitch, n=n, **place)
        yield Launch(kernel, (1,), (ITEMS,), args, False, n * dtype.itemsize)
    elif columns:
        yield from _back_launches(cache, plan, n, columns, dtype, work, *found)


def _panel_launches(
    cache: KernelCache,
    plan: FactorizationPlan,
    shape: PanelPlan,
    n: int,
    first: int,
    last: int,
    work: Memory,
    ints: Memory,
) -> Iterator[Launch]:
    """Factorize the columns of a block, by one panel after the other; they are updated, and no others are."""
    pitch, itemsize = _pitch(n, plan.dtype), plan.dtype.itemsize
    factorize = cache.kernel_for(("panel", plan, shape), panel_source, plan, shape, cache.capabilities)
    spare = INTS + 4 * _noted(plan, cache.policies.factorization)
    for k in range(first, last, shape.width):
        end, moves = min(k + shape.width, last), INTS + 2 * (k - first)
        place = {"wp": work.buffer, "wo": k * (pitch + 1), "ip": ints.buffer, "io": 0, "pitch": pitch}
        noted = {"begins": int(k == 0), "moves": moves, "spare": spare}
        args = factorize.arguments(rows=n - k, size=end - k, **noted, **place)
        yield Launch(factorize, (1,), (shape.items,), args, False, 2 * (end - k) * (n - k) * itemsize)
        if end < last:
            yield from _update_launches(cache, plan, shape.width, n, (k, end), last - end, moves, work, ints)


def _update_launches(
    cache: KernelCache,
    plan: FactorizationPlan,
    block: int,
    n: int,
    columns: tuple[int, int],
    lines: int,
    moves: int,
    work: Memory,
    ints: Memory,
) -> Iterator[Launch]:
    """Update so many lines that follow some columns: their rows are exchanged, solved for, and multiplied.

    Parameters
    ----------
    block : int
        How many columns the kernel is for.
    columns : (int, int)
        The first, and the first that is none of them.
    moves : int
        Where the exchanges are noted.
    """
    (k, end), dtype, pitch = columns, plan.dtype, _pitch(n, plan.dtype)
    size, corner, right = end - k, k * (pitch + 1), end * pitch + k
    how = SubstitutionPlan(block=block, unit=True, swapped=True)
    beside = Lines(work, right, pitch, 1)
    places = {"t": Lines(work, corner, 1, pitch), "x": beside, "y": beside}
    yield substitution(cache, plan, how, places, lines, size, {"moves": ints.buffer, "mo": moves})
    if end < n:
        above = leaf(work, (lines, size), (pitch, 1), right, dtype)
        below = leaf(work, (size, n - end), (pitch, 1), corner + size, dtype)
        left = leaf(work, (lines, n - end), (pitch, 1), end * (pitch + 1), dtype)
        yield update_launch(cache, above, below, left)


def _noted(plan: FactorizationPlan, policy: FactorizationPolicy) -> int:
    """Columns of which exchanges are noted at most."""
    return max(plan.block, policy.panel, policy.tall_panel)


def _back_launches(
    cache: KernelCache, plan: FactorizationPlan, n: int, columns: int, dtype: np.dtype, work: Memory, found: Memory
) -> Iterator[Launch]:
    """Solve with U, from its end, for the lines that follow it, into the columns of the result."""
    pitch, how = _pitch(n, dtype), SubstitutionPlan(block=plan.block)
    for k in reversed(range(0, n, plan.block)):
        size = min(plan.block, n - k)
        last = k + size - 1
        places = {
            "t": Lines(work, last * (pitch + 1), -1, -pitch),
            "x": Lines(work, n * pitch + last, pitch, -1),
            "y": Lines(found, last * columns, 1, -columns),
        }
        yield substitution(cache, plan, how, places, columns, size)
        if k:
            solved = leaf(found, (columns, size), (1, columns), k * columns, dtype)
            above = leaf(work, (size, k), (pitch, 1), k * pitch, dtype)
            left = leaf(work, (columns, k), (pitch, 1), n * pitch, dtype)
            yield update_launch(cache, solved, above, left)


class Lines(NamedTuple):
    """Lines in memory: where they begin, how far they are from each other, and how far their elements are."""

    memory: Memory
    offset: int
    apart: int
    step: int


_STRIDES = {"t": ("ts", "tk"), "x": ("xl", "xs"), "y": ("yl", "ys")}  # the kernel's names of a matrix's strides


def substitution(
    cache: KernelCache,
    plan: FactorizationPlan,
    how: SubstitutionPlan,
    places: dict[str, Lines],
    lines: int,
    size: int,
    exchanges: dict[str, Any] | None = None,
) -> Launch:
    """The launch that solves lines by a triangular block.

    Parameters
    ----------
    places : dict
        The rows of the block ``t``, the lines ``x`` that are solved for, and the lines ``y`` that are written.
    exchanges : dict, optional
        Arguments of a kernel that exchanges rows before, by name.
    """
    kernel = cache.kernel_for(("substitute", plan, how), substitute_source, plan, how, cache.capabilities)
    values = {"lines": lines, "size": size, **(exchanges or {})}
    for name, (memory, offset, *strides) in places.items():
        values |= {f"{name}p": memory.buffer, f"{name}o": offset, **dict(zip(_STRIDES[name], strides, strict=True))}
    nbytes = 2 * lines * size * plan.dtype.itemsize
    return Launch(kernel, (-(-lines // plan.lines),), (plan.lines,), kernel.arguments(**values), False, nbytes)
