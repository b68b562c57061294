"""Eigenvalues of large Hermitian matrices, and singular values of large matrices, for devices with memory of their own.

The singular values of A are the eigenvalues of H, the Hermitian factor of its polar decomposition ``A = U H``::

    H = V diag(s) V^H,   A = (U V) diag(s) V^H

Rounding may keep the divide-and-conquer algorithm from splitting a matrix. The host then factorizes the matrix.

References
----------
Y. Nakatsukasa, N. Higham, "Stable and Efficient Spectral Divide and Conquer Algorithms for the Symmetric Eigenvalue
Decomposition and the SVD", SIAM J. Sci. Comput. 35 (2013).
"""

from __future__ import annotations

from math import frexp, isfinite
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, wrap
from clarray._engine.algorithms import launchers
from clarray._engine.evaluate import evaluate
from clarray._numpy.manipulation.joining import concatenate

__all__ = ["large_eigh", "large_svd", "whole_basis"]


def large_eigh(a: DeviceArray, upper: bool, vectors: bool) -> tuple[DeviceArray, ...] | None:
    """Compute the eigenvalues of a Hermitian matrix in ascending order, and its eigenvectors.

    Parameters
    ----------
    a : DeviceArray
        (n, n) of float32, float64, complex64 or complex128, with elements.
    upper : bool
        Read the upper triangle, else the lower one.
    vectors : bool
        Compute the eigenvectors, too.

    Returns
    -------
    tuple of DeviceArray, or None
        (n,) and (n, n), or (n,) alone. None if the matrix could not be split.

    Raises
    ------
    LinAlgError
        An element of the triangle is not finite.
    """
    triangle: Any = np.triu(a, 1) if upper else np.tril(a, -1)
    hermitian = (triangle + triangle.conj().T).evaluate()
    np.fill_diagonal(hermitian, np.diagonal(a).real)  # NumPy ignores the imaginary part of the diagonal
    scale = _unit_scale(hermitian, "Eigenvalues did not converge")
    decomposition = launchers.spectral.eigh(evaluate(hermitian._node), scale, vectors)
    if decomposition is None:
        return None
    values, eigenvectors = decomposition
    order = np.argsort(values, kind="stable")
    ascending = as_array((values[order] / scale).astype(a.real.dtype), a.device)
    return (ascending,) if eigenvectors is None else (ascending, _reordered_columns(wrap(eigenvectors), order))


def large_svd(a: DeviceArray, vectors: bool) -> tuple[DeviceArray, ...] | None:
    """Compute the singular values of a matrix in descending order, between its left and right singular vectors.

    Parameters
    ----------
    a : DeviceArray
        (m, n), m >= n, of float32, float64, complex64 or complex128, with elements.
    vectors : bool
        Compute the singular vectors, too.

    Returns
    -------
    tuple of DeviceArray, or None
        (m, n), (n,) and (n, n), or (n,) alone. None if the polar factor could not be computed or split.

    Raises
    ------
    LinAlgError
        An element is not finite.
    """
    array = a.evaluate()
    scale = _unit_scale(array, "SVD did not converge")
    polar = launchers.spectral_polar.polar(evaluate(array._node), scale)
    decomposition = polar and launchers.spectral.eigh(polar[1], 1.0, vectors)
    if polar is None or decomposition is None:
        return None
    values, basis = decomposition
    order = np.argsort(-np.abs(values), kind="stable")
    descending = as_array((np.abs(values[order]) / scale).astype(a.real.dtype), a.device)
    if basis is None:
        return (descending,)
    v = _reordered_columns(wrap(basis), order)
    u = wrap(polar[0]) @ v
    negative = values[order] < 0  # zeros that rounding has made negative
    if negative.any():
        u = u * as_array(np.where(negative, -1, 1).astype(a.real.dtype), a.device)
    return u, descending, v.conj().T


def whole_basis(columns: DeviceArray) -> DeviceArray | None:
    """Complete orthonormal columns to a basis of the whole space. Return None if this fails.

    Parameters
    ----------
    columns : DeviceArray
        (m, n), m >= n.
    """
    m, n = columns.shape
    if m == n:
        return columns
    others = launchers.spectral_polar.complement(evaluate(columns._node))
    return None if others is None else concatenate((columns, wrap(others)), axis=1)


def _unit_scale(a: DeviceArray, message: str) -> float:
    """Return the power of two that scales the largest magnitude of `a` to between 0.5 and 1."""
    parts: Any = (a.real, a.imag) if a.dtype.kind == "c" else (a,)
    largest = [float(np.abs(part).max()) for part in parts]
    if not all(map(isfinite, largest)):
        raise LinAlgError(message)
    limit = (
        -np.finfo(a.dtype).minexp - 2
    )  # of the exponent: both 2**limit and 2**-limit are normal numbers of the dtype
    return 2.0 ** min(limit, max(-limit, -frexp(max(largest))[1]))


def _reordered_columns(basis: DeviceArray, order: np.ndarray) -> Any:
    if (np.diff(order) == 1).all():
        return basis
    return np.take(basis, as_array(order, basis.device), axis=1)
