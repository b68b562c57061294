"""The plan of a product with few columns: how many of its rows are in registers together, how operands are read."""

from __future__ import annotations

import numpy as np

from clarray._engine.algorithms.matmul.plan import Matrix, Problem, work_dtype
from clarray._engine.algorithms.matmul.policy import MatmulPolicy
from clarray._engine.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NarrowPlan:
    """What the source of a narrow product is specialised on.

    Parameters
    ----------
    a, b, work, out : dtype
        Of the operands, the sums and the result.
    columns : int
        Of the result, which the source is unrolled for.
    rows : int
        Of the result, in registers together.
    several : bool
        Whether a matrix has more rows than that.
    items : int
        As in the policy.
    lanes : int
        Of a vector, in real numbers.
    a_unit, b_unit : bool
        Whether elements of a row of the left and of the right operand follow each other.
    b_aligned, out_aligned : bool
        Whether each vector of the right operand and of the result begins at a multiple of its length.
    stream : bool
        Whether the result, of whole and aligned vectors, is written past the caches.
    rank : int
        Axes of the batch.
    multiply_add : str
        OpenCL's function.
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
    multiply_add: str

    @property
    def pieces(self) -> tuple[tuple[int, ...], ...]:
        """For each vector of a row the lanes of the vectors of memory that it is read and written in."""
        there = self.columns * (2 if self.work.kind == "c" else 1)
        return tuple(_pieces(min(self.lanes, there - at)) for at in range(0, there, self.lanes))


def _pieces(lanes: int) -> tuple[int, ...]:
    """OpenCL's vectors that together have so many lanes."""
    found = []
    while lanes:
        found.append(next(n for n in (16, 8, 4, 3, 2, 1) if n <= lanes))
        lanes -= found[-1]
    return tuple(found)


def takes_narrow(policy: MatmulPolicy, rows: int, n: int, k: int, dtype: np.dtype) -> bool:
    """Whether a product of so many rows in all, and n columns, is computed without packing.

    Its sums of k products need no second sum; and it is large enough to be worth a kernel for that number of columns.
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
    """Choose vectors and rows.

    Parameters
    ----------
    matrices : (Matrix, Matrix)
        How the operands lie.
    dtypes : (dtype, dtype, dtype)
        Of the operands and the result.
    wide : bool
        Whether the processor has as many and as wide registers as AVX-512 has.
    stream : bool
        Whether the result is so large that it is to be written past the caches, and begins where a line of them does.
    out_offset : int
        Elements before the result's first one.
    """
    work = work_dtype(dtypes[2])
    complex_ = work.kind == "c"
    number = work.itemsize // 2 if complex_ else work.itemsize
    row = problem.n * (2 if complex_ else 1)
    lanes = min(16, policy.vector_bytes // number, 1 << (row - 1).bit_length())
    vectors = -(-row // lanes)
    panel_rows, panel_vectors = policy.wide_panel if wide else policy.panel
    held = vectors * lanes * number * (2 if complex_ else 1)
    most = max(1, min(policy.narrow_rows, panel_rows * panel_vectors * policy.vector_bytes // held))
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
        b_aligned=not policy.packed and not any(each % step for each in steps),
        out_aligned=not policy.packed and not problem.n % step and not out_offset % step,
        stream=stream and row == vectors * lanes and dtypes[2].kind != "b" and dtypes[2].itemsize == work.itemsize,
        rank=len(problem.batch),
        multiply_add=policy.multiply_add,
    )


__all__ = ["NarrowPlan", "narrow_plan", "takes_narrow"]
