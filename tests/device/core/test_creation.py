"""Arrays from nothing, from host data of every kind, and back."""

from __future__ import annotations

import operator
import pickle
import struct
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import clarray
from clarray._engine.runtime import current_device

from ..conftest import FEW_DTYPES, by_dtype

pytestmark = pytest.mark.usefixtures("quick_builds")

SHAPES = [(), 0, 1, 7, (3,), (2, 0, 3), (2, 3, 4), [5, 2], (np.int64(3), 2)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["zeros", "ones"])
def test_zeros_and_ones(same: Any, name: str, shape: Any, dtype: str) -> None:
    same(lambda xp: getattr(xp, name)(shape, dtype))
    if np.prod(shape):  # without elements NumPy's strides are zeros
        same(lambda xp: getattr(xp, name)(shape, dtype=np.dtype(dtype), order="F").strides)


@pytest.mark.parametrize("name", ["empty", "zeros", "ones"])
def test_default_dtype(same: Any, name: str) -> None:
    same(lambda xp: str(getattr(xp, name)((2, 3)).dtype))
    same(lambda xp: getattr(xp, name)((2, 3)).shape)


@pytest.mark.parametrize("value", [0, 1, 2.5, True, np.float32(3), np.int8(4), [1, 2, 3]], ids=repr)
def test_full(same: Any, value: Any) -> None:
    same(lambda xp: xp.full((2, 3), value))
    same(lambda xp: xp.full((2, 3), value, dtype="float32"))
    same(lambda xp: xp.full_like(np.zeros((2, 3), np.int16), value))
    same(lambda xp: xp.full_like(xp.zeros((2, 3), np.float32), value, shape=(3,)))


@pytest.mark.parametrize("name", ["zeros_like", "ones_like", "empty_like"])
def test_like(same: Any, name: str, dtype: str) -> None:
    def body(xp: Any) -> Any:
        a = xp.zeros((2, 3, 4), dtype).transpose(1, 2, 0)
        results = [
            *(getattr(xp, name)(a), getattr(xp, name)(a, dtype="int16")),
            *(getattr(xp, name)(a, order="C"), getattr(xp, name)(a, shape=(5,))),
            *(getattr(xp, name)(a[:, ::2]), getattr(xp, name)(xp.broadcast_to(a, (2, 3, 4, 2)))),
        ]
        plain = [(x.shape, str(x.dtype), x.strides) for x in results]
        return plain if name == "empty_like" else [plain, *results]

    same(body)


@pytest.mark.parametrize(
    "args",
    [(5,), (2, 9), (2, 9, 3), (9, 2, -2), (5, 2), (0,), (2.5,), (0, 1, 0.125), (1, 0, -0.25)],
    ids=str,
)
def test_arange(same: Any, args: Any, dtype: str) -> None:
    same(lambda xp: xp.arange(*args))
    if dtype != "bool":
        same(lambda xp: xp.arange(*args, dtype=dtype))
    same(lambda xp: xp.arange(*map(np.float32, args)) + 0)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32", "complex64"])
def test_arange_of_elements(same: Any, dtype: str) -> None:
    x = np.array([1, 5], dtype)
    for numbers in (lambda x: (x[1],), lambda x: (x[0], x[1]), lambda x: (0, x[1].reshape(()), x[0])):
        same(lambda xp, numbers=numbers: xp.arange(*numbers(xp.asarray(x))))
    same(lambda xp: xp.arange(xp.asarray(x)), message=False)


def test_arange_keywords_and_errors(same: Any) -> None:
    same(lambda xp: xp.arange(start=2, stop=7))
    same(lambda xp: xp.arange(3, step=2))
    same(lambda xp: xp.arange(0, 10**6, dtype=np.int32)[::9999])
    same(lambda xp: xp.arange(True))
    same(lambda xp: xp.arange(1, 3, 0))
    same(lambda xp: xp.arange())
    same(lambda xp: xp.arange(5, dtype="U3"), message=False)


@pytest.mark.parametrize("num", [0, 1, 2, 5, 50])
@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace(same: Any, num: int, endpoint: bool) -> None:
    same(lambda xp: xp.linspace(2, 3.5, num, endpoint=endpoint, dtype="float32"))
    same(lambda xp: xp.linspace(9, -9, num, endpoint=endpoint, dtype=np.int32))
    same(lambda xp: xp.linspace(9, -9, num, endpoint=endpoint))
    same(lambda xp: str(xp.linspace(0, 1, num, endpoint=endpoint, retstep=True)[1]))


def test_spaces(same: Any) -> None:
    same(lambda xp: xp.linspace([0, 1], [2, 3], 5, dtype="float32"))
    same(lambda xp: xp.linspace(0, 1, -1))
    same(lambda xp: xp.logspace(0, 3, 4, dtype="float32"))
    same(lambda xp: xp.geomspace(1, 1000, 4, dtype="float32"))


@pytest.mark.parametrize("num", [0, 1, 2, 7])
@pytest.mark.parametrize("endpoint", [True, False])
def test_spaces_between_arrays(same: Any, num: int, endpoint: bool) -> None:
    low, high = np.array([1, 4, 9], np.float32), np.array([[2, 4, -3]], np.float32)
    same(lambda xp: xp.linspace(xp.asarray(low), high, num, endpoint))
    same(lambda xp: xp.linspace(low, xp.asarray(high), num, endpoint, axis=-1, dtype=np.int16))
    same(lambda xp: xp.linspace(xp.asarray(low), 7, num, endpoint))
    for name, ends in (("logspace", (low / 9, high)), ("geomspace", (low, abs(high)))):
        theirs = getattr(np, name)(*ends, num, endpoint, dtype=np.float32)
        ours = getattr(clarray, name)(clarray.asarray(ends[0]), ends[1], num, endpoint, dtype=np.float32)
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(clarray.asnumpy(ours), theirs, rtol=1e-5)


@pytest.mark.parametrize("dtype", FEW_DTYPES)
def test_eye(same: Any, dtype: str) -> None:
    same(lambda xp: xp.eye(4, dtype=dtype))
    same(lambda xp: xp.eye(4, 3, 1, dtype=dtype))
    same(lambda xp: xp.eye(3, 5, k=-2, dtype=dtype))
    same(lambda xp: xp.eye(3, k=9, dtype=dtype))
    same(lambda xp: xp.identity(3, dtype=dtype))


OBJECTS = {
    "int": 3,
    "float": 2.5,
    "bool": True,
    "complex": 1 + 2j,
    "numpy scalar": np.float32(2),
    "list": [1, 2, 3],
    "nested": [[1, 2.5], [3, 4]],
    "tuple": (True, False),
    "empty list": [],
    "range": range(5),
    "memoryview": memoryview(bytearray(b"abcdef")),
    "bytearray": bytearray(b"abc"),
    "big endian": np.arange(5, dtype=">f4"),
    "big endian complex": np.arange(5).astype(">c8").reshape(5, 1),
    "transposed": np.arange(12).reshape(3, 4).T,
    "strided": np.arange(40, dtype=np.int16).reshape(5, 8)[::2, 1::3],
    "backwards": np.arange(10, dtype=np.float32)[::-1],
    "broadcast": np.broadcast_to(np.arange(3), (4, 3)),
    "unaligned": np.frombuffer(b"\0" + bytes(range(16)), np.uint8)[1:].view("u4"),
    "structured field": np.zeros(4, [("a", "u1"), ("b", "f4")])["b"],
    "zero size": np.zeros((3, 0, 2)),
    "0-d": np.array(7, np.uint8),
}


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("function", ["asarray", "array", "ascontiguousarray", "asanyarray"])
def test_from_objects(same: Any, name: str, function: str) -> None:
    def body(xp: Any) -> Any:
        made = getattr(xp, function)(OBJECTS[name])
        # byte order is not kept: a device has one
        return made.astype(made.dtype.newbyteorder("="))

    same(body)
    same(lambda xp: getattr(xp, function)(OBJECTS[name], dtype=np.complex64))


def test_array_arguments(same: Any) -> None:
    same(lambda xp: xp.array([1, 2], ndmin=3))
    same(lambda xp: xp.array(xp.arange(3), dtype=np.float32, ndmin=2))
    same(lambda xp: xp.array(np.arange(6).reshape(2, 3), order="F").strides)
    same(lambda xp: xp.asarray(xp.arange(6).reshape(2, 3), order="F").strides)
    same(lambda xp: xp.asarray([1, 2, 3], copy=False), message=False)
    same(lambda xp: xp.asarray(xp.arange(3), dtype=np.int8, copy=False), message=False)
    same(lambda xp: xp.array([xp.asarray([1, 2]), xp.asarray([3, 4])]))
    same(lambda xp: xp.asarray([300], dtype=np.uint8))


def test_asarray_of_an_array_is_itself() -> None:
    a = clarray.arange(5)
    assert clarray.asarray(a) is a
    assert clarray.asarray(a, dtype=a.dtype, order="C") is a
    b = clarray.array(a)
    b[0] = 9
    assert int(a[0]) == 0


def shares_host_memory() -> bool:
    return bool(current_device().capabilities.host_memory)


@by_dtype("key", [np.s_[::-1, 1:3]], [np.s_[:], np.s_[::2], np.s_[1], np.s_[..., None, 2]], ids=str)
def test_asarray_shares_host_memory(key: Any, dtype: str) -> None:
    whole = np.arange(40).reshape(8, 5).astype(dtype)
    host = whole[key].T
    a = clarray.asarray(host)
    first, wanted = a + a, host + host
    whole[...] = 1
    if shares_host_memory():
        np.testing.assert_array_equal(clarray.asnumpy(a), host)
        a[...] = 0
        np.testing.assert_array_equal(host, np.zeros_like(host))
    # what was computed before the write holds the old values
    np.testing.assert_array_equal(clarray.asnumpy(first), wanted)


def test_one_host_array_shared_twice() -> None:
    host, expected = np.arange(1000.0, dtype=np.float32), np.arange(1000.0, dtype=np.float32)
    a, b = clarray.asarray(host), clarray.asarray(host[:-1])
    a[1:] = b
    expected[1:] = expected[:-1].copy()
    np.testing.assert_array_equal(clarray.asnumpy(a), expected)
    clarray.add(b, b, out=a[1:])
    if shares_host_memory():
        expected[1:] = 2 * expected[:-1]
        np.testing.assert_array_equal(host, expected)


def test_a_selection_holds_the_values_of_its_time() -> None:
    host = np.arange(10, dtype=np.float32)
    mask = host > 3
    a = clarray.asarray(host)
    first, second = a[a > 3], a[mask]
    host[...] = 0
    mask[...] = True
    assert float(first.sum()) == float(second.sum()) == 39


def test_read_only_host_arrays_cannot_be_written() -> None:
    host = np.arange(5, dtype=np.float32)
    host.flags.writeable = False
    a = clarray.asarray(host)
    if shares_host_memory():
        with pytest.raises(ValueError, match="read-only"):
            a[0] = 1
        with pytest.raises(ValueError, match="read-only"):
            a += 1
    np.testing.assert_array_equal(clarray.asnumpy(a + 1), host + 1)
    clarray.array(host)[0] = 1


def test_copy_arguments_of_asarray() -> None:
    host = np.arange(5, dtype=np.float32)
    copied = clarray.asarray(host, copy=True)
    host[0] = 7
    assert int(copied[0]) == 0
    if shares_host_memory():
        assert int(clarray.asarray(host, copy=False)[0]) == 7
    else:
        with pytest.raises(ValueError, match="copy"):
            clarray.asarray(host, copy=False)
    with pytest.raises(ValueError, match="copy"):
        clarray.asarray(host.astype(">f4"), copy=False)


def test_pyopencl_arrays() -> None:
    cl_array = pytest.importorskip("pyopencl.array")
    cl = pytest.importorskip("pyopencl")
    context = cl.Context([current_device().cl_device])  # a name, as a queue may not keep it alive
    queue = cl.CommandQueue(context)
    theirs = cl_array.to_device(queue, np.arange(12, dtype=np.float32).reshape(3, 4))
    ours = clarray.asarray(theirs)
    np.testing.assert_array_equal(clarray.asnumpy(ours + 1), theirs.get() + 1)
    np.testing.assert_array_equal(clarray.asnumpy(clarray.asarray(theirs[1:])), theirs.get()[1:])
    ours[0] = 9
    np.testing.assert_array_equal(theirs.get(), clarray.asnumpy(ours))


def test_device_argument() -> None:
    device = current_device()
    for make in (clarray.zeros, clarray.arange, clarray.asarray):
        assert make(3, device=device).device == device
        assert make(3, device=device.capabilities.platform).device == device
        with pytest.raises((ValueError, RuntimeError), match="nowhere"):
            make(3, device="nowhere")


# Back to the host ---------------------------------------------------------------------------------


def test_to_host(host: np.ndarray) -> None:
    a = clarray.array(host)
    for got in (a.get(), clarray.asnumpy(a), np.asarray(a), np.array(a), a.__array__()):
        assert type(got) is np.ndarray
        assert got.dtype == host.dtype
        np.testing.assert_array_equal(got, host)
    np.testing.assert_array_equal(a.T[::-1].get(), host.T[::-1])
    assert np.asarray(a, dtype=complex).dtype == complex
    got = a.get()
    got[...] = 0  # a copy of its own
    np.testing.assert_array_equal(a.get(), host)
    assert clarray.asnumpy([1, 2]).tolist() == [1, 2]


def test_items(same: Any, host: np.ndarray) -> None:
    same(lambda xp: xp.asarray(host).item(13))
    same(lambda xp: xp.asarray(host).item(-1))
    same(lambda xp: xp.asarray(host).item(1, 2, 3))
    same(lambda xp: xp.asarray(host).item((1, 2, -3)))
    same(lambda xp: xp.asarray(host)[1, 2, 3].item())
    same(lambda xp: xp.asarray(host)[::2, ::-1].tolist())
    same(lambda xp: xp.asarray(host)[0, 0, 0].tolist())


def test_scalars(same: Any) -> None:
    same(lambda xp: [int(xp.asarray(7)), float(xp.asarray(7)), complex(xp.asarray(7))])
    same(lambda xp: [bool(xp.asarray(0.5)), operator.index(xp.asarray(7))])
    same(lambda xp: f"{xp.asarray(2.0)[()]:.3f}")
    same(lambda xp: struct.pack("d", xp.asarray(2.0)))


@pytest.mark.parametrize("text", [repr, str])
def test_text(same: Any, dtype: str, text: Any) -> None:
    large = (
        np.arange(3000),
        np.arange(2400).reshape(2, 3, 400),
        np.arange(8000).reshape(20, 20, 20),
    )
    for a in (np.arange(5) % 2, np.zeros((2, 0)), np.ones((2, 2)), np.array(1), *large):
        assert text(clarray.asarray(a.astype(dtype))) == text(a.astype(dtype))


@pytest.mark.parametrize("to", ["bool", "int8", "uint16", "int64", "float16", "float32"])
def test_astype(same: Any, host: np.ndarray, to: str) -> None:
    real = host.real.copy()
    same(lambda xp: xp.asarray(real).astype(to))
    same(lambda xp: xp.asarray(real).astype(to, casting="safe"))
    if host.dtype.name in FEW_DTYPES:  # a kernel for each layout, which convert as the first does
        same(lambda xp: xp.astype(xp.asarray(real)[:, ::2].T, to))
    if host.dtype.name in FEW_DTYPES or to == "float16":
        same(lambda xp: xp.asarray(real).T.astype(to).strides)
        same(lambda xp: xp.asarray(real).astype(to, order="C").strides)


def test_astype_copies(same: Any) -> None:
    def body(xp: Any) -> Any:
        a = xp.arange(4)
        b, c = a.astype(a.dtype), a.astype(a.dtype, copy=False)
        a[0] = 9
        return b, c, c is a

    same(body)


def test_complex_to_real_warns() -> None:
    with pytest.warns(np.exceptions.ComplexWarning):
        clarray.ones(2, np.complex64).astype(np.float32)


def test_copies(same: Any) -> None:
    def body(xp: Any) -> Any:
        a = xp.asarray(np.arange(24).reshape(2, 3, 4)).transpose(2, 0, 1)
        b, c, d = a.copy(), xp.copy(a), a.copy("K")
        e = a + 0
        f = e.copy()
        e += 1
        return [x.strides for x in (b, c, d)], b, c, d, e, f

    same(body)


def test_pickle(host: np.ndarray) -> None:
    a = pickle.loads(pickle.dumps(clarray.array(host).T))
    np.testing.assert_array_equal(clarray.asnumpy(a), host.T)


ORDERED: dict[str, Callable[..., Any]] = {
    "array": lambda xp, a, order: xp.array(a, order=order),
    "array, no copy": lambda xp, a, order: xp.array(a, copy=None, order=order),
    "array, ndmin": lambda xp, a, order: xp.array(a, copy=None, order=order, ndmin=4),
    "array, dtype": lambda xp, a, order: xp.array(a, "i2", order=order),
    "asarray": lambda xp, a, order: xp.asarray(a, order=order),
    "asarray, dtype": lambda xp, a, order: xp.asarray(a, "i2", order=order),
    "astype": lambda xp, a, order: a.astype("i2", order=order),
    "astype, same": lambda xp, a, order: a.astype("i4", order=order, copy=False),
    "copy": lambda xp, a, order: a.copy(order),
    "copy function": lambda xp, a, order: xp.copy(a, order),
    "zeros_like": lambda xp, a, order: xp.zeros_like(a, order=order),
}


@pytest.mark.parametrize("name", ORDERED)
def test_orders(name: str, same: Any) -> None:
    def body(xp: Any) -> Any:
        a = xp.array(np.arange(24, dtype="i4").reshape(2, 3, 4))
        views = [a, a.T, a[..., ::2], a.transpose(0, 2, 1), a.transpose(1, 0, 2)[::-1], a[0, 0, ::2], a.T[::2]]
        views += [xp.broadcast_to(a[0], (2, 3, 4)), a[:1, :1, ::2]]
        found = []
        for view, order in product(views, ("A", "K", "C", "F", None)):
            made = ORDERED[name](xp, view, order)
            steps = [s for s, n in zip(made.strides, made.shape, strict=True) if n > 1]
            found.append([steps, made is view, xp.may_share_memory(made, view), made.flags.writeable])
        return found

    same(body)


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_pickled_layouts(protocol: int, same: Any) -> None:
    """From protocol 5 on NumPy keeps any order of axes that leaves no gaps, before that Fortran order only."""

    def body(xp: Any) -> Any:
        a = xp.array(np.arange(24, dtype="i2").reshape(2, 3, 4))
        views = (a, a.T, a.T[::2], a[..., ::2], a.transpose(0, 2, 1), a[0, 0, 0:1].reshape(()), a[:0])
        views += (a.transpose(1, 0, 2), a[::-1], a[:, None].transpose(3, 1, 0, 2), xp.broadcast_to(a[0], (2, 3, 4)))
        found = [pickle.loads(pickle.dumps(view, protocol)) for view in views]
        return [(each.strides, each.tolist()) for each in found]

    same(body)


@given(
    hnp.arrays(
        st.sampled_from(["i1", "u2", ">i4", "f4", ">u8", "?", "c8"]),
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    ),
    st.data(),
)
def test_any_host_layout(host: np.ndarray, data: st.DataObject) -> None:
    view = host[data.draw(hnp.basic_indices(host.shape, allow_ellipsis=True))]
    view = np.asarray(view).T
    for make in (clarray.asarray, clarray.array, clarray.ascontiguousarray):
        np.testing.assert_array_equal(
            clarray.asnumpy(make(view)),
            np.atleast_1d(view) if make is clarray.ascontiguousarray else view,
        )


@pytest.mark.skipif("ndmax" not in (np.array.__doc__ or ""), reason="NumPy 2.4 has brought it")
def test_a_limit_of_nested_sequences() -> None:
    nested, row = [[1, 2], [3, 4]], np.ones(2)
    for value, limits in (
        *((nested, {"ndmax": ndmax}) for ndmax in (0, 1, 2, 64)),
        *(([1, 2], {"ndmax": ndmax}) for ndmax in (-1, 65, 1.5, None)),
        ([1, 2], {"ndmin": 2, "ndmax": 1}),
        ([1, 2], {"ndmin": 2, "ndmax": 2}),
        ([row, row], {"ndmax": 1}),
        (np.ones((2, 2)), {"ndmax": 1}),
        (5, {"ndmax": 0}),
    ):
        results = []
        for xp in (np, clarray):
            try:
                results.append(np.asarray(xp.array(value, **limits)).tolist())
            except (TypeError, ValueError) as error:
                results.append(type(error).__name__)
        assert results[0] == results[1], (value, limits, results)
