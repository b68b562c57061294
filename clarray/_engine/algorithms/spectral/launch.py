"""Launch eigendecompositions of large Hermitian matrices: split the spectrum in two until the parts are small.

    sign(H - s I)  -->  bases for the eigenvalues below and above s  -->  V^H H V  =  | low  0    |
                                                                                      | 0    high |

    n x n    -->    2 of n/2 x n/2    -->    4 of n/4 x n/4    -->  ...     parts of a level are split together

Nearly all of the work is products of matrices, and from the second level on of stacks of them: a product of a few
hundred rows takes as long as sixteen of them. Small parts are diagonalized by rotations, all in one launch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from clarray._engine.algorithms.small_matrices.launch_teams import decompose
from clarray._engine.algorithms.spectral.launch_padded import (
    BOUND,
    Addend,
    NotConverged,
    PaddedMatrices,
    unstack,
)
from clarray._engine.algorithms.spectral.launch_split import Part, Split, split_parts
from clarray._engine.expr.node import EAGER, Node, view_leaf
from clarray._engine.launch.kernel_cache import device_of, kernel_cache_of

_SIMILAR = 0.75  # the least ratio of rows within a group, which is computed at the size of its largest matrix


class Candidate(NamedTuple):
    """A part to split, the norm of its deviation from the mean eigenvalue, and the shifts that remain to try."""

    part: Part
    spread: float
    shifts: Iterator[float]


def eigh(a: Node, factor: float, vectors: bool) -> tuple[np.ndarray, Node | None] | None:
    """Compute the eigenvalues, and optionally the eigenvectors, of a scaled Hermitian matrix.

    Parameters
    ----------
    a : Node
        A leaf (n, n) of float32, float64, complex64 or complex128, with finite elements.
    factor : float
        Scale of the matrix, so that its norm is about 1.
    vectors : bool
        Compute eigenvectors, too.

    Returns
    -------
    tuple, or None
        The eigenvalues of ``factor * a``, nearly in order, as float64 on the host, and a new leaf (n, n) with the
        eigenvectors in its columns, in the same order, or None. None if a part could not be split.
    """
    device = device_of(a)
    with device.lock:
        padded = PaddedMatrices(kernel_cache_of(device), a.dtype)
        n = a.shape[0]
        matrix = padded.affine(a, padded.allocate_padded(n, n), n, n, alpha=factor)
        decomposition = _diagonalize(padded, matrix, n, vectors)
        if a.flags & EAGER:
            device.synchronize()
    return decomposition


def _diagonalize(padded: PaddedMatrices, matrix: Node, n: int, vectors: bool) -> tuple[np.ndarray, Node | None] | None:
    scale = _eigenvalue_scale(padded, matrix, n)
    level, small, scalar = [Part(matrix, n, None, 0)], [], []
    while level:
        small += [part for part in level if part.size <= padded.policy.base]
        candidates: list[Candidate] = []
        for part, diagonal, mean, spread in _spreads(padded, [p for p in level if p.size > padded.policy.base]):
            # rounding leaves no shift within such a spread: the part is a multiple of the identity
            if spread <= 2 * padded.eps * max(scale, abs(mean) * sqrt(part.size)):
                scalar.append((part, diagonal))
            else:
                candidates.append(Candidate(part, spread, _shifts(diagonal, spread)))
        level = []
        for group in _similar_groups(candidates):
            parts = _split(padded, group, scale, vectors)
            if parts is None:
                return None
            level += parts
    values = np.empty(n)
    basis = padded.allocate(n, n) if vectors else None
    for part, diagonal in scalar:
        values[part.first : part.first + part.size] = diagonal
        if basis is not None:
            beta = 0.0 if part.basis is not None else 1.0
            padded.affine(part.basis, _columns(basis, part), n, part.size, beta=beta)
    _diagonalize_small(padded, small, values, basis)
    return values, None if basis is None else _orthonormalize(padded, basis)


def _spreads(padded: PaddedMatrices, parts: Sequence[Part]) -> list[tuple[Part, np.ndarray, float, float]]:
    """Return each part with its diagonal, the diagonal's mean, and the norm of ``part - mean * I``."""
    if not parts:
        return []
    squares = [(part.size, part.size) for part in parts]
    unshifted = padded.stats([(part.matrix, square, 0.0) for part, square in zip(parts, squares, strict=True)])
    diagonals = [stats.diagonal for stats in unshifted]
    means = [float(diagonal.mean()) for diagonal in diagonals]
    shifted = padded.stats([(p.matrix, square, mean) for p, square, mean in zip(parts, squares, means, strict=True)])
    return list(zip(parts, diagonals, means, [stats.norm for stats in shifted], strict=True))


def _similar_groups(candidates: list[Candidate]) -> Iterator[list[Candidate]]:
    """Group parts of similar size so that they run as one batch."""
    remaining = sorted(candidates, key=lambda candidate: -candidate.part.size)
    while remaining:
        least = _SIMILAR * remaining[0].part.size
        group = [candidate for candidate in remaining if candidate.part.size >= least]
        remaining = remaining[len(group) :]
        yield group


def _eigenvalue_scale(padded: PaddedMatrices, matrix: Node, n: int) -> float:
    """Estimate the norm of a matrix from below: the root mean square of its eigenvalues, weighted by their squares."""
    norm = padded.norm(matrix, n, n)
    if norm == 0:
        return 0.0
    square = padded.product(matrix, matrix, padded.allocate_padded(n, n), mirrored=True)
    return padded.norm(square, n, n) / norm


def _split(padded: PaddedMatrices, group: list[Candidate], scale: float, vectors: bool) -> list[Part] | None:
    """Split each part at its next shift that separates its eigenvalues; None if a part runs out of shifts."""
    shifts = [next(candidate.shifts, None) for candidate in group]
    splits = [
        Split(candidate.part, shift, candidate.spread)
        for candidate, shift in zip(group, shifts, strict=True)
        if shift is not None
    ]
    if len(splits) < len(group):
        return None
    try:
        return split_parts(padded, splits, scale, vectors)
    except NotConverged:
        if len(group) == 1:
            return _split(padded, group, scale, vectors)
    parts = []  # the batch does not say which of its parts failed, so each continues alone
    for candidate in group:
        halves = _split(padded, [candidate], scale, vectors)
        if halves is None:
            return None
        parts += halves
    return parts


def _shifts(diagonal: np.ndarray, spread: float) -> Iterator[float]:
    """Yield the shifts to split at: the diagonal's median, its mean, and values at both sides of the mean.

    Some eigenvalues are always on both sides of the mean, but the median gives parts of similar size.
    """
    mean, width = float(diagonal.mean()), spread / sqrt(len(diagonal))
    yield float(np.median(diagonal))
    yield mean
    for distance in (0.01, -0.013, 0.1, -0.13, 0.4, -0.5):
        yield mean + distance * width


# Small parts ------------------------------------------------------------------------------------


def _diagonalize_small(padded: PaddedMatrices, parts: list[Part], values: np.ndarray, basis: Node | None) -> None:
    """Compute the eigenvalues and eigenvectors of small parts by rotations, in one launch."""
    if not parts:
        return
    device, count = padded.cache.device, len(parts)
    side = max(part.size for part in parts)
    stack = padded.allocate(count, side, side)
    means = []
    for target, (part, _, mean, spread) in zip(unstack(stack), _spreads(padded, parts), strict=True):
        # the padding has an eigenvalue above all others, so that its eigenvectors do not mix with theirs
        padded.affine(part.matrix, target, part.size, part.size, beta=-mean, beyond=BOUND * spread or 1.0)
        means.append(mean)
    results = decompose("eigh", stack, "values" if basis is None else "vectors")
    host_values = np.empty((count, side), padded.real)
    assert results[0].memory is not None
    device.read(results[0].memory, results[0].offset * padded.real.itemsize, host_values)
    for number, part in enumerate(parts):
        size = part.size
        values[part.first : part.first + size] = host_values[number, :size] + means[number]
        if basis is None:
            continue
        inner = view_leaf(results[1], (size, size), (side, 1), results[1].offset + number * side * side)
        target = _columns(basis, part)
        if part.basis is None:
            padded.affine(inner, target, size, size)
        else:
            rows = view_leaf(part.basis, (basis.shape[0], size), part.basis.strides, part.basis.offset)
            padded.product(rows, inner, target)


def _columns(basis: Node, part: Part) -> Node:
    """Return a view of the basis: the columns for the eigenvectors of a part."""
    return view_leaf(basis, (basis.shape[0], part.size), basis.strides, basis.offset + part.first)


def _orthonormalize(padded: PaddedMatrices, basis: Node) -> Node:
    """Remove accumulated rounding errors from a nearly orthonormal basis by a step of Newton's iteration."""
    n = basis.shape[0]
    gram = padded.gram(basis, padded.allocate(n, n))
    return padded.product(basis, gram, padded.allocate(n, n), alpha=-0.5, plus=Addend(1.5, basis))
