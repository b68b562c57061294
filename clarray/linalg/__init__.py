"""Multiply and factorize matrices and solve linear equations. The functions have the same names as in `numpy.linalg`.

The device computes products and norms. Factorizations run on the device, or NumPy computes them on the host. This
depends on the function, the size of the matrices and the device.

>>> import clarray
>>> x = clarray.asarray([[3.0, 4.0], [0.0, 2.0]])
>>> clarray.linalg.norm(x, axis=1).tolist()
[5.0, 2.0]
>>> clarray.linalg.solve(x, clarray.asarray([5.0, 2.0])).tolist()
[0.3333333333333333, 1.0]
"""

import sys as _sys

import numpy.linalg as _numpys
from numpy.linalg import LinAlgError

from clarray._core.host_fallback import add_host_fallbacks as _add_host_fallbacks
from clarray.linalg.factorizations import (
    cholesky,
    det,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    inv,
    lstsq,
    matrix_rank,
    pinv,
    qr,
    slogdet,
    solve,
    svd,
    svdvals,
)
from clarray.linalg.norms import cond, matrix_norm, norm, vector_norm
from clarray.linalg.products import (
    cross,
    diagonal,
    matmul,
    matrix_power,
    matrix_transpose,
    multi_dot,
    outer,
    tensordot,
    trace,
    vecdot,
)
from clarray.linalg.tensors import tensorinv, tensorsolve

__all__ = [
    "LinAlgError",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]

_add_host_fallbacks(_sys.modules[__name__], _numpys, __all__)
