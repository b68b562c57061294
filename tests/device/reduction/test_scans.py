"""Running sums and products, differences and areas: one body as NumPy and as clarray."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clarray

from ..conftest import FEW_DTYPES

pytestmark = pytest.mark.usefixtures("quick_builds")
HOST = (np.arange(60) * 7 % 11).reshape(3, 4, 5)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "nancumsum", "nancumprod"])
def test_running(same: Any, host: np.ndarray, name: str, axis: int | None) -> None:
    if host.dtype == np.float16:
        host = host % 2  # NumPy rounds after every step, clarray at the end
    small, few = host[:, :2, :2], host.dtype.name in FEW_DTYPES
    if few or axis is None:  # along an axis the other dtypes' kernels differ in the type's name
        same(lambda xp: getattr(xp, name)(xp.asarray(small), axis))
    dtype = np.float32 if small.dtype.kind != "c" else None
    if few or axis == -1:  # where it is converted depends on no axis
        same(lambda xp: getattr(xp, name)(xp.asarray(small), axis=axis, dtype=dtype))


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
@pytest.mark.parametrize("initial", [False, True])
def test_cumulative(same: Any, name: str, initial: bool) -> None:
    for host in (HOST, HOST.astype(np.int8)[0], HOST.astype(np.float32), HOST > 3, np.zeros((0, 3))):
        for axis in range(-1, host.ndim):
            same(lambda xp: getattr(xp, name)(xp.asarray(host), axis=axis, include_initial=initial))  # noqa: B023
    same(lambda xp: getattr(xp, name)(xp.asarray(HOST[0, 0]), include_initial=initial))
    same(lambda xp: getattr(xp, name)(xp.asarray(HOST), include_initial=initial))


def test_out(same: Any) -> None:
    def body(xp: Any, dtype: Any, initial: bool) -> Any:
        out = xp.zeros((4, 6) if initial else (4, 5), dtype)
        given = xp.cumulative_sum(xp.asarray(HOST[0]), axis=1, out=out, include_initial=initial)
        return out, given is out

    for dtype in (np.int64, np.float32):
        for initial in (False, True):
            same(lambda xp: body(xp, dtype, initial))  # noqa: B023
    same(lambda xp: xp.cumsum(xp.asarray(HOST), out=xp.zeros(3)), message=False)


@pytest.mark.parametrize("n", [-1, 0, 1, 2, 3, 9])
def test_diff(same: Any, n: int) -> None:
    for host in (HOST, HOST > 4, HOST.astype(np.uint8), HOST.astype(np.float32)):
        for axis in (0, 1, -1):
            same(lambda xp: xp.diff(xp.asarray(host), n, axis))  # noqa: B023


def test_diff_with_ends(same: Any) -> None:
    same(lambda xp: xp.diff(xp.asarray(HOST), prepend=1, append=xp.asarray(HOST)))
    same(lambda xp: xp.diff(xp.asarray(HOST), axis=1, append=2.5))
    same(lambda xp: xp.diff(xp.asarray(HOST), axis=4))
    same(lambda xp: xp.diff(xp.asarray(3)))


def test_ediff1d(same: Any) -> None:
    same(lambda xp: xp.ediff1d(xp.asarray(HOST)))
    same(lambda xp: xp.ediff1d(xp.asarray(HOST), to_end=[7, 8], to_begin=xp.asarray([-3])))
    same(lambda xp: xp.ediff1d(xp.asarray(HOST[0, 0, :1]), to_end=5))
    same(lambda xp: xp.ediff1d(xp.asarray(HOST), to_begin=[1.5]))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_trapezoid(same: Any, axis: int) -> None:
    host = HOST.astype(np.float32)
    places = np.arange(host.shape[axis]).astype(np.float32) ** 2
    same(lambda xp: xp.trapezoid(xp.asarray(host), axis=axis))
    same(lambda xp: xp.trapezoid(xp.asarray(host), dx=0.5, axis=axis))
    same(lambda xp: xp.trapezoid(xp.asarray(host), xp.asarray(places), axis=axis))
    same(lambda xp: xp.trapezoid(xp.asarray(host), xp.asarray(host * 2), axis=axis))


def test_nan_counts_as_nothing(same: Any) -> None:
    host = HOST.astype(np.float32)
    host[1, 2] = np.nan
    for name in ("nancumsum", "nancumprod"):
        same(lambda xp: getattr(xp, name)(xp.asarray(host[:, :, :2]), axis=0))  # noqa: B023


def test_axes_and_scalars(same: Any) -> None:
    for axis in (None, 0, -1, 1):
        same(lambda xp: xp.cumsum(xp.asarray(5), axis=axis))  # noqa: B023
    for wrong in (3, -4, "a", (0,), 1.0):
        same(lambda xp: xp.cumsum(xp.asarray(HOST), axis=wrong))  # noqa: B023
    same(lambda xp: xp.asarray(HOST).cumsum(1))
    same(lambda xp: xp.asarray(HOST).cumprod(axis=2, dtype=np.float32))
    same(lambda xp: np.cumsum(xp.asarray(HOST), 0))


def test_nothing_is_computed_before_it_is_read() -> None:
    a = clarray.array(np.arange(50, dtype=np.float32))
    with clarray.profile() as profile:
        clarray.nancumsum(a * 2)
    assert len([r for r in profile.records if r.kind == "launch"]) == 1
