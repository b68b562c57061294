"""QR of large matrices by Cholesky's factors, and what follows from it, in blocks so small that few rows have many."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clarray
from clarray._engine.runtime import current_device

from ..conftest import policy_changed, policy_in_force
from .test_factorization import CAPABILITIES, DTYPES, in_blocks
from .test_small_matrices import LAYOUTS, stack
from .test_small_orthogonal import adjoint, assert_near, assert_orthonormal, more_families

# Blocks of 4 in the tiny policy: one, whole ones, and what is left over
SIZES = [("float32", 1), ("float32", 7), ("float32", 22), ("complex64", 4)]
SIZES += [("float64", 7), ("complex128", 22)] if CAPABILITIES.fp64 else []


@contextmanager
def tall(row: str = "tiny-gpu") -> Iterator[None]:
    """Have the device take singular values of few columns, and rows only through QR."""
    small, large = {"most": 12, "most_shared": 12}, {"in_host_memory": True, "least_orthogonal": 0}
    with policy_in_force(row), policy_changed("small_matrices", **small), policy_changed("factorization", **large):
        yield


def check_qr(dtype: str, a: np.ndarray, name: str) -> None:
    kind = np.result_type(dtype, np.float64)
    q, r = (np.asarray(x) for x in clarray.linalg.qr(clarray.asarray(a)))
    theirs = np.linalg.qr(a.astype(kind))
    assert (q.dtype, q.shape, r.dtype, r.shape) == (dtype, theirs.Q.shape, dtype, theirs.R.shape)
    assert not np.tril(r, -1).any()
    assert_near(a, [q, r], list(theirs), dtype, name)
    assert_orthonormal(q, dtype, name)


@pytest.mark.parametrize(("dtype", "n"), SIZES)
def test_backward_errors(dtype: str, n: int) -> None:
    with in_blocks(), clarray.config(host_library="allow"):
        for name, square in more_families(dtype, n).items():
            for a in (square, square[..., : n // 2 + 1], square[:, : n // 2 + 1]):
                check_qr(dtype, a, name)


@pytest.mark.parametrize("dtype", DTYPES)
def test_blocks_of_a_gpu(dtype: str) -> None:
    # without transposing tiles, of which Intel's vectorizer makes code that reads outside local memory
    elementwise, sizes = (
        policy_changed("elementwise", work_group=16),
        policy_changed("factorization", least_orthogonal=0),
    )
    with in_blocks("gpu"), elementwise, sizes:
        for shape in ((2, 150, 70), (300, 130), (70, 150)):
            check_qr(dtype, stack(dtype, shape), "random")


@pytest.mark.parametrize("dtype", DTYPES[1:])
@pytest.mark.parametrize("shape", [(9, 9), (22, 22), (40, 9), (9, 22), (1, 1), (3, 1), (2, 7, 5)])
def test_signs_are_those_of_householders_reflections(dtype: str, shape: tuple[int, ...]) -> None:
    """Also where a column lies on its axis already, as the last one of a square matrix does."""
    upper = np.triu(stack(dtype, shape, 3)) + (0 if shape[-1] > shape[-2] else 3 * np.eye(*shape[-2:], dtype=dtype))
    mixed = stack(dtype, shape, 5)
    mixed[..., 1::2, 0] = 0
    kind = np.result_type(dtype, np.float64)
    with in_blocks():
        for a in (stack(dtype, shape), upper, np.eye(*shape[-2:], dtype=dtype) * -2, mixed):
            for ours, theirs in zip(clarray.linalg.qr(clarray.asarray(a)), np.linalg.qr(a.astype(kind)), strict=True):
                bound = 1e3 * np.finfo(dtype).eps * np.abs(theirs).max()
                np.testing.assert_allclose(np.asarray(ours), theirs, rtol=0, atol=bound)


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if CAPABILITIES.fp64 or dtype != "float32"])
@pytest.mark.parametrize("condition", [1e2, 1e5, 1e7, 1e10, 1e14])
def test_conditions(dtype: str, condition: float) -> None:
    """Nothing is left to the host up to where a column is lost in rounding."""
    if condition * np.finfo(dtype).eps > 0.5:
        pytest.skip("no digit is left")
    left, _, right = np.linalg.svd(stack(dtype, (120, 30)).astype(np.complex128), full_matrices=False)
    a = (left * np.geomspace(1, 1 / condition, 30) @ right).astype(np.complex128)
    a = a.astype(dtype) if dtype.startswith("c") else (a.real + a.imag).astype(dtype)
    with in_blocks():
        check_qr(dtype, a, f"{condition:g}")


def test_what_is_left_to_the_host() -> None:
    """A column of zeros, what is not finite, and modes that ask for reflections; NumPy's answer all the same."""
    a = stack("float32", (2, 30, 9))
    a[1, :, 4] = 0
    d = clarray.asarray(a)
    bad = a.copy()
    bad[0, 7, 2] = np.nan
    with in_blocks():
        for operand, mode in ((d, "reduced"), (clarray.asarray(bad), "reduced"), (d[0], "complete"), (d[0], "raw")):
            with pytest.raises(Exception, match=r"numpy\.linalg\.qr"):
                clarray.linalg.qr(operand, mode)
        clarray.linalg.qr(d[0])
    with in_blocks(), clarray.config(host_library="allow"):
        check_qr("float32", a, "zeros")
        for ours, theirs in zip(clarray.linalg.qr(d[0], "raw"), np.linalg.qr(a[0], "raw"), strict=True):
            np.testing.assert_allclose(np.asarray(ours), theirs, atol=1e-5)
        assert np.isnan(np.asarray(clarray.linalg.qr(clarray.asarray(bad))[0])).any()


@given(
    stacked=st.sampled_from([(), (2,), (2, 1), (0,)]),
    shape=st.sampled_from([(0, 0), (0, 3), (3, 0), (1, 1), (5, 5), (11, 5), (5, 11)]),
    layout=st.sampled_from(list(LAYOUTS)),
    dtype=st.sampled_from(["float32", "complex64", *(["int16"] if CAPABILITIES.fp64 else [])]),
)
def test_shapes_and_layouts(stacked: tuple[int, ...], shape: tuple[int, int], layout: str, dtype: str) -> None:
    made = stack("complex64" if dtype == "complex64" else "float32", (*stacked, *shape)) * 8
    a = LAYOUTS[layout](made.astype(dtype))
    with in_blocks(), clarray.config(host_library="allow"):
        d = clarray.array(a, order="K")
        before = d.copy()
        for mode in ("reduced", "r", "complete", "raw"):
            ours, theirs = clarray.linalg.qr(d, mode), np.linalg.qr(a, mode)
            assert type(ours) is (type(theirs) if mode != "r" else clarray.DeviceArray)
            for one, other in zip(*((x if isinstance(x, tuple) else (x,)) for x in (ours, theirs)), strict=True):
                assert (one.dtype, one.shape) == (other.dtype, other.shape)
                np.testing.assert_allclose(np.asarray(one), other, rtol=0, atol=1e-4 * np.abs(other).max(initial=1))
        np.testing.assert_array_equal(d, before)


@pytest.mark.parametrize("dtype", DTYPES)
def test_singular_values_of_many_rows(dtype: str) -> None:
    """By QR and what the device does with few columns: nothing leaves it."""
    kind = np.result_type(dtype, np.float64)
    with tall(), clarray.config(host_library="raise"):
        for shape in ((60, 9), (9, 60), (2, 40, 12), (25, 1)):
            a = stack(dtype, shape)
            d = clarray.asarray(a)
            u, s, vh = (np.asarray(x) for x in clarray.linalg.svd(d, full_matrices=False))
            left, expected, right = np.linalg.svd(a.astype(kind), full_matrices=False)
            assert (u.shape, s.shape, vh.shape) == (left.shape, expected.shape, right.shape)
            assert (u.dtype, s.dtype, vh.dtype) == (dtype, a.real.dtype, dtype)
            assert_near(a, [u * s[..., None, :], vh], [left * expected[..., None, :], right], dtype, "svd")
            assert_orthonormal(u, dtype, "u")
            assert_orthonormal(adjoint(vh), dtype, "v")
            bound = 64 * np.finfo(dtype).eps * expected.max()
            np.testing.assert_allclose(np.asarray(clarray.linalg.svdvals(d)), expected, rtol=0, atol=bound)


def test_what_follows_from_singular_values_of_many_rows() -> None:
    a, b = stack("float32", (50, 7)), stack("float32", (50, 3), 1)
    d, e = clarray.asarray(a), clarray.asarray(b)

    def same(ours: Any, theirs: Any) -> None:
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-4, atol=1e-5)

    with tall(), clarray.config(host_library="raise"):
        for x, y in ((d, a), (d.T, a.T)):
            same(clarray.linalg.pinv(x), np.linalg.pinv(y))
            same(clarray.linalg.cond(x), np.linalg.cond(y))
            same(clarray.linalg.matrix_rank(x), np.linalg.matrix_rank(y))
            same(clarray.linalg.norm(x, 2), np.linalg.norm(y, 2))
        for right, theirs in ((e, b), (e[:, 0], b[:, 0])):
            for one, other in zip(clarray.linalg.lstsq(d, right), np.linalg.lstsq(a, theirs), strict=True):
                same(one, np.asarray(other))
    a[:, 3] = 0  # has no QR by Cholesky's factors
    with tall(), clarray.config(host_library="allow"):
        assert int(clarray.linalg.matrix_rank(clarray.asarray(a))) == 6
        x, _, rank, _ = clarray.linalg.lstsq(clarray.asarray(a), e, 1e-4)
        assert int(rank) == 6
        np.testing.assert_allclose(np.asarray(x), np.linalg.lstsq(a, b, 1e-4)[0], atol=1e-4)


def test_small_matrices_stay_with_who_had_them() -> None:
    """A policy decides how large a matrix is worth 20 launches."""
    with in_blocks(), policy_changed("factorization", least_orthogonal=1000):
        clarray.linalg.qr(clarray.asarray(stack("float32", (50, 20))))
        with pytest.raises(Exception, match=r"numpy\.linalg\.qr"):
            clarray.linalg.qr(clarray.asarray(stack("float32", (50, 19))))
    with clarray.profile() as p:
        clarray.linalg.qr(clarray.asarray(stack("float32", (500, 129))))
    assert p.host_calls == (current_device().capabilities.kind == "cpu")


def test_threads() -> None:
    arrays = [stack("float32", (50, 9), seed) for seed in range(4)]
    wrong: list[Any] = []

    def work(a: np.ndarray) -> None:
        for _ in range(5):
            q, r = clarray.linalg.qr(clarray.asarray(a))
            if not np.allclose(np.asarray(q @ r), a, atol=1e-5):
                wrong.append("another result")

    with in_blocks():
        threads = [threading.Thread(target=work, args=(a,)) for a in arrays]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong
