"""Bits, bytes and flags: what an array's memory is taken for, and how it is laid out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clarray

pytestmark = pytest.mark.usefixtures("quick_builds")

HOST = np.random.default_rng(3).integers(0, 256, (3, 21, 5)).astype(np.uint8)
HOST[:, ::3] = 0

BITS: list[Any] = [
    lambda xp, a: [xp.packbits(a), xp.packbits(a[:, :16] > 3, axis=1), xp.packbits(a, axis=-1, bitorder="little")],
    lambda xp, a: [xp.packbits(a.astype(np.int32), axis=0), xp.packbits(a.T, axis=1), xp.packbits(a[:, ::2], axis=1)],
    lambda xp, a: [xp.packbits(a[:0]), xp.packbits(a[:, :0], axis=1), xp.packbits(a[0, 1, 1])],
    lambda xp, a: [xp.unpackbits(a), xp.unpackbits(a, axis=1), xp.unpackbits(a, axis=-1, bitorder="little")],
    lambda xp, a: [xp.unpackbits(a, axis=1, count=n) for n in (0, 3, 168, 200, -5, -168)],
    lambda xp, a: [xp.unpackbits(a[:, ::2], axis=0), xp.unpackbits(a[:0]), xp.unpackbits(a[0, 1, 1])],
    lambda xp, a: xp.packbits(a.astype(np.float32)),
    lambda xp, a: xp.packbits(a, bitorder="x"),
    lambda xp, a: xp.packbits(a, axis=3),
    lambda xp, a: xp.unpackbits(a.astype(np.int8)),
    lambda xp, a: xp.unpackbits(a, axis=0, count=-25),
]


@pytest.mark.parametrize("number", range(len(BITS)))
def test_bits(same: Any, number: int) -> None:
    same(lambda xp: BITS[number](xp, xp.asarray(HOST)))


@given(st.lists(st.integers(0, 255), max_size=40), st.sampled_from(["big", "little"]), st.integers(0, 3))
def test_bits_of_any_length(values: list[int], order: Any, start: int) -> None:
    host = np.array([0, *values], np.uint8)[min(start, len(values)) :]
    array = clarray.array(np.array([0, *values], np.uint8))[min(start, len(values)) :]
    bits = clarray.unpackbits(array, bitorder=order)
    np.testing.assert_array_equal(bits.get(), np.unpackbits(host, bitorder=order))
    np.testing.assert_array_equal(clarray.packbits(bits, bitorder=order).get(), host)


VIEWS: list[Any] = [
    lambda xp, a: [a.view(np.int8), a[:, ::2].view(np.bool_).dtype, a.view(), a.view("u1")],
    lambda xp, a: [a[:, :16].copy().reshape(3, 5, 16).view(np.float32).shape, a[0, 0, :4].copy().view(np.uint32)],
    lambda xp, a: a[:, :, :4].copy().view("i4").view("u1").view("u2"),
    lambda xp, a: [a.astype(np.complex64).view(np.float32), a.astype(np.int16)[::2, :, :4].view(np.int8)],
    lambda xp, a: a.view(np.int16),
    lambda xp, a: a.T.view(np.int16),
    lambda xp, a: a[0, 0, 0].view(np.int16),
    lambda xp, a: a[..., 0].reshape(-1)[:0].view(np.int32),
    lambda xp, a: [a.byteswap(), a.astype(np.uint16).byteswap(), a.astype(np.int32)[:, ::-2].byteswap()],
    lambda xp, a: a.astype(np.float32).byteswap().view(np.uint32),
    lambda xp, a: a[..., :4].astype(np.float32).view(np.complex64).byteswap().view(np.uint32),
    lambda xp, a: a.astype(np.int64).byteswap(inplace=True),
]


@pytest.mark.parametrize("number", range(len(VIEWS)))
def test_views_and_byte_order(same: Any, number: int) -> None:
    same(lambda xp: VIEWS[number](xp, xp.asarray(HOST)))


def test_views_share_memory() -> None:
    a = clarray.zeros(8, dtype=np.float32)
    b = a * 2
    a.view(np.uint32)[2] = 0x3F800000
    assert a.tolist() == [0, 0, 1, 0, 0, 0, 0, 0]
    assert b.tolist() == [0] * 8
    with pytest.raises(ValueError, match="multiples of 8 bytes"):
        a[1:7].view(np.int64)


def resized(xp: Any, *shape: Any) -> Any:
    a = xp.array(np.arange(12.0, dtype=np.float32).reshape(3, 4))
    a.resize(*shape, refcheck=False)
    return a


def test_resize_in_place(same: Any) -> None:
    for shape in ((4, 5), ((2, 2),), (12,), (0,), (3, 4), ((5, 0),), (20,)):
        same(lambda xp, s=shape: resized(xp, *s))
    same(lambda xp: resized(xp, -1))
    with pytest.raises(ValueError, match="own its data"):
        clarray.zeros((3, 4), dtype=int)[1:].resize(2)
    with pytest.raises(ValueError, match="single-segment"):
        clarray.zeros((3, 4), dtype=int)[:, :2].resize(2)


NAMES = ("C_CONTIGUOUS", "F", "W", "ALIGNED", "FNC", "FORC", "BEHAVED", "CARRAY", "FARRAY", "X")
ATTRIBUTES = ("c_contiguous", "f_contiguous", "fnc", "forc", "behaved", "writeable", "aligned", "contiguous", "farray")


def test_flags(same: Any) -> None:
    def body(xp: Any) -> Any:
        a = xp.array(HOST)
        views = (a, a.T, a[:, ::2], a[0, 0], a[0, 0, :1], a.T[:, :, 0], a[:0])
        return [[v.flags[n] for n in NAMES] + [getattr(v.flags, n) for n in ATTRIBUTES] for v in views]

    same(body)
    same(lambda xp: xp.array(HOST).flags["Q"])
    same(lambda xp: [xp.isfortran(xp.array(HOST)), xp.isfortran(xp.array(HOST).T), xp.array(HOST)[1:].flags.owndata])
    same(lambda xp: repr(xp.array(HOST).flags))


def test_writeable_can_be_set() -> None:
    a = clarray.array(HOST)
    part = a[1:]
    part.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        part[0] = 1
    a[0] = 1
    part.setflags(write=True)
    part[0] = 2
    a.flags["W"] = False
    with pytest.raises(ValueError, match="read-only"):
        a[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        a[0].flags.writeable = True
    assert a.flags == a.flags
    assert a.flags != part.flags


def test_require(same: Any) -> None:
    def body(xp: Any) -> Any:
        a = xp.asarray(HOST)
        made = [xp.require(a.T, None, need) for need in (None, "C", ["F", "A"], ["OWNDATA"], ["W", "E"])]
        return [*made, [(m.flags.c_contiguous, m.flags.f_contiguous) for m in made], xp.require([1, 2], np.float32)]

    same(body)
    same(lambda xp: xp.require(HOST, None, ["C", "F"]))
    same(lambda xp: xp.require(HOST, None, ["Q"]))
    a = clarray.array(HOST)
    assert clarray.require(a) is a
    assert clarray.require(a[0], requirements="O").base is None


def test_finite_values(same: Any) -> None:
    same(lambda xp: xp.asarray_chkfinite([1.0, 2.0], dtype=np.float32))
    same(lambda xp: xp.asarray_chkfinite([1, 2]))
    same(lambda xp: xp.asarray_chkfinite(np.array([1, np.nan], np.float32)))
