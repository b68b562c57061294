"""What eigenvalues and polar factors are put together from: products of matrices, and looks at them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod, sqrt
from typing import Any

import numpy as np

from clarray._engine.algorithms.matmul.launch import scaled_product
from clarray._engine.algorithms.spectral.plan import LAST, Quintic, schedule
from clarray._engine.algorithms.spectral.source import piece_source
from clarray._engine.expr.node import Node, contiguous_leaf, transposed_leaf, view_leaf
from clarray._engine.launch.kernel_cache import KernelCache

BOUND = 1.01  # what is rounded above a norm
NEAR = 0.3  # a matrix whose Y is so near to the unit matrix has no value that is not on its way to 1
ROUNDS = 3  # of polynomials, for what was smaller than was thought


class NotConverged(Exception):
    """Values did not come near to 1."""


class Pieces:
    """Launches on matrices of one dtype, whose leaves have rows and columns of zeros up to multiples of the policy's.

    Parameters
    ----------
    cache : KernelCache
    dtype : dtype
        float32, float64, complex64 or complex128.
    """

    def __init__(self, cache: KernelCache, dtype: np.dtype) -> None:
        self.cache = cache
        self.dtype = dtype
        self.real = np.dtype(dtype.char.lower())
        self.eps = float(np.finfo(dtype).eps)
        self.policy = cache.policies.spectral

    def room(self, rows: int, columns: int) -> Node:
        """A leaf for so many rows and columns, whatever it holds."""
        return self.leaf(self.up(rows), self.up(columns))

    def leaf(self, *shape: int) -> Node:
        """A leaf of just that shape."""
        return contiguous_leaf(self.cache.device.allocate(prod(shape) * self.dtype.itemsize), shape, self.dtype)

    def up(self, extent: int) -> int:
        """Rows or columns with those of zeros."""
        multiple = self.policy.multiple
        return -(-extent // multiple) * multiple

    def product(
        self,
        a: Node,
        b: Node,
        target: Node,
        *,
        alpha: float = 1.0,
        beta: float = 0.0,
        other: Node | None = None,
        adjoint: bool = False,
        mirrored: bool = False,
    ) -> Node:
        """Compute ``alpha * a @ b + beta * other`` into the target, and give that, see `scaled_product`."""
        found = scaled_product(self.cache, a, b, target, other, adjoint=adjoint, mirrored=mirrored)
        found.run(a, b, target, alpha, beta, target if other is None else other)
        return target

    def gram(self, x: Node, target: Node) -> Node:
        """``x^H x``."""
        return self.product(transposed_leaf(x), x, target, adjoint=True, mirrored=True)

    def affine(
        self,
        source: Node | None,
        target: Node,
        rows: int,
        columns: int,
        *,
        alpha: float = 1.0,
        beta: float = 0.0,
        beyond: float = 0.0,
    ) -> Node:
        """``alpha * source + beta * I`` in the first rows and columns, zeros and ``beyond * I`` in the others."""
        place = target if source is None else source
        args = [place.memory.buffer, place.offset, target.memory.buffer, target.offset]  # type: ignore[union-attr]
        args += [*place.strides, target.strides[0], *target.shape, rows, columns]
        self._launch("affine", target.shape[0], [*args, 0.0 if source is None else alpha, beta, beyond], target)
        return target

    def noise(self, target: Node, rows: int, columns: int, amplitude: float = 1.0) -> Node:
        """Numbers without order in the first rows and columns, the same each time."""
        args = [target.memory.buffer, *target.shape, rows, columns, amplitude]  # type: ignore[union-attr]
        self._launch("noise", target.shape[0], args, target)
        return target

    def measure(self, x: Node, rows: int, columns: int, shift: float = 0.0) -> tuple[float, np.ndarray]:
        """The Frobenius norm of ``x - shift * I``, and x's diagonal; waits for the device."""
        device, groups = self.cache.device, min(rows, self.policy.groups)
        found = np.empty(groups + min(rows, columns), self.real)
        memory = device.allocate(found.nbytes)
        args = [x.memory.buffer, x.offset, memory.buffer, x.strides[0], rows, columns, shift]  # type: ignore[union-attr]
        self._launch("measure", rows, args, x)
        device.read(memory, 0, found)
        return sqrt(float(np.sum(found[:groups], dtype=np.float64))), found[groups:].astype(np.float64)

    def _launch(self, name: str, rows: int, args: list[Any], matrix: Node) -> None:
        items = self.policy.items
        how = name, self.dtype, items, self.cache.policies.matmul.multiply_add
        kernel = self.cache.kernel_for(("spectral", *how), piece_source, *how, self.cache.capabilities)
        groups = min(rows, self.policy.groups)
        kernel.launch((groups,), (items,), args, False, matrix.size * self.dtype.itemsize)


class Iteration:
    """A matrix whose singular values go to 1, or, if it is Hermitian, whose eigenvalues go to 1 and -1.

    Parameters
    ----------
    pieces : Pieces
    x : Node
        The matrix, of a norm whose eighth power is a number of its dtype; overwritten.
    rows, columns : int
        Of it, without the zeros.
    hermitian : bool
    norm : float, optional
        A bound of its norm; looked for by default.

    Attributes
    ----------
    x : Node
        What it has become.
    spare : Node
        Where to write what replaces it.
    norm : float
        The bound; one that was looked for is above the norm by the eighth root of the columns at most.
    """

    def __init__(
        self, pieces: Pieces, x: Node, rows: int, columns: int, hermitian: bool, norm: float | None = None
    ) -> None:
        self.pieces = pieces
        self.x = x
        self._columns = columns
        self._hermitian = hermitian
        self.spare, self._y, self._w = (pieces.room(*shape) for shape in ((rows, columns), *2 * ((columns, columns),)))
        y, cache = self._y, pieces.cache
        left = x if hermitian else transposed_leaf(x)
        # X's two places are alike, and so what is launched is looked up but once
        self._to_gram = scaled_product(cache, left, x, y, adjoint=not hermitian, mirrored=True)
        self._to_inner = scaled_product(cache, y, y, self._w, y, mirrored=True)
        self._to_next = scaled_product(cache, x, self._w, self.spare, x, mirrored=hermitian)
        self._current = False  # whether y is x's
        self.norm = self._scale = self._found_norm() if norm is None else norm

    def _found_norm(self) -> float:
        """By the sum of the singular values' eighth powers."""
        y, w = self.gram(), self._w
        self._to_inner.run(y, y, w, 1.0, 0.0, y)
        return BOUND * self.pieces.measure(w, self._columns, self._columns)[0] ** 0.25

    def step(self, polynomial: Quintic) -> None:
        """Replace X by a polynomial in it."""
        a, b, c = polynomial
        y, w, scale = self.gram(), self._w, self._scale
        self._to_inner.run(y, y, w, c / scale**4, b / scale**2, y)
        self._to_next.run(self.x, w, self.spare, 1 / scale, a / scale, self.x)
        self.replace()

    def replace(self) -> None:
        """Go on with what has been written to `spare`, a matrix of norm 1, in place of X."""
        self.x, self.spare = self.spare, self.x
        self._current, self._scale = False, 1.0

    def settle(self) -> float:
        """Take what is near to 1 as near as rounding lets it be.

        Returns
        -------
        float
            0; or, where not all is near to 1, the square root of about as many values as are not, or NaN.
        """
        away = self.pieces.measure(self.gram(), self._columns, self._columns, 1.0)[0]
        if not away <= NEAR:
            return away
        while away > self.pieces.eps:  # of a value by itself, at most
            self.step(LAST)
            away = away**3
        return 0.0

    def gram(self) -> Node:
        """``X^H X``, or of what is Hermitian its square."""
        if not self._current:
            x, y = self.x, self._y
            self._to_gram.run(x if self._hermitian else transposed_leaf(x), x, y, 1.0, 0.0, y)
            self._current = True
        return self._y


Projection = Callable[[Node, Node], None]  # launches the projection of a matrix into another one


def orthonormal_bases(pieces: Pieces, rows: int, parts: Sequence[tuple[Projection, int]]) -> list[Node]:
    """Orthonormal bases of subspaces that are orthogonal to each other.

    Columns without order are projected there, and made orthonormal. The projection is repeated when they nearly are:
    what was rounded at first has grown as much as the columns were nearly dependent.

    Parameters
    ----------
    pieces : Pieces
    rows : int
        Of the whole space.
    parts : sequence of (callable, int)
        For each subspace its projection, and how many columns its basis has.

    Raises
    ------
    NotConverged
        The columns stay dependent.
    """
    if len(parts) > 1 and rows > pieces.policy.together:
        return [basis for part in parts for basis in orthonormal_bases(pieces, rows, [part])]
    columns = sum(count for _, count in parts)

    def project(source: Node, target: Node) -> None:
        for onto, place, count in places:
            onto(_beside(source, place, count), _beside(target, place, count))

    places, place = [], 0
    for onto, count in parts:
        places.append((onto, place, count if len(parts) > 1 else pieces.up(count)))
        place += count
    noise = pieces.noise(pieces.room(rows, columns), rows, columns)
    start = pieces.affine(None, pieces.room(rows, columns), rows, columns)
    project(noise, start)
    # numbers without order have about this norm, sqrt(m) + sqrt(n) times their standard deviation, and few are above it
    norm = 1.2 * (sqrt(rows) + sqrt(columns)) / sqrt(3)
    iteration = Iteration(pieces, start, rows, columns, False, norm * (sqrt(2) if pieces.dtype.kind == "c" else 1))
    end = 0.05 / sqrt(rows)
    steps = schedule(1 / (64 * rows), end)
    for _ in range(ROUNDS):
        for number, step in enumerate(steps):
            if number == max(0, len(steps) - 2):
                project(iteration.x, iteration.spare)
                iteration.replace()
            iteration.step(step)
        if not iteration.settle():
            break
        steps = schedule(1e-3, end)
    else:
        raise NotConverged
    if len(parts) == 1:
        return [iteration.x]
    return [
        pieces.affine(_beside(iteration.x, place, count), pieces.room(rows, count), rows, count)
        for _, place, count in places
    ]


def _beside(matrix: Node, first: int, count: int) -> Node:
    """Columns of a matrix."""
    if first == 0 and count == matrix.shape[1]:
        return matrix
    return view_leaf(matrix, (matrix.shape[0], count), matrix.strides, matrix.offset + first)
