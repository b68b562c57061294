"""Launches of factorizations of small matrices: made and run at once, failures told when they have been looked at."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.linalg import LinAlgError

from clarray._engine.algorithms.matmul.plan import batch_numbers, merge_batch
from clarray._engine.algorithms.small_matrices.plan import (
    FAILURES,
    SmallMatricesPlan,
    small_matrices_plan,
    takes,
    work_dtype,
)
from clarray._engine.algorithms.small_matrices.source import small_matrices_source
from clarray._engine.expr.layout import aligned, starts_aligned
from clarray._engine.expr.node import EAGER, Node, contiguous_leaf, memory_of
from clarray._engine.launch.kernel_cache import KernelCache, Launch, device_of, kernel_cache_of
from clarray._engine.launch.operands import leaf_arguments
from clarray._engine.runtime import Device, Memory

_INT32 = np.dtype(np.int32)
_RESIDENT = 16  # work-groups per compute unit, each with memory of its own


def takes_stack(device: Device, extent: int, matrices: int) -> bool:
    """Whether the device computes `matrices` of so many rows itself, rather than the host's library."""
    policy, capabilities = kernel_cache_of(device).policies.small_matrices, device.capabilities
    return takes(policy, extent, matrices, capabilities.host_memory)


def dtype_of_work(device: Device, dtype: np.dtype) -> np.dtype:
    """What the device computes a factorization in."""
    return work_dtype(dtype, kernel_cache_of(device).policies.small_matrices, device.capabilities.fp64)


def factorize(operation: str, a: Node, b: Node | None = None, upper: bool = False) -> tuple[Node, ...]:
    """Do one operation with every matrix of a stack.

    Parameters
    ----------
    operation : str
        'cholesky', 'det', 'slogdet', 'inv' or 'solve'.
    a : Node
        A leaf (..., n, n) of float32, float64, complex64 or complex128, with elements.
    b : Node, optional
        A leaf (..., n, columns) of the same dtype, for 'solve'; stacks are broadcast against each other.
    upper : bool
        Read the upper triangle and give the upper factor ('cholesky').

    Returns
    -------
    tuple of Node
        New leaves, one for each result.

    Raises
    ------
    LinAlgError
        A matrix has no such result; the device is waited for.

    References
    ----------
    A. Haidar, T. Dong, P. Luszczek, S. Tomov, J. Dongarra, "Batched matrix computations on hardware accelerators
    based on GPUs", International Journal of High Performance Computing Applications 29 (2015).
    """
    device = device_of((a, b) if b is not None else (a,))
    with device.lock:
        cache = kernel_cache_of(device)
        columns = a.shape[-1] if b is None else b.shape[-1]
        stack = a.shape[:-2] if b is None else np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        found = _results(device, operation, stack, a.shape[-1], columns, a.dtype)
        failed = _run(cache, operation, a, b, upper, columns, stack, found)
        if failed is not None and device.read_scalar(failed, 0, _INT32):
            raise LinAlgError(FAILURES[operation])
        if any(node.flags & EAGER for node in (a, b) if node is not None):
            device.synchronize()
    return found


def _results(
    device: Device, operation: str, stack: tuple[int, ...], extent: int, columns: int, dtype: np.dtype
) -> tuple[Node, ...]:
    """Leaves for the results, whose elements the memory happens to hold."""
    shape = stack if operation in ("det", "slogdet") else (*stack, extent, columns)
    dtypes = [dtype, np.dtype(dtype.char.lower())] if operation == "slogdet" else [dtype]
    return tuple(contiguous_leaf(device.allocate(prod(shape) * d.itemsize), shape, d) for d in dtypes)


def _run(
    cache: KernelCache,
    operation: str,
    a: Node,
    b: Node | None,
    upper: bool,
    columns: int,
    stack: tuple[int, ...],
    found: tuple[Node, ...],
) -> Memory | None:
    """Launch it; give the memory of the flag that is set where a matrix fails, if one may."""
    device, policies = cache.device, cache.policies
    operands = [a] if b is None else [a, b]
    steps = tuple(aligned(x.shape[:-2], x.strides[:-2], len(stack)) for x in operands)
    batch, strides = merge_batch(stack, steps)
    extent, matrices = a.shape[-1], prod(stack)
    work = work_dtype(a.dtype, policies.small_matrices, cache.capabilities.fp64)
    plan = small_matrices_plan(
        operation,
        extent,
        columns,
        a.dtype,
        work,
        upper and work.kind == "c",
        a.strides[-1] == 1 and starts_aligned(a.dtype, a.offset, *a.strides[:-1]),
        len(batch),
        policies.small_matrices,
        cache.capabilities.local_bytes,
        cache.capabilities.max_work_group,
        policies.elementwise.chunked,
        policies.matmul.multiply_add,
    )
    kernel = cache.kernel_for(("small matrices", plan), small_matrices_source, plan, cache.capabilities)
    groups = _groups(plan, matrices, cache.units)
    values = leaf_arguments(a=a) | {f"{name}p": memory_of(x).buffer for name, x in zip("xy", found, strict=False)}
    flag = keep = None
    if operation in FAILURES:
        flag = device.allocate(_INT32.itemsize)
        device.fill_zero(flag)
        values["flag"] = flag.buffer
    if plan.scratch:
        keep = device.allocate(groups * extent * (extent + columns) * work.itemsize)
        values["scratch"] = keep.buffer
    turned = -1 if upper else 1  # the other triangle is this one's of the transposed matrix
    values |= zip(("as", "ak"), a.strides[-2:][::turned], strict=True)
    if b is not None:
        values |= leaf_arguments(b=b) | {"bs": b.strides[-2], "bk": b.strides[-1]}
    values |= {"n": extent, "columns": columns, "matrices": matrices, "batch": batch_numbers(batch, *strides)}
    values |= {"xm": extent * columns, **dict(zip(("xs", "xk"), (columns, 1)[::turned], strict=True))}
    args = kernel.arguments(**values)
    nbytes = sum(x.size * x.dtype.itemsize for x in (*operands, *found))
    inline = matrices * extent**2 * (extent + columns) <= policies.matmul.inline_work
    Launch(kernel, (groups,), (plan.items,), args, inline, nbytes, keep).run()
    return flag


def _groups(plan: SmallMatricesPlan, matrices: int, units: int) -> int:
    if plan.shared:
        return min(matrices, _RESIDENT * units) if plan.scratch else matrices
    items = -(-matrices // plan.lanes)
    return min(items, 8 * units) if plan.chunked else -(-items // plan.items)
