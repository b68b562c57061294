"""Plan orthogonal factorizations of small matrices: QR, Hermitian eigenvalues, singular values.

    GPU   team 0: A0   team 1: A1 | team 0: A2 ...     the work-items of a team share a matrix, a work-group has teams
    CPU   item 0: [A0 A1 A2 A3]     item 1: [A4 ...     a work-item has a matrix in each lane of its vectors

The matrix and its orthogonal factor are in local memory if they fit, else in global memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clarray._engine.algorithms.small_matrices.plan import capacity_for, real_size
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.tuning.policy import Policies

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities

FAILURES = {  # NumPy's messages
    "eigh": "Eigenvalues did not converge",
    "svd": "SVD did not converge",
}
MAX_SWEEPS = 60  # a random matrix takes 5 to 9


@dataclass(frozen=True, slots=True, kw_only=True)
class OrthogonalProblem:
    """An orthogonal factorization of a stack of matrices.

    Parameters
    ----------
    operation, mode, flipped
        See `TeamsPlan`.
    rows, columns : int
        Of a matrix after the flip.
    factor_columns : int
        Columns of its orthogonal factor.
    dtype, work : dtype
        Of operands and results, and of the arithmetic.
    rank : int
        Axes of the stack.
    """

    operation: str
    mode: str
    rows: int
    columns: int
    factor_columns: int
    dtype: np.dtype
    work: np.dtype
    flipped: bool
    rank: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamsPlan:
    """The specialization of the source.

    Parameters
    ----------
    operation : str
        'qr', 'eigh' or 'svd'.
    mode : str
        The results: 'reduced', 'complete', 'r' or 'raw' of 'qr', 'vectors' or 'values' of 'eigh', 'full', 'reduced'
        or 'values' of 'svd'.
    dtype, work : dtype
        Of operands and results, and of the arithmetic.
    flipped : bool
        Whether the matrices are read conjugated and transposed: for the upper triangle ('eigh'), or for matrices with
        more columns than rows ('svd').
    spaces : tuple of (int, int)
        Rows and row stride of the memory for each matrix of a team.
    small : tuple of (int, int)
        Capacities of a team's vectors: the larger of rows and columns, and the columns.
    items, teams : int
        Work-items of a team, a power of two, and teams of a work-group.
    spread : int
        Work-items that share a pair of columns ('svd').
    scratch : bool
        Whether matrices are in global memory.
    lanes : int
        Matrices in the vectors of a work-item.
    chunked : bool
        Work-items process contiguous chunks of the stack (CPU), or stride over it (GPU).
    rank : int
        Axes of the stack.
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

    @property
    def elements(self) -> int:
        """Elements of the memory for a team's matrices."""
        return sum(rows * pitch for rows, pitch in self.spaces)


def teams_plan(problem: OrthogonalProblem, policies: Policies, capabilities: Capabilities) -> TeamsPlan:
    """Choose the teams and the memory of a factorization for a device."""
    policy, operation, work = policies.small_matrices, problem.operation, problem.work
    lanes = max(1, policy.vector_bytes // real_size(work))
    items = teams = 1
    if lanes == 1:
        items = next((n for extent, n in policy.team_items if problem.columns <= extent), policy.team_items[-1][1])
        items = min(items, 1 << (capabilities.max_work_group.bit_length() - 1))
        teams = max(1, policy.work_group // items)
    spaces, small = _spaces(problem, items > 1)
    pairs = -(-small[1] // 2)
    spread = max(1, items // (1 << (pairs - 1).bit_length())) if operation == "svd" else 1
    elements = sum(rows * pitch for rows, pitch in spaces)
    team_bytes = (elements + 2 * small[0] + 3 * pairs * spread) * work.itemsize * lanes + 64
    local_bytes = min(capabilities.local_bytes, policy.local_bytes)
    while teams > 1 and teams * team_bytes > local_bytes:
        teams //= 2
    return TeamsPlan(
        operation=operation,
        mode=problem.mode,
        dtype=problem.dtype,
        work=work,
        flipped=problem.flipped,
        spaces=spaces,
        small=small,
        items=items,
        teams=teams,
        spread=spread,
        scratch=teams * team_bytes > local_bytes,
        lanes=lanes,
        chunked=policies.elementwise.chunked,
        rank=problem.rank,
    )


def _spaces(problem: OrthogonalProblem, padded: bool) -> tuple[tuple[tuple[int, int], ...], tuple[int, int]]:
    """Return `TeamsPlan.spaces` and `TeamsPlan.small`. Padded rows begin in different banks of local memory."""
    columns, factor_columns = problem.columns, problem.factor_columns
    even = columns + columns % 2  # rotations pair the columns
    if problem.operation == "eigh":
        row_capacity = column_capacity = capacity_for(even)
    elif problem.operation == "qr":
        row_capacity, column_capacity = capacity_for(problem.rows), capacity_for(max(columns, factor_columns))
    else:
        row_capacity, column_capacity = capacity_for(problem.rows), capacity_for(max(even, factor_columns))
    spaces = [(row_capacity, column_capacity + padded)]
    if problem.operation != "qr" and problem.mode != "values":
        spaces.append((capacity_for(columns), capacity_for(even) + padded))
    return tuple(spaces), (max(row_capacity, column_capacity), column_capacity)
