"""Factorizations of matrices and what follows from them: on the device (`on_device`), or by NumPy's LAPACK on the host.

There is no OpenCL library to call (docs/linalg.rst says what was looked for). So what the device does not do itself is
one call of `through_library`: NumPy's function of the same name reads the arrays, and what it returns or raises is
returned, on the arrays' device, or raised.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clarray._core.device_array import DeviceArray
from clarray._core.fallback import through_library
from clarray._core.host_data import device_dtype
from clarray._core.ufunc_calls import device_of_operands
from clarray.linalg import on_device, orthogonal

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
    "on_host",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
]

_NO: Any = np._NoValue
_SQUARE = ("cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "slogdet", "solve")
# NumPy's named tuples
_SLOGDET: Any = type(np.linalg.slogdet(np.eye(1)))
_QR: Any = type(np.linalg.qr(np.eye(1)))
_EIGH: Any = type(np.linalg.eigh(np.eye(1)))
_SVD: Any = type(np.linalg.svd(np.eye(1)))


def on_host(name: str, arrays: tuple[Any, ...], *args: Any, **kwargs: Any) -> Any:
    """Call NumPy's function with arrays and other arguments; the device must have the dtype of the result."""
    if name in _SQUARE:
        _refuse_unless_square(name, np.shape(arrays[0]))
    dtypes = [x.dtype if isinstance(x, DeviceArray) else np.asarray(x).dtype for x in arrays]
    if all(dtype.kind in "biufc" for dtype in dtypes):  # others are for NumPy to refuse
        exact = [dtype if dtype.kind in "fc" else np.dtype(np.float64) for dtype in dtypes]
        device_dtype(np.result_type(*exact), device_of_operands(arrays))
    function = _ALWAYS_COMPLEX.get(name) or getattr(np.linalg, name)
    return through_library(f"numpy.linalg.{name}", function, *arrays, *args, **kwargs)


def _refuse_unless_square(name: str, shape: tuple[int, ...]) -> None:
    """Raise what NumPy does, in its words, whether or not the library may be asked for more."""
    if len(shape) < 2 or shape[-1] != shape[-2]:
        nothing = np.empty((0,) * (len(shape) - 2) + shape[-2:])
        function = getattr(np.linalg, name)
        function(nothing, nothing) if name == "solve" else function(nothing)


def _complex_eig(a: np.ndarray) -> Any:
    found = np.linalg.eig(a)
    return type(found)(*map(_as_complex, found))


def _complex_eigvals(a: np.ndarray) -> np.ndarray:
    return _as_complex(np.linalg.eigvals(a))


def _as_complex(values: np.ndarray) -> np.ndarray:
    return values.astype(np.result_type(values.dtype, np.complex64), copy=False)


# What NumPy before 2.5 gives in a dtype that depends on the values.
_ALWAYS_COMPLEX: dict[str, Callable[..., Any]] = {"eig": _complex_eig, "eigvals": _complex_eigvals}


# Factorizations -------------------------------------------------------------------------------


def cholesky(a: Any, /, *, upper: bool = False) -> DeviceArray:
    """Triangular factor of matrices that are Hermitian and positive definite.

    Parameters
    ----------
    a : (..., M, M) array_like
        Only the triangle that the factor has is read.
    upper : bool
        Give the upper factor, U of ``U^H U``, instead of the lower, L of ``L L^H``.

    Returns
    -------
    (..., M, M) DeviceArray

    Raises
    ------
    LinAlgError
        A matrix is not positive definite.
    """
    made = on_device.cholesky(a, upper)
    return on_host("cholesky", (a,), upper=upper) if made is None else made


def qr(a: Any, mode: str = "reduced") -> Any:
    """Matrices as products of one with orthonormal columns and an upper triangular one.

    Parameters
    ----------
    a : (..., M, N) array_like
    mode : {'reduced', 'complete', 'r', 'raw'}
        With ``K = min(M, N)``, Q is (..., M, K) and R (..., K, N) if reduced; Q is (..., M, M) and R (..., M, N) if
        complete; 'r' gives only R; 'raw' gives LAPACK's own result, h (..., N, M) and tau (..., K).

    Returns
    -------
    QRResult (Q, R), or DeviceArray R, or a tuple (h, tau)
    """
    made = orthogonal.qr(a, mode)
    if made is None:
        return on_host("qr", (a,), mode)
    return made[0] if mode == "r" else made if mode == "raw" else _QR(*made)


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Singular value decomposition: ``U @ diag(S) @ Vh``.

    Parameters
    ----------
    a : (..., M, N) array_like
    full_matrices : bool
        U is (..., M, M) and Vh (..., N, N); else (..., M, K) and (..., K, N), with ``K = min(M, N)``.
    compute_uv : bool
        If False, only S is computed and given.
    hermitian : bool
        The matrices are Hermitian, which is quicker.

    Returns
    -------
    SVDResult (U, S, Vh), or DeviceArray S
        The singular values (..., K) descend.

    Raises
    ------
    LinAlgError
        It did not converge.
    """
    made = orthogonal.svd(a, full_matrices, compute_uv, hermitian)
    if made is None:
        return on_host("svd", (a,), full_matrices, compute_uv, hermitian)
    return _SVD(*made) if compute_uv else made[0]


def svdvals(x: Any, /) -> DeviceArray:
    """Singular values, descending; see `svd`."""
    found = orthogonal.svd(x, False, False)
    made: DeviceArray = on_host("svdvals", (x,)) if found is None else found[0]
    return made


def eig(a: Any) -> Any:
    """Eigenvalues and right eigenvectors of general square matrices.

    Parameters
    ----------
    a : (..., M, M) array_like

    Returns
    -------
    EigResult (eigenvalues, eigenvectors)
        Of shapes (..., M), in no order, and (..., M, M), a column for each. Always complex, as the Array API standard
        and NumPy from 2.5 on have it; earlier releases of NumPy make both real where all eigenvalues are.

    Raises
    ------
    LinAlgError
        A value is not finite, or it did not converge.
    """
    return on_host("eig", (a,))


def eigvals(a: Any) -> DeviceArray:
    """Eigenvalues of general square matrices; see `eig`."""
    made: DeviceArray = on_host("eigvals", (a,))
    return made


def eigh(a: Any, UPLO: str = "L") -> Any:  # noqa: N803 - NumPy's name
    """Eigenvalues and eigenvectors of Hermitian matrices.

    Parameters
    ----------
    a : (..., M, M) array_like
    UPLO : {'L', 'U'}
        Which triangle is read, the lower or the upper one.

    Returns
    -------
    EighResult (eigenvalues, eigenvectors)
        Of shapes (..., M), real and ascending, and (..., M, M), a column for each.

    Raises
    ------
    LinAlgError
        A matrix is not square, it did not converge, or, on the device, an element of the triangle is not finite.
    """
    made = orthogonal.eigh(a, UPLO)
    return on_host("eigh", (a,), UPLO) if made is None else _EIGH(*made)


def eigvalsh(a: Any, UPLO: str = "L") -> DeviceArray:  # noqa: N803
    """Eigenvalues of Hermitian matrices, ascending; see `eigh`."""
    found = orthogonal.eigh(a, UPLO, False)
    made: DeviceArray = on_host("eigvalsh", (a,), UPLO) if found is None else found[0]
    return made


# Equations and inverses -----------------------------------------------------------------------


def solve(a: Any, b: Any) -> DeviceArray:
    """Solve ``a @ x = b``.

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
    """
    made = on_device.solve(a, b)
    return on_host("solve", (a, b)) if made is None else made


def inv(a: Any) -> DeviceArray:
    """Inverses of square matrices.

    Parameters
    ----------
    a : (..., M, M) array_like

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
    made = on_device.inv(a)
    return on_host("inv", (a,)) if made is None else made


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = _NO) -> DeviceArray:
    """Moore-Penrose inverses.

    Parameters
    ----------
    a : (..., M, N) array_like
    rcond : (...) array_like of float, optional
        Singular values up to so much of the largest are taken as zero; 1e-15 when None, or ``max(M, N)`` times the
        epsilon where the device computes in float32.
    hermitian : bool
        The matrices are Hermitian, which is quicker.
    rtol : (...) array_like of float, optional
        As `rcond`, but None means ``max(M, N)`` times the dtype's epsilon.

    Returns
    -------
    (..., N, M) DeviceArray
    """
    found = orthogonal.pinv(a, rcond, hermitian, rtol)
    if found is not None:
        return found
    more = {} if rtol is _NO else {"rtol": rtol}
    made: DeviceArray = on_host("pinv", (a,), rcond, hermitian, **more)
    return made


def lstsq(a: Any, b: Any, rcond: float | None = None) -> tuple[Any, ...]:
    """Least-squares solution of ``a @ x = b``, the smallest where there are several.

    Parameters
    ----------
    a : (M, N) array_like
    b : (M,) or (M, K) array_like
    rcond : float, optional
        Singular values up to so much of the largest are taken as zero; ``max(M, N)`` times the epsilon of the precision
        it is computed in when None.

    Returns
    -------
    tuple
        x (N,) or (N, K); the sums of squared residuals (K,), or none unless ``M > N`` and the rank is N; the rank;
        the singular values.

    Raises
    ------
    LinAlgError
        The shapes do not fit, or it did not converge.
    """
    made = orthogonal.lstsq(a, b, rcond)
    if made is not None:
        return made
    found: tuple[Any, ...] = on_host("lstsq", (a, b), rcond)
    return found


# Numbers that describe a matrix ---------------------------------------------------------------


def det(a: Any) -> DeviceArray:
    """Determinants of square matrices, (...) of (..., M, M)."""
    made = on_device.det(a)
    return on_host("det", (a,)) if made is None else made


def slogdet(a: Any) -> Any:
    """Sign and logarithm of the magnitude of determinants, which may be too large or small themselves.

    Parameters
    ----------
    a : (..., M, M) array_like

    Returns
    -------
    SlogdetResult (sign, logabsdet)
        Of shape (...): the sign, of magnitude 1 or 0, and a real number.
    """
    made = on_device.slogdet(a)
    return on_host("slogdet", (a,)) if made is None else _SLOGDET(*made)


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:  # noqa: N803
    """Number of singular values above a tolerance.

    Parameters
    ----------
    A : (..., M, N) array_like
        Of one axis or none the rank is 1, or 0 if all elements are zero, as an int.
    tol : (...) array_like, optional
        The tolerance.
    hermitian : bool
        The matrices are Hermitian, which is quicker.
    rtol : (...) array_like, optional
        The tolerance over the largest singular value; ``max(M, N)`` times the dtype's epsilon when None.

    Returns
    -------
    (...) DeviceArray of int64
    """
    made = orthogonal.matrix_rank(A, tol, hermitian, rtol)
    return on_host("matrix_rank", (A,), tol, hermitian, rtol=rtol) if made is None else made
