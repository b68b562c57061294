"""Polar factors of large matrices, A = U H: U has orthonormal columns, H is Hermitian, with no negative eigenvalue."""

from __future__ import annotations

from math import sqrt

from clarray._engine.algorithms.spectral.launch_pieces import Iteration, NotConverged, Pieces, orthonormal_bases
from clarray._engine.algorithms.spectral.plan import HIGH_FLOOR, LAST, schedule
from clarray._engine.expr.node import EAGER, Node, transposed_leaf, view_leaf
from clarray._engine.launch.kernel_cache import device_of, kernel_cache_of

_ROUNDS = 16


def polar(a: Node, factor: float) -> tuple[Node, Node] | None:
    """Find the polar factors of a matrix.

    Parameters
    ----------
    a : Node
        A leaf (m, n), m >= n, of float32, float64, complex64 or complex128, with finite elements.
    factor : float
        By which it is multiplied: its norm is to be about 1.

    Returns
    -------
    tuple of Node, or None
        New leaves, U (m, n) and H (n, n) of ``factor * a``. None where U was not found.
    """
    device = device_of((a,))
    with device.lock:
        pieces = Pieces(kernel_cache_of(device), a.dtype)
        m, n = a.shape
        matrix = pieces.affine(a, pieces.room(m, n), m, n, alpha=factor)
        unitary = _unitary(pieces, matrix, m, n)
        found = None
        if unitary is not None:
            # U^H A is Hermitian but for rounding, which is halved so
            half = pieces.product(transposed_leaf(unitary), matrix, pieces.room(n, n), alpha=0.5, adjoint=True)
            turned, room = transposed_leaf(matrix), pieces.room(n, n)
            inner = pieces.product(turned, unitary, room, alpha=0.5, beta=1.0, other=half, adjoint=True, mirrored=True)
            found = _cut(pieces, unitary, m, n), _cut(pieces, inner, n, n)
        if a.flags & EAGER:
            device.synchronize()
    return found


def complement(u: Node) -> Node | None:
    """Find columns that make orthonormal ones a basis of the whole space.

    Parameters
    ----------
    u : Node
        A leaf (m, n), m > n, whose columns are orthonormal.

    Returns
    -------
    Node, or None
        A new leaf (m, m - n); None where it was not found.
    """
    device = device_of((u,))
    with device.lock:
        pieces = Pieces(kernel_cache_of(device), u.dtype)
        m, n = u.shape
        basis, parts = pieces.affine(u, pieces.room(m, n), m, n), pieces.room(n, m - n)

        def project(x: Node, target: Node) -> None:
            pieces.product(transposed_leaf(basis), x, parts, adjoint=True)
            pieces.product(basis, parts, target, alpha=-1.0, beta=1.0, other=x)

        try:
            return _cut(pieces, orthonormal_bases(pieces, project, (m, m - n), [(m, m - n)]), m, m - n)
        except NotConverged:
            return None


def _unitary(pieces: Pieces, matrix: Node, m: int, n: int) -> Node | None:
    """The factor with orthonormal columns."""
    start = pieces.affine(matrix, pieces.room(m, n), m, n, alpha=1 / sqrt(m * n))
    iteration = Iteration(pieces, start, [(m, n)], False)
    least, gained, filled = 1 / (64 * n), 1.0, False
    if iteration.norms == [0]:
        return pieces.affine(None, iteration.x, m, n, beta=1.0)
    for _ in range(_ROUNDS):
        for step in schedule(least, 0.05 / sqrt(n), HIGH_FLOOR):
            iteration.step(step)
        if not any(iteration.settle()):
            return iteration.x
        gained /= least
        if gained > n / pieces.eps and not filled:
            _fill(iteration, m, n)
            filled = True
    return None


def _fill(iteration: Iteration, m: int, n: int) -> None:
    """Give the columns of X a part without order where they have none, and nowhere else: singular values of zero.

    What is still far from 1 belongs to singular values below rounding, of which any basis is as good as another.
    """
    for _ in range(4):  # what is near to 1 is to have nothing of it
        iteration.step(LAST)
    pieces, x = iteration.pieces, iteration.x
    noise = pieces.noise(pieces.room(m, n), m, n, 1 / (sqrt(m) + sqrt(n)))
    beside = pieces.product(noise, iteration.gram(), pieces.room(m, n), alpha=-1.0, beta=1.0, other=noise)
    within = pieces.product(transposed_leaf(x), beside, pieces.room(n, n), adjoint=True)
    mixed = pieces.affine(within, pieces.room(n, n), n, n, alpha=-1.0, beta=1.0)
    pieces.product(x, mixed, iteration.spare, beta=1.0, other=beside)
    iteration.replace()


def _cut(pieces: Pieces, matrix: Node, rows: int, columns: int) -> Node:
    """A matrix without the zeros beyond it."""
    if matrix.shape == (rows, columns):
        return matrix
    target = pieces.leaf(rows, columns)
    return pieces.affine(view_leaf(matrix, (rows, columns), matrix.strides, 0), target, rows, columns)
