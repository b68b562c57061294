"""Views of pending values: computed again where that is cheaper, and always views to who writes through them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.expr.memory_views import is_view
from clarray._engine.launch.host_tier import kernels_only
from clarray._engine.speedups import native


@pytest.fixture(autouse=True)
def by_kernels() -> Iterator[None]:
    with kernels_only():
        yield


def operands(*shape: int) -> tuple[Any, Any]:
    values = np.random.default_rng(0)
    return clarray.array(values.random(shape)), clarray.array(values.random(shape))


ONE_PASS: dict[str, tuple[tuple[int, ...], Callable[[Any, Any], Any]]] = {
    "difference": ((1000,), lambda x, y: (lambda t: t[1:] - t[:-1])(x * y)),
    "laplacian": ((40, 50), lambda x, y: (lambda t: t[2:, 1:-1] + t[:-2, 1:-1] - 2 * t[1:-1, 1:-1])(x + y)),
    "reversed": ((30, 40), lambda x, y: (x + y)[::-1, ::-2] * 2),
    "transposed": ((30, 40), lambda x, y: (x + y).T * 2 + 1),
    "axes moved": ((3, 4, 5), lambda x, y: np.moveaxis(x - y, 0, -1) * 2),
    "new axis": ((30,), lambda x, y: (x + 1)[:, None] * (y - 1)),
    "channels": ((20, 30, 3), lambda x, y: (lambda p: 0.3 * p[..., 0] + 0.6 * p[..., 1] + 0.1 * p[..., 2])(x / 255)),
    "mask": ((200,), lambda x, y: (lambda t, m: np.where(m[1:], t[1:], t[:-1]))(x - y, x > y)),
    "cast": ((200,), lambda x, y: (x * 100).astype(np.int32)[::2] + 1),
    "of a view": ((30, 40), lambda x, y: (lambda t: t[:, 2:] - t[:, :-2])((x * y)[1:-1])),
    "of a transposed view": ((30, 40), lambda x, y: (lambda t: t[:, 2:] * t[:, :-2])((x * y).T[1:])),
    "transposed view of a view": ((30, 40), lambda x, y: (x * y)[1:].T * 2),
    "of a value of views": ((1000,), lambda x, y: (lambda d: d[1:] - d[:-1])((lambda t: t[1:] - t[:-1])(x * 2))),
    "of a value of views of a view": ((9, 8), lambda x, y: (lambda d: d[1:] * d[:1])((x * y)[1:][:, ::-1] - y[:-1])),
    "of all numbers by one": ((9, 8), lambda x, y: (x + y)[2][None, :, None][:, ::3, 0] - 1),
    "reduced": ((64, 32), lambda x, y: ((x * y)[1:] - 1).sum()),
}


@pytest.mark.parametrize("name", ONE_PASS)
def test_one_pass(name: str) -> None:
    shape, function = ONE_PASS[name]
    x, y = operands(*shape)
    for _ in range(3):  # planned, captured, and run by the program
        with clarray.profile() as p:
            found = np.asarray(function(x, y))
        expected = function(np.asarray(x), np.asarray(y))
        assert found.dtype == expected.dtype
        assert np.allclose(found, expected, rtol=1e-14)
        assert found.strides == expected.strides
        assert p.launches <= (2 if name == "reduced" else 1)


def test_a_heavy_value_is_computed_once() -> None:
    x, y = operands(1000)
    t = np.exp(x) * y
    with clarray.profile() as p:
        d = t[1:] - t[:-1]
        d.evaluate()
        t.evaluate()
    assert p.launches == 2


def test_many_views_are_of_memory() -> None:
    x, y = operands(1000)
    t = x * y
    parts = [t[k : 980 + k] for k in range(20)]
    total = sum(parts[1:], parts[0])
    assert t._node.memory is not None
    expected = np.asarray(x) * np.asarray(y)
    assert np.allclose(np.asarray(total), sum(expected[k : 980 + k] for k in range(20)))


def test_operands_of_little_are_read_from_memory() -> None:
    """A view of three arrays' sum would read more than one of the stored sum."""
    x, y = operands(1000)
    t = x + y + clarray.array(np.ones(1000))
    assert not is_view(t[1:]._node)


WRITES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "through the view": lambda np_, t, v: v.__setitem__(0, 9.0),
    "to all of the view": lambda np_, t, v: v.__setitem__(Ellipsis, 9.0),
    "in place through the view": lambda np_, t, v: v.__iadd__(1),
    "to the value": lambda np_, t, v: t.__setitem__(2, 9.0),
    "in place to the value": lambda np_, t, v: t.__imul__(2),
    "by out": lambda np_, t, v: np_.add(t, 1, out=t),
    "by out to the view": lambda np_, t, v: np_.add(v, 1, out=v),
    "sorted": lambda np_, t, v: t.sort(),
    "filled": lambda np_, t, v: t.fill(3),
    "from itself": lambda np_, t, v: t.__setitem__(slice(None, -1), v),
    "to the view from the value": lambda np_, t, v: v.__setitem__(slice(None), t[:-1]),
    "by a mask": lambda np_, t, v: t.__setitem__(t > 0.3, 0),
}


@pytest.mark.parametrize("view", [lambda t: t[1:], lambda t: t[::-1][:-1], lambda t: t[None][..., 1:].T[:, 0]])
@pytest.mark.parametrize("is_read", [False, True])
@pytest.mark.parametrize("name", WRITES)
def test_writes_are_seen(name: str, is_read: bool, view: Callable[[Any], Any]) -> None:
    x, y = operands(100)
    outcomes = []
    for module, a, b in ((clarray, x, y), (np, np.asarray(x), np.asarray(y))):
        t = a * b
        v = view(t)
        before = v * 2 + t[:-1] if is_read else 0
        WRITES[name](module, t, v)
        after = v + 1
        assert v.base is t
        outcomes.append([np.asarray(each) for each in (before, after, t, v)])
    for found, expected in zip(*outcomes, strict=True):
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("first", range(3))
def test_named_views_of_views_look_at_one_memory(first: int) -> None:
    x, y = operands(20, 30)
    t = x * y
    u = t[1:]
    v = u.T[:, ::-1]
    total = v[1:] - u.T[:-1]
    named = [t, u, v]
    named[first].evaluate()
    expected = np.asarray(x) * np.asarray(y)
    below = expected[1:]
    assert np.array_equal(np.asarray(total), below.T[1:, ::-1] - below.T[:-1])
    v[3, 0] = 7
    assert float(t[-1, 3]) == float(u[-1, 3]) == 7
    assert v.base is t


def test_a_write_to_an_operand_comes_after() -> None:
    x, y = operands(100)
    expected = np.asarray(x) * np.asarray(y)
    t = x * y
    v = t[1:]
    w = v - t[:-1]
    x[:] = 0
    assert np.array_equal(np.asarray(w), expected[1:] - expected[:-1])
    assert np.array_equal(np.asarray(v), expected[1:])
    v[0] = 7
    assert float(t[1]) == 7


@pytest.mark.skipif(native is None, reason="only the core has programs")
def test_named_views_stay_views_in_programs() -> None:
    """What a name holds while the region is computed may be written through afterwards."""
    x, y = operands(100)
    target = clarray.zeros(99)
    for turn in range(5):
        t = x * y + turn
        left, right = t[:-1], t[1:]
        target[:] = right - left
        right[0] = 50
        left[0] = 60
        values = np.asarray(t)
        assert (values[0], values[1]) == (60, 50)
        expected = np.asarray(x) * np.asarray(y) + turn
        assert np.array_equal(np.asarray(target), expected[1:] - expected[:-1])


@pytest.mark.parametrize("key", [100, (0, 0), (slice(None), -5), (Ellipsis, Ellipsis)])
def test_errors_come_at_the_call(key: Any) -> None:
    x, y = operands(30)
    with pytest.raises(IndexError) as found:
        (x + y)[key]
    with pytest.raises(IndexError) as expected:
        np.zeros(30)[key]
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("key", [slice(5, 2), (slice(None), slice(7, 7)), slice(0, 0)])
def test_empty_views(key: Any) -> None:
    x, y = operands(6, 7)
    found = np.asarray((x + y)[key] * 2)
    assert found.shape == (np.zeros((6, 7))[key]).shape


def test_operands_in_fortran_order() -> None:
    x = clarray.asfortranarray(operands(30, 40)[0])
    found = np.asarray((x * 2)[1:] + 1)
    expected = (np.asarray(x) * 2)[1:] + 1
    assert np.array_equal(found, expected)
    assert found.strides == expected.strides


def test_the_explanation() -> None:
    x, y = operands(1000)
    t = x * y
    v = t[1:]
    of_parts = str((t[1:] * 2 - t[:-1]).explain())  # not in the assertion, which holds its parts
    of_name = str((v * 2 - t[:-1]).explain())
    assert "pass 1 of 1: 4 operations" in of_parts
    assert "pass 2 of 2: 2 operations" in of_name  # v may be written through
    assert "pass 1 of 1: 1 operation," in str(v.explain())
    assert "pass 1 of 1: 1 operation," in str(v[::2].explain())
    assert is_view(v._node)


OF_LITTLE: dict[str, Callable[[Any], Any]] = {
    "positions": lambda xp: (xp.arange(100, dtype=np.int32) * 3)[::9] + 1,
    "constants": lambda xp: (xp.isreal(xp.zeros(5, "f4")) * 1)[1:] + 1,
    "a number in memory": lambda xp: (xp.ones(6) * xp.asarray([2.0, 3.0]).sum())[::2] - 1,
    "constants in both axes": lambda xp: (xp.ones((4, 1)) + xp.zeros((1, 3))).T[1:] * 2,
}


@pytest.mark.parametrize("name", OF_LITTLE)
def test_values_that_read_little_or_no_memory(name: str) -> None:
    for _ in range(3):
        found, expected = np.asarray(OF_LITTLE[name](clarray)), OF_LITTLE[name](np)
        assert found.dtype == expected.dtype
        assert np.array_equal(found, expected)


@pytest.mark.skipif(native is None, reason="only the core has programs")
def test_slices_that_differ_in_each_turn_are_not_planned_each(planned: list[Any]) -> None:
    x, y = operands(400)
    expected = np.asarray(x) + np.asarray(y)
    for _ in range(3):
        for start in range(200):
            found = np.asarray((x + y)[start : start + 50] * 2 - 1)
            assert np.array_equal(found, expected[start : start + 50] * 2 - 1)
    assert len(planned) < 100


RESTORED: dict[str, Callable[[Any], Any]] = {
    "None": lambda m: m[:, None],
    "None after an ellipsis": lambda m: m[..., None],
    "expand_dims": lambda m: clarray.expand_dims(m, 1),
    "a new shape": lambda m: m.reshape(-1, 1),
}
REDUCED: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda x, keeps: x / keeps(x, "sum"),
    "mean and std": lambda x, keeps: (x - keeps(x, "mean")) / keeps(x, "std"),
    "softmax": lambda x, keeps: (lambda e: e / keeps(e, "sum"))(np.exp(x - keeps(x, "max"))),
    "positions": lambda x, keeps: x * keeps(x, "argmax"),
    "an expression of sums": lambda x, keeps: x * np.sqrt(1 / (keeps(x * x, "sum") + 1)),
}


@pytest.mark.parametrize("view", RESTORED)
@pytest.mark.parametrize("name", REDUCED)
def test_axes_put_back_as_if_they_were_kept(name: str, view: str) -> None:
    x, _ = operands(40, 64)
    kept = [lambda value, ufunc: getattr(value, ufunc)(axis=1, keepdims=True)]
    kept.append(lambda value, ufunc: RESTORED[view](getattr(value, ufunc)(axis=1)))
    for turn in range(4):
        launches, values = [], []
        for keeps in kept:
            with clarray.profile() as p:
                values.append(np.asarray(REDUCED[name](x, keeps)))
            launches.append(p.launches)
        assert launches[0] == launches[1] or not turn  # a process's first profile may see counters cleared
        assert np.array_equal(*values)


AXES: list[Callable[[Any], Any]] = [
    lambda x: x / x.sum(axis=(0, 2))[None, :, None],
    lambda x: x / x.sum(axis=(0, 2))[:, None],
    lambda x: x[0] / x[0].sum(axis=0)[None],
    lambda x: x[0] / x.sum(axis=(0, 2))[:, None],
    lambda x: x - x.min(axis=1)[:, None] - x.max(axis=2)[..., None],
    lambda x: (x - x.sum(axis=2).max(axis=1)[:, None, None]).sum(axis=2)[:, :, None] * x,
    lambda x: x.sum(axis=0)[None][:, 1:] + x[:, 1:],
    lambda x: x.sum(where=x > 0.5, axis=2)[..., None] * x,
    lambda x: x.sum()[None, None] * x[0],
    lambda x: (x.sum(axis=1) * x[:, 0])[:, None] + x,
]


@pytest.mark.parametrize("number", range(len(AXES)))
def test_new_axes_of_reductions(number: int) -> None:
    x, _ = operands(6, 5, 5)
    for _ in range(3):
        found, expected = np.asarray(AXES[number](x)), AXES[number](np.asarray(x))
        assert np.allclose(found, expected, rtol=1e-12)
        assert found.shape == expected.shape


def test_named_reductions_are_computed_once() -> None:
    x, _ = operands(2000, 64)
    mean, std = x.mean(axis=1), x.std(axis=1)
    with clarray.profile() as p:
        y = (x - mean[:, None]) / std[:, None]
        y.evaluate()
        mean.evaluate()
        std.evaluate()
    host = np.asarray(x)
    assert np.allclose(np.asarray(y), (host - host.mean(axis=1)[:, None]) / host.std(axis=1)[:, None])
    assert p.launches <= 3  # sums and moments, the result, and the roots of the moments
    assert (
        sum(record.nbytes for record in p.records if record.kind == "launch") <= 3.2 * x.nbytes
    )  # read for both at once, and again with a write


@pytest.mark.parametrize("view", RESTORED)
def test_writes_through_views_of_reductions(view: str) -> None:
    x, _ = operands(20, 30)
    total = x.sum(axis=1)
    column = RESTORED[view](total)
    y = x + column
    column[3] = 7
    total[4] = 8
    expected = np.asarray(x).sum(axis=1)
    assert np.allclose(np.asarray(y), np.asarray(x) + expected[:, None])
    assert [float(each) for each in (total[3], column[4, 0])] == [7, 8]
