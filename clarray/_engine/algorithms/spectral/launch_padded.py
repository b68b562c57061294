"""Operations of the spectral algorithms on zero-padded matrices: products, statistics, polynomial iterations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from math import prod, sqrt
from typing import Any, NamedTuple

import numpy as np

from clarray._engine.algorithms.matmul.launch import scaled_product
from clarray._engine.algorithms.spectral.plan import LAST, Quintic, schedule
from clarray._engine.algorithms.spectral.source import matrix_source
from clarray._engine.expr.node import Node, contiguous_leaf, transposed_leaf, view_leaf
from clarray._engine.launch.kernel_cache import KernelCache
from clarray._engine.launch.operands import leaf_arguments

BOUND = 1.01  # margin for the rounding of a computed norm
NEAR = 0.3  # if ||X^H X - I|| is at most this, all singular values of X converge to 1
ROUNDS = 3  # repetitions of a schedule, for values below its expected minimum


Extents = tuple[int, int]  # rows and columns of a matrix, without the padding


class NotConverged(Exception):
    """Report an iteration whose values did not converge to 1."""


class MatrixStats(NamedTuple):
    """The Frobenius norm of ``x - shift * I`` and the diagonal of ``x``, on the host."""

    norm: float
    diagonal: np.ndarray


class Addend(NamedTuple):
    """The matrix that a product is added to, and its factor."""

    factor: float
    matrix: Node


class PaddedMatrices:
    """Launch operations on matrices of one dtype, which zeros pad to multiples of the policy's extent.

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

    def allocate_padded(self, *shape: int) -> Node:
        """Allocate an uninitialized matrix, or a stack of matrices, with padded rows and columns."""
        return self.allocate(*shape[:-2], *map(self.padded_extent, shape[-2:]))

    def allocate(self, *shape: int) -> Node:
        """Allocate an uninitialized leaf without padding."""
        return contiguous_leaf(self.cache.device.allocate(prod(shape) * self.dtype.itemsize), shape, self.dtype)

    def padded_extent(self, extent: int) -> int:
        """Round a number of rows or columns up to the policy's multiple."""
        multiple = self.policy.multiple
        return -(-extent // multiple) * multiple

    def product(
        self,
        a: Node,
        b: Node,
        target: Node,
        *,
        alpha: float = 1.0,
        plus: Addend | None = None,
        adjoint: bool = False,
        mirrored: bool = False,
    ) -> Node:
        """Compute ``alpha * a @ b + plus.factor * plus.matrix`` into the target and return it, see `scaled_product`."""
        beta, other = (0.0, None) if plus is None else plus
        launch = scaled_product(self.cache, a, b, target, other, adjoint=adjoint, mirrored=mirrored)
        launch.run(a, b, target, alpha, beta, target if other is None else other)
        return target

    def gram(self, x: Node, target: Node) -> Node:
        """Compute ``x^H x`` into the target and return it."""
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
        """Write ``alpha * source + beta * I`` within the extents, and ``beyond * I`` into the padding.

        Without a source the first term is zero. Returns the target.
        """
        x = target if source is None else source
        values = {"alpha": 0.0 if source is None else alpha, "beta": beta, "beyond": beyond}
        values |= {"xs": x.strides[0], "xk": x.strides[1], "ys": target.strides[0]}
        values |= leaf_arguments(x=x, y=target) | _extent_arguments(target, rows, columns)
        self._launch("affine", target.shape[0], values, target)
        return target

    def fill_random(self, target: Node, rows: int, columns: int, amplitude: float = 1.0) -> Node:
        """Write reproducible pseudorandom numbers within the extents, and zeros into the padding."""
        values = leaf_arguments(y=target) | _extent_arguments(target, rows, columns) | {"amplitude": amplitude}
        self._launch("noise", target.shape[0], values, target)
        return target

    def norm(self, x: Node, rows: int, columns: int) -> float:
        """Return the Frobenius norm of a matrix. Waits for the device."""
        return self.stats([(x, (rows, columns), 0.0)])[0].norm

    def stats(self, requests: Sequence[tuple[Node, Extents, float]]) -> list[MatrixStats]:
        """Return the statistics of several matrices. Waits for the device once.

        Parameters
        ----------
        requests : sequence of (Node, (int, int), float)
            A matrix, its rows and columns, and the shift of its diagonal.
        """
        groups = [min(rows, self.policy.groups) for _, (rows, _), _ in requests]
        lengths = [count + min(extents) for count, (_, extents, _) in zip(groups, requests, strict=True)]
        ends = list(accumulate(lengths))
        memory = self.cache.device.allocate(ends[-1] * self.real.itemsize)
        for (x, (rows, columns), shift), end, length in zip(requests, ends, lengths, strict=True):
            values = leaf_arguments(x=x) | {"sp": memory.buffer, "so": end - length, "xs": x.strides[0]}
            values |= {"rows": rows, "columns": columns, "shift": shift}
            self._launch("measure", rows, values, x)
        numbers = np.empty(ends[-1], self.real)
        self.cache.device.read(memory, 0, numbers)
        results = zip(np.split(numbers.astype(np.float64), ends[:-1]), groups, strict=True)
        return [MatrixStats(sqrt(float(np.sum(part[:count]))), part[count:]) for part, count in results]

    def _launch(self, name: str, rows: int, values: dict[str, Any], matrix: Node) -> None:
        items = self.policy.items
        form = name, self.dtype, items
        kernel = self.cache.kernel_for(("spectral", *form), matrix_source, *form, self.cache.capabilities)
        groups = min(rows, self.policy.groups)
        args = kernel.arguments(**values)
        kernel.launch((groups,), (items,), args, False, matrix.size * self.dtype.itemsize)


def _extent_arguments(target: Node, rows: int, columns: int) -> dict[str, int]:
    """Return the extents of a matrix, with and without padding, by the kernels' argument names."""
    all_rows, all_columns = target.shape
    return {"all_rows": all_rows, "all_columns": all_columns, "rows": rows, "columns": columns}


def unstack(stack: Node) -> list[Node]:
    """Return views of the matrices of a stack; a single matrix is a stack of itself."""
    if len(stack.shape) == 2:
        return [stack]
    shape, (pitch, *strides) = stack.shape[1:], stack.strides
    return [view_leaf(stack, shape, tuple(strides), stack.offset + pitch * i) for i in range(stack.shape[0])]


class Iteration:
    """Iterate odd polynomials on a matrix, or on each matrix of a stack, until its singular values are 1.

    The eigenvalues of a Hermitian matrix converge to 1 and -1.

    Parameters
    ----------
    padded : PaddedMatrices
    x : Node
        The matrix, or a stack of matrices. The eighth power of its norm must not overflow. It is overwritten.
    extents : sequence of (int, int)
        Rows and columns of each matrix, without the padding.
    hermitian : bool
    norm : float, optional
        An upper bound on all norms. By default one is computed for each matrix.

    Attributes
    ----------
    x : Node
        The current iterate.
    spare : Node
        Memory for the next iterate.
    norms : list of float
        The upper bounds. A computed bound exceeds the norm by at most a factor of the eighth root of the columns.
    """

    def __init__(
        self, padded: PaddedMatrices, x: Node, extents: Sequence[Extents], hermitian: bool, norm: float | None = None
    ) -> None:
        self.padded = padded
        self.x = x
        self._squares = [(columns, columns) for _, columns in extents]
        self._hermitian = hermitian
        stack, columns = x.shape[:-2], x.shape[-1]
        shapes = (x.shape, *2 * ((*stack, columns, columns),))
        self.spare, self._y, self._w = (padded.allocate(*shape) for shape in shapes)
        y, cache = self._y, padded.cache
        transposed = x if hermitian else transposed_leaf(x)
        # `x` and `spare` have the same layout, so these launches fit either order
        self._to_gram = scaled_product(cache, transposed, x, y, adjoint=not hermitian, mirrored=True)
        self._to_inner = scaled_product(cache, y, y, self._w, y, mirrored=True)
        self._to_next = scaled_product(cache, x, self._w, self.spare, x, mirrored=hermitian)
        self._gram_is_current = False
        self.norms = self._norm_bounds() if norm is None else [norm] * len(extents)
        self._scale = self.norms[0]
        if norm is None and len(extents) > 1:
            self._normalize(extents)

    def _norm_bounds(self) -> list[float]:
        """Return upper bounds on the norms: eighth roots of the sums of the singular values' eighth powers."""
        y, w = self.gram(), self._w
        self._to_inner.run(y, y, w, 1.0, 0.0, y)
        return [BOUND * stats.norm**0.25 for stats in self._stats(w, 0.0)]

    def _normalize(self, extents: Sequence[Extents]) -> None:
        """Divide each matrix by its norm; zero and NaN norms leave it unchanged."""
        pairs = zip(unstack(self.x), unstack(self.spare), extents, self.norms, strict=True)
        for source, target, extent, norm in pairs:
            self.padded.affine(source, target, *extent, alpha=1 / norm if norm > 0 else 1.0)
        self.use_spare()

    def _stats(self, stack: Node, shift: float) -> list[MatrixStats]:
        matrices = zip(unstack(stack), self._squares, strict=True)
        return self.padded.stats([(matrix, extents, shift) for matrix, extents in matrices])

    def step(self, polynomial: Quintic) -> None:
        """Replace X by ``a X + X (b Y + c Y Y)`` with ``Y = X^H X``."""
        a, b, c = polynomial
        y, w, scale = self.gram(), self._w, self._scale
        self._to_inner.run(y, y, w, c / scale**4, b / scale**2, y)
        self._to_next.run(self.x, w, self.spare, 1 / scale, a / scale, self.x)
        self.use_spare()

    def use_spare(self) -> None:
        """Make `spare`, whose norm must be 1, the current iterate."""
        self.x, self.spare = self.spare, self.x
        self._gram_is_current, self._scale = False, 1.0

    def converge(self) -> list[float]:
        """Iterate to rounding precision if all singular values of all matrices are near 1.

        Returns
        -------
        list of float
            The remaining distance ``||X^H X - I||`` of each matrix. All are 0 after convergence. Otherwise a distance
            is about the square root of the number of values that are not near 1, or NaN.
        """
        distances = [stats.norm for stats in self._stats(self.gram(), 1.0)]
        if not all(distance <= NEAR for distance in distances):
            return distances
        error = max(distances)  # the norm is an upper bound on the error of each value
        while error > self.padded.eps:
            self.step(LAST)
            error = error**3
        return [0.0] * len(distances)

    def gram(self) -> Node:
        """Return ``X^H X``, which is the square of a Hermitian matrix."""
        if not self._gram_is_current:
            x, y = self.x, self._y
            self._to_gram.run(x if self._hermitian else transposed_leaf(x), x, y, 1.0, 0.0, y)
            self._gram_is_current = True
        return self._y


Projection = Callable[[Node, Node], object]  # (source, target): launch the projection of source into target


def orthonormal_bases(
    padded: PaddedMatrices, project: Projection, shape: tuple[int, ...], extents: Sequence[Extents]
) -> Node:
    """Compute orthonormal bases of the subspaces that a projection maps onto.

    Random columns are projected and orthonormalized. The projection is repeated shortly before convergence, because
    nearly dependent columns amplify the rounding errors of the first projection.

    Parameters
    ----------
    padded : PaddedMatrices
    project : callable
    shape : tuple of int
        Padded shape of the matrix of columns, or of their stack.
    extents : sequence of (int, int)
        For each basis the rows and the number of its columns.

    Raises
    ------
    NotConverged
        The columns of a basis stay dependent.
    """
    random, start = padded.allocate_padded(*shape), padded.allocate_padded(*shape)
    for matrix, extent in zip(unstack(random), extents, strict=True):
        padded.fill_random(matrix, *extent)
    project(random, start)
    rows, columns = (max(extent[i] for extent in extents) for i in (0, 1))
    # a random matrix rarely has a larger norm than (sqrt(m) + sqrt(n)) times its standard deviation, plus a margin
    norm = 1.2 * (sqrt(rows) + sqrt(columns)) / sqrt(3) * (sqrt(2) if padded.dtype.kind == "c" else 1)
    iteration = Iteration(padded, start, extents, False, norm)
    end = 0.05 / sqrt(rows)
    steps = schedule(1 / (64 * rows), end)
    for _ in range(ROUNDS):
        for number, step in enumerate(steps):
            if number == max(0, len(steps) - 2):
                project(iteration.x, iteration.spare)
                iteration.use_spare()
            iteration.step(step)
        if not any(iteration.converge()):
            return iteration.x
        steps = schedule(1e-3, end)
    raise NotConverged
