"""What eigenvalues and polar factors are put together from: products of matrices, and looks at them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from math import prod, sqrt
from typing import Any, NamedTuple

import numpy as np

from clarray._engine.algorithms.matmul.launch import scaled_product
from clarray._engine.algorithms.spectral.plan import LAST, Quintic, schedule
from clarray._engine.algorithms.spectral.source import piece_source
from clarray._engine.expr.node import Node, contiguous_leaf, transposed_leaf, view_leaf
from clarray._engine.launch.kernel_cache import KernelCache
from clarray._engine.launch.operands import leaf_arguments

BOUND = 1.01  # what is rounded above a norm
NEAR = 0.3  # a matrix whose Y is so near to the unit matrix has no value that is not on its way to 1
ROUNDS = 3  # of polynomials, for what was smaller than was thought


Extents = tuple[int, int]  # rows and columns of a matrix, without the zeros beyond them


class NotConverged(Exception):
    """Values did not come near to 1."""


class Look(NamedTuple):
    """What is seen of a matrix."""

    norm: float
    diagonal: np.ndarray


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

    def room(self, *shape: int) -> Node:
        """A leaf for so many rows and columns, or for a stack of such matrices, whatever it holds."""
        return self.leaf(*shape[:-2], *map(self.up, shape[-2:]))

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
        values = {"alpha": 0.0 if source is None else alpha, "beta": beta, "beyond": beyond}
        values |= {"xs": place.strides[0], "xk": place.strides[1], "ys": target.strides[0]}
        values |= leaf_arguments(x=place, y=target) | _extents(target, rows, columns)
        self._launch("affine", target.shape[0], values, target)
        return target

    def noise(self, target: Node, rows: int, columns: int, amplitude: float = 1.0) -> Node:
        """Numbers without order in the first rows and columns, the same each time."""
        values = leaf_arguments(y=target) | _extents(target, rows, columns) | {"amplitude": amplitude}
        self._launch("noise", target.shape[0], values, target)
        return target

    def measure(self, x: Node, rows: int, columns: int, shift: float = 0.0) -> Look:
        """The Frobenius norm of ``x - shift * I``, and x's diagonal; waits for the device."""
        return self.measured([(x, (rows, columns), shift)])[0]

    def measured(self, looks: Sequence[tuple[Node, Extents, float]]) -> list[Look]:
        """`measure` each of several matrices, given with their rows and columns and a shift; waits once."""
        groups = [min(rows, self.policy.groups) for _, (rows, _), _ in looks]
        lengths = [count + min(extents) for count, (_, extents, _) in zip(groups, looks, strict=True)]
        ends = list(accumulate(lengths))
        memory = self.cache.device.allocate(ends[-1] * self.real.itemsize)
        for (x, (rows, columns), shift), end, length in zip(looks, ends, lengths, strict=True):
            values = leaf_arguments(x=x) | {"sp": memory.buffer, "so": end - length, "xs": x.strides[0]}
            values |= {"rows": rows, "columns": columns, "shift": shift}
            self._launch("measure", rows, values, x)
        found = np.empty(ends[-1], self.real)
        self.cache.device.read(memory, 0, found)
        seen = zip(np.split(found.astype(np.float64), ends[:-1]), groups, strict=True)
        return [Look(sqrt(float(np.sum(part[:count]))), part[count:]) for part, count in seen]

    def _launch(self, name: str, rows: int, values: dict[str, Any], matrix: Node) -> None:
        items = self.policy.items
        how = name, self.dtype, items, self.cache.policies.matmul.multiply_add
        kernel = self.cache.kernel_for(("spectral", *how), piece_source, *how, self.cache.capabilities)
        groups = min(rows, self.policy.groups)
        args = kernel.arguments(**values)
        kernel.launch((groups,), (items,), args, False, matrix.size * self.dtype.itemsize)


def _extents(target: Node, rows: int, columns: int) -> dict[str, int]:
    """The extents of a matrix, with and without the zeros beyond its rows and columns, by the kernels' names."""
    all_rows, all_columns = target.shape
    return {"all_rows": all_rows, "all_columns": all_columns, "rows": rows, "columns": columns}


def each_of(stack: Node) -> list[Node]:
    """The matrices of a stack, or the one that there is."""
    if len(stack.shape) == 2:
        return [stack]
    shape, (apart, *strides) = stack.shape[1:], stack.strides
    return [view_leaf(stack, shape, tuple(strides), stack.offset + apart * i) for i in range(stack.shape[0])]


class Iteration:
    """A matrix whose singular values go to 1, or, if it is Hermitian, whose eigenvalues go to 1 and -1; or a stack.

    Parameters
    ----------
    pieces : Pieces
    x : Node
        The matrix, of a norm whose eighth power is a number of its dtype, or a stack of them; overwritten.
    extents : sequence of (int, int)
        Of each, without the zeros.
    hermitian : bool
    norm : float, optional
        A bound of all norms; looked for by default, for each matrix.

    Attributes
    ----------
    x : Node
        What it has become.
    spare : Node
        Where to write what replaces it.
    norms : list of float
        The bounds; one that was looked for is above the norm by the eighth root of the columns at most.
    """

    def __init__(
        self, pieces: Pieces, x: Node, extents: Sequence[Extents], hermitian: bool, norm: float | None = None
    ) -> None:
        self.pieces = pieces
        self.x = x
        self._squares = [(columns, columns) for _, columns in extents]
        self._hermitian = hermitian
        stack, columns = x.shape[:-2], x.shape[-1]
        self.spare, self._y, self._w = (pieces.leaf(*shape) for shape in (x.shape, *2 * ((*stack, columns, columns),)))
        y, cache = self._y, pieces.cache
        left = x if hermitian else transposed_leaf(x)
        # X's two places are alike, and so what is launched is looked up but once
        self._to_gram = scaled_product(cache, left, x, y, adjoint=not hermitian, mirrored=True)
        self._to_inner = scaled_product(cache, y, y, self._w, y, mirrored=True)
        self._to_next = scaled_product(cache, x, self._w, self.spare, x, mirrored=hermitian)
        self._current = False  # whether y is x's
        self.norms = self._found_norms() if norm is None else [norm] * len(extents)
        self._scale = self.norms[0]
        if norm is None and len(extents) > 1:
            self._divide(extents)

    def _found_norms(self) -> list[float]:
        """By the sums of the singular values' eighth powers."""
        y, w = self.gram(), self._w
        self._to_inner.run(y, y, w, 1.0, 0.0, y)
        return [BOUND * look.norm**0.25 for look in self._looks(w, 0.0)]

    def _divide(self, extents: Sequence[Extents]) -> None:
        """Make each of several matrices one of norm 1; of what is zero, or no number, it stays that."""
        for source, target, extent, norm in zip(each_of(self.x), each_of(self.spare), extents, self.norms, strict=True):
            self.pieces.affine(source, target, *extent, alpha=1 / norm if norm > 0 else 1.0)
        self.replace()

    def _looks(self, stack: Node, shift: float) -> list[Look]:
        matrices = zip(each_of(stack), self._squares, strict=True)
        return self.pieces.measured([(matrix, extents, shift) for matrix, extents in matrices])

    def step(self, polynomial: Quintic) -> None:
        """Replace X by a polynomial in it."""
        a, b, c = polynomial
        y, w, scale = self.gram(), self._w, self._scale
        self._to_inner.run(y, y, w, c / scale**4, b / scale**2, y)
        self._to_next.run(self.x, w, self.spare, 1 / scale, a / scale, self.x)
        self.replace()

    def replace(self) -> None:
        """Go on with what has been written to `spare`, of norm 1, in place of X."""
        self.x, self.spare = self.spare, self.x
        self._current, self._scale = False, 1.0

    def settle(self) -> list[float]:
        """Take what is near to 1 as near as rounding lets it be, once all of every matrix is near.

        Returns
        -------
        list of float
            For each matrix 0; or, where not all are near to 1, the square root of about as many of its values as are
            not, or NaN.
        """
        away = [look.norm for look in self._looks(self.gram(), 1.0)]
        if not all(distance <= NEAR for distance in away):
            return away
        most = max(away)
        while most > self.pieces.eps:  # of a value by itself, at most
            self.step(LAST)
            most = most**3
        return [0.0] * len(away)

    def gram(self) -> Node:
        """``X^H X``, or of what is Hermitian its square."""
        if not self._current:
            x, y = self.x, self._y
            self._to_gram.run(x if self._hermitian else transposed_leaf(x), x, y, 1.0, 0.0, y)
            self._current = True
        return self._y


Projection = Callable[[Node, Node], object]  # launches the projection of matrices into others


def orthonormal_bases(pieces: Pieces, project: Projection, shape: tuple[int, ...], extents: Sequence[Extents]) -> Node:
    """Orthonormal bases of subspaces, each within a space of its own.

    Columns without order are projected there, and made orthonormal. The projection is repeated when they nearly are:
    what was rounded at first has grown as much as the columns were nearly dependent.

    Parameters
    ----------
    pieces : Pieces
    project : callable
    shape : tuple of int
        Of the matrix of columns, or of the stack of them, with zeros.
    extents : sequence of (int, int)
        For each the rows, which are the whole space's, and how many columns its basis has.

    Raises
    ------
    NotConverged
        The columns of one stay dependent.
    """
    noise, start = pieces.room(*shape), pieces.room(*shape)
    for matrix, extent in zip(each_of(noise), extents, strict=True):
        pieces.noise(matrix, *extent)
    project(noise, start)
    rows, columns = (max(extent[i] for extent in extents) for i in (0, 1))
    # numbers without order have about this norm, sqrt(m) + sqrt(n) times their standard deviation, and few are above it
    norm = 1.2 * (sqrt(rows) + sqrt(columns)) / sqrt(3) * (sqrt(2) if pieces.dtype.kind == "c" else 1)
    iteration = Iteration(pieces, start, extents, False, norm)
    end = 0.05 / sqrt(rows)
    steps = schedule(1 / (64 * rows), end)
    for _ in range(ROUNDS):
        for number, step in enumerate(steps):
            if number == max(0, len(steps) - 2):
                project(iteration.x, iteration.spare)
                iteration.replace()
            iteration.step(step)
        if not any(iteration.settle()):
            return iteration.x
        steps = schedule(1e-3, end)
    raise NotConverged
