"""What reductions take beside the array: axes kept, masks, outputs, initial values, lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

from .test_reductions import BYTES, CHOSEN, HOST, Body, small

pytestmark = pytest.mark.usefixtures("quick_builds")


@pytest.mark.parametrize("axis", [None, 0, -2, (0, 2), (), (-1, 0, 1)], ids=str)
@pytest.mark.parametrize("name", ["sum", "max", "any", "count_nonzero", "ptp"])
def test_keepdims(same: Any, name: str, axis: Any) -> None:
    same(lambda xp: getattr(xp, name)(xp.asarray(HOST), axis=axis, keepdims=True))
    same(lambda xp: getattr(xp, name)(xp.asarray(HOST), axis=axis, keepdims=False))


KEYWORDS: dict[str, Body] = {
    "initial": lambda xp: xp.asarray(HOST).sum(axis=1, initial=10),
    "initial of a maximum": lambda xp: xp.asarray(HOST).max(axis=1, initial=2.5),
    "initial of an int": lambda xp: xp.asarray(BYTES).max(axis=1, initial=1.5),
    "initial nan": lambda xp: xp.asarray(HOST).min(axis=1, initial=np.nan),
    "initial out of bounds": lambda xp: xp.asarray(BYTES).max(initial=300),
    "initial None": lambda xp: xp.add.reduce(xp.asarray(HOST)[:0], initial=None),
    "initial over no axes": lambda xp: xp.asarray(HOST).sum(axis=(), initial=10),
    "initial of what is empty": lambda xp: xp.asarray(HOST)[:0].max(axis=0, initial=7),
    "where": lambda xp: xp.asarray(HOST).sum(axis=1, where=xp.asarray(CHOSEN)),
    "where of a row": lambda xp: xp.asarray(HOST).sum(axis=1, where=xp.asarray(CHOSEN[0, 0])),
    "where of a column": lambda xp: xp.asarray(HOST).sum(axis=2, where=xp.asarray(CHOSEN[:, :1, :1])),
    "where over no axes": lambda xp: xp.asarray(HOST).sum(axis=(), where=xp.asarray(CHOSEN)),
    "where False": lambda xp: xp.asarray(HOST).sum(axis=1, where=False),
    "where a list": lambda xp: xp.asarray(HOST).sum(axis=0, where=[True, False] * 3),
    "where of an operation": lambda xp: xp.asarray(HOST).prod(axis=0, where=xp.asarray(HOST) > 1),
    "where of nan": lambda xp: xp.sum(xp.asarray(np.where(CHOSEN, HOST, np.nan)), axis=1, where=xp.asarray(CHOSEN)),
    "where and initial": lambda xp: xp.asarray(HOST).max(axis=1, where=xp.asarray(CHOSEN), initial=-1),
    "where and initial over no axes": lambda xp: xp.asarray(HOST).max(axis=(), where=xp.asarray(CHOSEN), initial=1),
    "where of a maximum": lambda xp: xp.asarray(HOST).max(where=xp.asarray(CHOSEN)),
    "where too large": lambda xp: xp.asarray(HOST[0]).sum(where=xp.asarray(CHOSEN)),
    "where too long": lambda xp: xp.asarray(HOST[:, :1]).sum(where=xp.asarray(CHOSEN)),
    "where of numbers": lambda xp: xp.asarray(HOST).sum(where=xp.asarray(BYTES)),
    "any where": lambda xp: xp.any(xp.asarray(HOST), axis=1, where=xp.asarray(CHOSEN)),
    "all where": lambda xp: xp.all(xp.asarray(HOST), axis=(0, 1), where=xp.asarray(CHOSEN)),
    "dtype": lambda xp: xp.asarray(BYTES).sum(axis=1, dtype=np.int16),
    "dtype float": lambda xp: xp.asarray(BYTES).sum(axis=1, dtype=np.float32),
    "dtype int": lambda xp: (xp.asarray(HOST) / 2).sum(axis=1, dtype=np.int32),
    # 2049 is 2048 as a half: converted before the sum, not after
    "dtype half": lambda xp: (xp.asarray(HOST) * 0 + 2049).sum(axis=1, dtype=np.float16),
    "dtype bool": lambda xp: xp.asarray(BYTES).sum(axis=1, dtype=bool),
    "axis too large": lambda xp: xp.asarray(HOST).sum(axis=3),
    "axis twice": lambda xp: xp.asarray(HOST).sum(axis=(1, 1)),
    "axis twice, once negative": lambda xp: xp.asarray(HOST).sum(axis=(1, -2)),
    "axis a float": lambda xp: xp.asarray(HOST).sum(axis=1.0),
    "axis 0 of a scalar": lambda xp: xp.asarray(np.float32(3)).sum(axis=0),
    "axis 1 of a scalar": lambda xp: xp.asarray(np.float32(3)).sum(axis=1),
    "axes of positions": lambda xp: xp.asarray(HOST).argmax(axis=(0, 1)),
    "keepdims of positions": lambda xp: xp.asarray(HOST).argmax(axis=1, keepdims=True),
    "keepdims of all positions": lambda xp: xp.argmin(xp.asarray(HOST), keepdims=True),
    "empty": lambda xp: xp.asarray(HOST)[:0].sum(),
    "empty maximum": lambda xp: xp.asarray(HOST)[:0].max(axis=0),
    "empty along another axis": lambda xp: xp.asarray(HOST)[:0].max(axis=1),
    "empty positions": lambda xp: xp.asarray(HOST)[:0].argmax(axis=0),
    "empty positions of nothing": lambda xp: xp.asarray(np.zeros((0, 0))).argmax(axis=1),
    "empty bits": lambda xp: xp.bitwise_and.reduce(xp.asarray(BYTES.view(np.uint8))[:0]),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, about halves that overflow
@pytest.mark.parametrize("case", KEYWORDS)
def test_keywords(same: Any, case: str) -> None:
    same(KEYWORDS[case], message=not case.startswith(("where too", "empty positions", "axis a")))


OUTS = [
    ("sum", np.float32, (4, 6)),
    ("sum", np.int32, (4, 6)),
    ("sum", np.float16, (4, 6)),
    ("sum", np.float32, (4, 1, 6)),
    ("sum", np.float32, (6,)),
    ("max", np.float32, (4, 6)),
    ("any", np.float32, (4, 6)),
    ("any", bool, (4, 6)),
    ("argmax", np.int64, (4, 6)),
    ("argmax", np.float32, (4, 6)),
    ("ptp", np.float32, (4, 6)),
]


@pytest.mark.parametrize(("name", "dtype", "shape"), OUTS, ids=str)
def test_out(same: Any, name: str, dtype: Any, shape: tuple[int, ...]) -> None:
    def body(xp: Any) -> Any:
        out = xp.zeros(shape, dtype)
        found = getattr(xp, name)(xp.asarray(HOST), axis=1, out=out)
        assert found is out
        return out

    same(body, message=False)


def test_out_decides_the_dtype_of_a_sum(same: Any) -> None:
    host = np.full((4, 5), 100, np.int8)

    def body(xp: Any) -> Any:
        found = []
        for dtype in (np.int8, np.int16, np.float32):
            out = xp.zeros(4, dtype)
            found.append(xp.add.reduce(xp.asarray(host), axis=1, out=out))
        return found

    same(body)


def test_out_among_the_operands(same: Any) -> None:
    def body(xp: Any) -> Any:
        x = xp.array(HOST)
        x.sum(axis=0, out=x[1])
        y = xp.array(HOST)
        y[:, ::2].max(axis=1, out=y[:, 1])
        z = xp.array(HOST)[::-1]
        z.sum(axis=2, out=z[..., 0])
        return [x, y, z]

    same(body)


def test_complex_to_real_warns(same: Any) -> None:
    host = small((3, 4), np.complex64)
    with pytest.warns(np.exceptions.ComplexWarning):
        same(lambda xp: xp.asarray(host).sum(axis=1, dtype=np.float32))
    with pytest.warns(np.exceptions.ComplexWarning):
        clarray.asarray(host).sum(axis=1, dtype=np.float32)


def test_lists_and_ndarrays_go_to_the_device() -> None:
    assert clarray.sum([1, 2, 3]).get() == 6
    assert isinstance(clarray.max(np.arange(3)), clarray.DeviceArray)
    assert isinstance(np.sum(clarray.arange(3)), clarray.DeviceArray)
    assert isinstance(np.add.reduce(clarray.arange(3)), clarray.DeviceArray)


@pytest.mark.parametrize("name", ["mean", "var", "std", "nanmean", "nanvar", "nanstd"])
@pytest.mark.parametrize(("dtype", "out"), [("float16", "float32"), ("float32", "float64"), ("float16", "float64")])
def test_a_wider_output_is_summed_in(name: str, dtype: str, out: str) -> None:
    if out == "float64" and not current_device().capabilities.fp64:
        pytest.skip("the device has no float64")
    x = (np.random.default_rng(0).random((5, 7)) * 100).astype(dtype)
    found = clarray.zeros(7, out)
    assert getattr(clarray, name)(clarray.asarray(x), 0, out=found) is found
    expected = getattr(np, name)(x.astype(np.longdouble), 0)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=8 * np.finfo(out).eps)
