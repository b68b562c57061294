"""Launches of orthogonal factorizations of small matrices."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.linalg import LinAlgError

from clarray._engine.algorithms.matmul.plan import batch_numbers, merge_batch
from clarray._engine.algorithms.small_matrices.plan import work_dtype
from clarray._engine.algorithms.small_matrices.plan_teams import FAILURES, TeamsPlan, teams_plan
from clarray._engine.algorithms.small_matrices.source_teams import outputs, teams_source
from clarray._engine.expr.node import EAGER, Node, contiguous_leaf, memory_of
from clarray._engine.launch.kernel_cache import KernelCache, Launch, device_of, kernel_cache_of
from clarray._engine.launch.operands import leaf_arguments
from clarray._engine.runtime import Device, Memory

_INT32 = np.dtype(np.int32)
_RESIDENT = 8  # work-groups per compute unit, each with memory of its own


def decompose(operation: str, a: Node, mode: str, upper: bool = False) -> tuple[Node, ...]:
    """Factorize every matrix of a stack into orthogonal factors and others.

    Parameters
    ----------
    operation, mode : str
        See `TeamsPlan`.
    a : Node
        A leaf (..., m, n) of float32, float64, complex64 or complex128, with elements.
    upper : bool
        Read the upper triangle ('eigh').

    Returns
    -------
    tuple of Node
        New leaves: (Q, R), (R,) or (h, tau); ascending eigenvalues and their vectors; U, descending singular values
        and V^H; the values alone in mode 'values'.

    Raises
    ------
    LinAlgError
        A matrix has an element that is not finite ('eigh' and 'svd'); the device is waited for.

    References
    ----------
    G. Golub, C. Van Loan, "Matrix Computations", 4th edition (2013), 5.1, 8.5 and 8.6.3: Householder's reflections,
    Jacobi's rotations of Hermitian matrices, and of one side (Hestenes).
    R. Brent, F. Luk, "The solution of singular-value and symmetric eigenvalue problems on multiprocessor arrays",
    SIAM Journal on Scientific and Statistical Computing 6 (1985): rounds of pairs that have no column in common.
    """
    device = device_of((a,))
    with device.lock:
        shapes = _shapes(operation, mode, *a.shape[-2:])
        real, dtype = outputs(operation, mode), np.dtype(a.dtype.char.lower())
        found = {
            name: _room(device, (*a.shape[:-2], *shape), dtype if real[name] else a.dtype)
            for name, (shape, _) in shapes.items()
        }
        failed = _run(kernel_cache_of(device), operation, a, mode, upper, shapes, found)
        if failed is not None and device.read_scalar(failed, 0, _INT32):
            raise LinAlgError(FAILURES[operation])
        if a.flags & EAGER:
            device.synchronize()
    return tuple(found[name] for name in _order(operation, *a.shape[-2:]) if name in found)


def shapes_of_results(operation: str, mode: str, m: int, n: int) -> list[tuple[int, ...]]:
    """The shape of each result of `decompose`, of one matrix."""
    shapes = _shapes(operation, mode, m, n)
    return [shapes[name][0] for name in _order(operation, m, n) if name in shapes]


def _order(operation: str, m: int, n: int) -> str:
    """The kernel's names of the results, in the order of NumPy's."""
    return "yx" if operation == "eigh" else "zyx" if operation == "svd" and m < n else "xyz"


def _shapes(operation: str, mode: str, m: int, n: int) -> dict[str, tuple[tuple[int, ...], tuple[int, int]]]:
    """The shape of each of the kernel's results, and the steps along the axes that the kernel knows."""
    k = min(m, n)
    if operation == "qr":
        wanted = max(k, m) if mode == "complete" else k
        if mode == "raw":
            return {"x": ((n, m), (1, m)), "y": ((k,), (1, 0))}
        r: dict[str, tuple[tuple[int, ...], tuple[int, int]]] = {"y": ((wanted, n), (n, 1))}
        return r if mode == "r" else {"x": ((m, wanted), (wanted, 1)), **r}
    if mode == "values":
        return {"y": ((k,), (1, 0))}
    if operation == "eigh":
        return {"x": ((n, n), (n, 1)), "y": ((n,), (1, 0))}
    long, flipped = max(m, n), m < n
    wanted = long if mode == "full" else k
    if flipped:
        return {"x": ((wanted, long), (1, long)), "y": ((k,), (1, 0)), "z": ((k, k), (k, 1))}
    return {"x": ((long, wanted), (wanted, 1)), "y": ((k,), (1, 0)), "z": ((k, k), (1, k))}


def _room(device: Device, shape: tuple[int, ...], dtype: np.dtype) -> Node:
    return contiguous_leaf(device.allocate(prod(shape) * dtype.itemsize), shape, dtype)


def _run(
    cache: KernelCache,
    operation: str,
    a: Node,
    mode: str,
    upper: bool,
    shapes: dict[str, tuple[tuple[int, ...], tuple[int, int]]],
    found: dict[str, Node],
) -> Memory | None:
    """Launch it; give the memory of the flag that is set where a matrix fails, if one may."""
    device, policies = cache.device, cache.policies
    batch, (strides,) = merge_batch(a.shape[:-2], (a.strides[:-2],))
    matrices = prod(a.shape[:-2])
    turned = upper or (operation == "svd" and a.shape[-2] < a.shape[-1])
    m, n = a.shape[-2:][:: -1 if turned else 1]
    if operation == "qr":
        wanted = max(m, min(m, n)) if mode == "complete" else min(m, n)
    else:
        wanted = m if mode == "full" else n
    plan = teams_plan(
        operation,
        mode,
        m,
        n,
        wanted,
        a.dtype,
        work_dtype(a.dtype, policies.small_matrices, cache.capabilities.fp64),
        turned,
        len(batch),
        policies.small_matrices,
        cache.capabilities.local_bytes,
        cache.capabilities.max_work_group,
        policies.elementwise.chunked,
        policies.matmul.multiply_add,
    )
    kernel = cache.kernel_for(("orthogonal", plan), teams_source, plan, cache.capabilities)
    groups = _groups(plan, matrices, cache.units)
    values = leaf_arguments(a=a) | {f"{name}p": memory_of(node).buffer for name, node in found.items()}
    flag = keep = None
    if operation in FAILURES:
        flag = device.allocate(_INT32.itemsize)
        device.fill_zero(flag)
        values["flag"] = flag.buffer
    if plan.scratch:
        keep = device.allocate(groups * plan.teams * plan.lanes * plan.elements * plan.work.itemsize)
        values["scratch"] = keep.buffer
    values |= {"m": m, "n": n, "wanted": wanted, "matrices": matrices, "batch": batch_numbers(batch, strides)}
    values |= zip(("as", "ak"), a.strides[-2:][:: -1 if turned else 1], strict=True)
    for name, (shape, (row, column)) in shapes.items():
        values |= {f"{name}m": prod(shape), f"{name}s": row, f"{name}k": column}
    args = kernel.arguments(**values)
    nbytes = sum(x.size * x.dtype.itemsize for x in (a, *found.values()))
    inline = 64 * a.size * n <= policies.matmul.inline_work
    Launch(kernel, (groups,), (plan.items * plan.teams,), args, inline, nbytes, keep).run()
    return flag


def _groups(plan: TeamsPlan, matrices: int, units: int) -> int:
    groups = -(-matrices // (plan.lanes * plan.teams))
    return min(groups, _RESIDENT * units) if plan.chunked or plan.scratch else groups
