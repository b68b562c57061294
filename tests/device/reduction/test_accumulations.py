"""``ufunc.accumulate``, ``ufunc.reduceat`` and ``ufunc.at``, under NumPy's names and clarray's."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clarray
from clarray._engine.evaluate import kernel_cache_of
from clarray._engine.runtime import current_device
from clarray._engine.tuning.rows import ROWS

from ..conftest import by_dtype

pytestmark = pytest.mark.usefixtures("quick_builds")
FEW_DTYPES = ["bool", "int8", "uint16", "int64", "float16", "float32", "complex64"]


@pytest.fixture(params=["own", "tiny-cpu", "gpu", "tiny-gpu"])
def policy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The kernels of every kind of device, whichever is under test."""
    cache = kernel_cache_of(current_device())
    if request.param != "own":
        monkeypatch.setattr(cache, "policies", replace(ROWS[request.param], optimized=cache.policies.optimized))
        monkeypatch.setattr(cache, "prepared", {})
        clang = cache.capabilities.clang_builtins and "cpu" in request.param
        monkeypatch.setattr(cache, "capabilities", replace(cache.capabilities, clang_builtins=clang))
    return request.param


# accumulate ---------------------------------------------------------------------------------------


@by_dtype("axis", [0], [1, -1], FEW_DTYPES)
def test_accumulate(same: Any, host: np.ndarray, axis: int) -> None:
    same(lambda xp: xp.add.accumulate(xp.asarray(host), axis))
    if host.dtype.name in FEW_DTYPES and axis != 1:  # the operation is the same text whatever the axis
        same(lambda xp: xp.maximum.accumulate(xp.asarray(host), axis=axis))
        same(lambda xp: xp.multiply.accumulate(xp.asarray(host)[..., :3] + 1, axis))


def test_numpys_own_function(same: Any) -> None:
    same(lambda xp: np.add.accumulate(xp.asarray([[1.0, 2], [3, 4]]), 1))


ORDERED = {
    "subtract": FEW_DTYPES,
    "floor_divide": ["int8", "uint16", "float16", "float32"],
    "remainder": ["int64"],
    "power": ["uint16", "int64"],
    "left_shift": ["int8"],
    "gcd": ["int64"],
    "logical_xor": ["bool", "float32", "complex64"],
    "less": ["bool", "int64"],
    "copysign": ["float32"],
}


@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n in ORDERED for d in ORDERED[n]])
def test_order_matters(same: Any, name: str, dtype: str) -> None:
    host = (np.arange(24) * 5 % 11).astype(dtype).reshape(4, 6)

    def body(xp: Any) -> Any:
        with np.errstate(all="ignore"):
            return getattr(xp, name).accumulate(xp.asarray(host), axis=1)

    same(body, message=False)


def test_any_policy(same: Any, policy: str) -> None:
    host = np.arange(3 * 37 * 5, dtype=np.int32).reshape(3, 37, 5)
    index = [0, 5, 5, 2, 36]

    def fold(xp: Any) -> Any:
        a = xp.asarray(host)
        values = [a * 2, a[::-1, ::2, ::-2]]
        running = [xp.subtract.accumulate(v, axis) for v in values for axis in range(3)]
        return [*running, xp.subtract.reduceat(a + 1, index, 1)]

    def update(xp: Any) -> Any:
        a, b = xp.array(host), xp.array(host[0])
        xp.subtract.at(a, (slice(None), xp.asarray([3, 3, -1]), 2), xp.asarray([[1], [2], [5]]))
        xp.multiply.at(b, xp.asarray([[0, -1], [0, 9]]), xp.asarray([2, 3, 1, 0, 5]))
        xp.add.at(b, xp.asarray(np.arange(9000) * 7 % 37), 1)
        return a, b

    same(fold)
    same(update)


def test_views_and_pending_values(same: Any) -> None:
    host = (np.arange(60, dtype=np.int32) * 17 % 13).reshape(3, 4, 5)

    def body(xp: Any) -> Any:
        a = xp.asarray(host)
        b = a + 1
        c = b * b  # b has a second consumer
        views = [a.T, a[::-1, 1:, ::2], xp.broadcast_to(a[0], (2, 4, 5)), b, c, b.sum(0), a[1]]
        views += [xp.broadcast_to(a[:1, :, :1], (3, 4, 5)), a - a.max(1, keepdims=True)]
        views += [xp.arange(12), xp.arange(3, 90, 7) * 2, xp.full((2, 3), 5)]
        return [xp.subtract.accumulate(v, -1) for v in views]

    same(body)


@pytest.mark.parametrize("given_", [None, "bool", "int8", "float32", "complex64"])
@pytest.mark.parametrize("out", [None, "int8", "float32"])
def test_dtypes_of_result(same: Any, given_: str | None, out: str | None) -> None:
    host = np.arange(12, dtype=np.int16).reshape(3, 4) * 50

    def body(xp: Any) -> Any:
        results = []
        for name in ("add", "logical_or", "subtract", "hypot"):
            if name == "hypot" and (out == "int8" or given_ == "int8"):
                continue  # 600 as float16 as int8
            if name == "logical_or" and given_ not in (None, "bool"):
                continue
            if (name, given_) in (("subtract", "bool"), ("hypot", "bool"), ("hypot", "complex64")):
                continue
            target = None if out is None else xp.zeros((3, 4), out)
            x = xp.asarray(host[:, :1] if name == "hypot" else host)
            if target is not None and name == "hypot":
                target = target[:, 2:3]
            found = getattr(xp, name).accumulate(x, 0, given_, target)
            assert target is None or found is target
            if given_ is None and target is None and name == "hypot":
                found = found.astype("int32")
            results.append(found)
        return results

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        same(body, message=False)


def test_complex_to_real_warns() -> None:
    with pytest.warns(np.exceptions.ComplexWarning):
        found = clarray.add.accumulate(clarray.asarray([1j, 2]), dtype=np.float32)
    assert found.tolist() == [0, 2]


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (1, 1)])
def test_empty_and_single(same: Any, shape: tuple[int, ...]) -> None:
    def body(xp: Any) -> Any:
        a, axes = xp.ones(shape, np.float32), range(len(shape))
        return [f.accumulate(a, axis) for axis in axes for f in (xp.add, xp.minimum)]

    same(body)


@pytest.mark.optimized
def test_special_values_stay(same: Any) -> None:
    host = np.array([-0.0, -0.0, 1, -np.inf, 2, np.inf, 3, np.nan, 1], np.float32)
    for name in ("add", "maximum", "fmin", "multiply"):

        def body(xp: Any, name: str = name) -> Any:
            with np.errstate(all="ignore"):
                found = getattr(xp, name).accumulate(xp.asarray(host))
            return found, xp.signbit(found[:3])

        same(body)


def test_integers_wrap_around(same: Any) -> None:
    host = np.array([100, 100, 100, -100], np.int8)
    same(lambda xp: xp.add.accumulate(xp.asarray(host), dtype=np.int8))
    same(lambda xp: xp.multiply.accumulate(xp.asarray(host) // 3, dtype=np.int8))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
@pytest.mark.optimized
def test_sums_are_accurate(dtype: str) -> None:
    rng = np.random.default_rng(7)
    size = 1500 if dtype == "float16" else 40000
    host = (rng.standard_normal(size) * (1 if dtype == "float16" else 1e3) + 0.5).astype(dtype)
    ours = clarray.asnumpy(clarray.add.accumulate(clarray.asarray(host)))
    theirs = np.add.accumulate(host)
    sections = np.add.reduceat(host, [0, 3, 700])
    parts = clarray.asnumpy(clarray.add.reduceat(clarray.asarray(host), [0, 3, 700]))
    for end in [2, 700, size // 2, size]:
        exact = math.fsum(host.real[:end].astype(float))
        error = abs(float(ours.real[end - 1]) - exact)
        assert error <= abs(float(theirs.real[end - 1]) - exact)
        assert error <= np.spacing(np.asarray(abs(exact), host.real.dtype))
    exact = math.fsum(host.real[700:].astype(float))
    assert abs(float(parts.real[2]) - exact) <= abs(float(sections.real[2]) - exact)


def test_out(same: Any) -> None:
    host = np.arange(24, dtype=np.float32).reshape(4, 6)

    def body(xp: Any) -> Any:
        a = xp.array(host)
        before = a * 2
        xp.add.accumulate(a, axis=0, out=a)  # in place
        later = a + 1
        xp.add.accumulate(later, axis=1, out=a)  # pending on what is overwritten
        kept = later * 1
        b = xp.array(host)
        xp.add.accumulate(b[::-1, ::-1], axis=1, out=b)  # other elements of the same memory
        c = xp.zeros((4, 12), np.float32)
        xp.add.accumulate(xp.asarray(host), axis=1, out=c[:, ::2])
        d = xp.zeros((6, 4))
        xp.add.accumulate(xp.asarray(host), axis=1, out=d.T)
        return before, later, kept, a, b, c, d

    same(body)


def test_users_memory_is_read_and_written_at_once() -> None:
    mine = np.arange(6, dtype=np.float32)
    shared = clarray.asarray(mine)
    found = clarray.add.accumulate(shared)
    mine[:] = 0
    assert found.tolist() == [0, 1, 3, 6, 10, 15]
    clarray.add.at(shared, [0, 0], 2)
    if shared.device.capabilities.host_memory:
        assert mine.tolist() == shared.tolist() == [4, 0, 0, 0, 0, 0]
    else:  # there asarray copies
        assert shared.tolist() == [4, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("method", ["accumulate", "reduceat"])
def test_errors(same: Any, method: str) -> None:
    more = ([0, 1],) if method == "reduceat" else ()

    def call(xp: Any, name: str = "add", x: Any = ((1, 2, 3), (4, 5, 6)), **kwargs: Any) -> Any:
        return getattr(getattr(xp, name), method)(xp.asarray(x), *more, **kwargs)

    for name in ("negative", "divmod"):
        same(partial(call, name=name))
    for axis in (2, -3, (0, 1), None, (), 1.0, "a"):
        same(partial(call, axis=axis))
    same(lambda xp: call(xp, "add", 5.0))
    same(lambda xp: call(xp, "subtract", [True, False]), message=False)
    same(lambda xp: call(xp, "less", [1, 2]), message=False)
    same(lambda xp: call(xp, "ldexp", [1.0, 2]), message=False)
    same(lambda xp: call(xp, "logical_or", [1, 2], dtype=int), message=False)
    same(lambda xp: call(xp, "right_shift", [1.0, 2]), message=False)
    same(lambda xp: call(xp, keepdims=True), message=False)
    same(lambda xp: call(xp, out=3), message=False)
    same(lambda xp: call(xp, out=xp.zeros((7, 7))), message=False)
    same(lambda xp: call(xp, "power", [[2, 2, 2], [1, -1, 3]]))
    same(lambda xp: call(xp, "power", [[-2, -2, 2], [3, 0, 3]]))


# reduceat -----------------------------------------------------------------------------------------

INDICES = [[0, 3, 1], [], [2], [1, 1, 1, 4], [4, 0, 4, 0], [True, False], [0.0]]


@pytest.mark.parametrize("indices", INDICES, ids=str)
def test_reduceat(same: Any, indices: list[Any]) -> None:
    host = np.arange(60, dtype=np.float32).reshape(3, 4, 5)

    def body(xp: Any) -> Any:
        a = xp.asarray(host)
        return [
            xp.add.reduceat(a, indices, axis=-1),
            xp.subtract.reduceat(a[:, ::-1, ::-1] * 2, indices, 2),
            xp.add.reduceat(a.T, np.array(indices, np.int32), axis=0),
            xp.maximum.reduceat(a, xp.asarray(np.array(indices, np.int64)), (2,)),
        ]

    same(body)


def test_reduceat_dtypes(same: Any, host: np.ndarray) -> None:
    same(lambda xp: xp.add.reduceat(xp.asarray(host), [0, 2, 1], 1))
    if host.dtype.name in FEW_DTYPES:
        same(lambda xp: xp.maximum.reduceat(xp.asarray(host), [0, 2, 1]))


def test_reduceat_out(same: Any) -> None:
    host = np.arange(12, dtype=np.int16).reshape(3, 4)

    def body(xp: Any) -> Any:
        a, b, c = xp.array(host), xp.zeros((3, 2), np.float32), xp.zeros((3, 4))
        xp.add.reduceat(a, [1, 3], 1, None, b)
        xp.add.reduceat(a, [0, 2], 1, np.int16, out=c[:, ::2])
        found = xp.subtract.reduceat(a, [3, 2, 1, 0], 1, out=a)
        assert found is a
        return a, b, c

    same(body)


@pytest.mark.parametrize(
    "indices",
    [[0, 6], [-1], [0, -1, 2], [2**40], [[0, 1]], 0, None, "a", np.zeros(1), np.zeros(1, np.uint64)],
    ids=repr,
)
def test_reduceat_errors(same: Any, indices: Any) -> None:
    message = not isinstance(indices, list) or not isinstance(indices[0], list)
    same(lambda xp: xp.add.reduceat(xp.arange(6.0), indices), message)
    if isinstance(indices, list) and message:
        same(lambda xp: xp.add.reduceat(xp.arange(6.0), xp.asarray(indices)))


def test_reduceat_of_nothing(same: Any) -> None:
    same(lambda xp: xp.add.reduceat(xp.zeros((0, 3)), []))
    same(lambda xp: xp.add.reduceat(xp.zeros((0, 3)), [0]))
    same(lambda xp: xp.add.reduceat(xp.zeros((0, 3)), [0], 1))


@given(st.data())
def test_any_segments(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 40))
    host = np.arange(size, dtype=np.int32) * 3 + 1
    indices = data.draw(st.lists(st.integers(0, size - 1), max_size=60))
    found = clarray.subtract.reduceat(clarray.asarray(host), indices)
    np.testing.assert_array_equal(found.get(), np.subtract.reduceat(host, indices))
