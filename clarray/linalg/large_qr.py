"""QR of large matrices by repeated Cholesky factorization, for devices with memory of their own.

Each round factorizes the Gram matrix of Q's columns and divides Q by the factor, until the columns are orthonormal::

    G = Q^H Q,   R' = chol(G),   Q = Q R'^-1,   R = R' R

Products of matrices are nearly all of the work. The condition of G is the square of Q's condition. So float32 matrices
are computed in float64 if the device has it. If rounding leaves G without a factor, a small multiple of the unit matrix
is added to G, after which Q's condition is far smaller. If Q is not orthonormal after a few rounds, for example because
A has a column of zeros, Householder's reflections on the host factorize A.

References
----------
T. Fukaya, R. Kannan, Y. Nakatsukasa, Y. Yamamoto, Y. Yanagisawa, "Shifted Cholesky QR for Computing the QR
Factorization of Ill-Conditioned Matrices", SIAM J. Sci. Comput. 42 (2020).
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_data import new_leaf
from clarray._core.ufunc_calls import cast
from clarray._engine.algorithms import launchers
from clarray._engine.evaluate import evaluate
from clarray._engine.writing import write

__all__ = ["large_qr"]

_ROUNDS = 4
_ROUNDINGS = 16
_NEAR = 0.1  # deviation from orthonormal columns that the division by the factor reduces to rounding


def large_qr(a: DeviceArray) -> tuple[DeviceArray, DeviceArray] | None:
    """Factorize a matrix.

    Parameters
    ----------
    a : DeviceArray
        (m, n) of float32, float64, complex64 or complex128, with elements.

    Returns
    -------
    tuple of DeviceArray, or None
        Q (m, k) and R (k, n) for ``k = min(m, n)``, with LAPACK's signs, or None if the columns of Q did not become
        orthonormal.
    """
    (m, n), k = a.shape, min(a.shape)
    work = np.promote_types(a.dtype, np.float64) if a.device.capabilities.fp64 else a.dtype
    columns = new_leaf(a.device, (k, m), work)
    write(columns, cast(a[:, :k].T._node, work))
    q = wrap(columns)  # Q transposed, because `divide` solves for the rows of Q side by side
    eps = float(np.finfo(a.dtype).eps)
    r = _orthonormalize(q, eps)
    if r is None:
        return None
    leading_block = new_leaf(a.device, (k, k), work)
    write(leading_block, cast(q[:, :k].T._node, work))
    signs = wrap(launchers.factorization_orthogonal.reflected_signs(leading_block, _ROUNDINGS * eps))[:, None]
    r_factor: Any = wrap(new_leaf(a.device, (k, n), a.dtype))
    r_factor[:, :k] = (r * signs).astype(a.dtype)
    if k < n:
        r_factor[:, k:] = ((q.conj() @ a[:, k:].astype(work)) * signs).astype(a.dtype)
    q_factor = wrap(new_leaf(a.device, (m, k), a.dtype))
    q_factor[...] = (q * signs).T.astype(a.dtype)
    return q_factor, r_factor


def _orthonormalize(q: DeviceArray, tolerance: float) -> DeviceArray | None:
    """Orthonormalize the rows of `q` (Q transposed) in place and return R, or None if the rounds do not suffice."""
    k, m = q.shape
    factor: Any = None
    for _ in range(_ROUNDS):
        products: Any = (q.conj() @ q.T).evaluate()
        unit: Any = np.eye(k, dtype=q.dtype, like=products)
        deviation = float(np.abs(products - unit).max())
        if factor is not None and deviation <= tolerance:
            return factor
        if not deviation < inf:
            return None
        norm = float(np.abs(products).sum(axis=1).max())
        shift = 11 * (m * k + k * (k + 1)) * float(np.finfo(q.dtype).eps) / 2 * norm
        step = _cholesky_factor(products)
        if step is None:
            step = _cholesky_factor(products + unit * q.dtype.type(shift))
        if step is None:
            return None
        launchers.factorization_orthogonal.divide(q._node, step._node)
        factor = step if factor is None else (step @ factor).evaluate()
        if deviation < _NEAR:
            return factor
    return None


def _cholesky_factor(products: Any) -> DeviceArray | None:
    try:
        return wrap(launchers.factorization.cholesky(evaluate(products._node), True))
    except LinAlgError:
        return None
