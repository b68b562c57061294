"""QR, eigenvalues and singular values on the device, of stacks of small matrices in every form that a policy has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clarray
from clarray._engine.runtime import current_device

from ..conftest import policy_in_force
from .test_small_matrices import LAYOUTS, families, norm, product, stack, wide

pytestmark = pytest.mark.usefixtures("quick_builds")

FP64 = current_device().capabilities.fp64
POLICIES = ["tiny-cpu", "tiny-gpu"]
# 3: teams of two, some in a work-group, 20: in the device's memory
SIZES = [("float32", 3), ("complex64", 7), ("float64" if FP64 else "float32", 20)]


@pytest.fixture(params=POLICIES)
def form(request: pytest.FixtureRequest) -> Iterator[str]:
    with policy_in_force(request.param), clarray.config(host_library="raise"):
        yield request.param


def adjoint(x: np.ndarray) -> np.ndarray:
    return x.conj().swapaxes(-1, -2)


def more_families(dtype: str, n: int) -> dict[str, np.ndarray]:
    found = families(dtype, n)
    zero = np.zeros((3, n, n), dtype)
    found["zero"], found["identity"] = zero, zero + np.eye(n, dtype=dtype)
    found["rank one"] = np.asarray(product(zero[..., :1] + 1, found["random"][:, :1]), dtype)
    found["zero columns"] = found["random"] * (np.arange(n) % 3 == 1)
    found["large"], found["small"] = found["random"] * 2.0**100, found["random"] * 2.0**-100
    return {name: np.asarray(value, dtype) for name, value in found.items()}


def assert_near(a: np.ndarray, parts: list[Any], theirs: list[Any], dtype: str, about: str, times: float = 4) -> None:
    """The product's error is within a small multiple of LAPACK's in double precision, each in its own epsilons."""

    def error(given: list[Any], eps: float) -> np.ndarray:
        made = wide(given[0])
        for part in given[1:]:
            made = product(made, part)
        return norm((made - a) / scale) / np.maximum(norm(a / scale), np.finfo(dtype).tiny) / eps

    scale = wide(np.maximum(np.abs(a).max(), np.finfo(dtype).tiny)).real
    ours, lapack = error(parts, np.finfo(dtype).eps), error(theirs, np.finfo(np.float64).eps)
    assert (ours <= times * np.maximum(lapack, 2)).all(), f"{about}: {ours} epsilons, LAPACK {lapack}"


def assert_orthonormal(q: Any, dtype: str, about: str) -> None:
    values = np.asarray(q)
    n = values.shape[-1]
    error = norm(product(adjoint(values), values) - np.eye(n)) / np.finfo(dtype).eps
    assert (error <= 4 * max(n, 2)).all(), f"{about}: {error} epsilons"


@pytest.mark.parametrize(("dtype", "n"), SIZES)
@pytest.mark.optimized
def test_qr(form: str, dtype: str, n: int) -> None:
    kind = np.result_type(dtype, np.float64)
    for name, square in more_families(dtype, n).items():
        for a in (square, square[..., : n // 2 + 1]):
            q, r = (np.asarray(x) for x in clarray.linalg.qr(clarray.asarray(a)))
            assert q.dtype == r.dtype == dtype
            assert not np.tril(r, -1).any()
            assert_near(a, [q, r], list(np.linalg.qr(a.astype(kind))), dtype, name)
            assert_orthonormal(q, dtype, name)


@pytest.mark.parametrize(("dtype", "n"), SIZES)
@pytest.mark.optimized
def test_eigh(form: str, dtype: str, n: int) -> None:
    kind = np.result_type(dtype, np.float64)
    for name, x in more_families(dtype, n).items():
        a = ((x + adjoint(x)) / 2).astype(dtype)
        w, v = (np.asarray(part) for part in clarray.linalg.eigh(clarray.asarray(a)))
        assert (w.dtype, v.dtype) == (a.real.dtype, dtype)
        assert (np.diff(w) >= 0).all()
        expected, vectors = np.linalg.eigh(a.astype(kind))
        assert_near(a, [v * w[:, None], adjoint(v)], [vectors * expected[:, None], adjoint(vectors)], dtype, name)
        assert_orthonormal(v, dtype, name)
        bound = 4 * n * np.finfo(dtype).eps * np.abs(expected).max(-1, keepdims=True)
        for uplo, kept in (("L", np.tril), ("U", np.triu)):
            triangle = np.where(kept(np.ones((n, n), bool)), a, np.nan).astype(dtype)
            found = np.asarray(clarray.linalg.eigvalsh(clarray.asarray(triangle), uplo))
            assert (np.abs(found - expected) <= bound).all(), f"{uplo}, {name}"


@pytest.mark.parametrize(("dtype", "n"), SIZES)
@pytest.mark.optimized
def test_svd(form: str, dtype: str, n: int) -> None:
    kind = np.result_type(dtype, np.float64)
    for name, square in more_families(dtype, n).items():
        for a in (square, square[..., : n // 2 + 1], square[:, : n // 2 + 1]):
            d = clarray.asarray(a)
            u, s, vh = (np.asarray(x) for x in clarray.linalg.svd(d, full_matrices=False))
            assert (u.dtype, s.dtype, vh.dtype) == (dtype, a.real.dtype, dtype)
            assert (np.diff(s) <= 0).all()
            assert (s >= 0).all()
            left, expected, right = np.linalg.svd(a.astype(kind), full_matrices=False)
            assert_near(a, [u * s[:, None], vh], [left * expected[:, None], right], dtype, name)
            assert_orthonormal(u, dtype, name)
            assert_orthonormal(adjoint(vh), dtype, name)
            bound = 4 * n * np.finfo(dtype).eps * expected[:, :1]
            if a is square:
                assert (np.abs(np.asarray(clarray.linalg.svdvals(d)) - expected) <= bound).all(), name


@settings(max_examples=25)
@given(
    form=st.sampled_from(POLICIES),
    stacked=st.sampled_from([(), (4,), (2, 3), (0,), (2, 0)]),
    shape=st.sampled_from([(0, 0), (0, 3), (3, 0), (1, 1), (2, 2), (4, 2), (2, 4)]),
    layout=st.sampled_from(list(LAYOUTS)),
)
def test_shapes_and_layouts(form: str, stacked: tuple[int, ...], shape: tuple[int, int], layout: str) -> None:
    dtype = "float32" if form == "tiny-cpu" else "complex64"
    a = LAYOUTS[layout](stack(dtype, (*stacked, *shape)))
    with policy_in_force(form), clarray.config(host_library="raise"):
        d = clarray.array(a, order="K")
        pairs: list[Any] = []
        for mode in ("reduced", "complete", "r", "raw"):
            ours, theirs = clarray.linalg.qr(d, mode), np.linalg.qr(a, mode)
            pairs += zip(*((x if isinstance(x, tuple) else (x,)) for x in (ours, theirs)), strict=True)
        for full in (False, True):
            ours, theirs = clarray.linalg.svd(d, full), np.linalg.svd(a, full)
            assert type(ours) is type(theirs)
            assert [(x.shape, x.dtype) for x in ours] == [(x.shape, x.dtype) for x in theirs]
            pairs.append((ours.S, theirs.S))
            k = min(shape)
            made = product(
                np.asarray(ours.U)[..., :k] * np.asarray(ours.S)[..., None, :], np.asarray(ours.Vh)[..., :k, :]
            )
            np.testing.assert_allclose(made.astype(dtype), a, atol=1e-5)
            if a.size:
                assert_orthonormal(ours.U, dtype, "U")
                assert_orthonormal(adjoint(np.asarray(ours.Vh)), dtype, "V")
        if shape[0] == shape[1]:
            h = a + adjoint(a)
            ours, theirs = clarray.linalg.eigh(clarray.array(h, order="K")), np.linalg.eigh(h)
            assert type(ours) is type(theirs)
            assert ours.eigenvectors.shape == theirs.eigenvectors.shape
            pairs.append((ours.eigenvalues, theirs.eigenvalues))
        for one, other in pairs:
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            np.testing.assert_allclose(np.asarray(one), other, rtol=0, atol=3e-5 * np.abs(other).max(initial=1))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("n", [3, 8])
def test_what_does_not_converge(form: str, value: float, n: int) -> None:
    a = stack("float32", (9, n, n))
    for place in (0, 4, 8):
        bad = a.copy()
        bad[place, n - 1, 0] = value
        d = clarray.asarray(bad)
        with pytest.raises(np.linalg.LinAlgError, match="Eigenvalues did not converge"):
            clarray.linalg.eigh(d)
        with pytest.raises(np.linalg.LinAlgError, match="SVD did not converge"):
            clarray.linalg.svdvals(d)
    clarray.linalg.eigh(clarray.asarray(bad), "U")  # is not read
    r = np.asarray(clarray.linalg.qr(d, "r"))
    assert np.isfinite(r).all((1, 2)).tolist() == [True] * 8 + [False]


def test_what_follows_from_singular_values(form: str) -> None:
    a = np.rint(stack("float32", (3, 5, 3)) * 16) / 16
    a[1, :, 2] = a[1, :, 0] + a[1, :, 1]
    b = stack("float32", (5, 2), 1)
    d = clarray.asarray(a)

    def same(ours: Any, theirs: Any, rtol: float = 1e-4) -> None:
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=rtol, atol=1e-5)

    for x, y in ((d, a), (d.swapaxes(1, 2), a.swapaxes(1, 2))):
        for kwargs in ({}, {"rtol": 1e-4}, {"rcond": [1e-4, 0.1, 0.5]}, {"rtol": None}):
            same(clarray.linalg.pinv(x, **kwargs), np.linalg.pinv(y, **kwargs))
        for kwargs in ({}, {"tol": 1.0}, {"rtol": [0.5, 1e-4, 0.1]}):
            same(clarray.linalg.matrix_rank(x, **kwargs), np.linalg.matrix_rank(y, **kwargs))
        for p in (None, 2, -2):
            same(clarray.linalg.cond(x[::2], p), np.linalg.cond(y[::2], p))
        for order in (2, -2, "nuc"):
            same(clarray.linalg.matrix_norm(x, ord=order), np.linalg.matrix_norm(y, ord=order))
        for one in range(3):
            for side in (b[: y.shape[1]], b[: y.shape[1], 0], b[: y.shape[1], :0]):
                found = clarray.linalg.lstsq(x[one], clarray.asarray(side), 1e-4)
                for ours, theirs in zip(found, np.linalg.lstsq(y[one], side, 1e-4), strict=True):
                    same(ours, np.asarray(theirs))
        for rcond in (-1, 0, 0.999, 1, 2**31, np.nan):
            found = clarray.linalg.lstsq(x[0], clarray.asarray(b[: y.shape[1]]), rcond)
            for ours, theirs in zip(found, np.linalg.lstsq(y[0], b[: y.shape[1]], rcond), strict=True):
                same(ours, np.asarray(theirs))
    h = a[:, :3] + a[:, :3].swapaxes(1, 2)
    u, s, vh = (np.asarray(x) for x in clarray.linalg.svd(clarray.asarray(h), hermitian=True))
    np.testing.assert_allclose(s, np.linalg.svd(h, hermitian=True)[1], rtol=1e-4)
    np.testing.assert_allclose(u * s[:, None] @ vh, h, atol=1e-5)
    same(clarray.linalg.pinv(clarray.asarray(h), hermitian=True), np.linalg.pinv(h, hermitian=True), 1e-3)
    assert float(clarray.linalg.cond(clarray.zeros((2, 2), np.float32))) == np.inf


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_stacks_that_are_large_enough_for_every_device(dtype: str) -> None:
    """The device's own policy: the compiler of PoCL 7.1 makes wrong code of its kernels."""
    a = np.random.default_rng(0).standard_normal((20_000, 3, 3)).astype(dtype)
    x = clarray.array(a)
    q, r = map(np.asarray, clarray.linalg.qr(x))
    np.testing.assert_allclose(q @ r, a, atol=1e-5)
    u, s, vh = map(np.asarray, clarray.linalg.svd(x))
    np.testing.assert_allclose((u * s[:, None, :]) @ vh, a, atol=1e-5)
    h = a + a.conj().swapaxes(1, 2)
    w, v = map(np.asarray, clarray.linalg.eigh(clarray.array(h)))
    np.testing.assert_allclose(h @ v, v * w[:, None, :], atol=1e-5)
