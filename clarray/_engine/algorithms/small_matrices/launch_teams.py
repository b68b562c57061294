"""Launch orthogonal factorizations of stacks of small matrices."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from clarray._engine.algorithms.matmul.plan import batch_numbers, merge_batch
from clarray._engine.algorithms.small_matrices.plan import work_dtype
from clarray._engine.algorithms.small_matrices.plan_teams import FAILURES, OrthogonalProblem, TeamsPlan, teams_plan
from clarray._engine.algorithms.small_matrices.source_teams import outputs, teams_source
from clarray._engine.expr.node import EAGER, Node, contiguous_leaf, memory_of
from clarray._engine.launch.kernel_cache import KernelCache, Launch, device_of, kernel_cache_of
from clarray._engine.launch.operands import leaf_arguments
from clarray._engine.runtime import Device, Memory

_INT32 = np.dtype(np.int32)
_RESIDENT = 8  # work-groups with scratch memory per compute unit


def decompose(operation: str, a: Node, mode: str, upper: bool = False) -> tuple[Node, ...]:
    """Compute an orthogonal factorization of every matrix of a stack.

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
        New leaves. 'qr': (Q, R), (R,) or (h, tau). 'eigh': ascending eigenvalues and eigenvectors. 'svd': U,
        descending singular values and V^H. In mode 'values' the values alone.

    Raises
    ------
    LinAlgError
        A matrix has an element that is not finite ('eigh' and 'svd'). To find out, the call waits for the device.

    References
    ----------
    G. Golub, C. Van Loan, "Matrix Computations", 4th edition (2013), 5.1, 8.5 and 8.6.3: Householder reflections,
    Jacobi rotations of Hermitian matrices, and one-sided rotations (Hestenes).
    R. Brent, F. Luk, "The solution of singular-value and symmetric eigenvalue problems on multiprocessor arrays",
    SIAM Journal on Scientific and Statistical Computing 6 (1985): rounds of disjoint pairs of columns.
    """
    device = device_of(a)
    with device.lock:
        layouts = _layouts(operation, mode, *a.shape[-2:])
        real, dtype = outputs(operation, mode), np.dtype(a.dtype.char.lower())
        results = {
            name: _allocate(device, (*a.shape[:-2], *layout.shape), dtype if real[name] else a.dtype)
            for name, layout in layouts.items()
        }
        call = Call(operation, mode, a, upper)
        failed = _run(kernel_cache_of(device), call, layouts, results)
        if failed is not None and device.read_scalar(failed, 0, _INT32):
            raise LinAlgError(FAILURES[operation])
        if a.flags & EAGER:
            device.synchronize()
    return tuple(results[name] for name in _result_names(operation, *a.shape[-2:]) if name in results)


class Call(NamedTuple):
    """The arguments of `decompose`."""

    operation: str
    mode: str
    a: Node
    upper: bool

    @property
    def flipped(self) -> bool:
        """Whether the kernel reads the transposed matrices."""
        return self.upper or (self.operation == "svd" and self.a.shape[-2] < self.a.shape[-1])


class Layout(NamedTuple):
    """The shape of a result of a matrix, and its strides along the axes of the kernel's result."""

    shape: tuple[int, ...]
    steps: tuple[int, int]


def result_shapes(operation: str, mode: str, m: int, n: int) -> list[tuple[int, ...]]:
    """Return the shapes of the results of `decompose` for a single matrix."""
    layouts = _layouts(operation, mode, m, n)
    return [layouts[name].shape for name in _result_names(operation, m, n) if name in layouts]


def _result_names(operation: str, m: int, n: int) -> str:
    """Return the kernel's names of the results, in NumPy's order."""
    return "yx" if operation == "eigh" else "zyx" if operation == "svd" and m < n else "xyz"


def _layouts(operation: str, mode: str, m: int, n: int) -> dict[str, Layout]:
    """Return the layout of each result, by the kernel's name."""
    k = min(m, n)
    if operation == "qr":
        if mode == "raw":
            return {"x": Layout((n, m), (1, m)), "y": Layout((k,), (1, 0))}
        columns = m if mode == "complete" else k
        r = {"y": Layout((columns, n), (n, 1))}
        return r if mode == "r" else {"x": Layout((m, columns), (columns, 1)), **r}
    if mode == "values":
        return {"y": Layout((k,), (1, 0))}
    if operation == "eigh":
        return {"x": Layout((n, n), (n, 1)), "y": Layout((n,), (1, 0))}
    rows = max(m, n)
    columns = rows if mode == "full" else k
    if m < n:
        return {"x": Layout((columns, rows), (1, rows)), "y": Layout((k,), (1, 0)), "z": Layout((k, k), (k, 1))}
    return {"x": Layout((rows, columns), (columns, 1)), "y": Layout((k,), (1, 0)), "z": Layout((k, k), (1, k))}


def _allocate(device: Device, shape: tuple[int, ...], dtype: np.dtype) -> Node:
    return contiguous_leaf(device.allocate(prod(shape) * dtype.itemsize), shape, dtype)


def _problem(cache: KernelCache, call: Call, rank: int) -> OrthogonalProblem:
    operation, mode, a, _ = call
    m, n = a.shape[-2:][:: -1 if call.flipped else 1]
    thin = min(m, n) if operation == "qr" else n
    return OrthogonalProblem(
        operation=operation,
        mode=mode,
        rows=m,
        columns=n,
        factor_columns=m if mode in ("complete", "full") else thin,
        dtype=a.dtype,
        work=work_dtype(a.dtype, cache.policies.small_matrices, cache.capabilities.fp64),
        flipped=call.flipped,
        rank=rank,
    )


def _run(cache: KernelCache, call: Call, layouts: dict[str, Layout], results: dict[str, Node]) -> Memory | None:
    """Launch the kernel; return the memory of the flag that a failure sets, if the operation may fail."""
    device, a = cache.device, call.a
    batch, (strides,) = merge_batch(a.shape[:-2], (a.strides[:-2],))
    matrices = prod(a.shape[:-2])
    problem = _problem(cache, call, len(batch))
    plan = teams_plan(problem, cache.policies, cache.capabilities)
    kernel = cache.kernel_for(("orthogonal", plan), teams_source, plan, cache.capabilities)
    groups = _groups(plan, matrices, cache.units)
    values = leaf_arguments(a=a) | {f"{name}p": memory_of(node).buffer for name, node in results.items()}
    flag = scratch = None
    if call.operation in FAILURES:
        flag = device.allocate(_INT32.itemsize)
        device.fill_zero(flag)
        values["flag"] = flag.buffer
    if plan.scratch:
        scratch = device.allocate(groups * plan.teams * plan.lanes * plan.elements * plan.work.itemsize)
        values["scratch"] = scratch.buffer
    values |= {"m": problem.rows, "n": problem.columns, "wanted": problem.factor_columns}
    values |= {"matrices": matrices, "batch": batch_numbers(batch, strides)}
    values |= zip(("as", "ak"), a.strides[-2:][:: -1 if call.flipped else 1], strict=True)
    for name, (shape, (row, column)) in layouts.items():
        values |= {f"{name}m": prod(shape), f"{name}s": row, f"{name}k": column}
    args = kernel.arguments(**values)
    nbytes = sum(x.size * x.dtype.itemsize for x in (a, *results.values()))
    inline = 64 * a.size * problem.columns <= cache.policies.matmul.inline_work
    Launch(kernel, (groups,), (plan.items * plan.teams,), args, inline, nbytes, scratch).run()
    return flag


def _groups(plan: TeamsPlan, matrices: int, units: int) -> int:
    groups = -(-matrices // (plan.lanes * plan.teams))
    return min(groups, _RESIDENT * units) if plan.chunked or plan.scratch else groups
