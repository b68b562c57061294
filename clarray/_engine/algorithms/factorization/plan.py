"""Plan factorizations of large matrices: blocks and panels, for a dtype and a device.

Right-looking Cholesky in place, by blocks of B rows:

      k
    +---+----------+     1. one work-group factorizes the block on the diagonal
    | L |          |     2. work-items divide the rows below by it, by substitution, each a row
  k +---+----------+     3. a product of matrices updates the tiles of the trailing matrix's lower triangle
    | L | trailing |
    +---+----------+

LU with partial pivoting, by panels of P columns. The matrix is stored transposed, so that a panel's columns are
contiguous. The right sides b are further columns, and forward substitution solves them in the same launches:

      k
    +---+----------+---+    1. one work-group factorizes the panel
    |   |    U     |   |    2. work-items exchange rows and divide by the panel's block, each a column
  k +---+----------+ b |    3. a product of matrices updates the trailing matrix
    | L | trailing |   |
    +---+----------+---+    then blocks of U and products solve b by back substitution

The update of a tall trailing matrix by few columns is bound by its memory traffic. So tall matrices are factorized in
blocks of B columns: each panel updates only its block, and the whole block updates the trailing matrix.
"""

from __future__ import annotations

import numpy as np

from clarray._engine.algorithms.factorization.policy import FactorizationPolicy
from clarray._engine.fast_dataclass import dataclass

WARP = 32  # work-items of a warp on NVIDIA's devices
INTS = 2  # integers before the exchanges: the flag of a failure, and the parity of the row exchanges


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorizationPlan:
    """The specialization of the sources of a factorization.

    Parameters
    ----------
    dtype : dtype
    block, lines : int
        As in the policy.
    """

    dtype: np.dtype
    block: int
    lines: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SubstitutionPlan:
    """The specialization of the source of a substitution.

    Parameters
    ----------
    block : int
        Rows of the triangular block.
    unit : bool
        The diagonal is 1.
    conjugated : bool
        The block is conjugated.
    swapped : bool
        Rows are exchanged first.
    """

    block: int
    unit: bool = False
    conjugated: bool = False
    swapped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelPlan:
    """The specialization of the source of a panel.

    Parameters
    ----------
    width, items : int
        Columns, and work-items of the work-group.
    each : int
        Rows that a work-item holds in registers. 0: the panel stays in memory.
    inner : int
        Columns that are factorized before the others are updated, if the panel stays in memory.
    search : str
        As in the policy.
    """

    width: int
    items: int
    each: int
    inner: int
    search: str


def factorization_plan(dtype: np.dtype, policy: FactorizationPolicy, local_bytes: int) -> FactorizationPlan:
    """Choose a block size that fits into the device's local memory and registers."""
    block = min(policy.block, policy.block_bytes // dtype.itemsize)
    while block > 1 and (block + 2) * block * dtype.itemsize > local_bytes:
        block //= 2
    return FactorizationPlan(
        dtype=dtype,
        block=block,
        lines=policy.lines,
    )


def panel_plan(rows: int, itemsize: int, policy: FactorizationPolicy, max_items: int, search: str) -> PanelPlan:
    """Choose the form of a panel with `rows` rows. The pivot search is by items if warps are not whole."""
    items = min(policy.items, 1 << (max_items.bit_length() - 1))
    shared = max(1, 4 * items // itemsize)  # wider elements need more registers: a smaller group has more per item
    if 4 * rows <= shared:
        shared = max(1, shared // 4)
    each = 1 << max(0, (-(-rows // shared) - 1).bit_length())
    width = policy.panel_bytes // (each * shared * itemsize)
    if width < policy.least_panel:
        return PanelPlan(width=policy.tall_panel, items=items, each=0, inner=policy.inner, search="items")
    search = "items" if shared % WARP else search
    return PanelPlan(width=min(policy.panel, width), items=shared, each=each, inner=0, search=search)


def block_width(plan: FactorizationPlan, policy: FactorizationPolicy, form: PanelPlan, rows: int) -> int:
    """Return the number of columns that panels factorize before the trailing matrix is updated."""
    panels = plan.block // form.width if rows * plan.dtype.itemsize >= policy.blocked_bytes else 1
    return max(1, panels) * form.width


def supports_large(policy: FactorizationPolicy, host_memory: bool) -> bool:
    """Return whether the device, rather than LAPACK on the host, factorizes large matrices."""
    return policy.in_host_memory if host_memory else policy.in_device_memory
