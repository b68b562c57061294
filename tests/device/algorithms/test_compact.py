"""Selections by a mask: every pass and boundary of a compaction, and all functions built on it."""

from __future__ import annotations

import itertools
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
from clarray._engine.evaluate import kernel_cache_of, positions
from clarray._engine.fused.compact import launch as compaction
from clarray._engine.runtime import current_device

from ..conftest import FEW_DTYPES, by_dtype, policy_changed, policy_in_force

pytestmark = pytest.mark.usefixtures("quick_builds")

HOST = np.arange(60, dtype=np.float32).reshape(3, 4, 5) % 7


@pytest.fixture(params=["own", "tiny-cpu", "tiny-gpu", "tiny-fenced"])
def shape_of_kernels(request: pytest.FixtureRequest) -> Iterator[str]:
    """Chunks, tiles in two passes, and tiles that look back."""
    with policy_in_force(request.param):
        yield request.param


@pytest.mark.optimized
def test_sizes_around_every_boundary(shape_of_kernels: str) -> None:
    random = np.random.default_rng(3)
    sizes = [0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 191, 193, 2000]
    for size, kept in itertools.product(sizes, [0.0, 0.02, 0.5, 0.9, 1.0]):
        values = random.random(size, dtype=np.float32)
        mask = values < kept
        a, m = clarray.array(values), clarray.array(mask)
        np.testing.assert_array_equal(a[m].get(), values[mask])
        np.testing.assert_array_equal(a[a < np.float32(kept)].get(), values[mask])
        np.testing.assert_array_equal(clarray.flatnonzero(m).get(), np.flatnonzero(mask))


@by_dtype("name", ["own"], ["tiny-gpu"])
def test_dtypes(dtype: str, name: str) -> None:
    random = np.random.default_rng(5)
    values = (random.random(1003) * 100).astype(dtype)
    mask = random.random(1003) < 0.6
    a, m = clarray.array(values), clarray.array(mask)
    with policy_in_force(name):
        assert a[m].dtype == values.dtype
        np.testing.assert_array_equal(a[m].get(), values[mask])
        if dtype in FEW_DTYPES:
            np.testing.assert_array_equal(a[1:][m[1:]].get(), values[1:][mask[1:]])
        if name == "own" and dtype in FEW_DTYPES:
            np.testing.assert_array_equal((a + a)[m].get(), (values + values)[mask])
            np.testing.assert_array_equal(clarray.flatnonzero(a).get(), np.flatnonzero(values))


def test_layouts(same: Any) -> None:
    def body(xp: Any) -> Any:
        a = xp.array(HOST)
        b = a.T[::-1]
        c = a[:, ::2, ::-1]
        wide = xp.broadcast_to(a[0, 0], (4, 5))
        return [
            a[a > 3],
            b[b > 3],
            c[c < 4],
            a[:, 1][a[:, 2] > 2],
            (a * 2 - b.T[:, :, ::-1])[a != 5],
            wide[wide > 1],
            a[::2][xp.array(HOST[::2] > 2)],
            b[(b + 1 > 3) & (b != 5)],
            a.ravel()[::3][a.ravel()[::3] > 2],
            a[a > a.mean()],
        ]

    same(body)


def test_tiles_of_strided_arrays(same: Any) -> None:
    with policy_in_force("tiny-gpu"):
        same(lambda xp: xp.array(HOST).ravel()[::3][xp.array(HOST).ravel()[::3] > 2])
        same(lambda xp: xp.array(HOST).T[xp.array(HOST).T > 2])


def test_selection_is_one_value(same: Any) -> None:
    """What is grown from selections, and writes to what they were selected from."""

    def grown(xp: Any) -> Any:
        a = xp.array(HOST)
        x, y = a[a > 3], a[a <= 3]
        return x + x.sum(), x[:5] + y[:5], x * 2, xp.sqrt(x), x.reshape(-1, 1), x[x > 4], len(x)

    def written(xp: Any) -> Any:
        a = xp.array(HOST)
        x, y = a[a > 3], (a * 2)[a > 3]
        a[...] = 0
        return x, y, a

    def assigned(xp: Any) -> Any:
        a = xp.array(HOST)
        b = xp.zeros(int((HOST > 3).sum()))
        b[:] = a[a > 3]
        a[a > 3] = a[a > 3] * 2
        a[a > 5] = -a[a > 5][::-1]
        return a, b

    for body in (grown, written, assigned):
        same(body)


def test_selections_beside_arrays_of_their_size(same: Any) -> None:
    def body(xp: Any) -> list:
        a, mask = xp.array(np.arange(7.0, dtype="float32")), xp.array([True, False] * 3 + [False])
        row = xp.broadcast_to(xp.array(np.float32(2)), (7,))  # its selection is stored at once
        return [
            a[mask] + row[mask],
            row[mask] * a[mask],
            a[mask] - xp.ones(3, "float32"),
            xp.where(a[mask] > 1, a[mask], xp.zeros(3, "float32")),
            a[mask][:, None] + a[mask],
        ]

    same(body)
    same(lambda xp: xp.array([1.0, 2.0], "float32")[xp.array([True, False])] + xp.ones(2, "float32"))
    same(lambda xp: xp.arange(3)[xp.array([True] * 2 + [False])] + xp.ones(3, "int64"))


def test_masked_reductions_store_nothing() -> None:
    a = clarray.array(np.linspace(0, 1, 50_000, dtype=np.float32))
    a[a > 0.5].sum().item()
    with clarray.profile() as seen:
        a[a > 0.5].sum().item()
    assert not any("compact" in one.name for one in seen.records)


def test_host_memory_may_change_afterwards() -> None:
    values = np.arange(1000, dtype=np.float32)
    a = clarray.asarray(values)
    big = a[a > 500]
    values[...] = 0
    np.testing.assert_array_equal(big.get(), np.arange(501, 1000, dtype=np.float32))


def test_masks_of_any_bytes() -> None:
    """Bools that are neither 0 nor 1: each selects once, in both passes."""
    mask = np.tile(np.array([2, 0, 255, 128, 1, 0, 0], np.uint8), 100)
    for name in ("own", "tiny-gpu", "tiny-fenced"):
        with policy_in_force(name):
            a, m = clarray.arange(700), clarray.array(mask.view(bool))
            np.testing.assert_array_equal(a[m].get(), np.flatnonzero(mask))
            a[m] = clarray.arange(400)
            np.testing.assert_array_equal(a.get()[mask != 0], np.arange(400))


def test_giving_up_looking_back() -> None:
    """Groups that will not wait for others: two passes give the same."""
    values = np.random.default_rng(0).random(5000, dtype=np.float32)
    with policy_in_force("tiny-fenced"):
        cache = kernel_cache_of(current_device())
        impatient = replace(cache.policies.compact, spins=0)
        cache.policies = replace(cache.policies, compact=impatient)
        a = clarray.array(values)
        for _ in range(5):
            np.testing.assert_array_equal(a[a > 0.5].get(), values[values > 0.5])
        cache.store_prepared(compaction._FAILED, True)
        np.testing.assert_array_equal(a[a > 0.5].get(), values[values > 0.5])


def test_little_kept_takes_little_memory() -> None:
    with policy_in_force("tiny-fenced"):
        a = clarray.arange(40_000, dtype=np.int32)
        found = a[a < 10].evaluate()
        assert found._node.memory is not None
        assert found._node.memory.nbytes == 40
        np.testing.assert_array_equal(found.get(), np.arange(10))


@pytest.mark.optimized
def test_same_bits_and_threads() -> None:
    values = np.random.default_rng(1).random(20_001, dtype=np.float32)
    a = clarray.array(values)
    found: list[np.ndarray] = []

    def work() -> None:
        for _ in range(5):
            found.append(a[a > 0.25].get())

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = values[values > 0.25]
    assert len(found) == 10
    assert all(np.array_equal(one, expected) for one in found)


# The functions ------------------------------------------------------------------------------------

CONDITIONS = [[True, False, True], [0, 0, 3, 0, 0, 2], [], [False], np.array([1.5, 0, np.nan])]


@pytest.mark.parametrize("axis", [None, 0, 1, -1, 3])
def test_compress(same: Any, axis: Any) -> None:
    for c in CONDITIONS:
        same(lambda xp, c=c: xp.compress(c, xp.array(HOST), axis))
        same(lambda xp, c=c: xp.array(HOST).transpose(2, 0, 1).compress(xp.asarray(c), axis))

    def into(xp: Any) -> Any:
        out = xp.zeros((2, 4, 5), np.float32)
        result = xp.compress([True, False, True], xp.array(HOST), 0, out)
        assert result is out
        return out

    same(into)
    same(lambda xp: xp.compress([True, False, True], xp.array(HOST), 0, xp.zeros((2, 4, 5))))
    same(lambda xp: xp.compress([[True]], xp.array(HOST)))
    same(lambda xp: xp.compress([True], xp.array(HOST), out=xp.zeros(3)))


def test_positions(same: Any) -> None:
    same(lambda xp: xp.nonzero(xp.array(HOST) > 3))
    same(lambda xp: xp.nonzero(xp.array(HOST).T))
    same(lambda xp: xp.array(HOST)[0, 0].nonzero())
    same(lambda xp: xp.flatnonzero(xp.array(HOST)[:, ::-1] > 2))
    same(lambda xp: xp.argwhere(xp.array(HOST) > 4))
    same(lambda xp: [xp.argwhere(xp.asarray(3)), xp.argwhere(xp.asarray(0))])
    same(lambda xp: xp.where(xp.array(HOST) > 3))
    same(lambda xp: [xp.nonzero(xp.zeros((0, 3))), xp.nonzero(xp.zeros((3, 0)))])
    same(lambda xp: xp.nonzero(xp.asarray(3)), message=False)
    same(lambda xp: xp.array(HOST)[xp.nonzero(xp.array(HOST) > 2)])


def test_extract_place_putmask(same: Any) -> None:
    same(lambda xp: xp.extract(xp.array(HOST) > 3, xp.array(HOST)))
    same(lambda xp: xp.extract([True, False], xp.array(HOST)))
    for name in ("place", "putmask"):
        for values in ([1, 2, 3], 5, list(range(200)), [], np.arange(3), np.ones(3, np.float32)):

            def body(xp: Any, name: str = name, values: Any = values) -> Any:
                a = xp.array(HOST)[:, ::2]
                getattr(xp, name)(a, a > 2, values)
                return a

            same(body)

        def wrong(xp: Any, name: str = name) -> Any:
            return getattr(xp, name)(xp.array(HOST), [True, False], [1])

        same(wrong)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_delete(same: Any, axis: Any) -> None:
    which = [1, -1, 77, slice(1, 3), slice(9, 9), [0, 2], [], [True, False, True], [1, 1, -1], [44]]
    for one in which:
        same(lambda xp, one=one: xp.delete(xp.array(HOST), one, axis))
    same(lambda xp: xp.delete(xp.array(HOST), xp.asarray([1, 2]), axis))


@settings(max_examples=25)
@given(data=st.data())
def test_anything_selected(data: st.DataObject) -> None:
    size = data.draw(st.integers(0, 400))
    density = data.draw(st.integers(0, 256))
    seed = data.draw(st.integers(0, 1000))
    random = np.random.default_rng(seed)
    values = random.integers(0, 256, size).astype(np.int32)
    with policy_in_force(data.draw(st.sampled_from(["own", "tiny-cpu", "tiny-gpu", "tiny-fenced"]))):
        a = clarray.array(values)
        np.testing.assert_array_equal(a[a < density].get(), values[values < density])
        found = wrap(positions((a < density)._node))
        np.testing.assert_array_equal(found.get(), np.flatnonzero(values < density))


@pytest.mark.kernels_alone
@pytest.mark.parametrize("name", ["tiny-cpu", "tiny-gpu", "tiny-fenced"])
def test_what_a_mask_selects_is_counted_once(name: str) -> None:
    """Until the mask is written; also of what it does not select."""
    values = np.arange(300, dtype=np.float32)
    mask = values % 3 == 0
    a, b, m = clarray.array(values), clarray.array(values), clarray.array(mask)

    def wait_for(body: Any, wanted: np.ndarray) -> int:
        with clarray.profile() as seen:
            found = body().evaluate()
        np.testing.assert_array_equal(found.get(), wanted)
        return seen.transfers + seen.synchronisations

    with policy_in_force(name):
        assert wait_for(lambda: a[m], values[mask])
        assert wait_for(lambda: b[m], values[mask]) == 0
        assert wait_for(lambda: (b + 1)[~m], (values + 1)[~mask]) == 0
        assert wait_for(lambda: clarray.flatnonzero(m), np.flatnonzero(mask)) == 0
        m[1] = mask[1] = True
        assert wait_for(lambda: a[~m], values[~mask])
        assert wait_for(lambda: a[m], values[mask]) == 0
        m[...] = False
        assert wait_for(lambda: a[m], values[:0])
        assert wait_for(lambda: b[m], values[:0]) == 0
        assert wait_for(lambda: b[~m], values) == 0
        assert wait_for(lambda: a[1:][m[1:]], values[:0])


@pytest.mark.kernels_alone
def test_another_selection_before_the_count_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal handler may select between the launch and the read of its count, with the same tile state."""
    x = clarray.array(np.arange(3000.0))
    device, read = type(x.device), type(x.device).read_number
    found: list[tuple[int, ...]] = []

    def interrupted(self: Any, *args: Any) -> Any:
        if not found:
            found.append(())
            found[0] = x[x > 2000].shape
        return read(self, *args)

    with policy_in_force("tiny-fenced"), policy_changed("compact", ticket=False):
        assert x[x > 1000].shape == (1999,)
        monkeypatch.setattr(device, "read_number", interrupted)
        assert x[x > 1000].shape == (1999,)
    assert found == [(999,)]
