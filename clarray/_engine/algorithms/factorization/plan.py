"""The plan of factorizations of large matrices: blocks and panels, for a dtype and a device.

Cholesky, right-looking, of blocks of B rows, in place:

      k
    +---+---------+     1. the block on the diagonal is factorized by one work-group
    | L |         |     2. the rows below are divided by it: each a work-item's, by substitution
  k +---+---------+     3. what is left is updated by a product of matrices, tiles of its lower triangle only
    | L |  left   |
    +---+---------+

LU with partial pivoting, of panels of P columns. The matrix lies transposed, so that the columns of a panel follow
each other, and right sides are more columns of it, which are solved for on the way:

      k
    +---+---------+---+    1. the panel is factorized by one work-group
    |   |    U    |   |    2. rows are exchanged and divided by the panel's block, each column a work-item's
  k +---+---------+ b |    3. what is left is updated by a product of matrices
    | L |  left   |   |
    +---+---------+---+    then b is solved for from its end, by blocks of U and products

Of many rows an update by few columns takes the time that reading them does. So these are factorized in blocks of B
columns, by panels that update what is left of the block, and then the block updates what is left of the matrix.
"""

from __future__ import annotations

import numpy as np

from clarray._engine.algorithms.factorization.policy import FactorizationPolicy
from clarray._engine.fast_dataclass import dataclass

WARP = 32  # work-items of NVIDIA's that do an instruction together
INTS = 2  # whether a matrix has no result, and whether the exchanges of rows were odd


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorizationPlan:
    """What the sources are specialised on.

    Parameters
    ----------
    dtype : dtype
    block, lines : int
        As in the policy.
    multiply_add : str
        OpenCL's function.
    """

    dtype: np.dtype
    block: int
    lines: int
    multiply_add: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SubstitutionPlan:
    """What the source of a substitution is specialised on: the diagonal is 1, T is conjugated, rows are exchanged."""

    block: int
    unit: bool = False
    conjugated: bool = False
    swapped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelPlan:
    """What the source of a panel is specialised on.

    Parameters
    ----------
    width, items : int
        Columns, and work-items.
    each : int
        Rows that a work-item has in registers; 0: the panel stays in memory.
    inner : int
        Columns that are factorized before the others are updated, in memory.
    search : str
        As in the policy.
    """

    width: int
    items: int
    each: int
    inner: int
    search: str


def factorization_plan(
    dtype: np.dtype, policy: FactorizationPolicy, local_bytes: int, multiply_add: str
) -> FactorizationPlan:
    """Choose blocks that fit into the device's local memory and registers."""
    block = min(policy.block, policy.block_bytes // dtype.itemsize)
    while block > 1 and (block + 2) * block * dtype.itemsize > local_bytes:
        block //= 2
    return FactorizationPlan(
        dtype=dtype,
        block=block,
        lines=policy.lines,
        multiply_add=multiply_add,
    )


def panel_plan(rows: int, itemsize: int, policy: FactorizationPolicy, most_items: int, search: str) -> PanelPlan:
    """Choose a panel of so many rows, whose pivots are found as `search` says where its warps are whole."""
    items = min(policy.items, 1 << (most_items.bit_length() - 1))
    shared = max(1, 4 * items // itemsize)  # wider elements need more registers, which a larger group has fewer of
    if 4 * rows <= shared:
        shared = max(1, shared // 4)
    each = 1 << max(0, (-(-rows // shared) - 1).bit_length())
    width = policy.panel_bytes // (each * shared * itemsize)
    if width < policy.least_panel:
        return PanelPlan(width=policy.tall_panel, items=items, each=0, inner=policy.inner, search="items")
    search = "items" if shared % WARP else search
    return PanelPlan(width=min(policy.panel, width), items=shared, each=each, inner=0, search=search)


def block_width(plan: FactorizationPlan, policy: FactorizationPolicy, shape: PanelPlan, rows: int) -> int:
    """How many columns are factorized, by such panels, before the rest of so many rows is updated."""
    panels = plan.block // shape.width if rows * plan.dtype.itemsize >= policy.blocked_bytes else 1
    return max(1, panels) * shape.width


def takes_large(policy: FactorizationPolicy, host_memory: bool) -> bool:
    """Whether the device factorizes large matrices itself, rather than LAPACK on the host."""
    return policy.shared if host_memory else policy.taken
