"""Launch factorizations of stacks of small matrices, and report failures."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from clarray._engine.algorithms.matmul.plan import batch_numbers, merge_batch
from clarray._engine.algorithms.small_matrices.plan import (
    FAILURES,
    SmallMatricesPlan,
    SmallMatricesProblem,
    is_supported,
    small_matrices_plan,
    work_dtype,
)
from clarray._engine.algorithms.small_matrices.source import small_matrices_source
from clarray._engine.expr.layout import aligned, starts_aligned
from clarray._engine.expr.node import EAGER, Node, contiguous_leaf, memory_of
from clarray._engine.launch.kernel_cache import KernelCache, Launch, device_of, kernel_cache_of
from clarray._engine.launch.operands import leaf_arguments
from clarray._engine.runtime import Device, Memory

_INT32 = np.dtype(np.int32)
_RESIDENT = 16  # work-groups with scratch memory per compute unit


def supports_stack(device: Device, extent: int, matrices: int) -> bool:
    """Return whether kernels, rather than LAPACK, factorize `matrices` matrices of `extent` rows for this device."""
    policy, capabilities = kernel_cache_of(device).policies.small_matrices, device.capabilities
    return is_supported(policy, extent, matrices, capabilities.host_memory)


def arithmetic_dtype(device: Device, dtype: np.dtype) -> np.dtype:
    """Return the dtype of a factorization's arithmetic on this device."""
    return work_dtype(dtype, kernel_cache_of(device).policies.small_matrices, device.capabilities.fp64)


def factorize(operation: str, a: Node, b: Node | None = None, upper: bool = False) -> tuple[Node, ...]:
    """Run an operation on every matrix of a stack.

    Parameters
    ----------
    operation : str
        'cholesky', 'det', 'slogdet', 'inv' or 'solve'.
    a : Node
        A leaf (..., n, n) of float32, float64, complex64 or complex128, with elements.
    b : Node, optional
        A leaf (..., n, columns) of the same dtype, for 'solve'. Both stacks are broadcast against each other.
    upper : bool
        Read the upper triangle and return the upper factor ('cholesky').

    Returns
    -------
    tuple of Node
        A new leaf for each result.

    Raises
    ------
    LinAlgError
        A matrix has no such result. To find out, the call waits for the device.

    References
    ----------
    A. Haidar, T. Dong, P. Luszczek, S. Tomov, J. Dongarra, "Batched matrix computations on hardware accelerators
    based on GPUs", International Journal of High Performance Computing Applications 29 (2015).
    """
    device = device_of(a, b) if b is not None else device_of(a)
    with device.lock:
        cache = kernel_cache_of(device)
        stack = a.shape[:-2] if b is None else np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        operands = (a,) if b is None else (a, b)
        call = Call(operation, operands, upper, stack, a.shape[-1], operands[-1].shape[-1])
        results = _allocate_results(device, call)
        failed = _run(cache, call, results)
        if failed is not None and device.read_scalar(failed, 0, _INT32):
            raise LinAlgError(FAILURES[operation])
        if any(node.flags & EAGER for node in operands):
            device.synchronize()
    return results


class Call(NamedTuple):
    """An operation, its operands, the broadcast shape of their stacks, and the rows and right sides of a matrix."""

    operation: str
    operands: tuple[Node, ...]
    upper: bool
    stack: tuple[int, ...]
    extent: int
    columns: int


def _allocate_results(device: Device, call: Call) -> tuple[Node, ...]:
    """Allocate uninitialized leaves for the results."""
    operation, stack, dtype = call.operation, call.stack, call.operands[0].dtype
    shape = stack if operation in ("det", "slogdet") else (*stack, call.extent, call.columns)
    dtypes = [dtype, np.dtype(dtype.char.lower())] if operation == "slogdet" else [dtype]
    return tuple(contiguous_leaf(device.allocate(prod(shape) * d.itemsize), shape, d) for d in dtypes)


def _plan(cache: KernelCache, call: Call, rank: int) -> SmallMatricesPlan:
    a = call.operands[0]
    work = work_dtype(a.dtype, cache.policies.small_matrices, cache.capabilities.fp64)
    problem = SmallMatricesProblem(
        operation=call.operation,
        extent=call.extent,
        columns=call.columns,
        dtype=a.dtype,
        work=work,
        flipped=call.upper and work.kind == "c",
        aligned=a.strides[-1] == 1 and starts_aligned(a.dtype, a.offset, *a.strides[:-1]),
        rank=rank,
    )
    return small_matrices_plan(problem, cache.policies, cache.capabilities)


def _run(cache: KernelCache, call: Call, results: tuple[Node, ...]) -> Memory | None:
    """Launch the kernel; return the memory of the flag that a failure sets, if the operation may fail."""
    operation, operands, upper, stack, extent, columns = call
    device, a = cache.device, operands[0]
    steps = tuple(aligned(x.shape[:-2], x.strides[:-2], len(stack)) for x in operands)
    batch, strides = merge_batch(stack, steps)
    matrices = prod(stack)
    plan = _plan(cache, call, len(batch))
    kernel = cache.kernel_for(("small matrices", plan), small_matrices_source, plan, cache.capabilities)
    groups = _groups(plan, matrices, cache.units)
    values = leaf_arguments(a=a) | {f"{name}p": memory_of(x).buffer for name, x in zip("xy", results, strict=False)}
    flag = scratch = None
    if operation in FAILURES:
        flag = device.allocate(_INT32.itemsize)
        device.fill_zero(flag)
        values["flag"] = flag.buffer
    if plan.scratch:
        scratch = device.allocate(groups * extent * (extent + columns) * plan.work.itemsize)
        values["scratch"] = scratch.buffer
    order = -1 if upper else 1  # the upper triangle is the lower one of the transposed matrix
    values |= zip(("as", "ak"), a.strides[-2:][::order], strict=True)
    if len(operands) > 1:
        b = operands[1]
        values |= leaf_arguments(b=b) | {"bs": b.strides[-2], "bk": b.strides[-1]}
    values |= {"n": extent, "columns": columns, "matrices": matrices, "batch": batch_numbers(batch, *strides)}
    values |= {"xm": extent * columns, **dict(zip(("xs", "xk"), (columns, 1)[::order], strict=True))}
    args = kernel.arguments(**values)
    nbytes = sum(x.size * x.dtype.itemsize for x in (*operands, *results))
    inline = matrices * extent**2 * (extent + columns) <= cache.policies.matmul.inline_work
    Launch(kernel, (groups,), (plan.items,), args, inline, nbytes, scratch).run()
    return flag


def _groups(plan: SmallMatricesPlan, matrices: int, units: int) -> int:
    if plan.shared:
        return min(matrices, _RESIDENT * units) if plan.scratch else matrices
    items = -(-matrices // plan.lanes)
    return min(items, 8 * units) if plan.chunked else -(-items // plan.items)
