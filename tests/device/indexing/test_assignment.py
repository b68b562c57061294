"""Writes: `a[key] = value` through every view, overlapping, casting and ordered as NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import clarray

from ..conftest import by_dtype

pytestmark = pytest.mark.usefixtures("quick_builds")

KEYS = {
    "integer": 1,
    "negative": -2,
    "one element": (1, 2, 3),
    "slice": np.s_[1:],
    "step": np.s_[::2, ::3],
    "backwards": np.s_[::-1, :, ::-2],
    "ellipsis": np.s_[..., 0],
    "newaxis": np.s_[None, :, None],
    "everything": ...,
    "nothing": np.s_[3:],
}
OTHER_KEYS = [key for key in KEYS if key != "step"]  # every store is its own kernel


@by_dtype("key", ["step"], OTHER_KEYS)
def test_scalar(same: Any, host: np.ndarray, key: str) -> None:
    def body(xp: Any) -> Any:
        a = xp.array(host)
        a[KEYS[key]] = 3
        b = xp.array(host)
        b.T[KEYS[key] if key != "one element" else (3, 2, 1)] = np.int8(1)
        return a, b

    same(body)


@by_dtype("key", ["step"], OTHER_KEYS)
def test_array(same: Any, host: np.ndarray, key: str) -> None:
    def body(xp: Any) -> Any:
        a = xp.array(host)
        value = host[KEYS[key]] * host.dtype.type(1)
        a[KEYS[key]] = xp.asarray(value)
        b = xp.array(host)
        b[KEYS[key]] = value  # from the host
        c = xp.array(host)
        c[KEYS[key]] = a[KEYS[key]] + a[KEYS[key]]  # pending
        return a, b, c

    same(body)


# test_creation's test_astype has every pair
@by_dtype("to", ["int32"], ["bool", "int8", "uint64", "float16", "float32"])
def test_cast(same: Any, host: np.ndarray, to: str) -> None:
    real = host.real.copy()

    def body(xp: Any) -> Any:
        a = xp.zeros(host.shape, to)
        a[:, 1:] = xp.asarray(real)[:, 1:]
        a[:, 0] = real[0, 0]
        return a

    same(body)


def test_values_are_converted_as_numpy_does(same: Any) -> None:
    def assign(value: Any, dtype: str) -> None:
        def body(xp: Any) -> Any:
            a = xp.zeros(3, dtype)
            a[1:] = value
            return a

        same(body)

    for value, dtype in [
        *((2.7, "int32"), (300, "int8"), (-1, "uint8"), (1j, "float32"), ("x", "float32")),
        *(
            (None, "float32"),
            ([1, 2], "float32"),
            ([1, 2, 3], "float32"),
        ),
        *((np.int64(300), "int8"), (True, "float32"), (1e300, "float32"), ([5], "float32")),
    ]:
        with np.errstate(over="ignore"):
            assign(value, dtype)


def test_shapes_broadcast(same: Any) -> None:
    def body(xp: Any) -> Any:
        a = xp.zeros((3, 4), np.float32)
        a[...] = xp.arange(4)
        a[1:] = xp.arange(2)[:, None]
        a[0] = xp.ones((1, 1, 4), np.float32) * 7
        return a

    same(body)

    def wrong(xp: Any) -> Any:
        a = xp.zeros((3, 4), np.float32)
        a[1:] = xp.arange(3)
        return a

    same(wrong)


@pytest.mark.parametrize("wrong", [5, (0, 0, 0), 1.5, (..., ...), np.s_[::0]], ids=str)
def test_errors(same: Any, wrong: Any) -> None:
    def body(xp: Any) -> Any:
        a = xp.zeros((3, 4), np.float32)
        a[wrong] = 1
        return a

    same(body)


def test_repeated_elements_cannot_be_written(same: Any) -> None:
    def body(xp: Any) -> Any:
        a = xp.broadcast_to(xp.arange(4), (3, 4))
        a[0] = 1

    same(body)


OVERLAPS = {
    "shift up": lambda a: (a[1:], a[:-1]),
    "shift down": lambda a: (a[:-1], a[1:]),
    "reverse": lambda a: (a, a[::-1]),
    "every second": lambda a: (a[::2], a[: (len(a) + 1) // 2]),
    "interleaved": lambda a: (a[1::2], a[: 2 * (len(a) // 2) : 2]),
    "same": lambda a: (a, a),
    "broadcast": lambda a: (a, a[2]),
}


@pytest.mark.parametrize("name", OVERLAPS)
@pytest.mark.parametrize("size", [7, 5000])
def test_overlap(same: Any, name: str, size: int) -> None:
    def body(xp: Any) -> Any:
        results = []
        for operation in range(4):
            a = xp.array(np.arange(size, dtype=np.int32))
            target, source = OVERLAPS[name](a)
            if operation == 0:
                # for some 1-d slices of different steps NumPy reads what it has just written
                target[...] = source.copy() if xp is np else source
            elif operation == 1:
                target[...] = source * 2 + target
            elif operation == 2:
                target += source
            else:
                xp.add(source, target, out=target)
            results.append(a)
        return results

    same(body)


def a_slice(r: np.random.Generator, extent: int, length: int) -> slice:
    """Some `length` elements of an axis, in steps that may be negative."""
    step = int(r.integers(1, max(2, extent // length + 1)))
    start = int(r.integers(0, extent - (length - 1) * step))
    stop = start + (length - 1) * step + 1
    if r.random() < 0.8:
        return slice(start, stop, step)
    return slice(stop - 1, start - 1 if start else None, -step)


@pytest.mark.parametrize("seed", range(4))
def test_parts_of_one_array(same: Any, seed: int) -> None:
    """Parts that share elements, touch, or lie between each other: rows, columns, blocks, every other element."""

    def body(xp: Any) -> Any:
        r = np.random.default_rng(seed)
        results = []
        for _ in range(60):
            shape = (5, 7, 6)[: r.integers(1, 4)]
            a = xp.array(np.arange(np.prod(shape), dtype=np.float32).reshape(shape))
            if len(shape) == 2 and r.random() < 0.3:
                a = a.T
            lengths = [int(r.integers(1, extent)) for extent in a.shape]
            target, source = (
                tuple(a_slice(r, extent, length) for extent, length in zip(a.shape, lengths, strict=True))
                for _ in range(2)
            )
            a[target] = a[source].copy() if xp is np else a[source]
            a[target] = a[source] * 2 + a[target]
            a[source] -= 1
            results.append(a)
        return results

    same(body)


def test_transposed_overlap(same: Any) -> None:
    def body(xp: Any) -> Any:
        a = xp.array(np.arange(36, dtype=np.float32).reshape(6, 6))
        a += a.T
        b = xp.array(np.arange(36, dtype=np.float32).reshape(6, 6))
        b[...] = b.T - b
        c = xp.array(np.arange(6, dtype=np.complex64))
        c.real[...] = c.real[::-1]
        c.imag = c.real
        return a, b, c

    same(body)


def test_writes_come_after_earlier_reads(same: Any) -> None:
    def body(xp: Any) -> Any:
        a = xp.array(np.arange(10, dtype=np.float32))
        before, half = a * 2, a[::2] + 1
        total = a.sum()
        a[3:] = 0
        after = a * 2
        a *= 5
        a.fill(2)
        return before, half, total, after, a

    same(body)


@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64", "bool"])
def test_fill_takes_one_number(same: Any, dtype: str) -> None:
    """Neither as many as there are elements, nor one in a list."""

    def filled(xp: Any, value: Any) -> Any:
        a = xp.ones(3, dtype)
        a.fill(value)
        return a

    for value in (2, True, np.float32(1.5), np.array(3), np.arange(3), np.arange(1.0), [1, 2, 3], [1], [[1]], (), "x"):
        same(lambda xp, value=value: filled(xp, value), message=False)
    same(lambda xp: filled(xp, xp.arange(4)[2]))
    same(lambda xp: filled(xp, xp.arange(3)), message=False)
    same(lambda xp: filled(xp, xp.ones((1, 1))), message=False)


@pytest.mark.parametrize("first", range(4))
def test_parts_of_a_pending_expression_are_evaluated(same: Any, first: int) -> None:
    """Whichever part is computed first, and written to, the others keep their values."""

    def body(xp: Any) -> Any:
        a = xp.array(np.arange(6, dtype=np.float32))
        b = a + 1
        c = b * 2
        d = c - b
        total = d.sum()
        part = [a, b, c, d][first]
        part.tolist()
        part[1:] = 0
        return a, b, c, d, total

    same(body)


MASKS = [
    lambda a: a > 3,
    lambda a: a % 2 == 0,
    lambda a: a < 0,
    lambda a: a >= 0,
]


@pytest.mark.parametrize("number", range(len(MASKS)))
def test_mask_and_scalar(same: Any, number: int) -> None:
    def body(xp: Any) -> Any:
        a = xp.array(np.arange(60, dtype=np.float32).reshape(3, 4, 5) % 7)
        kept = a + 0
        a[MASKS[number](a)] = -1
        b = kept + 0
        b[:, ::2][MASKS[number](kept[:, ::2])] = 5
        c = kept + 0
        c[np.array([True, False, True])] = 8  # rows, with a mask from the host
        d = kept + 0
        d[MASKS[number](d)] += 10
        return a, b, c, d, kept

    same(body)


def test_mask_errors(same: Any) -> None:
    def wrong_shape(xp: Any) -> Any:
        a = xp.zeros((3, 4))
        a[xp.asarray([True, False])] = 1
        return a

    same(wrong_shape)


def test_masked_reductions(same: Any) -> None:
    host = np.arange(60, dtype=np.float32).reshape(3, 4, 5) % 7

    def body(xp: Any) -> Any:
        a = xp.asarray(host)
        return [a[a > 3].sum(), a[a > 3].max(), (a[a > 3] * 2).sum(), a[a > 99].sum()]

    same(body)


def test_fill(same: Any, host: np.ndarray) -> None:
    def body(xp: Any) -> Any:
        a = xp.array(host)
        a.fill(3)
        b = xp.array(host)
        b[:, ::2].fill(np.float32(1))
        return a, b

    same(body)


def test_copyto(same: Any) -> None:
    def body(xp: Any) -> Any:
        a = xp.array(np.arange(6, dtype=np.float32))
        xp.copyto(a[1:], 3, where=xp.asarray([True, False, True, False, True]))
        xp.copyto(a[:2], xp.asarray([7, 8], dtype=np.float32))
        return a

    same(body)
    same(lambda xp: xp.copyto(xp.zeros(3, np.int32), xp.ones(3, np.float32)))


def test_putting_together(same: Any) -> None:
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(9, dtype=np.int32).reshape(3, 3)
    same(lambda xp: xp.concatenate([xp.asarray(a), xp.asarray(b)]))
    same(lambda xp: xp.concat([xp.asarray(a), b], axis=None))
    same(lambda xp: xp.stack([xp.asarray(a), xp.asarray(a) * 2], axis=-1))
    same(lambda xp: [xp.vstack([xp.asarray(a), b]), xp.hstack([xp.asarray(a), a])])
    same(lambda xp: [xp.dstack([xp.asarray(a), a]), xp.column_stack([xp.asarray(a)[:, 0], a])])
    same(lambda xp: [xp.roll(xp.asarray(b), 1), xp.roll(xp.asarray(b), (1, -2), (0, 1))])
    same(lambda xp: [xp.tile(xp.asarray(a), (2, 1, 2)), xp.repeat(xp.asarray(a), 2, axis=1)])
    same(lambda xp: xp.concatenate([xp.asarray(a), xp.asarray(a)[0]]))
    same(lambda xp: xp.concatenate([xp.asarray(a), xp.asarray(a).T]))
    same(lambda xp: xp.concatenate([]))


@given(st.data())
def test_any_basic_key(data: st.DataObject) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=6))
    theirs = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    ours = clarray.array(theirs)
    key = data.draw(hnp.basic_indices(shape, allow_newaxis=True))
    target = theirs[key]
    wanted = np.shape(target)
    keep = data.draw(st.integers(0, len(wanted)))
    ones = data.draw(st.lists(st.booleans(), min_size=keep, max_size=keep))
    part = [1 if one else n for one, n in zip(ones, wanted[len(wanted) - keep :], strict=True)]
    value = np.arange(np.prod(part), dtype=np.int16).reshape(part) - 5
    theirs[key] = value
    ours[key] = clarray.asarray(value)
    np.testing.assert_array_equal(clarray.asnumpy(ours), theirs)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("part", ["real", "imag"])
@pytest.mark.parametrize("value", [5 + 1j, np.complex64(5 + 1j), [1, 2j, 3], np.array([1j, 2, 3 + 1j]), 7])
def test_of_what_a_part_is_set_to_the_real_part_is_taken(part: str, value: Any, same: Callable[..., None]) -> None:
    def body(xp: ModuleType) -> Any:
        x = xp.array(np.arange(3, dtype="complex64"))
        setattr(x, part, value)
        return x

    same(body)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("dtype", ["bool", "uint8", "float32", "complex64"])
@pytest.mark.parametrize("value", [5 + 1j, 1j, 0j, [1j, 0, 2], (1j, 2, 0), [1.5, 2, 0], 3, True])
def test_the_real_part_is_set_as_the_dtype_takes_it(dtype: str, value: Any, same: Callable[..., None]) -> None:
    def body(xp: ModuleType) -> Any:
        x = xp.array(np.arange(3).astype(dtype))
        x.real = value
        return x

    same(body)
