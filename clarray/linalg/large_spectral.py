"""Eigenvalues of large Hermitian matrices, and singular values of large ones, for devices with memory of their own.

Singular values are those of the polar factor H of ``A = U H``, which is Hermitian::

    H = V diag(s) V^H,   A = (U V) diag(s) V^H

What could not be split, which rounding may decide, is left to the host.

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
    """Eigenvalues of a Hermitian matrix, ascending, and its eigenvectors.

    Parameters
    ----------
    a : DeviceArray
        (n, n) of float32, float64, complex64 or complex128, with elements.
    upper : bool
        Read the upper triangle, else the lower one.
    vectors : bool
        Give the eigenvectors, too.

    Returns
    -------
    tuple of DeviceArray, or None
        (n,) and (n, n), or (n,) alone; None where the matrix could not be split.

    Raises
    ------
    LinAlgError
        An element of the triangle is not finite.
    """
    beside: Any = np.triu(a, 1) if upper else np.tril(a, -1)
    whole = (beside + beside.conj().T).evaluate()
    np.fill_diagonal(whole, np.diagonal(a).real)  # as in NumPy's no imaginary part is read there
    factor = _factor(whole, "Eigenvalues did not converge")
    found = launchers.spectral.eigh(evaluate(whole._node), factor, vectors)
    if found is None:
        return None
    values, basis = found
    order = np.argsort(values, kind="stable")
    ascending = as_array((values[order] / factor).astype(a.real.dtype), a.device)
    return (ascending,) if basis is None else (ascending, _columns(wrap(basis), order))


def large_svd(a: DeviceArray, vectors: bool) -> tuple[DeviceArray, ...] | None:
    """Singular values of a matrix, descending, between its left and right singular vectors.

    Parameters
    ----------
    a : DeviceArray
        (m, n), m >= n, of float32, float64, complex64 or complex128, with elements.
    vectors : bool
        Give the singular vectors, too.

    Returns
    -------
    tuple of DeviceArray, or None
        (m, n), (n,) and (n, n), or (n,) alone; None where they were not found.

    Raises
    ------
    LinAlgError
        An element is not finite.
    """
    array = a.evaluate()
    factor = _factor(array, "SVD did not converge")
    factors = launchers.spectral_polar.polar(evaluate(array._node), factor)
    found = factors and launchers.spectral.eigh(factors[1], 1.0, vectors)
    if factors is None or found is None:
        return None
    values, basis = found
    order = np.argsort(-np.abs(values), kind="stable")
    descending = as_array((np.abs(values[order]) / factor).astype(a.real.dtype), a.device)
    if basis is None:
        return (descending,)
    right = _columns(wrap(basis), order)
    left = wrap(factors[0]) @ right
    negative = values[order] < 0  # zero, but for rounding
    if negative.any():
        left = left * as_array(np.where(negative, -1, 1).astype(a.real.dtype), a.device)
    return left, descending, right.conj().T


def whole_basis(left: DeviceArray) -> DeviceArray | None:
    """Orthonormal columns, and after them those that make them a basis of the whole space; None where there are not.

    Parameters
    ----------
    left : DeviceArray
        (m, n), m >= n.
    """
    m, n = left.shape
    if m == n:
        return left
    others = launchers.spectral_polar.complement(evaluate(left._node))
    return None if others is None else concatenate((left, wrap(others)), axis=1)


def _factor(a: DeviceArray, message: str) -> float:
    """A power of two, by which no element is larger than 1, and the largest is not far from it."""
    parts: Any = (a.real, a.imag) if a.dtype.kind == "c" else (a,)
    largest = [float(np.abs(part).max()) for part in parts]
    if not all(map(isfinite, largest)):
        raise LinAlgError(message)
    most = -np.finfo(a.dtype).minexp - 2  # of the exponent: its power is a number of the dtype, either way
    return 2.0 ** min(most, max(-most, -frexp(max(largest))[1]))


def _columns(basis: DeviceArray, order: np.ndarray) -> Any:
    if (np.diff(order) == 1).all():
        return basis
    return np.take(basis, as_array(order, basis.device), axis=1)
