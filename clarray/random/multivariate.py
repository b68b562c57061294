"""Distributions of vectors. The host checks and factorizes their tables of parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clarray._core import callers, creation
from clarray._core.device_array import DeviceArray
from clarray._core.fallback import through_library
from clarray._core.operands import scalar_node
from clarray._core.own_frames import with_boundaries
from clarray._engine.expr.node import Shape, index
from clarray._engine.expr.view import contiguous
from clarray._engine.ops.snippets import Snippet
from clarray._engine.runtime import current_device
from clarray._numpy.kernels.base import run_snippet
from clarray.random import nodes
from clarray.random.draws import (
    FLOAT64,
    INT64,
    Draw,
    Source,
    _numpy,
    apply,
    as_host_double,
    as_host_or_device,
    float_dtype,
)

__all__ = ["Multivariate"]


@with_boundaries
class Multivariate(Source):
    """Draw vectors: the result has one axis more than `size`."""

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> DeviceArray:
        """Draw how often each of several outcomes happens in `n` trials.

        Parameters
        ----------
        n : int or array_like of int
            Number of trials.
        pvals : (..., K) array_like
            Probabilities of the K outcomes. The last one is taken as 1 minus the sum of the others.
        size : int or tuple of int, optional
            Shape of the result without its last axis. None takes the broadcast shape of `n` and the other axes of
            `pvals`.

        Returns
        -------
        (..., K) DeviceArray of int64
            Counts, which sum to `n` along the last axis.

        Raises
        ------
        ValueError
            NumPy refuses a parameter, or a parameter does not broadcast to `size`.
        TypeError
            The device lacks float64.

        Notes
        -----
        The host checks `n` and `pvals`, so device arrays are copied to the host.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.multinomial(10, [0.5, 0.3, 0.2], size=4)
        >>> x.shape, x.sum(axis=1).tolist()
        ((4, 3), [10, 10, 10, 10])
        """
        trials, chances = _as_host_array(n), as_host_double(pvals)
        _numpy.multinomial(np.min(trials) if np.size(trials) else 0, chances)
        shape = np.broadcast_shapes(np.shape(trials), chances.shape[:-1]) if size is None else nodes.as_size(size)
        if np.broadcast_shapes(shape, np.shape(trials), chances.shape[:-1]) != shape:
            raise ValueError(f"Output size {shape} is not compatible with broadcast dimensions of inputs")
        chances = np.broadcast_to(chances, (*shape, chances.shape[-1])) if chances.ndim > 1 else chances
        lines = ["double rest = 1;", "long left = n;"]
        step = "ca_binomial_double(at, key, first, stream, left, fmin(table[row + j] / rest, 1.0))"
        return self._distribute_counts(
            shape, np.broadcast_to(trials, shape), chances, lines, step, "rest -= table[row + j];"
        )

    def multivariate_hypergeometric(
        self, colors: Any, nsample: Any, size: Any = None, method: Any = "marginals"
    ) -> DeviceArray:
        """Draw the number of items of each colour in a sample without replacement.

        Parameters
        ----------
        colors : (K,) sequence of int
            Numbers of items of each of the K colours.
        nsample : int
            Size of the sample, at most the sum of `colors`.
        size : int or tuple of int, optional
            Shape of the result without its last axis. None draws one vector.
        method : {'marginals', 'count'}, optional
            Has no effect: clarray draws the count of one colour after the other.

        Returns
        -------
        (..., K) DeviceArray of int64
            Counts, which sum to `nsample` along the last axis.

        Raises
        ------
        ValueError
            NumPy refuses a parameter, for example a sample larger than the sum of `colors`, or that sum is 10**9 or
            more.
        TypeError
            The device lacks float64.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.multivariate_hypergeometric([3, 2, 5], 4, size=2)
        >>> x.shape, x.sum(axis=1).tolist()
        ((2, 3), [4, 4])
        """
        counts = _as_host_array(colors)
        _numpy.multivariate_hypergeometric(counts, nsample, size=0, method=method)
        shape = nodes.as_size(size)
        total = int(np.sum(counts))
        if total >= 10**9:
            raise ValueError('When method is "marginals", sum(colors) must be less than 1000000000.')
        lines = [f"long rest = {total};", "long left = n;"]
        step = "ca_hypergeometric_double(at, key, first, stream, table[row + j], rest - table[row + j], left)"
        samples = np.broadcast_to(np.int64(nsample), shape)
        return self._distribute_counts(
            shape, samples, np.asarray(counts, INT64), lines, step, "rest -= table[row + j];"
        )

    def _distribute_counts(
        self, shape: Shape, counts: np.ndarray, table: np.ndarray, lines: list[str], step: str, after: str
    ) -> DeviceArray:
        """Distribute the count of each position over the entries of a table, one entry after the other."""
        float_dtype(FLOAT64, "counts")
        kinds = table.shape[-1]
        per_position = table.ndim > 1
        body = "\n".join(
            [
                *lines,
                f"const long row = {'i * kinds' if per_position else '0'};",
                "const ulong key = ca_joined_ulong(k0, k1), first = ca_joined_ulong(f0, f1);",
                "for (long j = 0; j < kinds; ++j) {",
                "  const ulong at = (ulong)(i * kinds + j);",
                f"  const long each = j + 1 == kinds || left <= 0 ? left : {step};",
                "  counts[i * kinds + j] = each;",
                f"  left -= each; {after}",
                "}",
            ]
        )
        size = math.prod(shape)
        start = self._bit_generator.take(size * kinds)
        inputs: tuple[tuple[str, np.dtype, bool], ...] = (
            ("i", INT64, False),
            ("kinds", INT64, False),
            *((name, nodes.UINT32, False) for name in ("k0", "k1", "f0", "f1", "stream")),
            ("n", INT64, False),
            ("table", table.dtype, True),
        )
        snippet = Snippet(
            name="random counts", text=body, inputs=inputs, outputs=(("counts", INT64, True),), types=(), preamble=""
        )
        target = creation.zeros((*shape, kinds), INT64)
        operands = [
            index(shape, contiguous(shape), INT64),
            scalar_node(kinds, INT64),
            *start.constants(),
            creation.array(np.asarray(counts, INT64))._node,
            creation.array(np.ascontiguousarray(table))._node,
        ]
        if size:
            run_snippet(current_device(), snippet, operands, [target], shape)
        return target

    def dirichlet(self, alpha: Any, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw vectors of K shares that sum to 1: gamma variates of shapes `alpha`, divided by their sum.

        Parameters
        ----------
        alpha : (K,) sequence of float
            Shapes, at least 0. The mean of a share is its part of their sum.
        size : int or tuple of int, optional
            Shape of the result without its last axis. None draws one vector.
        dtype : dtype, optional
            float64 or float32.

        Returns
        -------
        (..., K) DeviceArray

        Raises
        ------
        ValueError
            NumPy refuses `alpha`.
        TypeError
            `dtype` is another dtype, or the device lacks float64.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.dirichlet([1.0, 2.0, 3.0], size=5)
        >>> x.shape, clarray.allclose(x.sum(axis=1), 1)
        ((5, 3), True)
        """
        shapes = as_host_double(alpha)
        _numpy.dirichlet(shapes, size=0)
        float_kind = float_dtype(dtype, "dirichlet")
        outer = nodes.as_size(size)
        draw = Draw(self._bit_generator.take, (*outer, shapes.size), float_kind)
        table = creation.array(shapes.astype(float_kind))
        if shapes.size and shapes.max() < 0.1:  # all variates of so small shapes may underflow to zero
            logarithms = draw.sample("loggamma", table).evaluate()
            variates = apply("exp", logarithms - logarithms.max(-1, keepdims=True), float_kind).evaluate()
        else:
            variates = draw.gamma(table).evaluate()
        return variates / variates.sum(-1, keepdims=True) if shapes.any() else variates

    def multivariate_normal(
        self,
        mean: Any,
        cov: Any,
        size: Any = None,
        check_valid: str = "warn",
        tol: float = 1e-8,
        *,
        method: str = "svd",
        dtype: Any = np.float64,
    ) -> DeviceArray:
        """Draw normal vectors with a given mean and covariance.

        Parameters
        ----------
        mean : (N,) array_like
            Mean vector.
        cov : (N, N) array_like
            Covariance matrix: symmetric and positive semi-definite.
        size : int or tuple of int, optional
            Shape of the result without its last axis. None draws one vector.
        check_valid : {'warn', 'raise', 'ignore'}, optional
            What to do if `cov` is not positive semi-definite.
        tol : float, optional
            Tolerance of that test.
        method : {'svd', 'eigh', 'cholesky'}, optional
            Factorization of `cov`.
        dtype : dtype, optional
            float64 or float32.

        Returns
        -------
        (..., N) DeviceArray

        Raises
        ------
        ValueError
            A shape or a value does not fit, or `cov` is not positive semi-definite and `check_valid` is 'raise'.
        TypeError
            `dtype` is another dtype, the device lacks float64, or `clarray.config.host_library` is 'raise'.

        Notes
        -----
        NumPy factorizes `cov` on the host. The device draws the numbers and multiplies them by the factor.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.multivariate_normal([0.0, 5.0], [[1.0, 0.5], [0.5, 2.0]], size=10000)
        >>> x.shape, bool((abs(x.mean(axis=0) - [0.0, 5.0]) < 0.1).all())
        ((10000, 2), True)
        """
        float_kind = float_dtype(dtype, "multivariate_normal")
        covariance = as_host_or_device(cov)
        _check_normal(np.shape(as_host_or_device(mean)), np.shape(covariance), check_valid, method)
        factor = through_library(
            f"numpy.linalg.{method}",
            _covariance_factor,
            covariance,
            check_valid=check_valid,
            tol=tol,
            method=method,
            dtype=float_kind,
        )
        means = as_host_double(mean)
        outer = nodes.as_size(size)
        normal = Draw(self._bit_generator.take, (*outer, means.size), float_kind).normal()
        flat = normal.reshape((math.prod(outer), means.size)) @ factor
        vectors: DeviceArray = (flat + creation.array(means.astype(float_kind))).reshape((*outer, means.size))
        return vectors


def _as_host_array(value: Any) -> Any:
    argument = as_host_or_device(value)
    return argument.get() if isinstance(argument, DeviceArray) else argument


def _check_normal(mean: Shape, cov: Shape, check_valid: str, method: str) -> None:
    if method not in ("eigh", "svd", "cholesky"):
        raise ValueError("method must be one of {'eigh', 'svd', 'cholesky'}")
    if len(mean) != 1:
        raise ValueError("mean must be 1 dimensional")
    if len(cov) != 2 or cov[0] != cov[1]:
        raise ValueError("cov must be 2 dimensional and square")
    if mean != cov[:1]:
        raise ValueError("mean and cov must have same length")
    if check_valid not in ("warn", "raise", "ignore"):
        raise ValueError("check_valid must equal 'warn', 'raise', or 'ignore'")


def _covariance_factor(covariance: Any, check_valid: str, tol: float, method: str, dtype: np.dtype) -> np.ndarray:
    """Return a matrix F with ``F.T @ F`` equal to the covariance. F has a row for each normal number."""
    cov = np.asarray(covariance, np.float64)
    if method == "cholesky":
        return np.linalg.cholesky(cov).T.astype(dtype)
    if method == "eigh":
        values, u = np.linalg.eigh(cov)
        is_semidefinite = bool(np.all(values >= -tol))
        values = np.abs(values)
    else:
        u, values, vh = np.linalg.svd(cov)
        is_semidefinite = np.allclose((vh.T * values) @ vh, cov, rtol=tol, atol=tol)
    if not is_semidefinite and check_valid != "ignore":
        message = "covariance is not symmetric positive-semidefinite."
        if check_valid == "raise":
            raise ValueError(message)
        callers.warn_user(message, RuntimeWarning)
    return (u * np.sqrt(values)).T.astype(dtype)
