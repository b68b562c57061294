"""Launch polar decompositions A = U H of large matrices: U has orthonormal columns, H is positive semidefinite."""

from __future__ import annotations

from math import sqrt

from clarray._engine.algorithms.spectral.launch_padded import (
    Addend,
    Iteration,
    NotConverged,
    PaddedMatrices,
    orthonormal_bases,
)
from clarray._engine.algorithms.spectral.plan import HIGH_FLOOR, LAST, schedule
from clarray._engine.expr.node import EAGER, Node, transposed_leaf, view_leaf
from clarray._engine.launch.kernel_cache import device_of, kernel_cache_of

_ROUNDS = 16


def polar(a: Node, factor: float) -> tuple[Node, Node] | None:
    """Compute the polar factors of a scaled matrix.

    Parameters
    ----------
    a : Node
        A leaf (m, n), m >= n, of float32, float64, complex64 or complex128, with finite elements.
    factor : float
        Scale of the matrix, so that its norm is about 1.

    Returns
    -------
    tuple of Node, or None
        New leaves, U (m, n) and H (n, n) of ``factor * a``. None if the iteration did not converge.
    """
    device = device_of(a)
    with device.lock:
        padded = PaddedMatrices(kernel_cache_of(device), a.dtype)
        m, n = a.shape
        matrix = padded.affine(a, padded.allocate_padded(m, n), m, n, alpha=factor)
        unitary = _unitary_factor(padded, matrix, m, n)
        factors = None
        if unitary is not None:
            # rounding makes U^H A not quite Hermitian, so H is the mean of U^H A and A^H U
            square = padded.allocate_padded(n, n)
            half = padded.product(transposed_leaf(unitary), matrix, square, alpha=0.5, adjoint=True)
            transposed, square = transposed_leaf(matrix), padded.allocate_padded(n, n)
            plus = Addend(1.0, half)
            hermitian = padded.product(transposed, unitary, square, alpha=0.5, plus=plus, adjoint=True, mirrored=True)
            factors = _without_padding(padded, unitary, m, n), _without_padding(padded, hermitian, n, n)
        if a.flags & EAGER:
            device.synchronize()
    return factors


def complement(u: Node) -> Node | None:
    """Compute an orthonormal basis of the orthogonal complement of the columns of a matrix.

    Parameters
    ----------
    u : Node
        A leaf (m, n), m > n, with orthonormal columns.

    Returns
    -------
    Node, or None
        A new leaf (m, m - n). None if the iteration did not converge.
    """
    device = device_of(u)
    with device.lock:
        padded = PaddedMatrices(kernel_cache_of(device), u.dtype)
        m, n = u.shape
        basis = padded.affine(u, padded.allocate_padded(m, n), m, n)
        coefficients = padded.allocate_padded(n, m - n)

        def project(x: Node, target: Node) -> None:
            padded.product(transposed_leaf(basis), x, coefficients, adjoint=True)
            padded.product(basis, coefficients, target, alpha=-1.0, plus=Addend(1.0, x))

        try:
            columns = orthonormal_bases(padded, project, (m, m - n), [(m, m - n)])
            return _without_padding(padded, columns, m, m - n)
        except NotConverged:
            return None


def _unitary_factor(padded: PaddedMatrices, matrix: Node, m: int, n: int) -> Node | None:
    """Compute the factor with orthonormal columns, or return None without convergence."""
    start = padded.affine(matrix, padded.allocate_padded(m, n), m, n, alpha=1 / sqrt(m * n))
    iteration = Iteration(padded, start, [(m, n)], False)
    least, growth, filled = 1 / (64 * n), 1.0, False
    if iteration.norms == [0]:
        return padded.affine(None, iteration.x, m, n, beta=1.0)
    for _ in range(_ROUNDS):
        for step in schedule(least, 0.05 / sqrt(n), HIGH_FLOOR):
            iteration.step(step)
        if not any(iteration.converge()):
            return iteration.x
        growth /= least
        if growth > n / padded.eps and not filled:
            _fill_null_space(iteration, m, n)
            filled = True
    return None


def _fill_null_space(iteration: Iteration, m: int, n: int) -> None:
    """Add random vectors to X in the left and right null spaces, for the singular values of zero.

    Values that are still far from 1 belong to singular values below rounding. Any basis of their spaces is valid.
    """
    for _ in range(4):  # converge the other values first, so that the random part does not disturb them
        iteration.step(LAST)
    padded, x = iteration.padded, iteration.x
    random = padded.fill_random(padded.allocate_padded(m, n), m, n, 1 / (sqrt(m) + sqrt(n)))
    target = padded.allocate_padded(m, n)
    null = padded.product(random, iteration.gram(), target, alpha=-1.0, plus=Addend(1.0, random))
    overlap = padded.product(transposed_leaf(x), null, padded.allocate_padded(n, n), adjoint=True)
    correction = padded.affine(overlap, padded.allocate_padded(n, n), n, n, alpha=-1.0, beta=1.0)
    padded.product(x, correction, iteration.spare, plus=Addend(1.0, null))
    iteration.use_spare()


def _without_padding(padded: PaddedMatrices, matrix: Node, rows: int, columns: int) -> Node:
    """Copy a matrix without its padding; return the matrix itself if it has none."""
    if matrix.shape == (rows, columns):
        return matrix
    target = padded.allocate(rows, columns)
    return padded.affine(view_leaf(matrix, (rows, columns), matrix.strides, 0), target, rows, columns)
