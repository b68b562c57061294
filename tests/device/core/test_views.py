"""Views: what NumPy gives as a view is one here, with NumPy's shape, elements and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import clarray

BASE = np.arange(60, dtype=np.float32).reshape(3, 4, 5)

# Each gives a view in NumPy: a write to the original must show in it.
VIEWS = {
    "self": lambda xp, a: a[...],
    "integer": lambda xp, a: a[1],
    "negative": lambda xp, a: a[-1, :, -2],
    "numpy integer": lambda xp, a: a[np.int64(1)],
    "slice": lambda xp, a: a[1:, ::2],
    "backwards": lambda xp, a: a[::-1, ::-2, 3:0:-1],
    "empty": lambda xp, a: a[5:],
    "newaxis": lambda xp, a: a[None, :, None, 2],
    "ellipsis": lambda xp, a: a[..., 1:3],
    "one element": lambda xp, a: a[1, 2, 3, ...],
    "T": lambda xp, a: a.T,
    "mT": lambda xp, a: a.mT,
    "transpose": lambda xp, a: a.transpose(2, 0, 1),
    "transpose tuple": lambda xp, a: a.transpose((2, 0, 1)),
    "transpose function": lambda xp, a: xp.transpose(a, (1, -1, 0)),
    "transpose of one axis": lambda xp, a: a[0, 0].transpose(0),
    "transpose function of one axis": lambda xp, a: xp.transpose(a[0, 0], np.int64(-1)),
    "permute_dims": lambda xp, a: xp.permute_dims(a, (1, -1, 0)),
    "matrix_transpose": lambda xp, a: xp.matrix_transpose(a),
    "swapaxes": lambda xp, a: a.swapaxes(0, -1),
    "swapaxes function": lambda xp, a: xp.swapaxes(a, 0, 1),
    "moveaxis": lambda xp, a: xp.moveaxis(a, [0, 1], [-1, 0]),
    "rollaxis": lambda xp, a: xp.rollaxis(a, 2),
    "reshape": lambda xp, a: a.reshape(4, 15),
    "reshape tuple": lambda xp, a: a.reshape((2, -1)),
    "reshape F": lambda xp, a: a.T.reshape(20, 3, order="F"),
    "reshape function": lambda xp, a: xp.reshape(a, (6, 10)),
    "reshape of a slice": lambda xp, a: a[:, ::2].reshape(3, 2, 5, 1),
    "ravel": lambda xp, a: a.ravel(),
    "ravel function": lambda xp, a: xp.ravel(a),
    "squeeze": lambda xp, a: a[:, :1].squeeze(),
    "squeeze axis": lambda xp, a: xp.squeeze(a[:1, :1], axis=(0,)),
    "expand_dims": lambda xp, a: xp.expand_dims(a, (0, -1)),
    "flip": lambda xp, a: xp.flip(a, 1),
    "flip all": lambda xp, a: xp.flip(a),
    "fliplr": lambda xp, a: xp.fliplr(a),
    "flipud": lambda xp, a: xp.flipud(a),
    "rot90": lambda xp, a: xp.rot90(a, 1),
    "diagonal": lambda xp, a: a.diagonal(1, 1, 2),
    "diagonal function": lambda xp, a: xp.diagonal(a),
    "broadcast_to": lambda xp, a: xp.broadcast_to(a, (2, 3, 4, 5)),
    "broadcast_arrays": lambda xp, a: xp.broadcast_arrays(a, a[0])[1],
    "atleast_2d": lambda xp, a: xp.atleast_2d(a[0, 0]),
    "atleast_3d": lambda xp, a: xp.atleast_3d(a[0]),
    "real": lambda xp, a: a.real,
    "real function": lambda xp, a: xp.real(a),
    "split": lambda xp, a: xp.split(a, [1, 3], axis=1)[1],
    "unstack": lambda xp, a: xp.unstack(a)[2],
    "view of a view": lambda xp, a: a[1:].T[::-1, 1:].reshape(5, 6)[2:],
}


@pytest.mark.parametrize("name", VIEWS)
def test_view(same: Any, name: str) -> None:
    def body(xp: Any) -> Any:
        a = xp.array(BASE)
        v = VIEWS[name](xp, a)
        before = v + 0
        a[...] = a * 2 + 1
        return v, before, v.shape, v.ndim, v.size

    same(body)


@pytest.mark.parametrize("name", ["slice", "backwards", "transpose", "reshape", "diagonal"])
def test_view_of_every_dtype(same: Any, host: np.ndarray, name: str) -> None:
    same(lambda xp: VIEWS[name](xp, xp.asarray(host)))


@pytest.mark.parametrize("name", [n for n in VIEWS if n not in ("empty",)])
def test_strides_are_numpys(name: str) -> None:
    ours, theirs = VIEWS[name](clarray, clarray.array(BASE)), VIEWS[name](np, BASE.copy())
    keep = [i for i, n in enumerate(theirs.shape) if n > 1]
    assert [ours.strides[i] for i in keep] == [theirs.strides[i] for i in keep]


ERRORS = [
    lambda xp, a: a[9],
    lambda xp, a: a[0, 0, 5],
    lambda xp, a: a[0, 0, 0, 0],
    lambda xp, a: a[..., ...],
    lambda xp, a: a[1.0],
    lambda xp, a: a["x"],
    lambda xp, a: a[::0],
    lambda xp, a: a.transpose(0, 0, 1),
    lambda xp, a: a.transpose(0, 1),
    lambda xp, a: a.swapaxes(0, 3),
    lambda xp, a: xp.moveaxis(a, 4, 0),
    lambda xp, a: a.reshape(7),
    lambda xp, a: a.reshape(-1, -1),
    lambda xp, a: a.reshape(3, 20, order="K"),
    lambda xp, a: a.squeeze(0),
    lambda xp, a: xp.expand_dims(a, 4),
    lambda xp, a: xp.flip(a, 3),
    lambda xp, a: xp.broadcast_to(a, (3, 4, 6)),
    lambda xp, a: a.diagonal(0, 0, 0),
    lambda xp, a: len(a[0, 0, 0, ...]),
    lambda xp, a: iter(a[0, 0, 0, ...]),
    lambda xp, a: bool(a),
    lambda xp, a: float(a),
    lambda xp, a: a.item(),
    lambda xp, a: a.item(60),
    lambda xp, a: xp.split(a, 2),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(same: Any, number: int) -> None:
    same(lambda xp: ERRORS[number](xp, xp.asarray(BASE)))


def test_reshape_that_copies(same: Any) -> None:
    def body(xp: Any) -> Any:
        a = xp.array(BASE)
        copies = [
            *(a.T.reshape(-1), a.T.ravel(), a.ravel("F"), a[:, ::2].reshape(6, 5)),
            *(a.flatten(), a.T.flatten("F"), a.T.ravel("K"), xp.roll(a, 1), a[::-1].ravel("K")),
            *(a.swapaxes(0, 1).ravel("A"), a.T[:, ::2].flatten("K"), a[:, ::2].ravel("K")),
        ]
        a[...] = 0
        return [*copies, a.T.ravel("K"), a.T.ravel("F"), a.T.reshape(4, 15, order="A")]

    same(body)


def test_copy_argument_of_reshape(same: Any) -> None:
    same(lambda xp: xp.reshape(xp.asarray(BASE), (60,), copy=False))
    same(lambda xp: xp.reshape(xp.asarray(BASE).T, (60,), copy=False), message=False)
    same(lambda xp: xp.reshape(xp.asarray(BASE), (60,), copy=True))


def test_real_and_imaginary_parts_are_views(same: Any) -> None:
    def body(xp: Any) -> Any:
        z = xp.zeros((3, 4), dtype=np.complex64)
        z.real = 2
        z.imag[::2] = xp.arange(4, dtype=np.float32)
        z.T.real[1] *= 3
        x = xp.arange(3)
        return z, z.real, z.imag[:, 1:], xp.imag(x), x.imag, x.real, xp.real(z)

    same(body)


def test_iteration_and_length(same: Any) -> None:
    same(lambda xp: [list(xp.asarray(BASE)), len(xp.asarray(BASE))])
    same(lambda xp: [x + 1 for x in xp.arange(4)])


@given(st.data())
def test_chains_of_views(data: st.DataObject) -> None:
    """Any chain of views has NumPy's elements, before and after a write through the last one."""
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=5))
    theirs = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    whole, ours_whole = theirs, clarray.array(theirs)
    ours = ours_whole
    for _ in range(data.draw(st.integers(1, 3))):
        kind = data.draw(st.sampled_from(["index", "transpose", "reshape", "newaxis"]))
        if kind == "index":
            key = data.draw(hnp.basic_indices(theirs.shape))
            if not isinstance(theirs[key], np.ndarray):
                continue
            theirs, ours = theirs[key], ours[key]
        elif kind == "transpose":
            order = data.draw(st.permutations(range(theirs.ndim)))
            theirs, ours = theirs.transpose(order), ours.transpose(order)
        elif kind == "reshape":
            theirs, ours = theirs.reshape(-1), ours.reshape(-1)
        else:
            theirs, ours = theirs[None], ours[None]
    np.testing.assert_array_equal(clarray.asnumpy(ours), theirs)
    theirs[...] = -theirs - 1
    ours[...] = -ours - 1
    np.testing.assert_array_equal(clarray.asnumpy(ours_whole), whole)


def test_strides_of_axes_of_one_element_do_not_matter(same: Any) -> None:
    """Nobody steps along them: whatever they are, elements of another size begin where they should."""
    host = np.arange(16, dtype="uint8").reshape(16, 1)
    same(lambda xp: xp.moveaxis(xp.array(host), 0, 1).view("uint64"))
    same(lambda xp: xp.array(host).T.view("int16"))
    same(lambda xp: xp.packbits(xp.array(host[:8]), axis=0))
