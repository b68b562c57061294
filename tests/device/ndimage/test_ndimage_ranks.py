"""clarray.ndimage against scipy.ndimage: minima, maxima, medians, percentiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.ndimage
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import clarray
from clarray import ndimage

pytestmark = pytest.mark.usefixtures("quick_builds")
MODES = ("reflect", "constant", "nearest", "mirror", "wrap")
IMAGES = ["uint8", "int8", "uint16", "int32", "int64", "uint64", "bool", "float32", "float64"]


def image(shape: Any, dtype: str = "float32") -> np.ndarray:
    random = np.random.default_rng(0)
    x = random.integers(0, 2 if dtype == "bool" else 100, shape)
    return (x - 50 if dtype[0] in "if" else x).astype(dtype)


def outcome(module: Any, name: str, *args: Any, **kwargs: Any) -> tuple[Any, Exception | None]:
    try:
        return getattr(module, name)(*args, **kwargs), None
    except Exception as error:
        return None, error


def check(name: str, x: np.ndarray, *args: Any, **kwargs: Any) -> None:
    """The same values as SciPy's, or the same error."""
    theirs, expected = outcome(scipy.ndimage, name, x, *args, **kwargs)
    if expected is not None:
        _, error = outcome(ndimage, name, clarray.asarray(x), *args, **kwargs)
        assert (type(error), str(error)) == (type(expected), str(expected))
        return
    ours = getattr(ndimage, name)(clarray.asarray(x), *args, **kwargs)
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours.get(), theirs)


@pytest.mark.parametrize("kind", IMAGES)
def test_every_dtype(kind: str, policy: str) -> None:
    if kind == "float64" and not clarray.asarray(0).device.capabilities.fp64:
        pytest.skip("the device has no float64")
    x, few = image((13, 15), kind), kind in ("uint8", "int64", "bool", "float32")
    if few or policy == "own":  # elsewhere the other dtypes' kernels differ in the type's name
        check("median_filter", x, 3)
    if few and policy == "own":
        check("median_filter", x, 9)
        check("minimum_filter", x, (3, 4))
        check("maximum_filter", x, footprint=[[0, 1, 0], [1, 1, 1], [0, 1, 1]])


@pytest.mark.parametrize("mode", MODES)
def test_modes(mode: str, policy: str) -> None:
    for shape in ((1, 1), (2, 7), (19, 20)):
        x = image(shape)
        check("median_filter", x, (3, 5), mode=mode, cval=3)
        check("minimum_filter", x, 4, mode=mode, cval=-99, origin=(1, -1))
        check("maximum_filter1d", x, 5, 0, mode=mode, cval=200)
        check("rank_filter", x, 7, (3, 4), mode=mode, cval=0.5)


def test_ranks_and_percentiles() -> None:
    x = image((14, 15), "int16")
    for rank in (0, 1, 5, 11, -1, -7, 12):
        check("rank_filter", x, rank, (3, 4))
    for percentile in (0, 10, 50, 99.9, 100, -50, 101):
        check("percentile_filter", x, percentile, 5)


def test_a_constant_that_is_no_value_of_the_dtype() -> None:
    x = image((6, 7), "uint8")
    check("median_filter", x, 3, mode="constant", cval=-5)
    check("maximum_filter", x, 3, mode="constant", cval=2.5)


def test_any_rank(policy: str) -> None:
    for shape in ((17,), (5, 6, 7), (3, 4, 3, 4)):
        x = image(shape)
        check("median_filter", x, 3)
        check("minimum_filter", x, 3)
    x = image((6, 7, 8))
    check("median_filter", x, (3, 2), axes=(0, 2))
    check("maximum_filter", x, footprint=[[1, 0], [1, 1]], axes=(1, 2))
    check("median_filter", image((0, 5)), 3)


def test_large_windows(policy: str) -> None:
    x = image((30, 31), "uint8")
    check("median_filter", x, 15)
    check("median_filter", image((20, 21)), (19, 33))
    check("maximum_filter", x, 29)


def test_nan_is_the_greatest_value() -> None:
    x = image((5, 6))
    x[2, 2] = np.nan
    filled = np.where(np.isnan(x), np.float32(np.inf), x)
    for name in ("median_filter", "maximum_filter", "minimum_filter"):
        expected = getattr(scipy.ndimage, name)(filled, 3)
        ours = getattr(ndimage, name)(clarray.asarray(x), 3).get()
        np.testing.assert_array_equal(np.where(np.isnan(ours), np.inf, ours), expected)


def test_errors() -> None:
    x = image((5, 6))
    check("median_filter", x)
    check("minimum_filter", x)
    check("rank_filter", x, 9, 3)
    check("rank_filter", x, 1.5, 3)
    check("median_filter", x, 3, origin=2)
    check("minimum_filter", x, footprint=np.zeros((3, 3)))
    check("median_filter", x, footprint=np.ones(3))
    check("median_filter", x.astype("complex64"), 3)
    check("median_filter", x, 3, mode=["wrap", "wrap"])
    check("minimum_filter1d", x, 0)
    with pytest.warns(UserWarning, match="ignoring size"):
        ndimage.median_filter(clarray.asarray(x), 3, footprint=np.ones((2, 2)))


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shape=st.lists(st.integers(1, 9), min_size=2, max_size=3), mode=st.sampled_from(MODES), data=st.data())
def test_against_scipy(shape: list[int], mode: str, data: st.DataObject, policy: str) -> None:
    size = [data.draw(st.integers(1, 4)) for _ in shape]
    origins = [data.draw(st.integers(-(n // 2), (n - 1) // 2)) for n in size]
    count = int(np.prod(size))
    check("rank_filter", image(shape), data.draw(st.integers(0, count - 1)), size, mode=mode, cval=7, origin=origins)
