"""Split Hermitian matrices of similar size, each at a shift of its own, all in the same launches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import cycle
from math import sqrt
from typing import NamedTuple

from clarray._engine.algorithms.spectral.launch_padded import (
    ROUNDS,
    Addend,
    Extents,
    Iteration,
    NotConverged,
    PaddedMatrices,
    Projection,
    orthonormal_bases,
    unstack,
)
from clarray._engine.algorithms.spectral.plan import schedule
from clarray._engine.expr.node import Node, transposed_leaf, view_leaf

_FEW = 3  # eigenvalues near the shift that another round may still bring to 1 or -1
_RESIDUE = 2.0  # limit of the coupling between two parts, in units of the epsilon times the norm times the rows
_EVEN = 0.75  # the least ratio of columns for which the bases below and above are computed in one batch
_BATCHED_ROWS = 4096  # rows up to which they are: beyond, single launches fill the device, and memory is scarce


class Part(NamedTuple):
    """The restriction of a matrix to an invariant subspace.

    Parameters
    ----------
    matrix : Node
        The restricted matrix, Hermitian.
    size : int
        Its rows, without the padding.
    basis : Node or None
        A basis of the subspace, in columns; None is the whole space.
    first : int
        Index of its least eigenvalue among all eigenvalues of the whole matrix.
    """

    matrix: Node
    size: int
    basis: Node | None
    first: int


class Split(NamedTuple):
    """A part, the shift to split it at, and a bound on the norm of ``part - shift * I``."""

    part: Part
    shift: float
    spread: float


def split_parts(padded: PaddedMatrices, splits: Sequence[Split], scale: float, vectors: bool) -> list[Part]:
    """Split each part into its eigenvalues below and above a shift.

    Parameters
    ----------
    padded : PaddedMatrices
    splits : sequence of Split
    scale : float
        About the norm of the whole matrix.
    vectors : bool
        Compute bases of the subspaces, too.

    Returns
    -------
    list of Part
        The lower parts, and then the upper ones.

    Raises
    ------
    NotConverged
        A part was not split.
    """
    parts = [split.part for split in splits]
    sizes = [part.size for part in parts]
    matrices = _stack(padded, [part.matrix for part in parts], [(size, size) for size in sizes])
    sign = _signs(padded, matrices, splits)
    traces = padded.stats([(x, (size, size), 0.0) for x, size in zip(unstack(sign), sizes, strict=True)])
    above = [round((size + float(stats.diagonal.sum())) / 2) for size, stats in zip(sizes, traces, strict=True)]
    below = [size - high for size, high in zip(sizes, above, strict=True)]
    if min(*above, *below) <= 0:
        raise NotConverged
    low, high = _bases(padded, sign, sizes, below, above)
    low_image, high_image = (padded.product(matrices, basis, padded.allocate(*basis.shape)) for basis in (low, high))
    coupling = padded.product(transposed_leaf(high), low_image, _inner_product(padded, high, low), adjoint=True)
    residues = padded.stats([(x, (m, n), 0.0) for x, m, n in zip(unstack(coupling), above, below, strict=True)])
    limit = _RESIDUE * padded.eps * scale
    if not all(stats.norm <= limit * size for stats, size in zip(residues, sizes, strict=True)):
        raise NotConverged
    outer = _outer_bases(padded, parts) if vectors else None
    results: list[Part] = []
    firsts = [part.first for part in parts]
    for basis, image, counts in ((low, low_image, below), (high, high_image, above)):
        square = _inner_product(padded, basis, basis)
        inner = padded.product(transposed_leaf(basis), image, square, adjoint=True, mirrored=True)
        whole = basis
        if outer is not None:
            whole = padded.product(outer, basis, padded.allocate(*outer.shape[:-1], basis.shape[-1]))
        columns = unstack(whole) if vectors else [None] * len(parts)
        results += map(Part, unstack(inner), counts, columns, firsts)
        firsts = [first + count for first, count in zip(firsts, counts, strict=True)]
    return results


def _outer_bases(padded: PaddedMatrices, parts: Sequence[Part]) -> Node | None:
    """Stack the bases of the parts; None if the part is the whole matrix."""
    if parts[0].basis is None:
        return None
    bases = [part.basis for part in parts if part.basis is not None]
    extents = [(basis.shape[0], part.size) for basis, part in zip(bases, parts, strict=True)]
    return _stack(padded, bases, extents)


def _signs(padded: PaddedMatrices, matrices: Node, splits: Sequence[Split]) -> Node:
    """Compute the sign of each ``matrix - shift * I``."""
    start = padded.allocate(*matrices.shape)
    sizes = [part.size for part, _, _ in splits]
    for matrix, target, (part, shift, spread) in zip(unstack(matrices), unstack(start), splits, strict=True):
        padded.affine(matrix, target, part.size, part.size, alpha=1 / spread, beta=-shift / spread)
    iteration = Iteration(padded, start, [(size, size) for size in sizes], True)
    if not all(norm > 0 for norm in iteration.norms):
        raise NotConverged
    largest = max(sizes)
    for _ in range(ROUNDS):
        for step in schedule(1 / (16 * largest), 0.05 / sqrt(largest)):
            iteration.step(step)
        distances = iteration.converge()
        if not any(distances):
            return iteration.x
        if not all(distance**2 < _FEW for distance in distances):
            break
    raise NotConverged


def _bases(
    padded: PaddedMatrices, sign: Node, sizes: Sequence[int], below: Sequence[int], above: Sequence[int]
) -> list[Node]:
    """Compute bases of the lower and upper subspaces, in one batch if they have a similar number of columns."""
    rows, count = sign.shape[-1], len(sizes)

    def project(half: float, x: Node, target: Node) -> None:
        padded.product(sign, x, target, alpha=half, plus=Addend(0.5, x))

    def project_both(x: Node, target: Node) -> None:
        for half, columns, projected in zip((-0.5, 0.5), _halves(x), _halves(target), strict=True):
            project(half, columns, projected)

    def basis(onto: Projection, stack: int, counts: Sequence[int]) -> Node:
        extents = list(zip(cycle(sizes), counts, strict=False))
        return orthonormal_bases(padded, onto, (stack, rows, max(counts)), extents)

    if rows > _BATCHED_ROWS or min(max(below), max(above)) < _EVEN * max(*below, *above):
        return [basis(partial(project, half), count, columns) for half, columns in ((-0.5, below), (0.5, above))]
    return _halves(basis(project_both, 2 * count, [*below, *above]))


def _halves(stack: Node) -> list[Node]:
    """Return views of the first and the second half of a stack."""
    count, pitch = stack.shape[0] // 2, stack.strides[0]
    shape = count, *stack.shape[1:]
    return [view_leaf(stack, shape, stack.strides, stack.offset + pitch * first) for first in (0, count)]


def _stack(padded: PaddedMatrices, matrices: Sequence[Node], extents: Sequence[Extents]) -> Node:
    """Copy matrices into a stack, padded to the largest extents; a single matrix becomes a view."""
    first = matrices[0]
    if len(matrices) == 1:
        return view_leaf(first, (1, *first.shape), (first.size, *first.strides), first.offset)
    rows, columns = (max(matrix.shape[axis] for matrix in matrices) for axis in (0, 1))
    stack = padded.allocate(len(matrices), rows, columns)
    for matrix, target, extent in zip(matrices, unstack(stack), extents, strict=True):
        padded.affine(matrix, target, *extent)
    return stack


def _inner_product(padded: PaddedMatrices, a: Node, b: Node) -> Node:
    """Allocate the products of the columns of two stacks of matrices."""
    return padded.allocate(*a.shape[:-2], a.shape[-1], b.shape[-1])
