"""The parallel scan against its sequential reference and exact sums, at every boundary of its passes."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clarray
from clarray._core.device_array import wrap
from clarray._engine.algorithms.scan import launch_parallel
from clarray._engine.algorithms.scan.launch import scan
from clarray._engine.algorithms.scan.launch_parallel import scan_tile_state
from clarray._engine.evaluate import kernel_cache_of
from clarray._engine.ops.forms import Form, Row
from clarray._engine.ops.monoids import Monoid, fold_monoid
from clarray._engine.ops.ufuncs import Loop, next_code
from clarray._engine.runtime import current_device
from clarray._engine.tuning.rows import ROWS

from ..conftest import policy_in_force

pytestmark = pytest.mark.usefixtures("quick_builds")

# Single passes: in tiles of a group, of a CPU's cache, and where everyone gives up at once.
SINGLE: dict[str, tuple[str, dict[str, Any]]] = {
    "single-gpu": ("tiny-fenced", {}),
    "single-numbers": ("tiny-fenced", {"tickets": False}),
    "single-cpu": ("tiny-cpu", {"lookback": "volatile", "tile": 8}),
    "alone-gpu": ("tiny-fenced", {"spins": 0}),
    "hasty-gpu": ("tiny-fenced", {"spins": 1}),
    "alone-cpu": ("tiny-cpu", {"lookback": "volatile", "tile": 8, "spins": 0}),
}
SHAPES = ["own", "tiny-cpu", "tiny-gpu", *SINGLE]

# Tiles are of 8 to 32 elements, sections of 8 tiles, parts of at least 8 elements.
SIZES = [*sorted({n + d for n in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512) for d in (-1, 0, 1)} - {0}), 3000]


@pytest.fixture(params=SHAPES)
def shape(request: pytest.FixtureRequest) -> Iterator[str]:
    """A shape of scan in force."""
    name: str = request.param
    row, changes = SINGLE.get(name, (name, {}))
    with policy_in_force(row):
        cache = kernel_cache_of(current_device())
        cache.policies = replace(cache.policies, scan=replace(cache.policies.scan, **changes))
        yield name


def _operation(text: str, dtype: Any, identity: Any) -> Monoid:
    """An associative operation that no ufunc has."""
    dtype = np.dtype(dtype)
    loop = Loop(Row("test", {}), np.add, Form(lambda loop, args, dialect: text.format(*args), "value"), next_code())
    loop.in_dtypes = (dtype, dtype)
    loop.out_dtype = dtype
    return Monoid(
        name="test",
        algebra="fold",
        in_dtype=dtype,
        out_dtype=dtype,
        components=(("v", dtype),),
        loop=loop,
        identity=identity,
        code=10**9 + hash(text) % 1000,
    )


# x -> a x + b one after the other, as the complex number a + b i: order matters, and every element.
AFFINE = _operation("((float2)({0}.x * {1}.x, {0}.y * {1}.x + {1}.y))", np.complex64, 1)
# The last element that is not 0: for vectors.
LAST = _operation("({1} != 0 ? {1} : {0})", np.int32, 0)


def _host(array: Any) -> np.ndarray:
    return clarray.asnumpy(array)


def _scanned(host: np.ndarray, monoid: Monoid, axis: int = 0, **kwargs: Any) -> np.ndarray:
    return _host(wrap(scan(clarray.array(host)._node, monoid, axis, **kwargs)))


def _affine(host: np.ndarray) -> np.ndarray:
    found = np.empty_like(host)
    a, b = 1.0, 0.0
    for k, x in enumerate(host):
        a, b = a * x.real, b * x.real + x.imag
        found[k] = complex(a, b)
    return found


def test_order_matters_in_rows(shape: str) -> None:
    rng = np.random.default_rng(3)
    for size in SIZES:
        host = (rng.choice([1, -1], size) + 1j * rng.integers(-9, 9, size)).astype(np.complex64)
        np.testing.assert_array_equal(_scanned(host, AFFINE), _affine(host))


@pytest.mark.optimized
def test_order_matters_in_vectors(shape: str) -> None:
    rng = np.random.default_rng(4)
    for size in SIZES:
        host = np.where(rng.random(size) < 0.1, np.arange(1, size + 1), 0).astype(np.int32)
        np.testing.assert_array_equal(_scanned(host, LAST), np.maximum.accumulate(host))


@pytest.mark.parametrize("width", [3, 32, 33, 70])
def test_order_matters_side_by_side(shape: str, width: int) -> None:
    rng = np.random.default_rng(5)
    for size in (1, 2, 3, 7, 8, 9, 31, 32, 33, 100, 129):
        host = np.where(rng.random((size, width)) < 0.2, np.arange(1, size + 1)[:, None], 0).astype(np.int32)
        np.testing.assert_array_equal(_scanned(host, LAST), np.maximum.accumulate(host))


def test_twin_agrees(policy: str) -> None:
    host = np.random.default_rng(6).integers(-99, 99, (5, 43, 6)).astype(np.int64)
    monoid = fold_monoid(np.add, np.dtype(np.int64))
    for axis in range(3):
        reference = _scanned(host, monoid, axis, sequential=True)
        np.testing.assert_array_equal(_scanned(host, monoid, axis), reference)
        np.testing.assert_array_equal(reference, host.cumsum(axis))


def test_strides(policy: str) -> None:
    host = np.random.default_rng(7).integers(-9, 9, (70, 36)).astype(np.float32)
    views = [np.s_[::-1], np.s_[:, ::-1], np.s_[::2, 1::3], np.s_[1:, 1:], np.s_[:, 5]]
    for view in views:
        for axis in range(host[view].ndim):
            ours = clarray.cumsum(clarray.array(host)[view], axis=axis)
            np.testing.assert_array_equal(_host(ours), np.cumsum(host[view], axis=axis))
    wide = clarray.broadcast_to(clarray.array(host[0]), (50, 36))
    np.testing.assert_array_equal(_host(clarray.cumsum(wide, axis=0)), np.cumsum(np.broadcast_to(host[0], (50, 36)), 0))
    turned = clarray.array(host).T
    np.testing.assert_array_equal(_host(clarray.cumsum(turned, axis=0)), np.cumsum(host.T, axis=0))


def test_pending_expressions_are_computed_while_read(shape: str) -> None:
    host = np.arange(200, dtype=np.float32)
    a = clarray.array(host)
    b = clarray.array(host % 5)
    with clarray.profile() as profile:
        found = clarray.cumsum(a * 2 - b)
    assert {r.name for r in profile.records if r.kind == "launch"} <= {
        "scan_finish",
        "scan_reduce",
        "scan_carry",
        "scan_lookback",
        "zero",
    }
    np.testing.assert_array_equal(_host(found), np.cumsum(host * 2 - host % 5))
    index = clarray.arange(300) * 3
    np.testing.assert_array_equal(_host(clarray.cumsum(index)), np.cumsum(np.arange(300) * 3))


def test_out_may_overlap(shape: str) -> None:
    all_, later, earlier, turned = np.s_[:], np.s_[1:], np.s_[:-1], np.s_[::-1]
    for target, source in [(all_, all_), (later, earlier), (earlier, later), (turned, all_)]:
        host = np.arange(1, 150, dtype=np.float32)
        ours = clarray.array(host)
        clarray.cumsum(ours[source], out=ours[target])
        np.cumsum(host[source], out=host[target])
        np.testing.assert_array_equal(_host(ours), host)


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.optimized
def test_sums_are_exact_and_repeat(shape: str, name: str) -> None:
    if name == "float64" and not current_device().capabilities.fp64:
        pytest.skip("the device has no float64")
    host = (np.random.default_rng(8).standard_normal(2000) * 1e3 + 0.5).astype(name)
    array = clarray.array(host)
    found = _host(clarray.cumsum(array))
    theirs = np.cumsum(host)
    exact = np.array([math.fsum(host[: k + 1].astype(float)) for k in range(host.size)])
    ours_off, theirs_off = np.abs(found - exact), np.abs(theirs - exact)
    assert ours_off.max() <= theirs_off.max()
    assert (ours_off <= 2 * np.spacing(np.abs(exact).astype(name)) + 4 * np.spacing(np.array(8e3, name))).all()
    if shape != "hasty-gpu":  # where whoever gives up may round otherwise
        for _ in range(5):
            np.testing.assert_array_equal(_host(clarray.cumsum(array)).view(np.uint8), found.view(np.uint8))
        grid = clarray.array(host.reshape(50, 40))
        for axis in (0, 1):
            first = _host(clarray.cumsum(grid, axis=axis))
            again = _host(clarray.cumsum(grid, axis=axis))
            np.testing.assert_array_equal(again.view(np.uint8), first.view(np.uint8))


def test_zeros_keep_their_sign_and_infinities_stay(policy: str) -> None:
    zeros = np.full(40, -0.0, np.float32)
    assert np.signbit(_host(clarray.cumsum(clarray.array(zeros)))).all()
    host = np.ones(90, np.float32)
    host[40] = np.inf
    host[70] = -np.inf
    with np.errstate(invalid="ignore"):
        expected = np.cumsum(host)
    np.testing.assert_array_equal(_host(clarray.cumsum(clarray.array(host))), expected)


@pytest.mark.parametrize("name", ["gcd", "lcm", "hypot", "maximum", "logical_and", "subtract"])
def test_other_operations(policy: str, name: str) -> None:
    ufunc = getattr(np, name)
    host = np.random.default_rng(9).integers(-30, 30, 130)
    host = host.astype(np.float32) if name in ("hypot", "logaddexp") else host.astype(np.int32)
    if name == "lcm":
        host = host % 4 + 1
    ours = _host(getattr(clarray, name).accumulate(clarray.array(host)))
    np.testing.assert_allclose(ours, ufunc.accumulate(host), rtol=1e-5)


@pytest.mark.usefixtures("kernels_stay")
def test_single_passes_are_taken_and_count_their_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    # a device that many share may not get through the self-test; who gives up waiting is right all the same
    monkeypatch.setattr(launch_parallel, "passes_self_test", lambda cache: True)
    cache = kernel_cache_of(current_device())
    with policy_in_force("tiny-fenced"):
        a = clarray.arange(1000) + 1
        for _ in range(3):
            clarray.cumsum(a + 0)
        tile_state = scan_tile_state(cache)
        assert tile_state.epoch >= 3
        tile_state.epoch = 2**32 - 2  # the numbers of launches begin again
        for _ in range(3):
            np.testing.assert_array_equal(_host(clarray.cumsum(a)), np.cumsum(np.arange(1000) + 1))
        assert tile_state.epoch < 10


@pytest.mark.optimized
def test_two_threads(shape: str) -> None:
    hosts = [np.random.default_rng(k).integers(0, 9, 700) for k in range(2)]
    wrong: list[int] = []

    def work(k: int) -> None:
        array = clarray.array(hosts[k])
        expected = np.cumsum(hosts[k])
        for _ in range(15):
            if (_host(clarray.cumsum(array)) != expected).any():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@settings(max_examples=25, deadline=None)
@given(
    extents=st.lists(st.integers(0, 40), min_size=1, max_size=3),
    axis=st.integers(0, 2),
    kind=st.sampled_from(["int32", "uint8", "float32"]),
    row=st.sampled_from(["tiny-cpu", "tiny-gpu", "tiny-fenced"]),
    backwards=st.booleans(),
)
def test_any_shape(extents: list[int], axis: int, kind: str, row: str, backwards: bool) -> None:
    axis %= len(extents)
    host = (np.arange(math.prod(extents)) % 13).reshape(extents).astype(kind)
    key = (np.s_[::-1],) * len(extents) if backwards else np.s_[...]
    with policy_in_force(row):
        ours = clarray.cumsum(clarray.array(host)[key], axis=axis)
        theirs = np.cumsum(host[key], axis=axis)
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(_host(ours), theirs)


def test_rows_of_policies_are_consistent() -> None:
    for row in ROWS.values():
        policy = row.scan
        assert not (policy.chunked and policy.work_group > 1)
        assert policy.wave == 1 or policy.work_group % policy.wave == 0
