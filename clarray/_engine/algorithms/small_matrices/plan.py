"""The plan of factorizations of small matrices: which form a stack takes, and with how much local memory.

item    a matrix in a work-item's own memory, on a CPU one in each lane of its vectors
        item 0: A0 [A1 A2 A3]   item 1: A4 [A5 A6 A7] ...
group   a matrix in a work-group's local memory, or in the device's where that is too small; its work-items share
        the rows and columns of each step
"""

from __future__ import annotations

import numpy as np

from clarray._engine.algorithms.small_matrices.policy import SmallMatricesPolicy
from clarray._engine.expr.layout import ALIGNMENT
from clarray._engine.fast_dataclass import dataclass

OPERATIONS = ("cholesky", "det", "slogdet", "inv", "solve")
FAILURES = {  # of a matrix, in NumPy's words; without pivots determinants are 0
    "cholesky": "Matrix is not positive definite",
    "inv": "Singular matrix",
    "solve": "Singular matrix",
}
PARTS = 16  # work-items that look for a pivot, each in its part of the column

ROOMS = (
    4,
    8,
    16,
    24,
    32,
    48,
    64,
    96,
    128,
)  # extents that kernels are made for, where the extent itself is an argument
_COLUMNS = (1, 4, 16)  # columns of right sides that are held in local memory at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallMatricesPlan:
    """What the source is specialised on.

    Parameters
    ----------
    operation : str
        One of `OPERATIONS`.
    dtype, work : dtype
        Of operands and results, and of the arithmetic.
    flipped : bool
        Whether the matrices are read, and the results written, transposed and conjugated (`cholesky`).
    room : int
        Rows and columns there is room for.
    items : int
        Work-items of a work-group.
    shared : bool
        Whether a work-group shares a matrix.
    local : bool
        Whether it is in local memory then.
    held : int
        Right sides in local memory at a time; 0: all are in the device's.
    lanes : int
        Matrices side by side in a work-item.
    unrolled : bool
        `room` is the extent.
    loaded, stored : int
        Elements of a matrix's row that a work-item of its own loads, and stores of an inverse, at once.
    chunked : bool
        Work-items take contiguous chunks of the stack (CPU), or stride over it (GPU).
    rank : int
        Axes of the stack.
    multiply_add : str
        OpenCL's function.
    """

    operation: str
    dtype: np.dtype
    work: np.dtype
    flipped: bool
    room: int
    items: int
    shared: bool
    local: bool
    held: int
    lanes: int
    unrolled: bool
    loaded: int
    stored: int
    chunked: bool
    rank: int
    multiply_add: str

    @property
    def right_sides(self) -> bool:
        """Whether columns are eliminated along."""
        return self.operation in ("inv", "solve")

    @property
    def scratch(self) -> bool:
        """Whether a work-group works in the device's memory."""
        return self.shared and not (self.local and (self.held or not self.right_sides))


def work_dtype(dtype: np.dtype, policy: SmallMatricesPolicy, fp64: bool) -> np.dtype:
    """What results of a dtype are computed in."""
    return np.result_type(dtype, np.float64) if policy.widened and fp64 else dtype


def vector_types(scalar: str, lanes: int) -> dict[str, str]:
    """The kernel's types of real parts, of what comparisons give and its elements, and of exponents."""
    count = "" if lanes == 1 else str(lanes)
    mask = "long" if count and scalar == "double" else "int"
    return {"R": scalar + count, "S": scalar, "L": mask, "M": mask + count, "I": "int" + count}


def takes(policy: SmallMatricesPolicy, extent: int, matrices: int, host_memory: bool) -> bool:
    """Whether the device factorizes a stack, rather than LAPACK on the host."""
    if not host_memory:
        return extent <= policy.most
    return extent <= policy.most_shared and matrices * extent**2 >= policy.least_shared


def small_matrices_plan(
    operation: str,
    extent: int,
    columns: int,
    dtype: np.dtype,
    work: np.dtype,
    flipped: bool,
    aligned: bool,
    rank: int,
    policy: SmallMatricesPolicy,
    local_bytes: int,
    most_items: int,
    chunked: bool,
    multiply_add: str,
) -> SmallMatricesPlan:
    """Choose the form.

    Parameters
    ----------
    extent : int
        Rows of a matrix.
    columns : int
        Right sides of each.
    aligned : bool
        Whether every row of the matrices begins where an aligned vector may, and its elements are neighbours.
    local_bytes, most_items : int
        What the device has for a work-group.
    """
    size = work.itemsize
    shared = extent * extent * size > policy.item_bytes
    unrolled = policy.unrolled and not shared
    room = extent if unrolled else next((r for r in ROOMS if r >= extent), extent)
    items, lanes, local, held = policy.work_group, 1, False, 0
    if shared:
        wanted = next((n for rows, n in policy.items if extent <= rows), policy.items[-1][1])
        items = min(wanted, 1 << (most_items.bit_length() - 1))
        real = size // 2 if work.kind == "c" else size
        # the pivot's partial maxima with their places, the order of the rows, and what the compiler aligns
        free = min(local_bytes, policy.local_bytes) - PARTS * (real + 4) - 4 * room - 64 - room * (room + 1) * size
        local = free >= 0
        if local and operation in ("inv", "solve"):
            least = next((c for c in _COLUMNS if c >= columns), _COLUMNS[-1])
            held = max((c for c in _COLUMNS if c <= least and c * room * size <= free), default=0)
    elif policy.vector_bytes:
        lanes = policy.vector_bytes // (size // 2 if work.kind == "c" else size)
    wide = ALIGNMENT // size if unrolled and lanes == 1 and work.kind == "f" and operation != "cholesky" else 1
    if work != dtype or extent % wide:
        wide = 1
    return SmallMatricesPlan(
        operation=operation,
        dtype=dtype,
        work=work,
        flipped=flipped,
        room=room,
        items=items,
        shared=shared,
        local=local,
        held=held,
        lanes=lanes,
        unrolled=unrolled,
        loaded=wide if aligned else 1,
        stored=wide if operation == "inv" else 1,
        chunked=chunked,
        rank=rank,
        multiply_add=multiply_add,
    )
