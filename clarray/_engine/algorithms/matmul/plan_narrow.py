"""Plan products with few columns: the rows per work-item, and the vectors of each row."""

from __future__ import annotations

import numpy as np

from clarray._engine.algorithms.matmul.plan import Matrix, Problem, work_dtype
from clarray._engine.algorithms.matmul.policy import MatmulPolicy
from clarray._engine.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NarrowPlan:
    """The specialization of a kernel for a narrow product.

    Parameters
    ----------
    a, b, work, out : dtype
        The dtypes of the operands, the sums and the result.
    columns : int
        Columns of the result. The kernel is unrolled over them.
    rows : int
        Rows of the result that a work-item keeps in registers.
    several : bool
        Whether a matrix has more rows than `rows`.
    items : int
        Work-items per work-group.
    lanes : int
        Real numbers per vector.
    a_unit, b_unit : bool
        Whether the rows of the left and of the right operand are contiguous.
    b_aligned, out_aligned : bool
        Whether each vector of the right operand and of the result starts at a multiple of its length.
    stream : bool
        Whether the result is stored past the caches. It then consists of whole, aligned vectors.
    rank : int
        Number of batch axes.
    """

    a: np.dtype
    b: np.dtype
    work: np.dtype
    out: np.dtype
    columns: int
    rows: int
    several: bool
    items: int
    lanes: int
    a_unit: bool
    b_unit: bool
    b_aligned: bool
    out_aligned: bool
    stream: bool
    rank: int

    @property
    def pieces(self) -> tuple[tuple[int, ...], ...]:
        """The widths of the loads and stores of each vector of a row. Only the last vector may need several."""
        numbers = self.columns * (2 if self.work.kind == "c" else 1)
        return tuple(_vector_widths(min(self.lanes, numbers - at)) for at in range(0, numbers, self.lanes))


def _vector_widths(lanes: int) -> tuple[int, ...]:
    """Split a number of lanes into widths of OpenCL's vectors, largest first."""
    widths = []
    while lanes:
        widths.append(next(n for n in (16, 8, 4, 3, 2, 1) if n <= lanes))
        lanes -= widths[-1]
    return tuple(widths)


def is_narrow(policy: MatmulPolicy, rows: int, n: int, k: int, dtype: np.dtype) -> bool:
    """Return whether the kernel for few columns computes a product of `rows` rows in all matrices and n columns.

    Its sums of k products need no second sum, and the product must justify a kernel for its number of columns.
    """
    itemsize = work_dtype(dtype).itemsize
    row = n * itemsize
    fits = row <= policy.narrow_bytes and k * row <= policy.narrow_block and k * itemsize <= policy.narrow_left
    return fits and k <= policy.depth and rows * n * k >= policy.narrow_work


def narrow_plan(
    problem: Problem,
    matrices: tuple[Matrix, Matrix],
    dtypes: tuple[np.dtype, np.dtype, np.dtype],
    policy: MatmulPolicy,
    wide: bool,
    stream: bool,
    out_offset: int,
) -> NarrowPlan:
    """Choose the vectors of a row and the rows per work-item.

    Parameters
    ----------
    matrices : (Matrix, Matrix)
        The layouts of the operands.
    dtypes : (dtype, dtype, dtype)
        The dtypes of the operands and the result.
    wide : bool
        Whether the processor has the registers of AVX-512.
    stream : bool
        Whether the result is large enough to be stored past the caches, and starts at a cache line.
    out_offset : int
        The offset of the result, in elements.
    """
    work = work_dtype(dtypes[2])
    complex_ = work.kind == "c"
    number = work.itemsize // 2 if complex_ else work.itemsize
    row = problem.n * (2 if complex_ else 1)
    lanes = min(16, policy.vector_bytes // number, 1 << (row - 1).bit_length())
    vectors = -(-row // lanes)
    panel_rows, panel_vectors = policy.wide_panel if wide else policy.panel
    row_bytes = vectors * lanes * number * (2 if complex_ else 1)
    most = max(1, min(policy.narrow_rows, panel_rows * panel_vectors * policy.vector_bytes // row_bytes))
    blocks = -(-problem.m // most)
    left, right = matrices
    step = max(1, lanes // 2) if complex_ else lanes
    steps = (right.inner, right.offset, *right.batch)
    return NarrowPlan(
        a=dtypes[0],
        b=dtypes[1],
        work=work,
        out=dtypes[2],
        columns=problem.n,
        rows=-(-problem.m // blocks),
        several=blocks > 1,
        items=policy.narrow_items,
        lanes=lanes,
        a_unit=left.inner == 1,
        b_unit=right.outer == 1,
        b_aligned=not policy.packed and not any(stride % step for stride in steps),
        out_aligned=not policy.packed and not problem.n % step and not out_offset % step,
        stream=stream and row == vectors * lanes and dtypes[2].kind != "b" and dtypes[2].itemsize == work.itemsize,
        rank=len(problem.batch),
    )


__all__ = ["NarrowPlan", "is_narrow", "narrow_plan"]
