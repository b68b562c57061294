"""The plan of orthogonal factorizations of small matrices: QR, eigenvalues of Hermitian ones, singular values.

    GPU   team 0: A0   team 1: A1 | team 0: A2 ...     work-items of a team share a matrix, a work-group has some teams
    CPU   item 0: [A0 A1 A2 A3]     item 1: [A4 ...     a work-item has one in each lane of its vectors

The matrix, and what it is multiplied by, are in local memory where it has room for them, else in the device's.
"""

from __future__ import annotations

import numpy as np

from clarray._engine.algorithms.small_matrices.plan import ROOMS
from clarray._engine.algorithms.small_matrices.policy import SmallMatricesPolicy
from clarray._engine.fast_dataclass import dataclass

FAILURES = {  # of a matrix, in NumPy's words
    "eigh": "Eigenvalues did not converge",
    "svd": "SVD did not converge",
}
MOST_SWEEPS = 60  # a random matrix takes 5 to 9


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamsPlan:
    """What the source is specialised on.

    Parameters
    ----------
    operation : str
        'qr', 'eigh' or 'svd'.
    mode : str
        What is wanted: 'reduced', 'complete', 'r' or 'raw' of 'qr', 'vectors' or 'values' of 'eigh', 'full', 'reduced'
        or 'values' of 'svd'.
    dtype, work : dtype
        Of operands and results, and of the arithmetic.
    flipped : bool
        Whether the matrices are read conjugated, by transposed strides: the other triangle ('eigh'), or what has more
        columns than rows ('svd').
    spaces : tuple of (int, int)
        Rows and the elements from row to row of each matrix there is room for.
    small : tuple of (int, int)
        Rows and columns that vectors beside them have room for.
    items, teams : int
        Work-items of a team, a power of two, and teams of a work-group.
    spread : int
        Work-items that share a pair of columns ('svd').
    scratch : bool
        Whether matrices are in the device's memory.
    lanes : int
        Matrices side by side in a work-item.
    chunked : bool
        Work-items take contiguous chunks of the stack (CPU), or stride over it (GPU).
    rank : int
        Axes of the stack.
    multiply_add : str
        OpenCL's function.
    """

    operation: str
    mode: str
    dtype: np.dtype
    work: np.dtype
    flipped: bool
    spaces: tuple[tuple[int, int], ...]
    small: tuple[int, int]
    items: int
    teams: int
    spread: int
    scratch: bool
    lanes: int
    chunked: bool
    rank: int
    multiply_add: str

    @property
    def elements(self) -> int:
        """Of the matrices of a team there is room for."""
        return sum(rows * pitch for rows, pitch in self.spaces)


def teams_plan(
    operation: str,
    mode: str,
    rows: int,
    columns: int,
    wanted: int,
    dtype: np.dtype,
    work: np.dtype,
    flipped: bool,
    rank: int,
    policy: SmallMatricesPolicy,
    local_bytes: int,
    most_items: int,
    chunked: bool,
    multiply_add: str,
) -> TeamsPlan:
    """Choose the form.

    Parameters
    ----------
    rows, columns, wanted : int
        Of a matrix as it is read, and of its orthogonal factor.
    local_bytes, most_items : int
        What the device has for a work-group.
    """
    real = work.itemsize // (2 if work.kind == "c" else 1)
    lanes = max(1, policy.vector_bytes // real)
    even = columns + columns % 2
    room_rows, room_columns = (_room(extent) for extent in (rows, max(even, wanted) if operation != "qr" else wanted))
    items = teams = 1
    if lanes == 1:
        wide = next((n for extent, n in policy.team_items if columns <= extent), policy.team_items[-1][1])
        items = min(wide, 1 << (most_items.bit_length() - 1))
        teams = max(1, policy.work_group // items)
    if operation == "eigh":
        room_rows = room_columns = _room(even)
    elif operation == "qr":
        room_columns = _room(max(columns, wanted))
    odd = int(items > 1)  # rows begin in different banks of local memory
    spaces = [(room_rows, room_columns + odd)]
    if operation != "qr" and mode != "values":
        spaces.append((_room(columns), _room(even) + odd))
    small = max(room_rows, room_columns), room_columns
    elements = sum(r * c for r, c in spaces)
    pairs = -(-room_columns // 2)
    spread = max(1, items // (1 << (pairs - 1).bit_length())) if operation == "svd" else 1
    each = (elements + 2 * small[0] + 3 * pairs * spread) * work.itemsize * lanes + 64
    free = min(local_bytes, policy.local_bytes)
    while teams > 1 and teams * each > free:
        teams //= 2
    return TeamsPlan(
        operation=operation,
        mode=mode,
        dtype=dtype,
        work=work,
        flipped=flipped,
        spaces=tuple(spaces),
        small=small,
        items=items,
        teams=teams,
        spread=spread,
        scratch=teams * each > free,
        lanes=lanes,
        chunked=chunked,
        rank=rank,
        multiply_add=multiply_add,
    )


def _room(extent: int) -> int:
    return next((room for room in ROOMS if room >= extent), extent)
