"""Factorizations of matrices, equations, inverses and ranks: on the device, or by NumPy's LAPACK on the host.

OpenCL has no LAPACK (docs/engineering/linalg.md). `on_device` and `orthogonal` return None for unsupported operands.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.device_array import DeviceArray
from clarray._engine.speedups import captured
from clarray.linalg import on_device, orthogonal
from clarray.linalg.host_lapack import on_host

__all__ = [
    "cholesky",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matrix_rank",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
]

_NO: Any = np._NoValue
# NumPy's named tuples
_SLOGDET: Any = type(np.linalg.slogdet(np.eye(1)))
_QR: Any = type(np.linalg.qr(np.eye(1)))
_EIGH: Any = type(np.linalg.eigh(np.eye(1)))
_SVD: Any = type(np.linalg.svd(np.eye(1)))


# Factorizations -------------------------------------------------------------------------------


@captured(operands=1)
def cholesky(a: Any, /, *, upper: bool = False) -> DeviceArray:
    """Return the triangular factor L of ``a = L @ L^H``, or with `upper` the factor U of ``a = U^H @ U``.

    Parameters
    ----------
    a : (..., M, M) array_like
        Hermitian, positive definite matrices. Only the triangle of the factor is read.
    upper : bool
        Whether to return U instead of L.

    Returns
    -------
    (..., M, M) DeviceArray

    Raises
    ------
    LinAlgError
        A matrix is not positive definite, or not square.

    Examples
    --------
    >>> import clarray
    >>> clarray.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]]).round(6).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    factor = on_device.cholesky(a, upper)
    return on_host("cholesky", (a,), upper=upper) if factor is None else factor


@captured(operands=1)
def qr(a: Any, mode: str = "reduced") -> Any:
    """Factorize matrices as ``Q @ R``: Q has orthonormal columns, and R is upper triangular.

    Parameters
    ----------
    a : (..., M, N) array_like
    mode : {'reduced', 'complete', 'r', 'raw'}
        With ``K = min(M, N)``. 'reduced': Q (..., M, K) and R (..., K, N). 'complete': Q (..., M, M) and R (..., M, N).
        'r': only R. 'raw': LAPACK's own result, h (..., N, M) and tau (..., K).

    Returns
    -------
    QRResult (Q, R), or DeviceArray R, or a tuple (h, tau)

    Examples
    --------
    >>> import clarray
    >>> a = clarray.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> q, r = clarray.linalg.qr(a)
    >>> q.shape, r.shape, clarray.allclose(q @ r, a)
    ((3, 2), (2, 2), True)
    """
    factors = orthogonal.qr(a, mode)
    if factors is None:
        return on_host("qr", (a,), mode)
    return factors[0] if mode == "r" else factors if mode == "raw" else _QR(*factors)


@captured(operands=1)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Compute the singular value decomposition ``a = U @ diag(S) @ Vh``.

    Parameters
    ----------
    a : (..., M, N) array_like
    full_matrices : bool
        True: U (..., M, M) and Vh (..., N, N). False: U (..., M, K) and Vh (..., K, N), with ``K = min(M, N)``.
    compute_uv : bool
        False computes and returns only S.
    hermitian : bool
        Whether the matrices are Hermitian. A faster method computes their result.

    Returns
    -------
    SVDResult (U, S, Vh), or DeviceArray S
        S (..., K) has the singular values in descending order.

    Raises
    ------
    LinAlgError
        The computation did not converge.

    Examples
    --------
    >>> import clarray
    >>> a = clarray.asarray([[3.0, 0.0], [4.0, 5.0]])
    >>> u, s, vh = clarray.linalg.svd(a)
    >>> (s**2).round(6).tolist(), clarray.allclose(u * s @ vh, a)
    ([45.0, 5.0], True)
    """
    factors = orthogonal.svd(a, full_matrices, compute_uv, hermitian)
    if factors is None:
        return on_host("svd", (a,), full_matrices, compute_uv, hermitian)
    return _SVD(*factors) if compute_uv else factors[0]


@captured(operands=1)
def svdvals(x: Any, /) -> DeviceArray:
    """Compute singular values in descending order; see `svd`.

    Parameters
    ----------
    x : (..., M, N) array_like

    Returns
    -------
    (..., K) DeviceArray, real, with ``K = min(M, N)``

    Examples
    --------
    >>> import clarray
    >>> clarray.linalg.svdvals([[3.0, 0.0], [0.0, 4.0]]).round(6).tolist()
    [4.0, 3.0]
    """
    decomposition = orthogonal.svd(x, False, False)
    singular_values: DeviceArray = on_host("svdvals", (x,)) if decomposition is None else decomposition[0]
    return singular_values


@captured(operands=1)
def eig(a: Any) -> Any:
    """Compute eigenvalues and right eigenvectors of square matrices, by NumPy on the host.

    Parameters
    ----------
    a : (..., M, M) array_like

    Returns
    -------
    EigResult (eigenvalues, eigenvectors)
        Eigenvalues (..., M), not sorted, and eigenvectors (..., M, M), one in each column. Both are complex, as in
        NumPy 2.5 and the Array API standard. Earlier releases of NumPy return real arrays if all eigenvalues are real.

    Raises
    ------
    LinAlgError
        A matrix is not square, a value is not finite, or the computation did not converge.

    Examples
    --------
    >>> import clarray
    >>> a = clarray.asarray([[1.0, 2.0], [0.0, 3.0]])
    >>> values, vectors = clarray.linalg.eig(a)
    >>> sorted(values.real.round(6).tolist()), clarray.allclose(a @ vectors, vectors * values)
    ([1.0, 3.0], True)
    """
    return on_host("eig", (a,))


@captured(operands=1)
def eigvals(a: Any) -> DeviceArray:
    """Compute eigenvalues of square matrices, in no particular order. The parameter is as in `eig`.

    Returns
    -------
    (..., M) DeviceArray, complex

    Examples
    --------
    >>> import clarray
    >>> sorted(clarray.linalg.eigvals([[0.0, -1.0], [1.0, 0.0]]).imag.round(6).tolist())
    [-1.0, 1.0]
    """
    eigenvalues: DeviceArray = on_host("eigvals", (a,))
    return eigenvalues


@captured(operands=1)
def eigh(a: Any, UPLO: str = "L") -> Any:  # noqa: N803 - NumPy's name
    """Compute eigenvalues and eigenvectors of Hermitian matrices.

    Parameters
    ----------
    a : (..., M, M) array_like
    UPLO : {'L', 'U'}
        Triangle that is read: the lower or the upper one.

    Returns
    -------
    EighResult (eigenvalues, eigenvectors)
        Eigenvalues (..., M), real and ascending, and eigenvectors (..., M, M), one in each column.

    Raises
    ------
    LinAlgError
        A matrix is not square, the computation did not converge, or (on the device) an element is not finite.

    Examples
    --------
    >>> import clarray
    >>> a = clarray.asarray([[2.0, 1.0], [1.0, 2.0]])
    >>> values, vectors = clarray.linalg.eigh(a)
    >>> values.round(6).tolist(), clarray.allclose(a @ vectors, vectors * values)
    ([1.0, 3.0], True)
    """
    decomposition = orthogonal.eigh(a, UPLO)
    return on_host("eigh", (a,), UPLO) if decomposition is None else _EIGH(*decomposition)


@captured(operands=1)
def eigvalsh(a: Any, UPLO: str = "L") -> DeviceArray:  # noqa: N803
    """Compute eigenvalues of Hermitian matrices in ascending order. The parameters are as in `eigh`.

    Returns
    -------
    (..., M) DeviceArray, real

    Examples
    --------
    >>> import clarray
    >>> clarray.linalg.eigvalsh([[2.0, 1.0], [1.0, 2.0]]).round(6).tolist()
    [1.0, 3.0]
    """
    decomposition = orthogonal.eigh(a, UPLO, False)
    eigenvalues: DeviceArray = on_host("eigvalsh", (a,), UPLO) if decomposition is None else decomposition[0]
    return eigenvalues


# Equations and inverses -----------------------------------------------------------------------


@captured(operands=2)
def solve(a: Any, b: Any) -> DeviceArray:
    """Solve the equations ``a @ x = b``.

    Parameters
    ----------
    a : (..., M, M) array_like
    b : (M,) or (..., M, K) array_like

    Returns
    -------
    (..., M) or (..., M, K) DeviceArray

    Raises
    ------
    LinAlgError
        A matrix is singular or not square.

    Examples
    --------
    >>> import clarray
    >>> clarray.linalg.solve([[3.0, 1.0], [1.0, 2.0]], [9.0, 8.0]).round(6).tolist()
    [2.0, 3.0]
    """
    solution = on_device.solve(a, b)
    return on_host("solve", (a, b)) if solution is None else solution


@captured(operands=1)
def inv(a: Any) -> DeviceArray:
    """Compute inverses of square matrices.

    Parameters
    ----------
    a : (..., M, M) array_like

    Returns
    -------
    (..., M, M) DeviceArray

    Raises
    ------
    LinAlgError
        A matrix is singular or not square.

    Examples
    --------
    >>> import clarray
    >>> clarray.linalg.inv([[2.0, 0.0], [0.0, 4.0]]).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    inverse = on_device.inv(a)
    return on_host("inv", (a,)) if inverse is None else inverse


@captured(operands=1)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = _NO) -> DeviceArray:
    """Compute Moore-Penrose inverses of matrices of any shape.

    Parameters
    ----------
    a : (..., M, N) array_like
    rcond : (...) array_like of float, optional
        Singular values up to this fraction of the largest one count as zero. None means 1e-15, or ``max(M, N)`` times
        the epsilon if the device computes in float32.
    hermitian : bool
        Whether the matrices are Hermitian. A faster method computes their result.
    rtol : (...) array_like of float, optional
        The same part as `rcond`, but None means ``max(M, N)`` times the epsilon of the dtype.

    Returns
    -------
    (..., N, M) DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.linalg.pinv([[1.0], [1.0]]).round(6).tolist()
    [[0.5, 0.5]]
    """
    inverse = orthogonal.pinv(a, rcond, hermitian, rtol)
    if inverse is not None:
        return inverse
    keywords = {} if rtol is _NO else {"rtol": rtol}
    host_inverse: DeviceArray = on_host("pinv", (a,), rcond, hermitian, **keywords)
    return host_inverse


@captured(operands=2)
def lstsq(a: Any, b: Any, rcond: float | None = None) -> tuple[Any, ...]:
    """Solve ``a @ x = b`` by least squares. Of several solutions, return the one with the smallest norm.

    Parameters
    ----------
    a : (M, N) array_like
    b : (M,) or (M, K) array_like
    rcond : float, optional
        Singular values up to this fraction of the largest one count as zero. None means ``max(M, N)`` times the epsilon
        of the precision of the computation.

    Returns
    -------
    tuple
        The solution x (N,) or (N, K). The sums of squared residuals (K,), empty unless ``M > N`` and the rank is N.
        The rank. The singular values.

    Raises
    ------
    LinAlgError
        The shapes are incompatible, or the computation did not converge.

    Examples
    --------
    >>> import clarray
    >>> x, residuals, rank, values = clarray.linalg.lstsq([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [1.0, 3.0, 5.0])
    >>> x.round(6).tolist(), int(rank)
    ([1.0, 2.0], 2)
    """
    solution = orthogonal.lstsq(a, b, rcond)
    if solution is not None:
        return solution
    host_solution: tuple[Any, ...] = on_host("lstsq", (a, b), rcond)
    return host_solution


# Numbers that describe a matrix ---------------------------------------------------------------


@captured(operands=1)
def det(a: Any) -> DeviceArray:
    """Compute determinants of square matrices.

    Parameters
    ----------
    a : (..., M, M) array_like

    Returns
    -------
    (...) DeviceArray

    Raises
    ------
    LinAlgError
        The matrices are not square.

    Examples
    --------
    >>> import clarray
    >>> round(float(clarray.linalg.det([[1.0, 2.0], [3.0, 4.0]])), 6)
    -2.0
    """
    determinants = on_device.det(a)
    return on_host("det", (a,)) if determinants is None else determinants


@captured(operands=1)
def slogdet(a: Any) -> Any:
    """Compute the sign and the logarithm of the magnitude of determinants. No determinant overflows this way.

    Parameters
    ----------
    a : (..., M, M) array_like

    Returns
    -------
    SlogdetResult (sign, logabsdet)
        Both of shape (...). The sign has magnitude 1 or 0, and the logarithm is real.

    Examples
    --------
    >>> import clarray
    >>> sign, log = clarray.linalg.slogdet([[0.0, 2.0], [3.0, 0.0]])
    >>> float(sign), round(float(log), 6)
    (-1.0, 1.791759)
    """
    sign_and_logarithm = on_device.slogdet(a)
    return on_host("slogdet", (a,)) if sign_and_logarithm is None else _SLOGDET(*sign_and_logarithm)


@captured(operands=1)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:  # noqa: N803
    """Compute the rank of matrices: the number of singular values above a tolerance.

    Parameters
    ----------
    A : (..., M, N) array_like
        For fewer than two axes the rank is an int: 0 if all elements are zero, else 1.
    tol : (...) array_like, optional
        The tolerance.
    hermitian : bool
        Whether the matrices are Hermitian. A faster method computes their result.
    rtol : (...) array_like, optional
        The tolerance as a part of the largest singular value. None means ``max(M, N)`` times the epsilon of the dtype.

    Returns
    -------
    (...) DeviceArray of int64

    Examples
    --------
    >>> import clarray
    >>> int(clarray.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]]))
    1
    """
    ranks = orthogonal.matrix_rank(A, tol, hermitian, rtol)
    return on_host("matrix_rank", (A,), tol, hermitian, rtol=rtol) if ranks is None else ranks
