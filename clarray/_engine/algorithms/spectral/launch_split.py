"""Hermitian matrices of about one size, each split in two at a number of its own, all in the same launches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import cycle
from math import sqrt
from typing import NamedTuple

from clarray._engine.algorithms.spectral.launch_pieces import (
    ROUNDS,
    Extents,
    Iteration,
    NotConverged,
    Pieces,
    Projection,
    each_of,
    orthonormal_bases,
)
from clarray._engine.algorithms.spectral.plan import schedule
from clarray._engine.expr.node import Node, transposed_leaf, view_leaf

_FEW = 3  # eigenvalues so near to where a matrix is split that another round brings them to 1 or -1
_RESIDUE = 2.0  # times the epsilon, times the norm and the rows: what may be left between two parts
_EVEN = 0.75  # of the larger part's columns has the smaller one, if the bases of both are found together
_TOGETHER = 4096  # rows of the largest for which they are: beyond, a launch takes long enough, and memory counts


class Part(NamedTuple):
    """What a matrix is on a subspace.

    Parameters
    ----------
    matrix : Node
        The matrix there, Hermitian.
    size : int
        Its rows, without the zeros.
    basis : Node or None
        Of the subspace, in columns; None: the whole space.
    first : int
        Number of its least eigenvalue among all.
    """

    matrix: Node
    size: int
    basis: Node | None
    first: int


def split_at(
    pieces: Pieces,
    parts: Sequence[Part],
    shifts: Sequence[float],
    spreads: Sequence[float],
    height: float,
    vectors: bool,
) -> list[Part]:
    """Split parts, each at a shift from which it is as far as its spread, or farther.

    Returns
    -------
    list of Part
        Those below, and then those above.

    Raises
    ------
    NotConverged
        One of them was not parted.
    """
    sizes = [part.size for part in parts]
    matrices = _stacked(pieces, [part.matrix for part in parts], [(size, size) for size in sizes])
    sign = _signs(pieces, matrices, sizes, shifts, spreads)
    looks = pieces.measured([(x, (size, size), 0.0) for x, size in zip(each_of(sign), sizes, strict=True)])
    above = [round((size + float(look.diagonal.sum())) / 2) for size, look in zip(sizes, looks, strict=True)]
    below = [size - high for size, high in zip(sizes, above, strict=True)]
    if min(*above, *below) <= 0:
        raise NotConverged
    low, high = _bases(pieces, sign, sizes, below, above)
    low_image, high_image = (pieces.product(matrices, basis, pieces.leaf(*basis.shape)) for basis in (low, high))
    between = pieces.product(transposed_leaf(high), low_image, _square(pieces, high, low), adjoint=True)
    looks = pieces.measured([(x, (m, n), 0.0) for x, m, n in zip(each_of(between), above, below, strict=True)])
    if not all(look.norm <= _RESIDUE * pieces.eps * height * size for look, size in zip(looks, sizes, strict=True)):
        raise NotConverged
    rows = None
    if vectors and parts[0].basis is not None:
        bases = [part.basis for part in parts if part.basis is not None]
        rows = _stacked(pieces, bases, [(basis.shape[0], size) for basis, size in zip(bases, sizes, strict=True)])
    made: list[Part] = []
    firsts = [part.first for part in parts]
    for basis, image, counts in ((low, low_image, below), (high, high_image, above)):
        square = _square(pieces, basis, basis)
        inner = pieces.product(transposed_leaf(basis), image, square, adjoint=True, mirrored=True)
        whole = basis
        if rows is not None:
            whole = pieces.product(rows, basis, pieces.leaf(*rows.shape[:-1], basis.shape[-1]))
        columns = each_of(whole) if vectors else [None] * len(parts)
        made += map(Part, each_of(inner), counts, columns, firsts)
        firsts = [first + count for first, count in zip(firsts, counts, strict=True)]
    return made


def _signs(
    pieces: Pieces, matrices: Node, sizes: Sequence[int], shifts: Sequence[float], spreads: Sequence[float]
) -> Node:
    """The sign of each matrix less a multiple of the unit matrix."""
    start = pieces.leaf(*matrices.shape)
    for matrix, target, size, shift, spread in zip(
        each_of(matrices), each_of(start), sizes, shifts, spreads, strict=True
    ):
        pieces.affine(matrix, target, size, size, alpha=1 / spread, beta=-shift / spread)
    iteration = Iteration(pieces, start, [(size, size) for size in sizes], True)
    if not all(norm > 0 for norm in iteration.norms):
        raise NotConverged
    most = max(sizes)
    for _ in range(ROUNDS):
        for step in schedule(1 / (16 * most), 0.05 / sqrt(most)):
            iteration.step(step)
        away = iteration.settle()
        if not any(away):
            return iteration.x
        if not all(distance**2 < _FEW for distance in away):
            break
    raise NotConverged


def _bases(pieces: Pieces, sign: Node, sizes: Sequence[int], below: Sequence[int], above: Sequence[int]) -> list[Node]:
    """Of what is below and of what is above, both in the same launches where they have about as many columns."""
    rows, stack = sign.shape[-1], len(sizes)

    def project(half: float, x: Node, target: Node) -> None:
        pieces.product(sign, x, target, alpha=half, beta=0.5, other=x)

    def project_both(x: Node, target: Node) -> None:
        for half, columns, place in zip((-0.5, 0.5), _halves(x), _halves(target), strict=True):
            project(half, columns, place)

    def basis(onto: Projection, stack: int, counts: Sequence[int]) -> Node:
        extents = list(zip(cycle(sizes), counts, strict=False))
        return orthonormal_bases(pieces, onto, (stack, rows, max(counts)), extents)

    if rows > _TOGETHER or min(max(below), max(above)) < _EVEN * max(*below, *above):
        return [basis(partial(project, half), stack, some) for half, some in ((-0.5, below), (0.5, above))]
    return _halves(basis(project_both, 2 * stack, [*below, *above]))


def _halves(stack: Node) -> list[Node]:
    """The first matrices of a stack, and as many others."""
    count, apart = stack.shape[0] // 2, stack.strides[0]
    shape = count, *stack.shape[1:]
    return [view_leaf(stack, shape, stack.strides, stack.offset + apart * first) for first in (0, count)]


def _stacked(pieces: Pieces, matrices: Sequence[Node], extents: Sequence[Extents]) -> Node:
    """One stack of matrices, copies with zeros to the largest's extents; of one matrix itself."""
    first = matrices[0]
    if len(matrices) == 1:
        return view_leaf(first, (1, *first.shape), (first.size, *first.strides), first.offset)
    rows, columns = (max(matrix.shape[axis] for matrix in matrices) for axis in (0, 1))
    stack = pieces.leaf(len(matrices), rows, columns)
    for matrix, place, extent in zip(matrices, each_of(stack), extents, strict=True):
        pieces.affine(matrix, place, *extent)
    return stack


def _square(pieces: Pieces, left: Node, right: Node) -> Node:
    """A leaf for the products of columns with columns."""
    return pieces.leaf(*left.shape[:-2], left.shape[-1], right.shape[-1])
