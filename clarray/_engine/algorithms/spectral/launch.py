"""Eigenvalues of large Hermitian matrices: split in two at a number, again and again, until small ones are left.

    sign(H - s I)  -->  bases of what is below s and above it  -->  V^H H V  =  | low  0    |   each split in its turn
                                                                               | 0    high |

Nearly all of it are products of matrices. What is small is diagonalized by rotations, all in one launch.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import sqrt
from typing import NamedTuple

import numpy as np

from clarray._engine.algorithms.small_matrices.launch_teams import decompose
from clarray._engine.algorithms.spectral.launch_pieces import (
    BOUND,
    ROUNDS,
    Iteration,
    NotConverged,
    Pieces,
    orthonormal_bases,
)
from clarray._engine.algorithms.spectral.plan import schedule
from clarray._engine.expr.node import EAGER, Node, transposed_leaf, view_leaf
from clarray._engine.launch.kernel_cache import device_of, kernel_cache_of

_FEW = 3  # eigenvalues so near to where a matrix is split that another round brings them to 1 or -1
_RESIDUE = 2.0  # times the epsilon, times the norm and the rows: what may be left between two parts


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
    open_, small, flat = [Part(matrix, n, None, 0)], [], []
    while open_:
        part = open_.pop()
        if part.size <= pieces.policy.base:
            small.append(part)
            continue
        size, diagonal = part.size, pieces.measure(part.matrix, part.size, part.size)[1]
        mean = float(diagonal.mean())
        spread = pieces.measure(part.matrix, size, size, mean)[0]
        # numbers between those of the diagonal, to split at, are not to be had where these are next to each other
        if spread <= 2 * pieces.eps * max(height, abs(mean) * sqrt(size)):
            flat.append((part, diagonal))
            continue
        parts = _split(pieces, part, diagonal, spread, height, vectors)
        if parts is None:
            return None
        open_ += parts
    values = np.empty(n)
    basis = pieces.leaf(n, n) if vectors else None
    for part, diagonal in flat:
        values[part.first : part.first + part.size] = diagonal
        if basis is not None:
            pieces.affine(part.basis, _columns(basis, part), n, part.size, beta=0.0 if part.basis is not None else 1.0)
    _diagonalize(pieces, small, values, basis)
    return values, None if basis is None else _orthonormal(pieces, basis)


def _height(pieces: Pieces, matrix: Node, n: int) -> float:
    """About the norm of a matrix, no more than it: the root mean square of its eigenvalues, by their squares."""
    norm = pieces.measure(matrix, n, n)[0]
    if norm == 0:
        return 0.0
    square = pieces.product(matrix, matrix, pieces.room(n, n), mirrored=True)
    return pieces.measure(square, n, n)[0] / norm


# Splitting ------------------------------------------------------------------------------------


def _split(
    pieces: Pieces, part: Part, diagonal: np.ndarray, spread: float, height: float, vectors: bool
) -> tuple[Part, ...] | None:
    """The part below some number and the one above it; None where none was found that parts them."""
    for shift in _shifts(diagonal, spread):
        try:
            return _split_at(pieces, part, shift, spread, height, vectors)
        except NotConverged:
            continue
    return None


def _shifts(diagonal: np.ndarray, spread: float) -> Iterator[float]:
    """Where to split: in the middle of the diagonal; where there are eigenvalues on both sides; and beside that."""
    mean, width = float(diagonal.mean()), spread / sqrt(len(diagonal))
    yield float(np.median(diagonal))
    yield mean
    for distance in (0.01, -0.013, 0.1, -0.13, 0.4, -0.5):
        yield mean + distance * width


def _split_at(
    pieces: Pieces, part: Part, shift: float, spread: float, height: float, vectors: bool
) -> tuple[Part, ...]:
    matrix, size = part.matrix, part.size
    sign = _sign(pieces, matrix, size, shift, spread)
    trace = float(pieces.measure(sign, size, size)[1].sum())
    above = round((size + trace) / 2)
    if not 0 < above < size:
        raise NotConverged
    below = size - above

    def project(half: float, x: Node, target: Node) -> None:
        pieces.product(sign, x, target, alpha=half, beta=0.5, other=x)

    low, high = orthonormal_bases(pieces, size, [(partial(project, -0.5), below), (partial(project, 0.5), above)])
    image = pieces.product(matrix, low, pieces.room(size, below))
    between = pieces.product(transposed_leaf(high), image, pieces.room(above, below), adjoint=True)
    if not pieces.measure(between, above, below)[0] <= _RESIDUE * pieces.eps * height * size:
        raise NotConverged
    parts = []
    for basis, extent, first in ((low, below, part.first), (high, above, part.first + below)):
        image = pieces.product(matrix, basis, pieces.room(size, extent)) if basis is high else image
        inner = pieces.product(transposed_leaf(basis), image, pieces.room(extent, extent), adjoint=True, mirrored=True)
        whole = None
        if vectors:
            rows = part.basis
            whole = basis if rows is None else pieces.product(rows, basis, pieces.room(rows.shape[0], extent))
        parts.append(Part(inner, extent, whole, first))
    return tuple(parts)


def _sign(pieces: Pieces, matrix: Node, size: int, shift: float, spread: float) -> Node:
    """The sign of a matrix less a multiple of the unit matrix, from which it is as far as `spread`, or farther."""
    start = pieces.affine(matrix, pieces.room(size, size), size, size, alpha=1 / spread, beta=-shift / spread)
    iteration = Iteration(pieces, start, size, size, True)
    if iteration.norm == 0:
        raise NotConverged
    for _ in range(ROUNDS):
        for step in schedule(1 / (16 * size), 0.05 / sqrt(size)):
            iteration.step(step)
        away = iteration.settle()
        if not away:
            return iteration.x
        if not away**2 < _FEW:
            break
    raise NotConverged


# What is small ----------------------------------------------------------------------------------


def _diagonalize(pieces: Pieces, parts: list[Part], values: np.ndarray, basis: Node | None) -> None:
    """Find the eigenvalues of small parts by rotations, all at once, and the columns of their eigenvectors."""
    if not parts:
        return
    device, count = pieces.cache.device, len(parts)
    side = max(part.size for part in parts)
    stack = pieces.leaf(count, side, side)
    means = []
    for number, part in enumerate(parts):
        place = view_leaf(stack, (side, side), (side, 1), number * side * side)
        mean = float(pieces.measure(part.matrix, part.size, part.size)[1].mean())
        spread = pieces.measure(part.matrix, part.size, part.size, mean)[0]
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
