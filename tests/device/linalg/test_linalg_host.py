"""clarray.linalg against numpy.linalg: what runs in NumPy's LAPACK on the host, through one home.

Where a device has memory of its own it does some itself: these are compared within rounding.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

from ..conftest import check_same, outcome

pytestmark = pytest.mark.usefixtures("quick_builds")

FP64 = current_device().capabilities.fp64
OWN = not current_device().capabilities.host_memory
DTYPES = ["float32", "complex64"] + (["float64", "complex128", "int16", "bool"] if FP64 else [])
SQUARE = ["inv", "det", "slogdet", "cond"]
ANY = ["svd", "svdvals", "qr", "pinv", "matrix_rank"]


def host(dtype: str, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    values = random.uniform(-4, 4, shape)
    if dtype.startswith("c"):
        values = values + 1j * random.uniform(-4, 4, shape)
    return (values > 0) if dtype == "bool" else values.astype(dtype)


def check(body: Any, *arrays: np.ndarray) -> None:
    """The very same as NumPy, error messages and named tuples included: it is NumPy's."""
    check_same(lambda xp: body(xp, *(arrays if xp is np else map(clarray.array, arrays))))


def check_near(body: Any, *arrays: np.ndarray) -> None:
    """The same within rounding where the device has memory of its own, and the very same elsewhere."""
    theirs, error = outcome(lambda xp: body(xp, *arrays), np)
    if not OWN or error is not None or isinstance(theirs, int):
        check(body, *arrays)
        return
    ours = body(clarray, *map(clarray.array, arrays))
    assert type(ours) is type(theirs) or not isinstance(theirs, tuple)
    for one, other in zip(*(x if isinstance(x, tuple) else (x,) for x in (ours, theirs)), strict=True):
        assert isinstance(one, clarray.DeviceArray)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        rtol = 1e-4 if other.dtype.char in "fF" else 1e-12
        largest = np.abs(other[np.isfinite(other)]).max(initial=0)
        np.testing.assert_allclose(np.asarray(one), other, rtol=rtol, atol=rtol * largest)


def check_values(body: Any, *arrays: np.ndarray) -> None:
    """Of vectors, which have other signs where the device has memory of its own, dtypes and shapes; values as above."""
    theirs, error = outcome(lambda xp: body(xp, *arrays), np)
    if not OWN or error is not None or not isinstance(theirs, tuple):
        check_near(body, *arrays)
        return
    ours = body(clarray, *map(clarray.array, arrays))
    assert type(ours) is type(theirs)
    assert [(x.dtype, x.shape) for x in ours] == [(x.dtype, x.shape) for x in theirs]
    at = len(theirs) - 2  # (values, vectors), or values between two bases
    check_near(lambda xp, *given: body(xp, *given)[at], *arrays)


@pytest.mark.parametrize("dtype", DTYPES)
def test_factorizations(dtype: str) -> None:
    square, tall = host(dtype, (2, 4, 4)), host(dtype, (2, 5, 3))
    if dtype == "bool":
        square[:] = np.eye(4, dtype=bool)
    for name in SQUARE:
        check_near(lambda xp, a, name=name: getattr(xp.linalg, name)(a), square)
    for name in ANY:
        same = check_values if name == "svd" else check_near
        same(lambda xp, a, name=name: getattr(xp.linalg, name)(a), tall)
        same(lambda xp, a, name=name: getattr(xp.linalg, name)(a), tall.swapaxes(1, 2))
    check_near(lambda xp, a: xp.linalg.solve(a, a[0]), square)
    check_near(lambda xp, a: xp.linalg.lstsq(a[0], a[0, :, 0])[0], tall)


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigenvalues_are_complex_whichever_numpy_is_installed(dtype: str) -> None:
    general = host(dtype, (2, 4, 4))
    for x in (general, (general + general.swapaxes(1, 2)).astype(dtype)):
        theirs = np.linalg.eig(x)
        ours = np.linalg.eig(clarray.array(x))
        assert type(ours) is type(theirs)
        for one, other in zip((*ours, clarray.linalg.eigvals(x)), (*theirs, np.linalg.eigvals(x)), strict=True):
            assert one.dtype == np.result_type(other.dtype, np.complex64)
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_hermitian_matrices(dtype: str) -> None:
    x = host(dtype, (2, 4, 4))
    x = x @ x.conj().swapaxes(1, 2)
    for uplo in ("L", "U", "u", "X"):
        check_values(lambda xp, a, uplo=uplo: xp.linalg.eigh(a, uplo), x)
        check_near(lambda xp, a, uplo=uplo: xp.linalg.eigvalsh(a, UPLO=uplo), x)
    for upper in (False, True):
        check_near(lambda xp, a, upper=upper: xp.linalg.cholesky(a, upper=upper), x)
    check_values(lambda xp, a: xp.linalg.svd(a, hermitian=True), x)
    check_near(lambda xp, a: xp.linalg.pinv(a, hermitian=True), x)
    check_near(lambda xp, a: xp.linalg.matrix_rank(a, hermitian=True), x)


def test_keywords() -> None:
    x = host("float32", (2, 5, 3))
    for mode in ("reduced", "complete", "r", "raw", "what"):
        check_near(lambda xp, a, mode=mode: xp.linalg.qr(a, mode=mode), x)
    for kwargs in ({"full_matrices": False}, {"compute_uv": False}):
        check_values(lambda xp, a, kwargs=kwargs: xp.linalg.svd(a, **kwargs), x)
    for p in (None, 1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc", "what"):
        check_near(lambda xp, a, p=p: xp.linalg.cond(a, p), x[:, :3])
    for kwargs in ({"tol": 1.0}, {"rtol": 0.5}, {"tol": 1.0, "rtol": 1.0}):
        check_near(lambda xp, a, kwargs=kwargs: xp.linalg.matrix_rank(a, **kwargs), x)
    for kwargs in ({"rtol": 0.5}, {"rtol": None}, {"rcond": 0.3}, {"rtol": 0.5, "rcond": 0.5}):
        check_near(lambda xp, a, kwargs=kwargs: xp.linalg.pinv(a, **kwargs), x)
    check(lambda xp, a: xp.linalg.matrix_rank(a[0, 0]), x)
    check_near(lambda xp, a: xp.linalg.lstsq(a[0], a[1], rcond=0.1)[0], x)
    check_near(lambda xp, a: xp.linalg.lstsq(a[0, :2], a[1, :2])[0], x)


def test_tensors() -> None:
    x = host("float32", (2, 3, 6))
    check_near(lambda xp, a: xp.linalg.tensorsolve(a, a[..., 0]), x)
    check_near(lambda xp, a: xp.linalg.tensorsolve(a.swapaxes(0, 2), a[..., 0].T, axes=(0,)), x)
    check_near(lambda xp, a: xp.linalg.tensorinv(a), x)
    for ind in (0, 1, -1):
        check_near(lambda xp, a, ind=ind: xp.linalg.tensorinv(a, ind=ind), x)
    check_near(lambda xp, a: xp.linalg.tensorsolve(a, a[..., 0], axes=(5,)), x)
    check_near(lambda xp, a: xp.linalg.tensorsolve(a, a[..., 0, 0]), x)


@pytest.mark.parametrize("name", [*SQUARE, *ANY, "cholesky", "eigh", "eigvalsh", "eig", "eigvals"])
def test_errors_and_empty_matrices(name: str) -> None:
    for x in (
        np.zeros((3, 3), np.float32),
        np.zeros((0, 3, 3), np.float32),
        np.zeros((0, 0), np.float32),
        np.ones((2, 3), np.float32),
        np.ones(3, np.float32),
        np.ones((2, 2), np.float16),
        np.array([[1, np.nan], [0, 1]], np.float32),
    ):
        with np.errstate(all="ignore"):
            near = {"svd": check_values, "eigh": check_values}.get(name, check_near)
            near(lambda xp, a: told(numpy_2_5(getattr(xp.linalg, name)(a), name), name), x)


def told(found: Any, name: str) -> Any:
    """How large the condition of a singular matrix is depends on rounding."""
    return np.minimum(found, found.dtype.type(1e6)) if name == "cond" else found


def numpy_2_5(found: Any, name: str) -> Any:
    """What an earlier release gives real, as complex values."""
    if name == "eigvals":
        return found.astype(np.complex64)
    return type(found)(*(each.astype(np.complex64) for each in found)) if name == "eig" else found


def test_equations_of_singular_matrices() -> None:
    x = np.ones((3, 3), np.float32)
    check(lambda xp, a: xp.linalg.solve(a, a), x)
    check(lambda xp, a: xp.linalg.solve(a, a[0, :2]), x)
    check(lambda xp, a: xp.linalg.lstsq(a, a[:2]), x)


def test_numpys_functions_and_host_operands() -> None:
    x = host("float32", (3, 3))
    d = clarray.array(x)
    found = np.linalg.svd(d)
    assert type(found) is type(np.linalg.svd(x))
    assert all(isinstance(each, clarray.DeviceArray) for each in found)
    for solved in (np.linalg.solve(d, x[0]), np.linalg.solve(x, d[0]), clarray.linalg.solve(x.tolist(), d[0])):
        assert isinstance(solved, clarray.DeviceArray)
        np.testing.assert_allclose(solved, np.linalg.solve(x, x[0]), rtol=1e-5)
    assert isinstance(clarray.linalg.inv(np.eye(2, dtype=np.float32)), clarray.DeviceArray)


def test_views_and_pending_values() -> None:
    x = host("float32", (6, 6))
    check_near(lambda xp, a: xp.linalg.inv(a[::2, ::-2]), x)
    check_near(lambda xp, a: xp.linalg.inv((a * 2 + 1).T), x)
    d = clarray.array(x)
    found = clarray.linalg.inv(d)
    d[...] = 0
    before = found.copy()
    np.testing.assert_allclose(before, np.linalg.inv(x), rtol=1e-4 if OWN else 0)
    found += 1  # it is an array of clarray's own
    np.testing.assert_array_equal(found, before + 1)


WITHOUT = """
import numpy as np, clarray as ca
x = ca.asarray(np.eye(3, dtype=np.float32))
i = ca.asarray(np.eye(3, dtype=np.int32))
assert ca.linalg.inv(x).dtype == np.float32
assert ca.fft.fft(x).dtype == np.complex64
assert ca.linalg.norm(x).dtype == np.float32
checks = dict(
    inv=lambda: ca.linalg.inv(i),
    solve=lambda: ca.linalg.solve(x, np.ones(3)),
    norm=lambda: ca.linalg.norm(i),
    fft=lambda: ca.fft.fft(i),
    irfft=lambda: ca.fft.irfftn(i),
    fftfreq=lambda: ca.fft.fftfreq(3),
)
for name, work in checks.items():
    try:
        print(name, "gave", work().dtype)
    except TypeError as error:
        if x.device.capabilities.name not in str(error):
            print(name, "says", error)
assert ca.fft.fftfreq(3, dtype=np.float32).dtype == np.float32
print("done")
"""


@pytest.mark.skipif(not FP64, reason="the device has no float64")
def test_without_float64_nothing_is_downcast() -> None:
    environment = {**os.environ, "CLARRAY_SIMULATE_NO_FP64": "1"}
    result = subprocess.run(
        [sys.executable, "-c", WITHOUT], env=environment, capture_output=True, text=True, timeout=120
    )
    assert result.stderr == ""
    assert result.stdout == "done\n"


@pytest.mark.parametrize("name", ["cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "slogdet", "solve"])
def test_matrices_that_are_not_square_where_the_library_may_not_be_called(name: str) -> None:
    """They are refused in NumPy's words, which the library's refusal does not hide."""
    for shape in ((2, 3), (4, 3, 2), (3,), (0, 2), (2, 2, 0)):
        x = np.ones(shape, np.float32)
        with clarray.config(host_library="raise"):
            check(lambda xp, a: getattr(xp.linalg, name)(*[a] * (1 + (name == "solve"))), x)
