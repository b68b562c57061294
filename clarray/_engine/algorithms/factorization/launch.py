"""Launch factorizations of large matrices: prepare a launch sequence for each size, and run it for each matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from clarray._engine.algorithms.factorization.launch_self_test import pivot_search
from clarray._engine.algorithms.factorization.plan import (
    INTS,
    FactorizationPlan,
    PanelPlan,
    SubstitutionPlan,
    block_width,
    factorization_plan,
    panel_plan,
    supports_large,
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
_ALIGNED = 16  # bytes: the alignment of rows


def supports_matrix(device: Device) -> bool:
    """Return whether kernels, rather than LAPACK on the host, factorize matrices of any size for this device."""
    cache = kernel_cache_of(device)
    tiled = not cache.policies.matmul.packed
    return tiled and supports_large(cache.policies.factorization, device.capabilities.host_memory)


def supports_orthogonal(device: Device, elements: int) -> bool:
    """Return whether kernels compute the QR of a large matrix with this number of elements."""
    return supports_matrix(device) and elements >= kernel_cache_of(device).policies.factorization.least_orthogonal


def cholesky(a: Node, upper: bool) -> Node:
    """Compute the Cholesky factor of each matrix of a stack, one after the other.

    Parameters
    ----------
    a : Node
        A leaf (..., n, n) of float32, float64, complex64 or complex128, with elements.
    upper : bool
        Read the upper triangle and return the upper factor.

    Returns
    -------
    Node
        A new leaf.

    Raises
    ------
    LinAlgError
        A matrix is not positive definite. To find out, the call waits for the device.

    References
    ----------
    J. Dongarra, I. Duff, D. Sorensen, H. van der Vorst, "Numerical Linear Algebra for High-Performance Computers",
    SIAM 1998, section 5.4: right-looking Cholesky by blocks.
    """
    device = device_of(a)
    with device.lock:
        cache = kernel_cache_of(device)
        n, dtype = a.shape[-1], a.dtype
        pitch = _pitch(n, dtype)
        work, ints = device.allocate(n * pitch * dtype.itemsize), device.allocate(INTS * _INT32.itemsize)
        device.fill_zero(ints)
        factors = _allocate(device, a.shape, dtype)
        memories = (work, ints, memory_of(factors))
        key = ("cholesky", n, dtype, upper, cache.policies.factorization, cache.policies.matmul)
        sequence = cache.value_for(key, _cholesky_sequence, cache, n, dtype, upper, memories)
        for number, matrix in enumerate(_matrices(a)):
            # the upper triangle is the lower one of the transposed matrix
            write(leaf(work, (n, n), (pitch, 1), 0, dtype), transposed_leaf(matrix) if upper else matrix)
            sequence.run(memories, (0, 0, number * n * n))
        if device.read_scalar(ints, 0, _INT32):
            raise LinAlgError(FAILURES["cholesky"])
        _synchronize_if_eager(device, a)
    return factors


def solve(a: Node, b: Node) -> Node:
    """Solve a linear system with each matrix of a stack, one after the other.

    Parameters
    ----------
    a, b : Node
        Leaves (..., n, n) and (..., n, columns) of one dtype, float32, float64, complex64 or complex128, and with the
        same stack axes, which may have stride 0. `a` is not empty.

    Returns
    -------
    Node
        A new leaf.

    Raises
    ------
    LinAlgError
        A matrix is singular. To find out, the call waits for the device.

    References
    ----------
    J. Dongarra, I. Duff, D. Sorensen, H. van der Vorst, "Numerical Linear Algebra for High-Performance Computers",
    SIAM 1998, section 5.4: right-looking LU by blocks.
    """
    device = device_of(a, b)
    with device.lock:
        cache = kernel_cache_of(device)
        solutions = _allocate(device, b.shape, b.dtype)
        ints = _eliminate(cache, "solve", a, b, (solutions,))
        if device.read_scalar(ints, 0, _INT32):
            raise LinAlgError(FAILURES["solve"])
        _synchronize_if_eager(device, a, b)
    return solutions


def determinant(operation: str, a: Node) -> tuple[Node, ...]:
    """Compute 'det' or 'slogdet' of each matrix of a stack, one after the other.

    Parameters
    ----------
    operation : str
    a : Node
        A leaf (..., n, n) of float32, float64, complex64 or complex128, with elements.

    Returns
    -------
    tuple of Node
        A new leaf for each result.
    """
    device = device_of(a)
    with device.lock:
        dtypes = [a.dtype, np.dtype(a.dtype.char.lower())][: 1 if operation == "det" else 2]
        results = tuple(_allocate(device, a.shape[:-2], dtype) for dtype in dtypes)
        _eliminate(kernel_cache_of(device), operation, a, None, results)
        _synchronize_if_eager(device, a)
    return results


def _eliminate(cache: KernelCache, operation: str, a: Node, b: Node | None, results: tuple[Node, ...]) -> Memory:
    """Run LU of each matrix, and the rest of the operation, into the results; return the integers of the last run."""
    n, columns, dtype = a.shape[-1], 0 if b is None else b.shape[-1], a.dtype
    device, pitch = cache.device, _pitch(n, dtype)
    work = device.allocate((n + columns) * pitch * dtype.itemsize)
    exchanges = _exchange_capacity(block_plan(cache, dtype), cache.policies.factorization)
    ints = device.allocate((INTS + 4 * exchanges + n) * _INT32.itemsize)
    device.fill_zero(ints)
    outputs = tuple(map(memory_of, results))
    memories: tuple[Memory, ...] = (work, ints, *outputs)
    system = LinearSystem(work, ints, n, columns, dtype)
    key = (operation, n, columns, dtype, cache.policies.factorization, cache.policies.matmul)
    sequence = cache.value_for(key, _lu_sequence, cache, operation, system, outputs)
    rights = _matrices(b) if b is not None and columns else None
    size = 1 if b is None else n * columns  # elements of a result per matrix
    for number, matrix in enumerate(_matrices(a)):
        write(leaf(work, (n, n), (pitch, 1), 0, dtype), transposed_leaf(matrix))
        if rights is not None:
            write(leaf(work, (columns, n), (pitch, 1), n * pitch, dtype), transposed_leaf(next(rights)))
        sequence.run(memories, (0, 0, *(number * size for _ in results)))
    return ints


def _allocate(device: Device, shape: tuple[int, ...], dtype: np.dtype) -> Node:
    """Allocate an uninitialized leaf."""
    return contiguous_leaf(device.allocate(prod(shape) * dtype.itemsize), shape, dtype)


def _matrices(stack: Node) -> Iterator[Node]:
    """Yield a view of each matrix of a stack."""
    for index in np.ndindex(*stack.shape[:-2]):
        offset = stack.offset + sum(i * step for i, step in zip(index, stack.strides, strict=False))
        yield view_leaf(stack, stack.shape[-2:], stack.strides[-2:], offset)


def _synchronize_if_eager(device: Device, *operands: Node) -> None:
    if any(node.flags & EAGER for node in operands):
        device.synchronize()


def _pitch(n: int, dtype: np.dtype) -> int:
    """Return the stride between lines of `n` elements, so that vectors of each line are aligned."""
    lanes = max(1, _ALIGNED // dtype.itemsize)
    return -(-n // lanes) * lanes


def block_plan(cache: KernelCache, dtype: np.dtype) -> FactorizationPlan:
    capabilities, policies = cache.capabilities, cache.policies
    return factorization_plan(dtype, policies.factorization, capabilities.local_bytes)


# Launch sequences -----------------------------------------------------------------------------


def _cholesky_sequence(
    cache: KernelCache, n: int, dtype: np.dtype, upper: bool, memories: Sequence[Memory]
) -> LaunchSequence:
    return LaunchSequence(_cholesky_launches(cache, n, dtype, upper, *memories), memories)


def _cholesky_launches(
    cache: KernelCache, n: int, dtype: np.dtype, upper: bool, work: Memory, ints: Memory, result: Memory
) -> Iterator[Launch]:
    plan, pitch = block_plan(cache, dtype), _pitch(n, dtype)
    factorize = cache.kernel_for(("cholesky block", plan), cholesky_block_source, plan, cache.capabilities)
    form = SubstitutionPlan(block=plan.block, conjugated=True)
    for k in range(0, n, plan.block):
        size = min(plan.block, n - k)
        corner, end = k * (pitch + 1), k + size
        args = factorize.arguments(wp=work.buffer, wo=corner, flag=ints.buffer, fo=0, pitch=pitch, size=size)
        yield Launch(factorize, (1,), (plan.block,), args, False, size**2 * dtype.itemsize)
        if end == n:
            break
        below = corner + size * pitch
        lines = Lines(work, below, pitch, 1)
        operands = SubstitutionOperands(Lines(work, corner, pitch, 1), lines, lines)
        yield substitution(cache, plan, form, operands, n - end, size)
        panel = leaf(work, (n - end, size), (pitch, 1), below, dtype)
        trailing = leaf(work, (n - end, n - end), (pitch, 1), end * (pitch + 1), dtype)
        yield update_launch(cache, panel, transposed_leaf(panel), trailing, True, True)
    copy = cache.kernel_for(("triangle", plan, upper), triangle_source, plan, upper, cache.capabilities)
    side = -(-n // SIDE)
    args = copy.arguments(wp=work.buffer, wo=0, xp=result.buffer, xo=0, pitch=pitch, n=n)
    yield Launch(copy, (side, side), (SIDE, SIDE), args, False, 2 * n * n * dtype.itemsize)


class LinearSystem(NamedTuple):
    """A matrix and its right sides in the memory that LU overwrites.

    Parameters
    ----------
    work : Memory
        The transposed matrix in `n` lines, and the right sides in `columns` further lines, see `_pitch`.
    ints : Memory
        The flag of singularity, the parity of the row exchanges, and the exchanges of a block and of a panel.
    n, columns : int
    dtype : dtype
    """

    work: Memory
    ints: Memory
    n: int
    columns: int
    dtype: np.dtype

    @property
    def pitch(self) -> int:
        return _pitch(self.n, self.dtype)

    def view(self, rows: range, columns: range) -> Node:
        """Return a view of rows and columns of the transposed matrix."""
        offset = rows.start * self.pitch + columns.start
        return leaf(self.work, (len(rows), len(columns)), (self.pitch, 1), offset, self.dtype)

    def arguments(self, corner: int) -> dict[str, Any]:
        """Return the arguments of a kernel that starts at a corner of the matrix, by name."""
        return {"wp": self.work.buffer, "wo": corner, "ip": self.ints.buffer, "io": 0, "pitch": self.pitch}


def _lu_sequence(
    cache: KernelCache, operation: str, system: LinearSystem, results: tuple[Memory, ...]
) -> LaunchSequence:
    return LaunchSequence(_lu_launches(cache, operation, system, results), (system.work, system.ints, *results))


def _lu_launches(
    cache: KernelCache, operation: str, system: LinearSystem, results: tuple[Memory, ...]
) -> Iterator[Launch]:
    """Yield the launches of LU and of the rest of an operation: 'det', 'slogdet' or 'solve'."""
    n, columns, dtype = system.n, system.columns, system.dtype
    plan, policy = block_plan(cache, dtype), cache.policies.factorization
    k, max_items, search = 0, cache.capabilities.max_work_group, pivot_search(cache, plan)
    while k < n:
        form = panel_plan(n - k, dtype.itemsize, policy, max_items, search)
        block = range(k, min(k + block_width(plan, policy, form, n - k), n))
        yield from _panel_launches(cache, plan, form, system, block)
        lines, width, moves = n + columns - block.stop, form.width, INTS
        if lines and len(block) > width:
            yield _exchange_launch(cache, plan, width, system, block)
            width, moves = plan.block, INTS + 2 * plan.block
        if lines:
            update = Update(block, width, lines, moves)
            yield from _update_launches(cache, plan, system, update)
        k = block.stop
    if operation != "solve":
        kernel = cache.kernel_for((operation, plan), determinant_source, plan, operation, cache.capabilities)
        arguments = system.arguments(0)
        for name, memory in zip("xy", results, strict=False):
            arguments |= {f"{name}p": memory.buffer, f"{name}o": 0}
        yield Launch(kernel, (1,), (ITEMS,), kernel.arguments(n=n, **arguments), False, n * dtype.itemsize)
    elif columns:
        yield from _back_launches(cache, plan, system, *results)


class Update(NamedTuple):
    """The update of the lines that follow a block.

    Parameters
    ----------
    block : range
        The factorized columns.
    width : int
        Columns that the substitution kernel is rendered for.
    lines : int
        Number of the lines to update.
    moves : int
        Offset of the block's row exchanges in `LinearSystem.ints`.
    """

    block: range
    width: int
    lines: int
    moves: int


def _panel_launches(
    cache: KernelCache, plan: FactorizationPlan, form: PanelPlan, system: LinearSystem, block: range
) -> Iterator[Launch]:
    """Yield the launches that factorize a block's columns panel by panel. They update no other columns."""
    n, itemsize = system.n, plan.dtype.itemsize
    factorize = cache.kernel_for(("panel", plan, form), panel_source, plan, form, cache.capabilities)
    spare = INTS + 4 * _exchange_capacity(plan, cache.policies.factorization)
    for k in block[:: form.width]:
        panel = range(k, min(k + form.width, block.stop))
        moves = INTS + 2 * (k - block.start)
        arguments = system.arguments(k * (system.pitch + 1))
        arguments |= {"begins": int(k == 0), "moves": moves, "spare": spare}
        args = factorize.arguments(rows=n - k, size=len(panel), **arguments)
        yield Launch(factorize, (1,), (form.items,), args, False, 2 * len(panel) * (n - k) * itemsize)
        if panel.stop < block.stop:
            update = Update(panel, form.width, block.stop - panel.stop, moves)
            yield from _update_launches(cache, plan, system, update)


def _exchange_launch(
    cache: KernelCache, plan: FactorizationPlan, width: int, system: LinearSystem, block: range
) -> Launch:
    """Return the launch that exchanges the rows of a block's panels and merges their exchanges into one."""
    size = len(block)
    kernel = cache.kernel_for(("exchange", plan, width), exchange_source, plan, width, cache.capabilities)
    args = kernel.arguments(columns=size, **system.arguments(block.start * (system.pitch + 1)))
    return Launch(kernel, (-(-size // plan.lines),), (plan.lines,), args, False, size**2 * plan.dtype.itemsize)


def _update_launches(
    cache: KernelCache, plan: FactorizationPlan, system: LinearSystem, update: Update
) -> Iterator[Launch]:
    """Yield the launches that exchange rows of the lines, solve them by the block's triangle, and update the rest."""
    n, pitch, work = system.n, system.pitch, system.work
    block, width, lines, moves = update
    first, end = block.start, block.stop
    form = SubstitutionPlan(block=width, unit=True, swapped=True)
    right_sides = Lines(work, end * pitch + first, pitch, 1)
    exchanges = Exchanges(system.ints, moves)
    triangle = Lines(work, first * (pitch + 1), 1, pitch)
    operands = SubstitutionOperands(triangle, right_sides, right_sides, exchanges)
    yield substitution(cache, plan, form, operands, lines, len(block))
    if end < n:
        following, below = range(end, end + lines), range(end, n)
        solved, factors = system.view(following, block), system.view(block, below)
        yield update_launch(cache, solved, factors, system.view(following, below))


def _exchange_capacity(plan: FactorizationPlan, policy: FactorizationPolicy) -> int:
    """Return the maximum of columns with stored row exchanges."""
    return max(plan.block, policy.panel, policy.tall_panel)


def _back_launches(
    cache: KernelCache, plan: FactorizationPlan, system: LinearSystem, result: Memory
) -> Iterator[Launch]:
    """Yield the launches that solve the right sides with U, from its end, into the columns of the result."""
    n, columns, pitch, work = system.n, system.columns, system.pitch, system.work
    form, right_sides = SubstitutionPlan(block=plan.block), range(n, n + columns)
    for k in reversed(range(0, n, plan.block)):
        size = min(plan.block, n - k)
        last = k + size - 1
        operands = SubstitutionOperands(
            triangle=Lines(work, last * (pitch + 1), -1, -pitch),
            x=Lines(work, n * pitch + last, pitch, -1),
            y=Lines(result, last * columns, 1, -columns),
        )
        yield substitution(cache, plan, form, operands, columns, size)
        if k:
            solved = leaf(result, (columns, size), (1, columns), k * columns, system.dtype)
            above = system.view(range(k, k + size), range(k))
            yield update_launch(cache, solved, above, system.view(right_sides, range(k)))


# Substitution ---------------------------------------------------------------------------------


class Lines(NamedTuple):
    """Lines in memory: the offset of the first one, and the strides between lines and between elements."""

    memory: Memory
    offset: int
    pitch: int
    step: int


class Exchanges(NamedTuple):
    """Memory and offset of row exchanges."""

    memory: Memory
    offset: int


class SubstitutionOperands(NamedTuple):
    """The rows of the triangular block, the right sides `x`, the solutions `y`, and row exchanges to apply first."""

    triangle: Lines
    x: Lines
    y: Lines
    exchanges: Exchanges | None = None

    def arguments(self) -> dict[str, Any]:
        """Return the kernel's arguments by name."""
        t, x, y, exchanges = self
        values: dict[str, Any] = {"tp": t.memory.buffer, "to": t.offset, "ts": t.pitch, "tk": t.step}
        values |= {"xp": x.memory.buffer, "xo": x.offset, "xl": x.pitch, "xs": x.step}
        values |= {"yp": y.memory.buffer, "yo": y.offset, "yl": y.pitch, "ys": y.step}
        if exchanges is not None:
            values |= {"moves": exchanges.memory.buffer, "mo": exchanges.offset}
        return values


def substitution(
    cache: KernelCache,
    plan: FactorizationPlan,
    form: SubstitutionPlan,
    operands: SubstitutionOperands,
    lines: int,
    size: int,
) -> Launch:
    """Return the launch that solves `lines` right sides by a triangular block of `size` rows."""
    kernel = cache.kernel_for(("substitute", plan, form), substitute_source, plan, form, cache.capabilities)
    args = kernel.arguments(lines=lines, size=size, **operands.arguments())
    nbytes = 2 * lines * size * plan.dtype.itemsize
    return Launch(kernel, (-(-lines // plan.lines),), (plan.lines,), args, False, nbytes)
