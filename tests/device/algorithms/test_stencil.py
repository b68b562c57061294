"""numpy.convolve and numpy.correlate, and what all stencils have in common."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import clarray
from clarray._engine.algorithms.stencil.plan import rank_network

pytestmark = pytest.mark.usefixtures("quick_builds")

MODES = ("full", "same", "valid")


def line(n: int, dtype: str, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.random(n) < 0.3
    if dtype[0] in "iu":
        info = np.iinfo(dtype)
        return random.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
    x = random.integers(-8, 9, n).astype(dtype)
    return x + 1j * random.integers(-8, 9, n).astype(dtype) if dtype[0] == "c" else x


@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_every_dtype_and_mode(name: str, dtype: str, same: Callable[..., None]) -> None:
    a, v = line(37, dtype), line(5, dtype, 1)
    for mode in MODES:
        same(lambda xp, mode=mode: getattr(xp, name)(xp.asarray(a), xp.asarray(v), mode))


ODD = [[np.inf], [-np.inf, 1], [1, np.nan, 2], [0, np.inf, 0, -np.inf, 3], [np.nan, 0, 0, 2], [1, 2, 3]]


@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_weights_that_are_not_finite(same: Callable[..., None], name: str) -> None:
    # what is beside the array is not there: a product with it is none, not NaN
    for a in ODD:
        for v in ODD:
            for mode in ("full", "same", "valid"):
                one, other = (np.array(x, np.float32) for x in (a, v))
                same(
                    lambda xp, one=one, other=other, mode=mode: getattr(xp, name)(xp.array(one), xp.array(other), mode)
                )


@pytest.mark.parametrize("name", ["convolve", "correlate"])
@pytest.mark.optimized
def test_lengths(name: str, policy: str, same: Callable[..., None]) -> None:
    for n in (1, 2, 3, 7, 16, 33, 130, 1031):
        for m in (1, 2, 3, 4, 15, 40, 300):
            a, v = line(n, "int32"), line(m, "int32", 1)
            for mode in MODES:
                same(lambda xp, a=a, v=v, mode=mode: getattr(xp, name)(xp.asarray(a), xp.asarray(v), mode))


def test_mixed_dtypes_and_views(same: Callable[..., None]) -> None:
    a, v = line(60, "int16"), line(9, "float32", 1)
    same(lambda xp: xp.convolve(xp.asarray(a)[::-3], xp.asarray(v)[::2]))
    same(lambda xp: xp.correlate(xp.asarray(v), xp.asarray(a), "full"))
    same(lambda xp: xp.convolve(xp.broadcast_to(xp.asarray(a)[3], (9,)), xp.asarray(v), "same"))
    same(lambda xp: xp.convolve(xp.asarray(a) * 2 + 1, xp.asarray(v) - 1, "valid"))
    same(lambda xp: xp.convolve(xp.asarray(a), [1, 2, 3]))
    same(lambda xp: xp.convolve(xp.asarray(np.int32(3)), xp.asarray(a)))


def test_numpys_functions_take_device_arrays() -> None:
    a = clarray.arange(5)
    assert isinstance(np.convolve(a, a), clarray.DeviceArray)
    assert np.correlate(a, a).tolist() == [30]


def test_errors(same: Callable[..., None]) -> None:
    same(lambda xp: xp.convolve(xp.zeros(0), xp.zeros(3)))
    same(lambda xp: xp.convolve(xp.zeros(3), xp.zeros(0)))
    same(lambda xp: xp.correlate(xp.zeros(0), xp.zeros(3)))
    same(lambda xp: xp.correlate(xp.zeros(3), xp.zeros(0)))
    same(lambda xp: xp.correlate(xp.zeros((2, 2)), xp.zeros(3)))
    same(lambda xp: xp.convolve(xp.zeros(3), xp.zeros((2, 2))))
    same(lambda xp: xp.convolve(xp.zeros(3), xp.zeros(3), "around"))


@pytest.mark.optimized
def test_long_sums_are_no_worse_than_numpys() -> None:
    random = np.random.default_rng(0)
    a, v = random.random(20000, dtype=np.float32), random.random(6000, dtype=np.float32)
    exact = np.convolve(a.astype(float), v.astype(float), "valid")
    ours = clarray.convolve(clarray.asarray(a), clarray.asarray(v), "valid").get()
    bound = max(np.abs(np.convolve(a, v, "valid") - exact).max(), 2e-7 * exact.max())
    assert np.abs(ours - exact).max() <= 2 * bound


def test_the_input_is_computed_while_it_is_read() -> None:
    a, v = clarray.array(line(1000, "float32")), clarray.array(line(5, "float32"))
    with clarray.profile() as p:
        clarray.correlate(a * 2 + 1, v)
    assert [r.name for r in p.records if r.kind == "launch"] == ["stencil"]


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    n=st.integers(1, 60),
    m=st.integers(1, 60),
    mode=st.sampled_from(MODES),
    step=st.sampled_from([-2, -1, 1, 3]),
    name=st.sampled_from(["convolve", "correlate"]),
)
def test_against_numpy(n: int, m: int, mode: str, step: int, name: str, policy: str) -> None:
    a, v = line(3 * n, "int64")[::step][:n], line(m, "int64", 1)
    ours = getattr(clarray, name)(clarray.asarray(a), clarray.asarray(v), mode)
    np.testing.assert_array_equal(ours.get(), getattr(np, name)(a, v, mode))


@pytest.mark.optimized
def test_the_same_bits_each_time_and_in_every_thread(policy: str) -> None:
    random = np.random.default_rng(0)
    a, v = (clarray.asarray(random.random(n, dtype=np.float32)) for n in (3000, 400))
    first = clarray.convolve(a, v).get().tobytes()
    found: list[bytes] = []

    def work() -> None:
        found.extend(clarray.convolve(a, v).get().tobytes() for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 10
    assert set(found) == {first}


@pytest.mark.parametrize("count", [1, 2, 3, 5, 9, 12, 25, 49])
def test_networks_find_every_rank(count: int) -> None:
    random = np.random.default_rng(count)
    values = random.integers(0, 20, (count, 300))
    for rank in range(count):
        lines = list(values)
        for low, high, lesser, greater in rank_network(count, rank):
            a, b = lines[low], lines[high]
            lines[low] = np.minimum(a, b) if lesser else np.full_like(a, 99)
            lines[high] = np.maximum(a, b) if greater else np.full_like(a, 99)
        assert (lines[rank] == np.sort(values, 0)[rank]).all()
