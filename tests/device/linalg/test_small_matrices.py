"""Factorizations on the device: stacks of small matrices, in every form that a policy gives them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clarray
from clarray._engine.algorithms.factorization.launch import supports_matrix
from clarray._engine.runtime import current_device

from ..conftest import outcome, policy_changed, policy_in_force

pytestmark = pytest.mark.usefixtures("quick_builds")

CAPABILITIES = current_device().capabilities
FP64 = CAPABILITIES.fp64
# 3: a work-item's own, 8: in local memory, 20: in the device's memory, see the tiny policies
SIZES = [("float32", 3), ("float32", 4), ("float32", 8), ("complex64", 8)]
SIZES += [("complex128", 1), ("complex128", 3), ("float64", 20)] if FP64 else [("complex64", 3), ("float32", 20)]
POLICIES = ["tiny-cpu", "tiny-gpu"]


@pytest.fixture(params=POLICIES)
def form(request: pytest.FixtureRequest) -> Iterator[str]:
    with policy_in_force(request.param), clarray.config(host_library="raise"):
        yield request.param


def stack(dtype: str, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    values = random.standard_normal(shape)
    if dtype.startswith("c"):
        values = values + 1j * random.standard_normal(shape)
    return values.astype(dtype)


def families(dtype: str, n: int) -> dict[str, np.ndarray]:
    """Three matrices of each kind that tells a stable factorization from another."""
    x = stack(dtype, (3, n, n))
    eps = float(np.finfo(dtype).eps)
    steps = np.arange(n)
    unit = np.eye(n)
    q = np.linalg.qr(x)[0]
    low = x[..., :1] @ x[..., :1, :]
    found = {
        "random": x,
        "graded": x * 2.0**-steps,
        "graded rows": x * 2.0 ** -steps[:, None],
        "nearly singular": low + 8 * eps * x,
        "clustered": unit + 8 * eps * x,
        "badly scaled": x * 2.0 ** (steps[:, None] * 7 % 31 - 15) * 2.0 ** (15 - steps * 5 % 31),
        "ill conditioned": q * 2.0 ** (-steps * 16 / n) @ q.conj().swapaxes(1, 2),
        "needs pivots": np.tril(-np.ones((n, n)), -1) + unit + np.eye(n, k=n - 1) + 0 * x,
        "zeros before": np.flip(unit, 1) + 0 * x,
    }
    return {name: np.asarray(value, dtype) for name, value in found.items()}


def norm(x: np.ndarray) -> np.ndarray:
    return np.linalg.norm(x.astype(np.complex128), axis=(-2, -1))


def wide(x: Any) -> np.ndarray:
    array = np.asarray(x)
    return array.astype(np.clongdouble if array.dtype.kind == "c" else np.longdouble)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("...ij,...jk->...ik", wide(a), wide(b))


def assert_small(residual: np.ndarray, scale: np.ndarray, dtype: str, theirs: Any, about: str) -> None:
    """The backward error is within a small multiple of LAPACK's in double precision, each in its own epsilons."""
    eps = np.finfo(dtype).eps
    ours = norm(residual) / np.maximum(scale, np.finfo(dtype).tiny) / eps
    assert (ours <= 4 * np.maximum(theirs, 1)).all(), f"{about}: {ours} epsilons, LAPACK {theirs}"


@pytest.mark.parametrize(("dtype", "n"), SIZES)
@pytest.mark.optimized
def test_backward_errors(form: str, dtype: str, n: int) -> None:
    kind = np.result_type(dtype, np.float64)
    eps = np.finfo(np.float64).eps
    for name, a in families(dtype, n).items():
        b = stack(dtype, (3, n, 2), 1)
        found, error = outcome(lambda xp, a=a, b=b: xp.linalg.solve(clarray.asarray(a), clarray.asarray(b)), clarray)
        if error is not None:  # a pivot that is zero in one precision need not be in the other
            assert name == "nearly singular"
            assert isinstance(error, np.linalg.LinAlgError)
            continue
        x = np.asarray(found)
        theirs = np.linalg.solve(a.astype(kind), b.astype(kind))
        lapack = norm(product(a, theirs) - b) / (norm(a) * norm(theirs)) / eps
        assert_small(product(a, x) - b, norm(a) * norm(x), dtype, lapack, f"solve, {name}")
        x = np.asarray(clarray.linalg.inv(clarray.asarray(a)))
        theirs = np.linalg.inv(a.astype(kind))
        unit = np.eye(n)
        lapack = norm(product(a, theirs) - unit) / (norm(a) * norm(theirs)) / eps
        assert_small(product(a, x) - unit, norm(a) * norm(x), dtype, lapack, f"inv, {name}")
        expected = np.linalg.det(a.astype(kind))
        sign, height = np.linalg.slogdet(a.astype(kind))
        bound = 4 * n * np.finfo(dtype).eps * np.linalg.cond(a.astype(kind))
        bound = np.minimum(bound, 1e3)  # of what is singular but for rounding nothing is left
        with np.errstate(all="ignore"):
            expected = expected.astype(dtype)
        if not ((bound < 1) & np.isfinite(expected) & (np.abs(expected) > np.finfo(dtype).tiny)).all():
            continue
        ours = np.asarray(clarray.linalg.det(clarray.asarray(a)))
        assert (np.abs(ours - expected) <= bound * np.abs(expected)).all(), f"det, {name}"
        one, two = map(np.asarray, clarray.linalg.slogdet(clarray.asarray(a)))
        assert one.dtype == dtype
        assert two.dtype == height.astype(dtype).real.dtype
        assert (np.abs(one - sign) <= bound).all(), f"sign, {name}"
        assert (np.abs(two - height) <= bound + np.finfo(dtype).eps * np.abs(height)).all(), f"slogdet, {name}"


@pytest.mark.parametrize(("dtype", "n"), SIZES)
@pytest.mark.optimized
def test_cholesky(form: str, dtype: str, n: int) -> None:
    kind = np.result_type(dtype, np.float64)
    for name, x in families(dtype, n).items():
        a = np.asarray(product(x, x.conj().swapaxes(1, 2)) + norm(x)[:, None, None] ** 2 * np.eye(n) / 64, dtype)
        theirs = np.linalg.cholesky(a.astype(kind))
        lapack = norm(product(theirs, theirs.conj().swapaxes(1, 2)) - a) / norm(a) / np.finfo(np.float64).eps
        triangles = np.tril(a) + np.triu(np.full_like(a, np.nan), 1), np.triu(a) + np.tril(np.full_like(a, np.nan), -1)
        for upper in (False, True):
            found = np.asarray(clarray.linalg.cholesky(clarray.asarray(triangles[upper]), upper=upper))
            assert found.dtype == dtype
            assert not (np.tril(found, -1) if upper else np.triu(found, 1)).any()
            factor = found.conj().swapaxes(1, 2) if upper else found
            assert (np.diagonal(factor, axis1=1, axis2=2).imag == 0).all()
            assert_small(product(factor, factor.conj().swapaxes(1, 2)) - a, norm(a), dtype, lapack, name)


@pytest.mark.parametrize(("dtype", "n"), SIZES)
def test_exact_results(form: str, dtype: str, n: int) -> None:
    random = np.random.default_rng(n)
    orders = np.array([random.permutation(n) for _ in range(5)])
    a = np.eye(n, dtype=dtype)[orders]
    d = clarray.asarray(a)
    signs = np.linalg.det(a)
    np.testing.assert_array_equal(clarray.linalg.inv(d), a.swapaxes(1, 2))
    np.testing.assert_array_equal(clarray.linalg.solve(d, d), np.broadcast_to(np.eye(n), a.shape))
    np.testing.assert_array_equal(clarray.linalg.det(d), signs)
    sign, height = clarray.linalg.slogdet(d)
    np.testing.assert_array_equal(sign, signs)
    np.testing.assert_array_equal(height, np.zeros(5))
    np.testing.assert_array_equal(clarray.linalg.cholesky(clarray.asarray(4 * np.eye(n, dtype=dtype))), 2 * np.eye(n))


@pytest.mark.parametrize(("dtype", "n"), SIZES)
def test_matrices_that_have_no_result(form: str, dtype: str, n: int) -> None:
    good = stack(dtype, (9, n, n)) + 3 * np.eye(n, dtype=dtype)
    for place in (0, 4, 8):
        a = good.copy()
        a[place, :, n // 2] = 0
        d = clarray.asarray(a)
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            clarray.linalg.inv(d)
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            clarray.linalg.solve(d, d)
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            clarray.linalg.solve(d, clarray.zeros((n, 0), dtype))
        assert np.asarray(clarray.linalg.det(d))[place] == 0
        sign, height = clarray.linalg.slogdet(d)
        assert (complex(sign[place]), float(height[place])) == (0, -np.inf)
        assert np.asarray(sign).all() == (len(sign) == 0)
        a[place] = np.eye(n)
        a[place, n - 1, n - 1] = 0 if place else -1
        with pytest.raises(np.linalg.LinAlgError, match="Matrix is not positive definite"):
            clarray.linalg.cholesky(clarray.asarray(a[place : place + 1]))
        a[place, n - 1, n - 1] = np.nan
        with pytest.raises(np.linalg.LinAlgError, match="Matrix is not positive definite"):
            clarray.linalg.cholesky(clarray.asarray(a[place : place + 1]))
    found = np.asarray(clarray.linalg.solve(clarray.asarray(good), clarray.asarray(good)))  # nothing is left behind
    np.testing.assert_allclose(found, np.broadcast_to(np.eye(n), found.shape), atol=1e-3)


@pytest.mark.parametrize("n", [3, 8])
def test_nan(form: str, n: int) -> None:
    """What it decides is NaN, never a number; a pivot that is zero raises beside it too, as with NumPy."""
    a = stack("float32", (4, n, n))
    a[1, 0, -1] = np.nan
    d = clarray.asarray(a)
    for found in (clarray.linalg.det(d), clarray.linalg.slogdet(d).logabsdet, clarray.linalg.inv(d).sum((1, 2))):
        assert np.isnan(np.asarray(found)).tolist() == [False, True, False, False]
    a[1] = 0
    a[1, -1, 0] = np.nan
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        clarray.linalg.inv(clarray.asarray(a))


@pytest.mark.parametrize("n", [4, 10])
def test_determinants_beyond_the_largest_number(form: str, n: int) -> None:
    steps = np.array([30, 30, -30, -30, *[0] * (n - 4)])
    a = np.diag(10.0**steps).astype(np.float32)
    np.testing.assert_allclose(float(clarray.linalg.det(clarray.asarray(a))), 1, rtol=1e-5)
    large = clarray.asarray(1e30 * np.eye(n, dtype=np.float32))
    assert float(clarray.linalg.det(large)) == np.inf
    assert float(clarray.linalg.det(large / 1e30 / 1e30)) == 0
    np.testing.assert_allclose(float(clarray.linalg.slogdet(large)[1]), n * 30 * np.log(10), rtol=1e-6)
    tiny = np.float32(1e-40)  # below the smallest normal number: only scaled results are representable
    if float(clarray.asarray(np.full(1, tiny))[0] * 1) == tiny:
        solved = clarray.linalg.solve(tiny * clarray.eye(n, dtype=np.float32), np.full(n, tiny))
        np.testing.assert_allclose(np.asarray(solved), np.ones(n), rtol=1e-6)


LAYOUTS = {
    "C": lambda x: x,
    "F": np.asfortranarray,
    "transposed": lambda x: np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2),
    "reversed": lambda x: np.ascontiguousarray(x[..., ::-1, :])[..., ::-1, :],
    "strided": lambda x: np.repeat(np.repeat(x, 2, -1), 3, -2)[..., ::3, ::2],
    "stack last": lambda x: np.moveaxis(np.ascontiguousarray(np.moveaxis(x, (-2, -1), (0, 1))), (0, 1), (-2, -1)),
}
STACKS = [((), ()), ((4,), (4,)), ((2, 3), (3,)), ((3,), (2, 1)), ((1, 3), (2, 1)), ((0,), (1,)), ((2, 0), ())]


@given(
    form=st.sampled_from(POLICIES),
    stacks=st.sampled_from(STACKS),
    n=st.sampled_from([0, 1, 3, 4, 8]),
    columns=st.sampled_from([None, 0, 1, 3, 17]),
    layouts=st.tuples(st.sampled_from(list(LAYOUTS)), st.sampled_from(list(LAYOUTS))),
    dtypes=st.sampled_from([("float32", "float32"), ("complex64", "float32"), ("float32", "complex64")]),
)
def test_shapes_and_layouts(
    form: str, stacks: Any, n: int, columns: int | None, layouts: tuple[str, str], dtypes: tuple[str, str]
) -> None:
    a = stack(dtypes[0], (*stacks[0], n, n)) + 3 * np.eye(n, dtype=dtypes[0])
    b = stack(dtypes[1], (n,) if columns is None else (*stacks[1], n, columns), 1)
    a, b = LAYOUTS[layouts[0]](a), LAYOUTS[layouts[1]](b) if b.ndim > 1 else b
    with policy_in_force(form), clarray.config(host_library="raise"):
        x, y = (clarray.array(each, order="K") for each in (a, b))
        pairs = [
            (clarray.linalg.solve(x, y), np.linalg.solve(a, b)),
            (clarray.linalg.inv(x), np.linalg.inv(a)),
            (clarray.linalg.det(x), np.linalg.det(a)),
            *zip(clarray.linalg.slogdet(x), np.linalg.slogdet(a), strict=True),
        ]
        for ours, theirs in pairs:
            assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
            np.testing.assert_allclose(np.asarray(ours), theirs, rtol=0, atol=2e-5 * np.abs(theirs).max(initial=1))


# Stacks of 8 x 8, whose rows begin where vectors may lie and where not.
ROWS = {
    "aligned": lambda x: x,
    "one element further": lambda x: x[..., 1:],
    "rows apart": lambda x: x[:, ::2],
    "matrices apart": lambda x: x[::3],
    "columns": lambda x: x.swapaxes(1, 2),
    "backwards": lambda x: x[:, ::-1, ::-1],
    "one for all": lambda x: np.broadcast_to(x[:1], x.shape),
}


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("dtype", ["float32", "float64"] if FP64 else ["float32"])
def test_rows_are_loaded_in_vectors_wherever_they_begin(rows: str, dtype: str) -> None:
    whole = clarray.array(stack(dtype, (7, 17, 9)))
    a = ROWS[rows](whole)[:, :8, :8]
    host = np.asarray(a)
    bound = {"rtol": 0, "atol": 2e3 * float(np.finfo(dtype).eps)}
    with (
        policy_in_force("gpu"),
        policy_changed("small_matrices", most_shared=8),
        clarray.config(host_library="raise"),
    ):
        inverse = np.asarray(clarray.linalg.inv(a))
        np.testing.assert_allclose(inverse @ host, np.broadcast_to(np.eye(8), host.shape), **bound)
        np.testing.assert_allclose(np.asarray(clarray.linalg.det(a)), np.linalg.det(host), rtol=bound["atol"])
        solved = np.asarray(clarray.linalg.solve(a, a[..., :3]))
        np.testing.assert_allclose(solved, np.broadcast_to(np.eye(8, 3), solved.shape), **bound)


@pytest.mark.parametrize("dtype", ["float32", "complex64", *(["float64", "complex128"] if FP64 else [])])
def test_pivots_of_any_size(form: str, dtype: str) -> None:
    """Whose reciprocals, or squares, are no numbers."""
    info = np.finfo(dtype)
    shape = np.eye(3)[::-1] + np.tril(stack("float32", (4, 3, 3)), -1)[:, ::-1] / 4
    wanted = stack(dtype, (4, 3, 2), 1)
    for size in (info.tiny / 4, info.tiny, info.max**-0.5, 1, info.max**0.5, info.max / 64):
        a, b = ((x * float(size)).astype(dtype) for x in (shape, shape @ wanted))
        if not (np.asarray(clarray.array(a) * 1) == a).all():
            continue  # numbers below the smallest normal one are zeros there
        found = np.asarray(clarray.linalg.solve(clarray.array(a), clarray.array(b)))
        assert abs(found - wanted).max() < (200 if size < info.tiny else 50) * info.eps, size


def test_pending_operands_integers_and_numpys_functions(form: str) -> None:
    a = stack("float32", (5, 3, 3))
    d = clarray.asarray(a)
    found = np.linalg.inv(d * 2 + 1)
    np.testing.assert_allclose(np.asarray(found), np.linalg.inv(a * 2 + 1), rtol=1e-3)
    d = clarray.array(a)
    kept = clarray.linalg.inv(d)
    d[...] = 0
    np.testing.assert_allclose(np.asarray(kept), np.linalg.inv(a), rtol=1e-3)
    found = np.linalg.slogdet(a := clarray.asarray(np.eye(3, dtype=np.float32)))
    assert type(found) is type(np.linalg.slogdet(np.eye(2)))
    assert isinstance(found.sign, clarray.DeviceArray)
    assert clarray.linalg.matrix_power(a * 2, -2).tolist() == (np.eye(3) / 4).tolist()
    if FP64:
        whole = clarray.linalg.solve(np.array([[2, 0], [0, 4]]), clarray.asarray(np.array([2, 4])))
        assert (whole.dtype, whole.tolist()) == (np.float64, [1, 1])
        mixed = clarray.linalg.solve(a, clarray.asarray(np.ones(3, np.int16)))
        assert mixed.dtype == np.float64
    else:
        with pytest.raises(TypeError, match="float64"):
            clarray.linalg.det(np.array([[2, 0], [0, 4]]))


def test_who_computes() -> None:
    """LAPACK has few and large matrices of host memory, where they are; the device has all else."""
    own = not CAPABILITIES.host_memory
    few, many, large = (stack("float32", shape) for shape in ((4, 5, 5), (3000, 5, 5), (2, 140, 140)))
    for a, on_device in ((few, own), (many, True), (large, supports_matrix(current_device()))):
        d = clarray.asarray(a)
        with clarray.profile() as p:
            found = clarray.linalg.inv(d)
        assert p.host_calls == (not on_device)
        if CAPABILITIES.host_memory and not on_device:
            np.testing.assert_array_equal(found, np.linalg.inv(a))
        with clarray.config(host_library="raise"):
            _, error = outcome(lambda xp, d=d: xp.linalg.inv(d), clarray)
        assert (error is None) == on_device
    with policy_changed("small_matrices", most_shared=0), clarray.profile() as p:
        clarray.linalg.det(clarray.asarray(many))
    assert p.host_calls == (not own)


@pytest.mark.optimized
def test_float32_on_a_cpu_is_computed_as_numpy_does() -> None:
    """In double precision, and rounded: determinants and inverses are exact to the float."""
    a = stack("float32", (3000, 5, 5))
    with policy_in_force("tiny-cpu"):
        found = np.asarray(clarray.linalg.inv(clarray.asarray(a)))
    if FP64:
        np.testing.assert_allclose(found, np.linalg.inv(a), rtol=3e-7, atol=3e-7)


@pytest.mark.optimized
def test_threads() -> None:
    a = [stack("float32", (200, 5, 5), seed) for seed in range(4)]
    singular = np.zeros((200, 5, 5), np.float32)
    wrong: list[Any] = []

    def work(x: np.ndarray) -> None:
        d, s = clarray.asarray(x), clarray.asarray(singular)
        for _ in range(20):
            if not np.allclose(np.asarray(clarray.linalg.inv(d)), np.linalg.inv(x), rtol=1e-2, atol=1e-2):
                wrong.append("another result")
            _, error = outcome(lambda xp: xp.linalg.inv(s), clarray)
            if not isinstance(error, np.linalg.LinAlgError):
                wrong.append(error)

    with policy_in_force("tiny-cpu"):
        threads = [threading.Thread(target=work, args=(x,)) for x in a]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong
