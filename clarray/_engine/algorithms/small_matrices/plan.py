"""Plan factorizations of small matrices: which form a stack takes, and with how much local memory.

item    a matrix in a work-item's private memory, on a CPU one in each lane of its vectors
        item 0: A0 [A1 A2 A3]   item 1: A4 [A5 A6 A7] ...
group   a matrix in a work-group's local memory, or in global memory if it does not fit; the work-items share the
        rows and columns of each step
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clarray._engine.algorithms.small_matrices.policy import SmallMatricesPolicy
from clarray._engine.expr.layout import ALIGNMENT
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.tuning.policy import Policies

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities

OPERATIONS = ("cholesky", "det", "slogdet", "inv", "solve")
FAILURES = {  # NumPy's messages; determinants cannot fail, without pivots they are 0
    "cholesky": "Matrix is not positive definite",
    "inv": "Singular matrix",
    "solve": "Singular matrix",
}
PARTS = 16  # work-items that search for a pivot, each in its part of the column

# capacities that kernels are rendered for, if the extent itself is an argument
_CAPACITIES = (4, 8, 16, 24, 32, 48, 64, 96, 128)
_COLUMNS = (1, 4, 16)  # numbers of right sides that local memory may hold at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallMatricesProblem:
    """An operation on a stack of matrices.

    Parameters
    ----------
    operation : str
        One of `OPERATIONS`.
    extent, columns : int
        Rows of a matrix, and right sides of each.
    dtype, work : dtype
        Of operands and results, and of the arithmetic.
    flipped : bool
        See `SmallMatricesPlan`.
    aligned : bool
        Whether the elements of each row are contiguous and begin at an aligned vector.
    rank : int
        Axes of the stack.
    """

    operation: str
    extent: int
    columns: int
    dtype: np.dtype
    work: np.dtype
    flipped: bool
    aligned: bool
    rank: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallMatricesPlan:
    """The specialization of the source.

    Parameters
    ----------
    operation : str
        One of `OPERATIONS`.
    dtype, work : dtype
        Of operands and results, and of the arithmetic.
    flipped : bool
        Whether the matrices are read, and the results written, transposed and conjugated (`cholesky`).
    capacity : int
        Maximum of rows and columns.
    items : int
        Work-items of a work-group.
    shared : bool
        Whether a work-group shares a matrix.
    local : bool
        Whether a shared matrix is in local memory.
    local_columns : int
        Right sides in local memory at a time. 0: all are in global memory.
    lanes : int
        Matrices in the vectors of a work-item.
    unrolled : bool
        Whether `capacity` is the extent, and loops are unrolled.
    load_width, store_width : int
        Elements per vector when a work-item loads its matrix, and when it stores an inverse.
    chunked : bool
        Work-items process contiguous chunks of the stack (CPU), or stride over it (GPU).
    rank : int
        Axes of the stack.
    """

    operation: str
    dtype: np.dtype
    work: np.dtype
    flipped: bool
    capacity: int
    items: int
    shared: bool
    local: bool
    local_columns: int
    lanes: int
    unrolled: bool
    load_width: int
    store_width: int
    chunked: bool
    rank: int

    @property
    def right_sides(self) -> bool:
        """Whether right sides are eliminated together with the matrix."""
        return self.operation in ("inv", "solve")

    @property
    def scratch(self) -> bool:
        """Whether a work-group works in global memory."""
        return self.shared and not (self.local and (self.local_columns or not self.right_sides))


def work_dtype(dtype: np.dtype, policy: SmallMatricesPolicy, fp64: bool) -> np.dtype:
    """Return the dtype of the arithmetic for operands of a dtype."""
    return np.result_type(dtype, np.float64) if policy.widened and fp64 else dtype


def vector_types(scalar: str, lanes: int) -> dict[str, str]:
    """Return the kernel's C types: of real numbers, masks and integers, as vectors and as scalars."""
    count = "" if lanes == 1 else str(lanes)
    mask = "long" if count and scalar == "double" else "int"
    return {"R": scalar + count, "S": scalar, "L": mask, "M": mask + count, "I": "int" + count}


def is_supported(policy: SmallMatricesPolicy, extent: int, matrices: int, host_memory: bool) -> bool:
    """Return whether the device, rather than LAPACK on the host, factorizes a stack of matrices."""
    if not host_memory:
        return extent <= policy.most
    return extent <= policy.most_shared and matrices * extent**2 >= policy.least_shared


def small_matrices_plan(
    problem: SmallMatricesProblem, policies: Policies, capabilities: Capabilities
) -> SmallMatricesPlan:
    """Choose the form of a factorization for a device."""
    policy, extent = policies.small_matrices, problem.extent
    shared = extent * extent * problem.work.itemsize > policy.item_bytes
    unrolled = policy.unrolled and not shared
    capacity = extent if unrolled else capacity_for(extent)
    items, lanes, local, local_columns = policy.work_group, 1, False, 0
    if shared:
        items = next((n for rows, n in policy.items if extent <= rows), policy.items[-1][1])
        items = min(items, 1 << (capabilities.max_work_group.bit_length() - 1))
        local, local_columns = _local_memory(problem, capacity, min(capabilities.local_bytes, policy.local_bytes))
    elif policy.vector_bytes:
        lanes = policy.vector_bytes // real_size(problem.work)
    width = _vector_width(problem) if unrolled and lanes == 1 else 1
    return SmallMatricesPlan(
        operation=problem.operation,
        dtype=problem.dtype,
        work=problem.work,
        flipped=problem.flipped,
        capacity=capacity,
        items=items,
        shared=shared,
        local=local,
        local_columns=local_columns,
        lanes=lanes,
        unrolled=unrolled,
        load_width=width if problem.aligned else 1,
        store_width=width if problem.operation == "inv" else 1,
        chunked=policies.elementwise.chunked,
        rank=problem.rank,
    )


def capacity_for(extent: int) -> int:
    """Return the least extent that kernels are rendered for and that is not less than `extent`."""
    return next((capacity for capacity in _CAPACITIES if capacity >= extent), extent)


def real_size(dtype: np.dtype) -> int:
    """Return the bytes of a number, or of the real part of a complex one."""
    return dtype.itemsize // (2 if dtype.kind == "c" else 1)


def _local_memory(problem: SmallMatricesProblem, capacity: int, local_bytes: int) -> tuple[bool, int]:
    """Return whether a matrix fits into local memory, and the number of right sides that fit with it."""
    size = problem.work.itemsize
    # the matrix, the partial maxima of the pivot search with their positions, the row order, and padding
    free = local_bytes - PARTS * (real_size(problem.work) + 4) - 4 * capacity - 64 - capacity * (capacity + 1) * size
    if free < 0 or problem.operation not in ("inv", "solve"):
        return free >= 0, 0
    needed = next((c for c in _COLUMNS if c >= problem.columns), _COLUMNS[-1])
    return True, max((c for c in _COLUMNS if c <= needed and c * capacity * size <= free), default=0)


def _vector_width(problem: SmallMatricesProblem) -> int:
    """Return the elements of an aligned vector that divides a row evenly, or 1."""
    work = problem.work
    if work.kind != "f" or problem.operation == "cholesky" or work != problem.dtype:
        return 1
    width = ALIGNMENT // work.itemsize
    return 1 if problem.extent % width else width
