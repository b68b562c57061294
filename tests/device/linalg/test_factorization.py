"""Factorizations on the device: large matrices, block by block, in blocks so small that few rows have many."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clarray
from clarray._core.device_array import wrap
from clarray._engine import speedups
from clarray._engine.algorithms.factorization import launch_self_test as self_test
from clarray._engine.algorithms.factorization.launch import block_plan
from clarray._engine.algorithms.factorization.source import panel_source
from clarray._engine.algorithms.matmul.launch import update_launch
from clarray._engine.codegen.render import Source
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.node import view_leaf
from clarray._engine.launch.kernel_cache import kernel_cache_of
from clarray._engine.runtime import current_device

from ..conftest import outcome, policy_changed, policy_in_force
from .test_small_matrices import LAYOUTS, STACKS, assert_small, families, norm, product, stack

CAPABILITIES = current_device().capabilities
FP64 = CAPABILITIES.fp64
DTYPES = ["float32", "complex64", *(["float64", "complex128"] if FP64 else [])]
# Blocks of 4, of two panels of 2 columns where there are many rows, tiles of 8, see the tiny policy: one, whole ones,
# and what is left over.
FEW = 12
SIZES = [(dtype, n) for dtype in DTYPES for n in (1, 4, 7, 8, 22)]


@contextmanager
def in_blocks(row: str = "tiny-gpu") -> Iterator[None]:
    """Have the device factorize every matrix by blocks."""
    with ExitStack() as during:
        during.enter_context(policy_in_force(row))
        during.enter_context(policy_changed("small_matrices", most=0, most_shared=0))
        during.enter_context(policy_changed("factorization", in_host_memory=True))
        during.enter_context(clarray.config(host_library="raise"))
        yield


@pytest.fixture
def blocks() -> Iterator[None]:
    with in_blocks():
        yield


def check_backward_errors(dtype: str, n: int) -> None:
    kind, eps = np.result_type(dtype, np.float64), np.finfo(np.float64).eps
    for name, a in families(dtype, n).items():
        if name == "needs pivots" and 2.0**n * np.finfo(dtype).eps > 1:
            continue  # elements double in each step, whoever computes it: no digit is left
        b = stack(dtype, (3, n, 6), 1)
        d = clarray.asarray(a)
        found, error = outcome(lambda xp, d=d, b=b: xp.linalg.solve(d, clarray.asarray(b)), clarray)
        if error is not None:  # a pivot that is zero in one precision need not be in the other
            assert name == "nearly singular"
            assert isinstance(error, np.linalg.LinAlgError)
            continue
        unit = np.broadcast_to(np.eye(n), a.shape)
        for ours, right in ((found, b), (clarray.linalg.inv(d), unit)):
            x, theirs = np.asarray(ours), np.linalg.solve(a.astype(kind), right.astype(kind))
            lapack = norm(product(a, theirs) - right) / (norm(a) * norm(theirs)) / eps
            # of what grows by its pivots the rounding of any order of sums is as good as another's
            assert_small(product(a, x) - right, norm(a) * norm(x), dtype, lapack.max(), name)
        sign, height = np.linalg.slogdet(a.astype(kind))
        bound = 4 * n * np.finfo(dtype).eps * np.linalg.cond(a.astype(kind))
        if (bound < 1).all():
            one, two = map(np.asarray, clarray.linalg.slogdet(d))
            assert (np.abs(one - sign) <= bound).all(), f"sign, {name}"
            assert (np.abs(two - height) <= bound + np.finfo(dtype).eps * np.abs(height)).all(), f"slogdet, {name}"


def check_cholesky(dtype: str, n: int) -> None:
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


@pytest.mark.parametrize("row", ["tiny-gpu", "gpu"])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize(("m", "n", "k"), [(13, 13, 64), (40, 8, 9), (1, 1, 1)])
@pytest.mark.parametrize("lower", [False, True])
def test_products_subtracted_in_place(row: str, dtype: str, m: int, n: int, k: int, lower: bool) -> None:
    """Nothing beside the target is written: neither what lies between its rows nor before or after it."""
    a, b, whole = stack(dtype, (m, k)), stack(dtype, (n, k), 1), stack(dtype, (m + 20, n + 7), 2)
    with policy_in_force(row):
        x, y, z = (evaluate(clarray.array(each)._node) for each in (a, b, whole))
        target = view_leaf(z, (m, n), (n + 7, 1), 4 * (n + 7) + 4)
        turned = view_leaf(y, (k, n), (1, k), 0)
        update_launch(kernel_cache_of(current_device()), x, turned, target, lower, conjugated=True).run()
    found, expected = np.array(wrap(z)), whole.copy()
    expected[4 : m + 4, 4 : n + 4] -= a @ b.conj().T
    if lower:  # above the diagonal there may be either
        above = np.triu(np.ones((m, n), bool), 1)
        found[4 : m + 4, 4 : n + 4][above] = expected[4 : m + 4, 4 : n + 4][above] = 0
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("dtype", "n"), SIZES)
def test_backward_errors(blocks: None, dtype: str, n: int) -> None:
    check_backward_errors(dtype, n)


@pytest.mark.parametrize(("dtype", "n"), SIZES)
def test_cholesky(blocks: None, dtype: str, n: int) -> None:
    check_cholesky(dtype, n)


@pytest.mark.parametrize("dtype", DTYPES)
def test_blocks_of_a_gpu(dtype: str) -> None:
    with in_blocks("gpu"):
        check_backward_errors(dtype, 77)
        check_cholesky(dtype, 77)


# Whose pivots warps find, by an instruction that is emulated: of some panels one row to an item, of some two.
EMULATED = {"panel": 16, "panel_bytes": 1 << 17, "items": 128, "search": "emulated"}


@pytest.mark.parametrize("dtype", DTYPES)
def test_pivots_found_by_warps(dtype: str) -> None:
    with in_blocks("gpu"), policy_changed("factorization", **EMULATED):
        check_backward_errors(dtype, 77)
        check_backward_errors(dtype, 16)


@pytest.mark.parametrize("dtype", DTYPES)
def test_warps_find_the_same_pivots(dtype: str) -> None:
    """The first of the largest, among NaN, infinities, zeros of both signs and equal ones: every bit of U and of x."""
    random = np.random.default_rng(8)
    stack_ = random.choice([0.0, -0.0, 1, -1, 2, -2], (12, 90, 90)).astype(dtype)
    stack_[1] = random.uniform(-1, 1, (90, 90))
    stack_[2, 40:, 3] = stack_[3, :, 7] = np.nan
    stack_[4, 50, 20:30] = np.inf
    stack_[5] = 0
    stack_[6, :, 0] = 0
    stack_[7, 60:] = np.nan
    with in_blocks("gpu"):
        found = []
        for search in ("items", "emulated"):
            with policy_changed("factorization", **EMULATED | {"search": search}):
                d = clarray.asarray(stack_)
                found.append([*(x.get() for x in clarray.linalg.slogdet(d)), clarray.linalg.det(d).get()])
                for matrix in d:
                    made, error = outcome(lambda xp, matrix=matrix: xp.linalg.inv(matrix), clarray)
                    found[-1].append(type(error) if error else made.get())
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_self_test_of_warps(dtype: str) -> None:
    """It passes what is right, and an instruction that is not there, or finds something else, is not used."""
    with in_blocks("gpu"), policy_changed("factorization", items=128):
        cache = kernel_cache_of(current_device())
        plan = block_plan(cache, np.dtype(dtype))
        assert self_test.passes_self_test(cache, plan, "items")
        assert self_test.passes_self_test(cache, plan, "emulated")
        assert not self_test.passes_self_test(cache, plan, "no such way")
        assert self_test.pivot_search(cache, plan) == ("warps" if "nvidia" in CAPABILITIES.vendor.lower() else "items")


def test_a_self_test_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(plan: Any, shape: Any, capabilities: Any) -> Source:
        """Takes any two numbers for equals."""
        right = panel_source(plan, replace(shape, search="emulated"), capabilities)
        return right._replace(text=right.text.replace("as_uint(weight) + 2", "3"))

    monkeypatch.setattr(self_test, "panel_source", wrong)
    with in_blocks("gpu"), policy_changed("factorization", items=128, panel=15):
        cache = kernel_cache_of(current_device())
        assert not self_test.passes_self_test(cache, block_plan(cache, np.dtype("float32")), "warps")


def test_a_self_test_is_of_its_panel_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a policy keeps panels in memory there is none to try, which says nothing of other policies' panels."""
    monkeypatch.setattr(self_test, "_self_tested", {})
    monkeypatch.setattr(
        self_test, "passes_self_test", lambda cache, plan, search: self_test._tested_panel(cache, plan, search).each > 0
    )
    monkeypatch.setattr(type(CAPABILITIES), "may_be_nvidias", lambda self, test: True)
    with in_blocks("gpu"):
        cache = kernel_cache_of(current_device())
        plan = block_plan(cache, np.dtype("float32"))
        with policy_changed("factorization", panel_bytes=1):
            assert self_test.pivot_search(cache, plan) == "items"
        assert self_test.pivot_search(cache, plan) == "warps"


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_panels_that_stay_in_memory(dtype: str) -> None:
    with in_blocks("gpu"), policy_changed("factorization", panel_bytes=1, tall_panel=16, items=64):
        check_backward_errors(dtype, 41)


PANELS = {
    "one column": {"panel": 1, "panel_bytes": 1 << 12},
    "divides the block": {"panel": 4, "panel_bytes": 1 << 12, "items": 128, "search": "emulated"},
    "does not": {"panel": 3, "panel_bytes": 1 << 12},
    "in memory": {"panel_bytes": 1, "tall_panel": 6, "items": 64},
}


# Each with a real and a complex dtype, and each dtype with at least two of them: the other pairs with `--exhaustive`.
PANELS_OF_DTYPES = [
    pytest.param(dtype, panels, marks=[] if (place - number) % len(DTYPES) in (0, 1) else pytest.mark.exhaustive)
    for number, panels in enumerate(PANELS)
    for place, dtype in enumerate(DTYPES)
]


@pytest.mark.parametrize(("dtype", "panels"), PANELS_OF_DTYPES)
def test_blocks_of_panels(dtype: str, panels: str) -> None:
    """Of what is left, a block of panels, a few panels of one, a single one that is not whole, and nothing."""
    with in_blocks("gpu"), policy_changed("factorization", block=16, blocked_bytes=1, **PANELS[panels]):
        for n in (1, 5, 16, 17, 45):
            check_backward_errors(dtype, n)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("tall", [False, True])
def test_pivots_of_any_size(dtype: str, tall: bool) -> None:
    """Their reciprocals, or the squares of complex ones, are no numbers."""
    info, n = np.finfo(dtype), 24
    unit, b = stack(dtype, (1, n, n))[0] / 8 + np.eye(n, dtype=dtype), stack(dtype, (1, n, 2), 1)[0]
    with in_blocks("gpu"), policy_changed("factorization", **{"panel_bytes": 1} if tall else {}):
        for exponent in (info.minexp + 8, -info.maxexp * 3 // 4, -info.maxexp // 2, info.maxexp // 2, info.maxexp - 6):
            a, right = np.ldexp(1.0, exponent).astype(info.dtype) * unit, np.asarray(b)
            x = np.asarray(clarray.linalg.solve(clarray.asarray(a), clarray.asarray(a @ right)))
            np.testing.assert_allclose(x, right, rtol=0, atol=2000 * info.eps * np.abs(right).max())


@pytest.mark.parametrize(("dtype", "n"), SIZES)
def test_exact_results(blocks: None, dtype: str, n: int) -> None:
    """Rows in another order: pivots lie anywhere, in the panel and below it, and are exchanged once and again."""
    random = np.random.default_rng(n)
    a = np.eye(n, dtype=dtype)[[random.permutation(n) for _ in range(9)]]
    d = clarray.asarray(a)
    signs = np.linalg.det(a)
    np.testing.assert_array_equal(clarray.linalg.inv(d), a.swapaxes(1, 2))
    np.testing.assert_array_equal(clarray.linalg.solve(d, d), np.broadcast_to(np.eye(n), a.shape))
    np.testing.assert_array_equal(clarray.linalg.det(d), signs)
    sign, height = clarray.linalg.slogdet(d)
    np.testing.assert_array_equal(sign, signs)
    np.testing.assert_array_equal(height, np.zeros(9))
    np.testing.assert_array_equal(clarray.linalg.cholesky(clarray.asarray(4 * np.eye(n, dtype=dtype))), 2 * np.eye(n))


@pytest.mark.parametrize(("dtype", "n"), [(dtype, n) for dtype, n in SIZES if n > 1])
def test_matrices_that_have_no_result(blocks: None, dtype: str, n: int) -> None:
    good = stack(dtype, (3, n, n)) + 3 * np.eye(n, dtype=dtype)
    for place, column in ((0, 0), (1, n // 2), (2, n - 1)):
        a = good.copy()
        a[place, :, column] = 0
        d = clarray.asarray(a)
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            clarray.linalg.inv(d)
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            clarray.linalg.solve(d, clarray.zeros((n, 0), dtype))
        found = np.asarray(clarray.linalg.det(d))
        assert (found == 0).tolist() == [each == place for each in range(3)]
        sign, height = clarray.linalg.slogdet(d)
        assert (complex(sign[place]), float(height[place])) == (0, -np.inf)
        for bad in (0, -1, np.nan):
            a[place] = np.eye(n)
            a[place, column, column] = bad
            with pytest.raises(np.linalg.LinAlgError, match="Matrix is not positive definite"):
                clarray.linalg.cholesky(clarray.asarray(a[place]))
    found = np.asarray(clarray.linalg.solve(clarray.asarray(good), clarray.asarray(good)))  # nothing is left behind
    np.testing.assert_allclose(found, np.broadcast_to(np.eye(n), found.shape), atol=1e-3)


def test_nan(blocks: None) -> None:
    """What it decides is NaN, never a number."""
    a = stack("float32", (3, 9, 9))
    a[1, 0, -1] = np.nan
    d = clarray.asarray(a)
    for found in (clarray.linalg.det(d), clarray.linalg.slogdet(d).logabsdet, clarray.linalg.inv(d).sum((1, 2))):
        assert np.isnan(np.asarray(found)).tolist() == [False, True, False]


def test_determinants_beyond_the_largest_number(blocks: None) -> None:
    a = np.diag(10.0 ** np.array([30, 30, -30, -30, *[0] * 9])).astype(np.float32)
    np.testing.assert_allclose(float(clarray.linalg.det(clarray.asarray(a))), 1, rtol=1e-5)
    large = clarray.asarray(1e30 * np.eye(9, dtype=np.float32))
    assert float(clarray.linalg.det(large)) == np.inf
    assert float(clarray.linalg.det(large / 1e30 / 1e30)) == 0
    np.testing.assert_allclose(float(clarray.linalg.slogdet(large)[1]), 9 * 30 * np.log(10), rtol=1e-6)


@given(
    stacks=st.sampled_from(STACKS),
    n=st.sampled_from([0, 1, 4, 5, 11]),
    columns=st.sampled_from([None, 0, 1, 3, 17]),
    layouts=st.tuples(st.sampled_from(list(LAYOUTS)), st.sampled_from(list(LAYOUTS))),
    dtypes=st.sampled_from([("float32", "float32"), ("complex64", "float32"), ("float32", "complex64")]),
)
def test_shapes_and_layouts(
    stacks: Any, n: int, columns: int | None, layouts: tuple[str, str], dtypes: tuple[str, str]
) -> None:
    a = stack(dtypes[0], (*stacks[0], n, n)) + 3 * np.eye(n, dtype=dtypes[0])
    b = stack(dtypes[1], (n,) if columns is None else (*stacks[1], n, columns), 1)
    h = a @ a.conj().swapaxes(-1, -2) + np.eye(n, dtype=dtypes[0])
    a, h, b = LAYOUTS[layouts[0]](a), LAYOUTS[layouts[1]](h), LAYOUTS[layouts[1]](b) if b.ndim > 1 else b
    with in_blocks():
        x, y, z = (clarray.array(each, order="K") for each in (a, b, h))
        pairs = [
            (clarray.linalg.solve(x, y), np.linalg.solve(a, b)),
            (clarray.linalg.inv(x), np.linalg.inv(a)),
            (clarray.linalg.det(x), np.linalg.det(a)),
            *zip(clarray.linalg.slogdet(x), np.linalg.slogdet(a), strict=True),
            (clarray.linalg.cholesky(z), np.linalg.cholesky(h)),
            (clarray.linalg.cholesky(z, upper=True), np.linalg.cholesky(h).conj().swapaxes(-1, -2)),
        ]
        for ours, theirs in pairs:
            assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
            assert ours.flags.c_contiguous
            np.testing.assert_allclose(np.asarray(ours), theirs, rtol=0, atol=4e-5 * np.abs(theirs).max(initial=1))


def test_operands_stay_as_they_were(blocks: None) -> None:
    """Neither they nor what is written to them later are what is computed of them."""
    a, b = stack("float32", (9, 9)), stack("float32", (9, 2), 1)
    x, y = clarray.array(a), clarray.array(b)
    solved, factor = clarray.linalg.solve(x, y), clarray.linalg.cholesky(x @ x.T)
    np.testing.assert_array_equal(x, a)
    np.testing.assert_array_equal(y, b)
    x[...] = y[...] = 0
    np.testing.assert_allclose(np.asarray(solved), np.linalg.solve(a, b), rtol=1e-3)
    np.testing.assert_allclose(np.asarray(factor @ factor.T), a @ a.T, rtol=1e-3, atol=1e-3)


def test_pending_operands_integers_and_what_rests_on_them(blocks: None) -> None:
    a = np.eye(6, dtype=np.float32)[[3, 1, 5, 0, 2, 4]]
    d = clarray.asarray(a)
    np.testing.assert_array_equal(np.linalg.inv(d * 2 + 2 * d), a.T / 4)
    np.testing.assert_array_equal(clarray.linalg.matrix_power(d * 2, -2), a.T @ a.T / 4)
    if FP64:
        whole = clarray.linalg.solve(np.array([[2, 0], [0, 4]]), clarray.asarray(np.array([2, 4])))
        assert (whole.dtype, whole.tolist()) == (np.float64, [1, 1])
    else:
        with pytest.raises(TypeError, match="float64"):
            clarray.linalg.det(clarray.asarray(np.array([[2, 0], [0, 4]])))


@pytest.mark.parametrize("row", ["cpu", "gpu"])
def test_who_computes(row: str) -> None:
    """LAPACK has large matrices of host memory, where they are; a GPU's memory they do not leave."""
    d = clarray.asarray(stack("float32", (140, 140)))
    own = row == "gpu" and not CAPABILITIES.host_memory
    with policy_in_force(row), clarray.profile() as p:
        clarray.linalg.inv(d)
    assert p.host_calls == (not own)


def test_what_follows_from_inverses(blocks: None) -> None:
    """Condition numbers by norms, and tensors: nothing leaves the device."""
    a = stack("float32", (2, 6, 6)) + 3 * np.eye(6, dtype=np.float32)
    d = clarray.asarray(a)
    pairs: list[Any] = [
        (clarray.linalg.cond(x, p), np.linalg.cond(y, p))
        for x, y in ((d, a), (d[0], a[0]))
        for p in (1, -1, np.inf, -np.inf, "fro")
    ]
    t, u = a[0].reshape(2, 3, 6), d[0].reshape(2, 3, 6)
    pairs += [
        (clarray.linalg.tensorinv(u), np.linalg.tensorinv(t)),
        (clarray.linalg.tensorsolve(u, u[..., 1]), np.linalg.tensorsolve(t, t[..., 1])),
        (np.linalg.tensorsolve(u.T, u[..., 1].T, axes=(0,)), np.linalg.tensorsolve(t.T, t[..., 1].T, axes=(0,))),
    ]
    for ours, theirs in pairs:
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-4, atol=1e-4)
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        clarray.linalg.tensorinv(clarray.zeros((2, 3, 6)))


@pytest.mark.kernels_alone
@pytest.mark.skipif(speedups.native is None, reason="the compiled core is not there, or not wanted")
@pytest.mark.parametrize("name", ["det", "inv", "cholesky", "qr"])
def test_a_list_of_launches_is_the_cores_and_each_matrix_has_its_own_result(blocks: None, name: str) -> None:
    """Python launches a kernel a few times, and then what stands before and after the lists, dozens, of launches."""
    stacked = stack("float32", (3, 26, 26))
    a = np.stack([x @ x.T for x in stacked]) + 5 * np.eye(26, dtype=np.float32)
    d, device = clarray.asarray(a), current_device()
    function, expected = getattr(clarray.linalg, name), getattr(np.linalg, name)(a)
    launches = []
    for _ in range(7):  # the 2nd, 4th and 8th are captured again, or the next ones, if other tests came before
        before = device.begun
        found = function(d)
        launches.append(device.begun - before)
        for ours, theirs in zip(found, expected, strict=True) if name == "qr" else [(found, expected)]:
            np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-3, atol=1e-3 * abs(np.asarray(theirs)).max())
    assert launches[-1] <= FEW, launches


def test_threads(blocks: None) -> None:
    a = [stack("float32", (30, 30), seed) + 5 * np.eye(30, dtype=np.float32) for seed in range(4)]
    wrong: list[Any] = []

    def work(x: np.ndarray) -> None:
        d, s = clarray.asarray(x), clarray.zeros((30, 30), np.float32)
        for _ in range(10):
            if not np.allclose(np.asarray(clarray.linalg.inv(d)), np.linalg.inv(x), rtol=1e-2, atol=1e-3):
                wrong.append("another result")
            _, error = outcome(lambda xp: xp.linalg.inv(s), clarray)
            if not isinstance(error, np.linalg.LinAlgError):
                wrong.append(error)

    threads = [threading.Thread(target=work, args=(x,)) for x in a]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
