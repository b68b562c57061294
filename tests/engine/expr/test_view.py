"""Views against NumPy's: every answer and every error message must be NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from clarray._engine.expr import axes as axis_rules
from clarray._engine.expr import indexing, overlap, view
from clarray._engine.expr.view import View

quick = settings(max_examples=150, deadline=None, derandomize=True)


def view_of(array: np.ndarray, base: np.ndarray) -> View:
    """Describe a NumPy view of `base` by asking NumPy where it lies."""
    start = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    strides = tuple(s // array.itemsize for s in array.strides)
    return View(array.shape, strides, start // array.itemsize)


def elements(v: View, base: np.ndarray) -> np.ndarray:
    """Read the elements of a view from `base`, refusing to leave it."""
    if v.size == 0:
        return np.empty(v.shape, base.dtype)
    low, high = overlap.extent(v)
    assert 0 <= low <= high < base.size
    flat = base.ravel()
    at = np.full(v.shape, v.offset)
    for axis, stride in enumerate(v.strides):
        line = np.arange(v.shape[axis]) * stride
        at += line.reshape([-1 if i == axis else 1 for i in range(v.ndim)])
    assert (at.min(), at.max()) == (low, high)
    return flat[at]


def outcome(call: Callable[[], Any]) -> tuple[Any, ...]:
    """Run a call; give its value, or its error's type and text."""
    try:
        return ("value", call())
    except Exception as error:
        return ("error", type(error), str(error))


def check(base: np.ndarray, array: np.ndarray, v: View, ours: Any, theirs: Any) -> View | None:
    """Both calls give the same elements or the same error."""
    a, b = outcome(lambda: ours(v)), outcome(lambda: theirs(array))
    if b[0] == "error":
        assert a == b
        return None
    assert a[0] == "value", a
    np.testing.assert_array_equal(elements(a[1], base), b[1])
    return a[1]


@st.composite
def views(draw: st.DrawFn, max_dims: int = 4) -> tuple[np.ndarray, np.ndarray, View]:
    """Draw a base array and a view of it: sliced, transposed, with an axis more."""
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=max_dims, min_side=0, max_side=5))
    base = np.arange(int(np.prod(shape))).reshape(shape)
    array = base
    key = draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    array = array[key] if isinstance(array[key], np.ndarray) else array
    array = array.transpose(draw(st.permutations(range(array.ndim))))
    return base, array, view_of(array, base)


ANY_KEYS = st.recursive(
    st.one_of(
        st.integers(-7, 7),
        st.integers(-7, 7).map(np.int8),
        st.integers(-3, 3).map(np.array),
        st.none(),
        st.just(...),
        st.sampled_from([1.5, "x", np.float32(1), 10**30]),
        st.slices(5),
        st.builds(slice, *[st.none() | st.integers(-9, 9)] * 3),
    ),
    lambda inner: st.lists(inner, max_size=5).map(tuple),
    max_leaves=1,
)


@quick
@given(views(), st.data())
def test_index(drawn: Any, data: st.DataObject) -> None:
    base, array, v = drawn
    key = data.draw(st.one_of(ANY_KEYS, hnp.basic_indices(array.shape, allow_newaxis=True)))
    check(base, array, v, lambda w: indexing.index(w, key), lambda a: a[key])


@pytest.mark.parametrize("key", [3, (0, 1, 2), (..., ...), 1.5, "x", slice(0, 2, 0), slice(1.5), -4, 10**30, (0, 9)])
def test_index_errors(key: Any) -> None:
    base = np.zeros((3, 3))
    check(base, base, view_of(base, base), lambda w: indexing.index(w, key), lambda a: a[key])


@quick
@given(views(), st.data(), st.sampled_from("CFA"))
def test_reshape(drawn: Any, data: st.DataObject, order: Any) -> None:
    base, array, v = drawn
    sides = [n for n in range(1, 13) if array.size % n == 0]
    shape = data.draw(
        st.one_of(
            st.lists(st.integers(-1, 6), max_size=4).map(tuple),
            st.lists(st.sampled_from(sides), max_size=2).map(lambda s: (*s, -1)),
            st.permutations(array.shape).map(tuple),
            st.integers(-1, 6),
        )
    )
    a = outcome(lambda: view.reshape(v, shape, order))
    b = outcome(lambda: np.reshape(array, shape, order=order))
    if b[0] == "error":
        assert a == b
    elif array.size and np.shares_memory(b[1], base):
        np.testing.assert_array_equal(elements(a[1], base), b[1])
    elif array.size:
        assert a == ("value", None)
    else:
        assert a[1].shape == b[1].shape
    if array.size:
        order = data.draw(st.sampled_from("CFAK"))
        flat, ours = array.ravel(order), view.ravel(v, order)
        assert (ours is not None) == np.shares_memory(flat, base)
        assert ours is None or np.array_equal(elements(ours, base), flat)


@quick
@given(views(max_dims=3), st.data())
def test_axes(drawn: Any, data: st.DataObject) -> None:
    base, array, v = drawn
    one = st.integers(-4, 4)
    i, j, k = data.draw(one), data.draw(one), data.draw(one)
    axes = data.draw(one | st.lists(one, max_size=3).map(tuple))
    check(base, array, v, lambda w: view.transpose(w), lambda a: a.T)
    order = data.draw(st.permutations(range(array.ndim)) | st.lists(one, max_size=3))
    check(base, array, v, lambda w: view.transpose(w, order), lambda a: a.transpose(order))
    check(base, array, v, lambda w: view.swapaxes(w, i, j), lambda a: a.swapaxes(i, j))
    check(base, array, v, lambda w: view.moveaxis(w, i, j), lambda a: np.moveaxis(a, i, j))
    check(base, array, v, lambda w: view.moveaxis(w, axes, j), lambda a: np.moveaxis(a, axes, j))
    check(base, array, v, lambda w: view.squeeze(w), lambda a: a.squeeze())
    check(base, array, v, lambda w: view.squeeze(w, axes), lambda a: a.squeeze(axes))
    check(base, array, v, lambda w: view.expand_dims(w, axes), lambda a: np.expand_dims(a, axes))
    check(base, array, v, lambda w: view.diagonal(w, k, i, j), lambda a: a.diagonal(k, i, j))


@quick
@given(views(max_dims=3), st.lists(st.integers(-1, 5), max_size=4).map(tuple))
def test_broadcast_to(drawn: Any, shape: tuple[int, ...]) -> None:
    base, array, v = drawn
    wanted = (2, *array.shape) if len(shape) == 1 else shape
    check(
        base,
        array,
        v,
        lambda w: view.broadcast_to(w, wanted),
        lambda a: np.broadcast_to(a, wanted),
    )


@quick
@given(st.lists(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3), max_size=2))
def test_broadcast_shapes(shapes: list[tuple[int, ...]]) -> None:
    ours = outcome(lambda: view.broadcast_shapes(shapes))
    if len(shapes) == 2:
        theirs = outcome(lambda: np.add(*map(np.zeros, shapes)).shape)
    else:
        theirs = outcome(lambda: np.broadcast_shapes(*shapes))
    assert ours == theirs


@pytest.mark.parametrize("axis", [None, 0, -1, 5, (), (0, 1), (1, -2), (0, 0), (0, 7), [0], 1.5])
@pytest.mark.parametrize("ndim", [0, 1, 2])
def test_normalize_axes(axis: Any, ndim: int) -> None:
    array = np.zeros((2,) * ndim)
    ours = outcome(lambda: axis_rules.normalize_axes(axis, ndim))
    theirs = outcome(lambda: np.sum(array, axis=axis, keepdims=True).shape)
    if theirs[0] == "error":
        assert ours == theirs
    else:
        assert theirs[1] == tuple(1 if i in ours[1] else 2 for i in range(ndim))


@quick
@given(views())
def test_contiguity(drawn: Any) -> None:
    _, array, v = drawn
    assert v.contiguous == array.flags.c_contiguous
    assert v.f_contiguous == array.flags.f_contiguous
    strides = tuple(s // 8 for s in np.zeros(array.shape).strides)
    assert array.size == 0 or view.contiguous(array.shape) == strides


@quick
@given(st.data())
def test_overlap(data: st.DataObject) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=7))
    base = np.zeros(shape)
    keys = [data.draw(hnp.basic_indices(shape, allow_ellipsis=False)) for _ in "ab"]
    a, b = (base[k] if isinstance(base[k], np.ndarray) else base for k in keys)
    b = b.T if data.draw(st.booleans()) else b
    va, vb = view_of(a, base), view_of(b, base)
    assert overlap.may_overlap(va, vb) == np.shares_memory(a, b)
    where = np.arange(base.size).reshape(shape)
    x, y = elements(va, where), elements(vb, where)
    assert overlap.same_elements(va, vb) == np.array_equal(x, y)
    wide = np.broadcast_to(a, (2, *a.shape))
    assert not overlap.repeats_elements(va)
    assert overlap.repeats_elements(view_of(wide, base)) == (a.size > 0)


def test_real_and_imaginary_parts() -> None:
    base = np.arange(24).astype(complex).reshape(4, 6)
    a = base[::2, 1:4].T
    v = view_of(a, base)
    real, imaginary = view.part(v, 0), view.part(v, 1)
    assert real == view_of(a.real, base)
    assert imaginary == view_of(a.imag, base)
    assert overlap.may_overlap(v, imaginary, 16, 8)
    assert not overlap.may_overlap(real, imaginary, 8, 8)
    assert not overlap.may_overlap(view_of(base[:, ::2], base), view_of(base[:, 1::2].imag, base), 16, 8)


@quick
@given(st.data())
def test_layout_of_results(data: st.DataObject) -> None:
    shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=3))
    arrays, drawn = [], []
    for shape in shapes.input_shapes:
        order = data.draw(st.permutations(range(len(shape))))
        base = np.zeros([2 * shape[i] for i in order])
        steps = data.draw(st.lists(st.sampled_from([1, 2, -1]), min_size=len(order)))
        array = base[tuple(slice(None, None, s) for s, _ in zip(steps, order, strict=False))]
        array = array[tuple(slice(shape[i]) for i in order)].transpose(np.argsort(order).tolist())
        assert array.shape == shape
        arrays.append(array)
        drawn.append(view_of(array, base))
    result = np.asarray(np.add(*arrays))
    if result.size:
        ours = overlap.k_order_strides(drawn, result.shape)
        theirs = tuple(s // 8 for s in result.strides)
        keep = [i for i, n in enumerate(result.shape) if n > 1]
        assert [ours[i] for i in keep] == [theirs[i] for i in keep]
