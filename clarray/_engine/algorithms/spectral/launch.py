"""Eigenvalues of large Hermitian matrices: split in two at a number, again and again, until small ones are left.

    sign(H - s I)  -->  bases of what is below s and above it  -->  V^H H V  =  | low  0    |   each split in its turn
                                                                               | 0    high |

    n x n    -->    2 of n/2 x n/2    -->    4 of n/4 x n/4    -->  ...     those of a level are split together

Nearly all of it are products of matrices, of stacks of them from the second level on: a product of a few hundred rows
takes as long as sixteen of them do. What is small is diagonalized by rotations, all in one launch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from clarray._engine.algorithms.small_matrices.launch_teams import decompose
from clarray._engine.algorithms.spectral.launch_pieces import BOUND, NotConverged, Pieces, each_of
from clarray._engine.algorithms.spectral.launch_split import Part, split_at
from clarray._engine.expr.node import EAGER, Node, view_leaf
from clarray._engine.launch.kernel_cache import device_of, kernel_cache_of

_ALIKE = 0.75  # of the largest's rows has the smallest of matrices that are split together: all are computed as that


class Splitting(NamedTuple):
    """A part that is to be split, how far its eigenvalues are from their mean, and the numbers to try."""

    part: Part
    spread: float
    shifts: Iterator[float]


def eigh(a: Node, factor: float, vectors: bool) -> tuple[np.ndarray, Node | None] | None:
    """Find the eigenvalues of a Hermitian matrix.

    Parameters
    ----------
    a : Node
        A leaf (n, n) of float32, float64, complex64 or complex128, with finite elements.
    factor : float
        By which it is multiplied: its norm is to be about 1.
    vectors : bool
        Find eigenvectors, too.

    Returns
    -------
    tuple, or None
        The eigenvalues of ``factor * a``, nearly in order, as float64 on the host, and a new leaf (n, n) with the
        eigenvectors in its columns, in the same order, or None. None where it could not be split.
    """
    device = device_of((a,))
    with device.lock:
        pieces = Pieces(kernel_cache_of(device), a.dtype)
        n = a.shape[0]
        matrix = pieces.affine(a, pieces.room(n, n), n, n, alpha=factor)
        found = _diagonalized(pieces, matrix, n, vectors)
        if a.flags & EAGER:
            device.synchronize()
    return found


def _diagonalized(pieces: Pieces, matrix: Node, n: int, vectors: bool) -> tuple[np.ndarray, Node | None] | None:
    height = _height(pieces, matrix, n)
    level, small, flat = [Part(matrix, n, None, 0)], [], []
    while level:
        small += [part for part in level if part.size <= pieces.policy.base]
        open_: list[Splitting] = []
        for part, diagonal, mean, spread in _spreads(pieces, [p for p in level if p.size > pieces.policy.base]):
            # numbers between those of the diagonal, to split at, are not to be had where these are next to each other
            if spread <= 2 * pieces.eps * max(height, abs(mean) * sqrt(part.size)):
                flat.append((part, diagonal))
            else:
                open_.append(Splitting(part, spread, _shifts(diagonal, spread)))
        level = []
        for alike in _alike(open_):
            parts = _split(pieces, alike, height, vectors)
            if parts is None:
                return None
            level += parts
    values = np.empty(n)
    basis = pieces.leaf(n, n) if vectors else None
    for part, diagonal in flat:
        values[part.first : part.first + part.size] = diagonal
        if basis is not None:
            pieces.affine(part.basis, _columns(basis, part), n, part.size, beta=0.0 if part.basis is not None else 1.0)
    _diagonalize(pieces, small, values, basis)
    return values, None if basis is None else _orthonormal(pieces, basis)


def _spreads(pieces: Pieces, parts: Sequence[Part]) -> list[tuple[Part, np.ndarray, float, float]]:
    """Each part with its diagonal, the mean of that, and how far it is from so much of the unit matrix."""
    if not parts:
        return []
    squares = [(part.size, part.size) for part in parts]
    looks = pieces.measured([(part.matrix, square, 0.0) for part, square in zip(parts, squares, strict=True)])
    diagonals = [look.diagonal for look in looks]
    means = [float(diagonal.mean()) for diagonal in diagonals]
    again = pieces.measured([(p.matrix, square, mean) for p, square, mean in zip(parts, squares, means, strict=True)])
    return list(zip(parts, diagonals, means, [look.norm for look in again], strict=True))


def _alike(open_: list[Splitting]) -> Iterator[list[Splitting]]:
    """Those of about one size."""
    left = sorted(open_, key=lambda one: -one.part.size)
    while left:
        least = _ALIKE * left[0].part.size
        group = [one for one in left if one.part.size >= least]
        left = left[len(group) :]
        yield group


def _height(pieces: Pieces, matrix: Node, n: int) -> float:
    """About the norm of a matrix, no more than it: the root mean square of its eigenvalues, by their squares."""
    norm = pieces.measure(matrix, n, n)[0]
    if norm == 0:
        return 0.0
    square = pieces.product(matrix, matrix, pieces.room(n, n), mirrored=True)
    return pieces.measure(square, n, n)[0] / norm


def _split(pieces: Pieces, open_: list[Splitting], height: float, vectors: bool) -> list[Part] | None:
    """The parts below some number and those above it; None where none was found that parts one of them."""
    shifts = [next(one.shifts, None) for one in open_]
    found = [shift for shift in shifts if shift is not None]
    if len(found) < len(open_):
        return None
    try:
        return split_at(pieces, [one.part for one in open_], found, [one.spread for one in open_], height, vectors)
    except NotConverged:
        if len(open_) == 1:
            return _split(pieces, open_, height, vectors)
    parts = []  # who could not be parted is not known, so each goes on by itself
    for one in open_:
        halves = _split(pieces, [one], height, vectors)
        if halves is None:
            return None
        parts += halves
    return parts


def _shifts(diagonal: np.ndarray, spread: float) -> Iterator[float]:
    """Where to split: in the middle of the diagonal; where there are eigenvalues on both sides; and beside that."""
    mean, width = float(diagonal.mean()), spread / sqrt(len(diagonal))
    yield float(np.median(diagonal))
    yield mean
    for distance in (0.01, -0.013, 0.1, -0.13, 0.4, -0.5):
        yield mean + distance * width


# What is small ----------------------------------------------------------------------------------


def _diagonalize(pieces: Pieces, parts: list[Part], values: np.ndarray, basis: Node | None) -> None:
    """Find the eigenvalues of small parts by rotations, all at once, and the columns of their eigenvectors."""
    if not parts:
        return
    device, count = pieces.cache.device, len(parts)
    side = max(part.size for part in parts)
    stack = pieces.leaf(count, side, side)
    means = []
    for place, (part, _, mean, spread) in zip(each_of(stack), _spreads(pieces, parts), strict=True):
        # what fills up has an eigenvalue after all others, and eigenvectors of its own
        pieces.affine(part.matrix, place, part.size, part.size, beta=-mean, beyond=BOUND * spread or 1.0)
        means.append(mean)
    found = decompose("eigh", stack, "values" if basis is None else "vectors")
    numbers = np.empty((count, side), pieces.real)
    assert found[0].memory is not None
    device.read(found[0].memory, found[0].offset * pieces.real.itemsize, numbers)
    for number, part in enumerate(parts):
        size = part.size
        values[part.first : part.first + size] = numbers[number, :size] + means[number]
        if basis is None:
            continue
        within = view_leaf(found[1], (size, size), (side, 1), found[1].offset + number * side * side)
        target = _columns(basis, part)
        if part.basis is None:
            pieces.affine(within, target, size, size)
        else:
            rows = view_leaf(part.basis, (basis.shape[0], size), part.basis.strides, part.basis.offset)
            pieces.product(rows, within, target)


def _columns(basis: Node, part: Part) -> Node:
    """Where the eigenvectors of a part go."""
    return view_leaf(basis, (basis.shape[0], part.size), basis.strides, basis.offset + part.first)


def _orthonormal(pieces: Pieces, basis: Node) -> Node:
    """A basis that is orthonormal but for what has been rounded on the way, without that (Newton's step)."""
    n = basis.shape[0]
    gram = pieces.gram(basis, pieces.leaf(n, n))
    return pieces.product(basis, gram, pieces.leaf(n, n), alpha=-0.5, beta=1.5, other=basis)
