"""QR of large matrices by Cholesky's factors, for devices with memory of their own.

The columns of A are made orthonormal by the factor of their products with each other, until they are::

    G = Q^H Q,   R' = chol(G),   Q = Q R'^-1,   R = R' R

Products of matrices are nearly all of the work. G has the square of Q's condition: so float32 is computed in float64
where there is that, and where G has no factor as it is rounded, a small multiple of the unit matrix is added to it,
after which Q's condition is far smaller. What is not orthonormal after a few rounds, as a matrix with a column of
zeros, is left to Householder's reflections on the host.

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
_NEAR = 0.1  # so near to orthonormal the next round ends at rounding


def large_qr(a: DeviceArray) -> tuple[DeviceArray, DeviceArray] | None:
    """Factorize a matrix.

    Parameters
    ----------
    a : DeviceArray
        (m, n) of float32, float64, complex64 or complex128, with elements.

    Returns
    -------
    tuple of DeviceArray, or None
        Q (m, k) and R (k, n) for ``k = min(m, n)``, with LAPACK's signs; None where the columns could not be made
        orthonormal so.
    """
    (m, n), k = a.shape, min(a.shape)
    work = np.promote_types(a.dtype, np.float64) if a.device.capabilities.fp64 else a.dtype
    columns = new_leaf(a.device, (k, m), work)
    write(columns, cast(a[:, :k].T._node, work))
    q = wrap(columns)  # lies transposed: rows of Q are solved for side by side
    eps = float(np.finfo(a.dtype).eps)
    r = _orthonormalized(q, eps)
    if r is None:
        return None
    top = new_leaf(a.device, (k, k), work)
    write(top, cast(q[:, :k].T._node, work))
    signs = wrap(launchers.factorization_orthogonal.reflected_signs(top, _ROUNDINGS * eps))[:, None]
    whole: Any = wrap(new_leaf(a.device, (k, n), a.dtype))
    whole[:, :k] = (r * signs).astype(a.dtype)
    if k < n:
        whole[:, k:] = ((q.conj() @ a[:, k:].astype(work)) * signs).astype(a.dtype)
    found = wrap(new_leaf(a.device, (m, k), a.dtype))
    found[...] = (q * signs).T.astype(a.dtype)
    return found, whole


def _orthonormalized(q: DeviceArray, wanted: float) -> DeviceArray | None:
    """Make the columns of a matrix, which lies transposed, orthonormal in place; give R, of their QR."""
    k, m = q.shape
    factor: Any = None
    for _ in range(_ROUNDS):
        products: Any = (q.conj() @ q.T).evaluate()
        unit: Any = np.eye(k, dtype=q.dtype, like=products)
        away = float(np.abs(products - unit).max())
        if factor is not None and away <= wanted:
            return factor
        if not away < inf:
            return None
        size = float(np.abs(products).sum(axis=1).max())
        added = 11 * (m * k + k * (k + 1)) * float(np.finfo(q.dtype).eps) / 2 * size
        step = _factor(products)
        if step is None:
            step = _factor(products + unit * q.dtype.type(added))
        if step is None:
            return None
        launchers.factorization_orthogonal.divide(q._node, step._node)
        factor = step if factor is None else (step @ factor).evaluate()
        if away < _NEAR:
            return factor
    return None


def _factor(products: Any) -> DeviceArray | None:
    try:
        return wrap(launchers.factorization.cholesky(evaluate(products._node), True))
    except LinAlgError:
        return None
