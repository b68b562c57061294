"""When pending values are computed: reads before writes, once, in few launches, without copies."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray

pytestmark = pytest.mark.usefixtures("quick_builds")

BASE = np.arange(1, 25, dtype=np.float32).reshape(4, 6)


def array() -> clarray.DeviceArray:
    return clarray.array(BASE)


# Reads come before writes -------------------------------------------------------------------------

WRITES: dict[str, Callable[[Any], Any]] = {
    "everything": lambda x: x.__setitem__(..., 5),
    "one element": lambda x: x.__setitem__((1, 2), 5),
    "a view": lambda x: x[::-1, ::2].__setitem__(..., 7),
    "a view's view": lambda x: x.T[1:4][::-1].__setitem__(1, 9),
    "a reshaped view": lambda x: x.reshape(-1)[5:20:3].__iadd__(np.float32(3)),
    "in place": lambda x: x.__imul__(2),
    "in place from itself": lambda x: x.__iadd__(x[::-1]),
    "out=": lambda x: np.add(x, x, out=x),
    "out= a view": lambda x: np.multiply(x[1], 3, out=x[2]),
    "out= with where=": lambda x: np.negative(x, out=x, where=x > 9),
    "reduction out=": lambda x: x.sum(axis=0, out=x[3]),
    "fill": lambda x: x.fill(-1),
    "copyto": lambda x: clarray.copyto(x, -x) if hasattr(x, "evaluate") else np.copyto(x, -x),
    "mask": lambda x: x.__setitem__(x > 10, 0),
}
READS: dict[str, Callable[[Any], Any]] = {
    "x + 1": lambda x: x + 1,
    "of a view": lambda x: x[1:, ::-1] + 1,
    "of a transpose": lambda x: x.T * x.T,
    "two levels": lambda x: (x + 1) * (x - 2),
    "sum": lambda x: x.sum(),
    "sum of an axis": lambda x: (x * 2).sum(axis=1),
    "above a sum": lambda x: (x - x.mean()).sum(axis=0),
    "element": lambda x: x[1, 2],
    "masked sum": lambda x: x[x > 7].sum(),
    "outer": lambda x: x[0][:, None] + x[1],
}


@pytest.mark.parametrize("write", WRITES)
def test_what_was_pending_keeps_the_old_values(write: str) -> None:
    ours, theirs = array(), BASE.copy()
    before = [read(ours) for read in READS.values()]
    expected = [read(theirs) for read in READS.values()]
    WRITES[write](ours)
    WRITES[write](theirs)
    np.testing.assert_allclose(clarray.asnumpy(ours), theirs, rtol=1e-6)
    for name, one, other in zip(READS, before, expected, strict=True):
        np.testing.assert_allclose(clarray.asnumpy(one), other, rtol=1e-5, err_msg=name)


def test_a_later_write_does_not_reach_an_earlier_sum_of_two_passes() -> None:
    """The partial results of a reduction into `out` must not be given to what is evaluated first."""
    n = 1 << 20
    x = clarray.ones(n, np.float32)
    target = clarray.array(np.full((), 3, np.float32))
    pending = [target + k for k in range(8)]
    np.add.reduce(x, out=target)
    assert float(target) == n
    assert [float(p) for p in pending] == [3 + k for k in range(8)]


def test_readers_of_a_value_that_has_become_memory() -> None:
    y = array() * 2
    one, two, three = y + 1, y - 1, (y - 1) * 3
    one.evaluate()
    y[...] = 0
    np.testing.assert_array_equal(two, BASE * 2 - 1)
    np.testing.assert_array_equal(three, (BASE * 2 - 1) * 3)
    np.testing.assert_array_equal(y, BASE * 0)


def test_in_place_on_a_pending_value_is_seen_by_nobody_else() -> None:
    x = array()
    y = x + 1
    z = y * 2
    held = y
    y += 5
    assert held is y
    np.testing.assert_array_equal(z, (BASE + 1) * 2)
    np.testing.assert_array_equal(held, BASE + 6)


def test_both_outputs_read_before_either_is_written() -> None:
    x, y = array() / 4, array()
    theirs = np.modf(BASE / 4)
    x.evaluate()
    first, second = np.modf(x, out=(y, x))
    assert (first, second) == (y, x) or (first is y and second is x)
    np.testing.assert_array_equal(y, theirs[0])
    np.testing.assert_array_equal(x, theirs[1])
    a, b = array(), array() * 0 + 5
    q, r = np.divmod(BASE, np.float32(5))
    np.divmod(a, b.evaluate(), out=(b, a))
    np.testing.assert_array_equal(b, q)
    np.testing.assert_array_equal(a, r)


def test_a_selection_keeps_its_elements() -> None:
    x = array()
    mask = x > 7
    chosen, scaled = x[mask], x[mask] * 2 + 1
    x[...] = 0
    mask[...] = True
    assert float(chosen.sum()) == BASE[BASE > 7].sum()
    assert float(scaled.sum()) == (BASE[BASE > 7] * 2 + 1).sum()
    assert float(chosen.max()) == BASE.max()


def test_a_long_chain_on_a_selection() -> None:
    x = array()
    chosen = x[x > 7]
    for _ in range(60):
        chosen = chosen + 1
    x[...] = 0
    assert float(chosen.sum()) == (BASE[BASE > 7] + 60).sum()


def test_deleted_operands_stay_alive_for_what_is_pending() -> None:
    x = array()
    y = (x + 1) * x
    del x
    gc.collect()
    noise = [clarray.array(np.full_like(BASE, k)) for k in range(8)]
    np.testing.assert_array_equal(y, (BASE + 1) * BASE)
    del noise


# Once ---------------------------------------------------------------------------------------------


def launches(work: Callable[[], Any]) -> int:
    with clarray.profile() as p:
        work()
    return p.launches


def test_a_value_with_two_consumers_is_computed_once() -> None:
    x = array()
    y = np.exp(x)
    one, two = y + 1, y * 2
    assert launches(lambda: one.evaluate()) == 1  # with y and two, which share its work
    assert launches(lambda: y.evaluate()) == 0
    assert launches(lambda: two.evaluate()) == 0
    np.testing.assert_allclose(two, np.exp(BASE) * 2, rtol=1e-6)


def test_a_value_used_again_after_its_first_consumer_is_gone() -> None:
    x = array()
    y = np.exp(x)
    assert launches(lambda: (y + 1).evaluate()) == 1
    assert launches(lambda: (y + 1).evaluate()) == 1  # with y
    assert launches(lambda: [(y + 1).evaluate() for _ in range(5)]) == 5


def test_a_value_used_twice_by_one_consumer_is_computed_inside_it() -> None:
    x = array()
    y = np.exp(x)
    both = y * y + y
    del y
    assert launches(lambda: both.evaluate()) == 1
    np.testing.assert_allclose(both, np.exp(BASE) * np.exp(BASE) + np.exp(BASE), rtol=1e-6)


def test_consumers_of_an_interior_value_that_nobody_holds() -> None:
    x = array()
    y = x * 2
    one, two = y + 1, y - 1
    del y
    assert launches(lambda: (one.evaluate(), two.evaluate())) == 1
    np.testing.assert_array_equal(one, BASE * 2 + 1)
    np.testing.assert_array_equal(two, BASE * 2 - 1)


def test_evaluated_is_evaluated() -> None:
    y = array() + 1
    y.evaluate()
    assert launches(lambda: (y.evaluate(), y.get(), float(y[0].evaluate() is not None))) <= 1
    assert launches(lambda: y.get()) == 0


# Few passes, nothing of size N --------------------------------------------------------------------

N = 1 << 16


@pytest.mark.kernels_alone
def test_a_reduction_of_an_expression_allocates_no_array() -> None:
    a, b = clarray.ones(N, np.float32), clarray.zeros(N, np.float32)
    with clarray.profile() as p:
        value = float(((a - b) ** 2).sum())
    assert value == N
    assert p.launches <= 2
    assert p.allocated_bytes < N


@pytest.mark.kernels_alone
def test_a_masked_reduction_is_one_pass_over_memory() -> None:
    x = clarray.arange(N, dtype=np.float32).evaluate() - N // 2
    x.evaluate()
    host = np.arange(N, dtype=np.float32) - N // 2
    for work, expected, passes in [
        (lambda: x[x > 0].sum(), host[host > 0].sum(dtype=float), 1),
        (lambda: x.sum(where=x > 0), host.sum(where=host > 0, dtype=float), 1),
        # an empty selection has no maximum: whether there is one is a reduction before
        (lambda: x[x > 0].max(), host.max(), 2),
    ]:
        with clarray.profile() as p:
            value = float(work())
        assert value == pytest.approx(expected, rel=1e-6)
        assert p.launches <= 2 * passes
        assert p.allocated_bytes < N


@pytest.mark.kernels_alone
def test_what_follows_a_reduction_is_in_its_last_pass() -> None:
    a = clarray.ones(N, np.float32)
    with clarray.profile() as p:
        value = float((a.sum() - 1) * 2 + 5)
    assert value == 2 * N + 3
    assert p.launches <= 2


@pytest.mark.kernels_alone
def test_an_elementwise_expression_is_one_launch_and_one_allocation() -> None:
    a, b = clarray.ones(N, np.float32), clarray.ones(N, np.float32)
    with clarray.profile() as p:
        ((a * b + a) - b / 2).evaluate()
    assert p.launches == 1
    assert p.allocated_bytes == 4 * N


@pytest.mark.kernels_alone
def test_views_move_nothing() -> None:
    x = array()
    with clarray.profile() as p:
        view = x[::-1].T.reshape(6, 2, 2)[:, :, None, 1]
        assert view.shape == (6, 2, 1)
    assert (p.launches, p.transfers) == (0, 0)


# Nothing is built for new numbers -----------------------------------------------------------------


@pytest.mark.kernels_alone
@pytest.mark.parametrize(
    "work",
    [
        lambda x, n, s: (x[:n] * s + s).evaluate(),
        lambda x, n, s: x[n : 2 * n].sum().evaluate(),
        lambda x, n, s: (x[: n * 4].reshape(4, n) * s).sum(axis=0).evaluate(),
        lambda x, n, s: (x[: n * 4].reshape(4, n) * s).sum(axis=1).evaluate(),
        lambda x, n, s: (x[: 3 * n : 3] - s).evaluate(),
        lambda x, n, s: (x[3 * n : n : -2] - s).evaluate(),
        lambda x, n, s: x[:n].__setitem__(..., s),
        lambda x, n, s: x[:n][x[:n] > s].sum().evaluate(),
        lambda x, n, s: (x[: n * 4].reshape(4, n).T + x[: n * 4].reshape(n, 4)).evaluate(),
    ],
    ids=["scaled", "sum", "columns", "rows", "stride", "backwards", "fill", "masked", "transposed"],
)
def test_sizes_scalars_and_offsets_build_nothing(work: Callable[[Any, int, float], Any]) -> None:
    x = clarray.ones(1 << 13, np.float32)
    for n in (1000, 1016, 1001):  # the last is another class on GPUs: views off a vector's alignment
        work(x, n, 1.5)
    with clarray.profile() as p:
        for n, s in [(1001, 2.5), (1017, -1.0), (1033, 0.0), (1100, 7.0), (1999, 1e9)]:
            work(x, n, s)
    assert p.builds == 0


# Zero-copy sharing never changes an earlier result ------------------------------------------------

SHARING: dict[str, Callable[[Any], Any]] = {
    "expression": lambda x: x + 1,
    "expression of a view": lambda x: x[::-1, 1:] * x[:, 1:],
    "reduction": lambda x: x.sum(),
    "reduction of an axis": lambda x: (x * 2).max(axis=0),
    "element": lambda x: x[2, 3],
    "selection": lambda x: x[x > 7].sum(),
    "copy": lambda x: x.copy(),
    "astype": lambda x: x.astype(np.int32),
    "reshape that copies": lambda x: x.T.reshape(-1),
    "mean": lambda x: x.mean(axis=1),
    "beside an ndarray": lambda x: x * BASE,
}


@pytest.mark.parametrize("name", SHARING)
def test_writes_to_shared_memory_come_too_late(name: str) -> None:
    host = BASE.copy()
    made = SHARING[name](clarray.asarray(host))
    expected = np.asarray(SHARING[name](host))  # NumPy's, before the write
    expected = expected.copy()
    host[...] = -1
    np.testing.assert_allclose(clarray.asnumpy(made), expected, rtol=1e-6)


def test_a_selection_of_shared_memory_stays() -> None:
    host = BASE.copy()
    x = clarray.asarray(host)
    chosen = x[x > 7]
    scaled = chosen * 2
    host[...] = 0
    assert float(chosen.sum()) == BASE[BASE > 7].sum()
    assert float(scaled.sum()) == 2 * BASE[BASE > 7].sum()


def test_an_ndarray_beside_an_array_is_read_at_the_call() -> None:
    host = BASE.copy()
    x = array()
    results = [x + host, host - x, np.add(x, host), x.sum(where=host > 7), np.maximum(host, x)]
    expected = [2 * BASE, 0 * BASE, 2 * BASE, BASE.sum(where=BASE > 7), BASE]
    host[...] = -1
    for one, other in zip(results, expected, strict=True):
        np.testing.assert_array_equal(clarray.asnumpy(one), other)


def test_sharing() -> None:
    host = BASE.copy()
    x = clarray.asarray(host)
    if not x.device.capabilities.host_memory:
        pytest.skip("the device has memory of its own: asarray copies")
    host[0] = 50
    assert float(x[0, 1]) == 50
    x[1, ::2] = -3
    x[2] += 100
    np.testing.assert_array_equal(host[1, ::2], [-3, -3, -3])
    np.testing.assert_array_equal(host[2], BASE[2] + 100)
    assert clarray.asarray(x) is x
    with clarray.profile() as p:
        clarray.asarray(host)
    assert (p.transfers, p.allocated_bytes) == (0, 0)


def test_array_copies() -> None:
    host = BASE.copy()
    x = clarray.array(host)
    host[...] = 0
    np.testing.assert_array_equal(x, BASE)


def test_overlap_of_two_windows_on_one_ndarray() -> None:
    """Two calls of asarray make two buffers of the same bytes."""
    theirs = np.arange(1000, dtype=np.float32)
    host = theirs.copy()
    if not clarray.asarray(host).device.capabilities.host_memory:
        pytest.skip("the device has memory of its own: asarray copies")
    x, y = clarray.asarray(host), clarray.asarray(host[:-1])
    x[1:] = y
    theirs[1:] = theirs[:-1].copy()
    np.testing.assert_array_equal(host, theirs)
    x[:-1] += clarray.asarray(host[::-1])[:-1]
    theirs[:-1] += theirs[::-1][:-1].copy()
    np.testing.assert_array_equal(host, theirs)


def test_a_read_only_ndarray_is_not_written() -> None:
    host = BASE.copy()
    host.flags.writeable = False
    x = clarray.asarray(host)
    if x.device.capabilities.host_memory:
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 1
        with pytest.raises(ValueError, match="read-only"):
            x += 1
        with pytest.raises(ValueError, match="read-only"):
            np.add(x, 1, out=x)
    np.testing.assert_array_equal(x + 1, BASE + 1)
