"""Eigenvalues of large Hermitian matrices and singular values of large ones, split down to a few rows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clarray
from clarray._engine.algorithms.spectral.plan import FLOOR, HIGH_FLOOR, LAST, schedule
from clarray._engine.runtime import current_device

from ..conftest import policy_changed, policy_in_force
from .test_small_matrices import LAYOUTS, product, stack
from .test_small_orthogonal import adjoint, assert_near, assert_orthonormal, more_families

FP64 = current_device().capabilities.fp64
DTYPES = ["float32", "complex64", *(["float64", "complex128"] if FP64 else [])]
SIZES = [("float32", 23), ("complex64", 9), *([("float64", 20), ("complex128", 11)] if FP64 else [])]


@contextmanager
def split(row: str = "tiny-gpu", **changes: Any) -> Iterator[None]:
    """Have the device split every matrix of more than four rows."""
    with ExitStack() as during:
        during.enter_context(policy_in_force(row))
        during.enter_context(policy_changed("small_matrices", most=4, most_shared=4))
        during.enter_context(policy_changed("factorization", in_host_memory=True, least_orthogonal=0))
        during.enter_context(policy_changed("spectral", **changes))
        during.enter_context(clarray.config(host_library="raise"))
        yield


def structured(dtype: str, n: int) -> dict[str, np.ndarray]:
    """Hermitian matrices whose eigenvalues come in clusters, on both sides of zero, or on it, exactly."""
    x = stack(dtype, (3, n, n))
    q = np.linalg.qr(x)[0]
    half, unit, beside = n // 2, np.eye(n), np.eye(n, k=1) + np.eye(n, k=-1)
    two = np.kron(np.eye(half + 1), [[0, 1], [1, 0]])[:n, :n]
    spectra = {
        "projector": np.arange(n) < half,
        "reflection": np.where(np.arange(n) < half, 1, -1),
        "three values": np.arange(n) % 3 - 1,
        "one apart": np.arange(n) == 0,
        "geometric": 2.0 ** -np.arange(n),
        "close pairs": np.arange(n) // 2 + 1e-6 * np.arange(n),
    }
    found = {name: q * values @ adjoint(q) for name, values in spectra.items()}
    found |= {
        "chain": beside + 0 * x,
        "laplacian": 2 * unit - beside + 0 * x,
        "wilkinson": np.diag(np.abs(np.arange(n) - half)) + beside + 0 * x,
        "diagonal": np.diag(np.arange(n) % 7) + 0 * x,
        "pairs": two + 0 * x,
        "pairs and zeros": two * (np.arange(n) < half) * (np.arange(n)[:, None] < half) + 0 * x,
        "multiple of one": 3 * unit + 0 * x,
        "ones": np.ones((n, n)) + 0 * x,
    }
    return {name: ((value + adjoint(value)) / 2).astype(dtype) for name, value in found.items()}


def check_eigh(dtype: str, a: np.ndarray, name: str) -> None:
    w, v = (np.asarray(part) for part in clarray.linalg.eigh(clarray.asarray(a)))
    assert (w.dtype, v.dtype) == (a.real.dtype, dtype)
    assert (np.diff(w) >= 0).all()
    expected, vectors = np.linalg.eigh(a.astype(np.result_type(dtype, np.float64)))
    assert_near(a, [v * w[..., None, :], adjoint(v)], [vectors * expected[..., None, :], adjoint(vectors)], dtype, name)
    assert_orthonormal(v, dtype, name)
    n = a.shape[-1]
    bound = 4 * n * np.finfo(dtype).eps * np.abs(expected).max(-1, keepdims=True)
    assert (np.abs(w - expected) <= bound).all(), name
    for uplo, kept in (("L", np.tril), ("U", np.triu)):
        triangle = np.where(kept(np.ones((n, n), bool)), a, np.nan).astype(dtype)
        found = np.asarray(clarray.linalg.eigvalsh(clarray.asarray(triangle), uplo))
        assert (np.abs(found - expected) <= bound).all(), f"{uplo}, {name}"


def check_svd(dtype: str, a: np.ndarray, name: str) -> None:
    d = clarray.asarray(a)
    u, s, vh = (np.asarray(x) for x in clarray.linalg.svd(d, full_matrices=False))
    assert (u.dtype, s.dtype, vh.dtype) == (dtype, a.real.dtype, dtype)
    assert (np.diff(s) <= 0).all()
    assert (s >= 0).all()
    left, expected, right = np.linalg.svd(a.astype(np.result_type(dtype, np.float64)), full_matrices=False)
    # of two decompositions, one after the other, each of which is split more than once in a few rows
    assert_near(a, [u * s[..., None, :], vh], [left * expected[..., None, :], right], dtype, name, 6)
    assert_orthonormal(u, dtype, name)
    assert_orthonormal(adjoint(vh), dtype, name)
    bound = 4 * max(a.shape[-2:]) * np.finfo(dtype).eps * expected[..., :1]
    assert (np.abs(np.asarray(clarray.linalg.svdvals(d)) - expected) <= bound).all(), name


@pytest.mark.parametrize(("dtype", "n"), SIZES)
def test_eigenvalues(dtype: str, n: int) -> None:
    with split():
        for name, x in more_families(dtype, n).items():
            check_eigh(dtype, ((x + adjoint(x)) / 2).astype(dtype), name)


@pytest.mark.parametrize(("dtype", "n"), SIZES)
def test_eigenvalues_in_clusters(dtype: str, n: int) -> None:
    with split():
        for name, a in structured(dtype, n).items():
            check_eigh(dtype, a, name)


@pytest.mark.parametrize(("dtype", "n"), SIZES)
def test_singular_values(dtype: str, n: int) -> None:
    with split():
        for name, square in more_families(dtype, n).items():
            for a in (square, square[..., : n // 2 + 2], square[:, : n // 2 + 2], square[..., :5]):
                check_svd(dtype, a, name)


@pytest.mark.parametrize("dtype", DTYPES)
def test_blocks_of_a_gpu(dtype: str) -> None:
    # without transposing tiles, of which Intel's vectorizer makes code that reads outside local memory
    with split("gpu", base=20), policy_changed("elementwise", work_group=16):
        x = stack(dtype, (1, 70, 70))
        check_eigh(dtype, (x + adjoint(x)) / 2, "random")
        check_svd(dtype, x[..., :61], "random")


@pytest.mark.parametrize("full", [False, True])
def test_what_follows(full: bool) -> None:
    """Of a square matrix: inverses, ranks, conditions, least squares and norms, none of which leaves the device."""
    a = np.rint(stack("float32", (12, 12)) * 16) / 16
    a[:, 7] = a[:, 2] + a[:, 3]
    if full:
        a[7, 7] += 2
    b, d = stack("float32", (12, 2), 1), clarray.asarray(a)
    with split():
        for ours, theirs in (
            (clarray.linalg.pinv(d, rtol=1e-4), np.linalg.pinv(a, rtol=1e-4)),
            (clarray.linalg.matrix_rank(d), np.linalg.matrix_rank(a)),
            (clarray.linalg.matrix_norm(d, ord=2), np.linalg.matrix_norm(a, ord=2)),
            (clarray.linalg.matrix_norm(d, ord="nuc"), np.linalg.matrix_norm(a, ord="nuc")),
            *zip(clarray.linalg.lstsq(d, clarray.asarray(b), 1e-4), np.linalg.lstsq(a, b, 1e-4), strict=True),
            *([(clarray.linalg.cond(d), np.linalg.cond(a))] if full else []),
        ):
            assert (ours.dtype, ours.shape) == (np.asarray(theirs).dtype, np.shape(theirs))
            np.testing.assert_allclose(np.asarray(ours), theirs, rtol=2e-4, atol=2e-4)
        h = a + a.T
        u, s, vh = (np.asarray(x) for x in clarray.linalg.svd(clarray.asarray(h), hermitian=True))
        np.testing.assert_allclose(s, np.linalg.svd(h, hermitian=True)[1], atol=1e-4)
        np.testing.assert_allclose(u * s @ vh, h, atol=1e-4)
        u, s, vh = (np.asarray(x) for x in clarray.linalg.svd(d, full_matrices=True))
        np.testing.assert_allclose(u * s @ vh, a, atol=1e-4)


@settings(max_examples=25)
@given(
    stacked=st.sampled_from([(), (2,), (2, 1), (0,)]),
    shape=st.sampled_from([(0, 0), (0, 9), (1, 1), (5, 5), (9, 9), (13, 9), (9, 13), (30, 9)]),
    layout=st.sampled_from(list(LAYOUTS)),
    dtype=st.sampled_from(["float32", "complex64", *(["int16"] if FP64 else [])]),
)
def test_shapes_and_layouts(stacked: tuple[int, ...], shape: tuple[int, int], layout: str, dtype: str) -> None:
    made = stack("complex64" if dtype == "complex64" else "float32", (*stacked, *shape)) * 8
    a = LAYOUTS[layout](made.astype(dtype))
    with split():
        d = clarray.array(a, order="K")
        before = d.copy()
        for full in (False, True):
            ours, theirs = clarray.linalg.svd(d, full), np.linalg.svd(a, full)
            assert type(ours) is type(theirs)
            assert [(x.shape, x.dtype) for x in ours] == [(x.shape, x.dtype) for x in theirs]
            np.testing.assert_allclose(np.asarray(ours.S), theirs.S, rtol=0, atol=1e-3)
            (u, s, vh), k = map(np.asarray, ours), min(shape)
            again = product(u[..., :k] * s[..., None, :], vh[..., :k, :])
            np.testing.assert_allclose(again.astype(np.complex128), a, rtol=0, atol=1e-3)
            if a.size:
                assert_orthonormal(u, u.dtype.name, "U")
                assert_orthonormal(adjoint(vh), vh.dtype.name, "V")
        if shape[0] == shape[1]:
            h = a + adjoint(a)
            ours, theirs = clarray.linalg.eigh(clarray.array(h, order="K")), np.linalg.eigh(h)
            assert [(x.shape, x.dtype) for x in ours] == [(x.shape, x.dtype) for x in theirs]
            np.testing.assert_allclose(np.asarray(ours.eigenvalues), theirs.eigenvalues, rtol=0, atol=1e-3)
        np.testing.assert_array_equal(d, before)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_does_not_converge(value: float) -> None:
    bad = stack("float32", (2, 9, 9))
    bad[1, 7, 2] = value
    d = clarray.asarray(bad)
    with split():
        with pytest.raises(np.linalg.LinAlgError, match="Eigenvalues did not converge"):
            clarray.linalg.eigh(d)
        with pytest.raises(np.linalg.LinAlgError, match="SVD did not converge"):
            clarray.linalg.svdvals(d)
        clarray.linalg.eigh(d, "U")  # is not read


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_at_the_ends_of_their_range(dtype: str) -> None:
    x = stack(dtype, (1, 9, 9))
    h = (x + adjoint(x)) / 2
    info = np.finfo(dtype)
    with split():
        for factor in (float(info.max) / 64, float(info.tiny), float(info.tiny) / 64):
            a = (h * info.dtype.type(factor)).astype(dtype)
            exponent = int(np.frexp(np.abs(a.view(info.dtype)).max())[1])
            expected = np.linalg.eigvalsh(np.ldexp(a.view(info.dtype), -exponent).view(dtype))
            found = np.ldexp(np.asarray(clarray.linalg.eigvalsh(clarray.asarray(a))), -exponent)
            np.testing.assert_allclose(found, expected, atol=1e-2 if factor < info.tiny else 1e-5)


def test_what_is_not_split_is_the_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    from clarray._engine.algorithms.spectral import launch_split

    monkeypatch.setattr(launch_split, "_RESIDUE", 0.0)
    x = stack("float32", (9, 9))
    h = x + x.T
    with split(), clarray.config(host_library="allow"):
        for found in (clarray.linalg.eigh(clarray.asarray(h)), clarray.linalg.svd(clarray.asarray(h))):
            assert all(isinstance(part, clarray.DeviceArray) for part in found)
        np.testing.assert_allclose(
            np.asarray(clarray.linalg.eigvalsh(clarray.asarray(h))), np.linalg.eigvalsh(h), atol=1e-4
        )


def test_matrices_of_a_level_share_their_products() -> None:
    """So twice as many rows, one level more, are few launches more, and not twice as many."""
    launches = []
    with split():
        for n in (32, 64):
            x = stack("float32", (n, n))
            h = clarray.asarray(x + x.T)
            clarray.linalg.eigvalsh(h)
            with clarray.profile() as p:
                clarray.linalg.eigvalsh(h)
            launches.append(sum(r.name == "matmul" for r in p.records))
    assert launches[1] < 1.5 * launches[0], launches


def test_bases_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of matrices so large that memory counts."""
    from clarray._engine.algorithms.spectral import launch_split

    monkeypatch.setattr(launch_split, "_BATCHED_ROWS", 8)
    with split():
        x = stack("complex64", (1, 22, 22))
        check_eigh("complex64", x + adjoint(x), "one basis at a time")


def test_one_that_is_not_parted_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrices of a level go on one by one, each at its own next number, when one of them is not split by its first."""
    from clarray._engine.algorithms.spectral import launch

    shifts, tried = launch._shifts, []

    def beside(diagonal: np.ndarray, spread: float) -> Iterator[float]:
        if len(tried) == 1:
            tried.append(0.0)
            yield 1e3 * spread  # nothing lies above it
        else:
            tried.append(0.0)
        yield from shifts(diagonal, spread)

    monkeypatch.setattr(launch, "_shifts", beside)
    with split():
        x = stack("float32", (1, 30, 30))
        check_eigh("float32", x + adjoint(x), "one is not parted")
    assert len(tried) > 3


def test_the_same_bits_each_time() -> None:
    x = stack("float32", (30, 30))
    d = clarray.asarray(x + x.T)
    with split():
        first = [np.asarray(part).tobytes() for part in (*clarray.linalg.eigh(d), *clarray.linalg.svd(d))]
        assert first == [np.asarray(part).tobytes() for part in (*clarray.linalg.eigh(d), *clarray.linalg.svd(d))]


def test_two_threads() -> None:
    x = stack("float32", (4, 17, 17))
    h = x + adjoint(x)
    expected = np.linalg.eigvalsh(h.astype(np.float64))
    errors: list[Any] = []

    def work(number: int) -> None:
        try:
            d = clarray.array(h[number])
            for _ in range(5):
                np.testing.assert_allclose(np.asarray(clarray.linalg.eigvalsh(d)), expected[number], atol=1e-4)
        except BaseException as error:  # whatever it is, the main thread raises it
            errors.append(error)

    with split():
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not errors, errors


# The polynomials ------------------------------------------------------------------------------


@pytest.mark.parametrize("floor", [FLOOR, HIGH_FLOOR])
@pytest.mark.parametrize("least", [0.9, 0.3, 1e-2, 1e-4, 1e-7, 1e-16])
@pytest.mark.parametrize("end", [1e-1, 1e-2, 1e-3])
def test_polynomials_take_all_to_one(least: float, end: float, floor: float) -> None:
    x = np.concatenate([np.geomspace(least, 1, 2000), [1 + 1e-5]])
    y = x.copy()
    for a, b, c in schedule(least, end, floor):
        new = a * y + b * y**3 + c * y**5
        # nothing becomes small beside the largest, which would make what is rounded beside it large
        assert (new / new.max() >= y / y.max() / 2).all()
        y = new
    assert (np.abs(y - 1) <= 1.1 * end).all()
    a, b, c = LAST
    error = np.abs(a * y + b * y**3 + c * y**5 - 1)
    assert (error <= 3 * end**3 + 1e-15).all()
