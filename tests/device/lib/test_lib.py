"""numpy.lib's functions on the device: views by strides, functions that turn complex."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

X = np.arange(24, dtype=np.int32).reshape(2, 3, 4)


def tricks(xp: ModuleType) -> Any:
    return xp.lib.stride_tricks


@pytest.mark.parametrize(
    ("window", "axis"),
    [((1, 2, 2), None), (2, 1), ((2, 3), (1, 2)), ((2, 2), (2, 2)), (0, 0), ((), ()), (3, -1)],
)
def test_sliding_windows(window: Any, axis: Any, same: Any) -> None:
    same(lambda xp: tricks(xp).sliding_window_view(xp.asarray(X), window, axis=axis))
    same(lambda xp: tricks(xp).sliding_window_view(xp.asarray(X)[:, ::-1, ::2], window, axis=axis))


@pytest.mark.parametrize(("window", "axis"), [((2, 2), None), (4, 1), (-1, 0), ((1, 2), 0), (1, 3)])
def test_windows_that_do_not_fit(window: Any, axis: Any, same: Any) -> None:
    same(lambda xp: tricks(xp).sliding_window_view(xp.asarray(X), window, axis=axis), message=False)


def test_windows_share_memory_and_are_read_only() -> None:
    x = clarray.arange(5)
    windows = clarray.lib.stride_tricks.sliding_window_view(x, 3)
    x[2] = 10
    assert windows.max(axis=1).tolist() == [10, 10, 10]
    with pytest.raises(ValueError, match="read-only"):
        windows[0] = 1


def test_strided_views(same: Any) -> None:
    same(lambda xp: tricks(xp).as_strided(xp.array(X), (2, 2), (16, 8)))
    same(lambda xp: tricks(xp).as_strided(xp.array(X)[1:, ::-1], (2, 3), (-16, 0)))
    same(lambda xp: tricks(xp).as_strided(xp.array(X)))

    def writes(xp: ModuleType) -> Any:
        x = xp.array(X)
        tricks(xp).as_strided(x, (3,), (16,))[:] = -1
        return x

    same(writes)


def test_strided_views_stay_inside_the_memory() -> None:
    x = clarray.arange(6, dtype=np.int32)
    as_strided = clarray.lib.stride_tricks.as_strided
    with pytest.raises(ValueError, match="leave the array's memory"):
        as_strided(x, (7,), (4,), check_bounds=False)
    with pytest.raises(ValueError, match="leave the array's memory"):
        as_strided(x[1:], (3,), (-4,))
    with pytest.raises(ValueError, match="multiples of the 4 bytes"):
        as_strided(x, (2,), (2,))
    with pytest.raises(ValueError, match="mismatch in length"):
        as_strided(x, (2, 2), (4,))
    with pytest.raises(ValueError, match="read-only"):
        as_strided(x, (2,), (4,), writeable=False)[0] = 1


def test_numpys_own_strided_views_see_the_memory_around() -> None:
    """It asks nobody but the array for its memory; SciPy's toeplitz goes back from the middle of one."""
    theirs = np.arange(24, dtype="float32").reshape(4, 6)
    ours = clarray.array(theirs)
    as_strided = np.lib.stride_tricks.as_strided
    for key, shape, strides in (
        (np.s_[1:, 2:], (2, 3), (-4, 4)),
        (np.s_[::-1, ::2], (2,), (-24,)),
        (np.s_[3], (2, 2), (-72, -4)),
        (np.s_[:], (4,), (28,)),
        (np.s_[:0], (0,), (4,)),
    ):
        found = as_strided(ours[key], shape, strides)
        np.testing.assert_array_equal(found, as_strided(theirs[key], shape, strides))
        with pytest.raises(ValueError, match="read-only"):
            found[...] = 0  # it is a copy: nobody would see it
    np.testing.assert_array_equal(np.lib.stride_tricks.sliding_window_view(ours, 2, 1).get()[3, 4], [22, 23])
    owned: Any = np.asarray(ours[1:])
    assert owned.flags.owndata
    assert owned.flags.writeable


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("name", ["sqrt", "log", "log2", "log10", "arccos", "arcsin", "arctanh"])
def test_functions_turn_complex_where_they_must(name: str, dtype: str) -> None:
    for values in ([0.5, 0.25], [-0.5, 3.0]):
        host = (np.array(values) * (1 if dtype == "float32" else 12)).astype(dtype)
        found = getattr(clarray.emath, name)(clarray.asarray(host))
        expected = getattr(np.emath, name)(host)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(clarray.asnumpy(found), expected, rtol=2e-6, atol=1e-6)


def test_powers_and_logarithms_to_any_base() -> None:
    if not current_device().capabilities.fp64:
        pytest.skip("the device has no float64")
    for x, p in ([2, 3], -1), ([-2, 3], 2), ([-2.0, 3.0], 0.5), ([2, 4], [1, -2]):
        found, expected = clarray.emath.power(clarray.asarray(x), p), np.emath.power(x, p)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(clarray.asnumpy(found), expected, rtol=1e-12, atol=1e-12)
    assert clarray.emath.logn(2, clarray.asarray([4.0, 8.0])).tolist() == [2, 3]
