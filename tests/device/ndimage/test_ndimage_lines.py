"""Two lines of weights in one kernel, as GPUs take them, against scipy.ndimage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.ndimage

import clarray
from clarray import ndimage
from clarray._engine.runtime import current_device

from ..conftest import policy_in_force

pytestmark = pytest.mark.parametrize("policy", ["tiny-gpu"], indirect=True)
FP64 = current_device().capabilities.fp64


def image(shape: Any, dtype: str = "float32") -> np.ndarray:
    random = np.random.default_rng(0)
    x = random.random(shape) * 200
    return x > 100 if dtype == "bool" else x.astype(dtype)


def check(x: np.ndarray, function: Callable[[Any, Any], Any], launches: int) -> None:
    ours_in = clarray.array(x)
    with clarray.profile() as p:
        ours = function(ndimage, ours_in)
    assert p.launches == launches
    theirs = function(scipy.ndimage, x)
    assert ours.dtype == theirs.dtype
    if theirs.dtype.kind == "f":
        bound = 1e-6 if theirs.dtype == np.float32 else 1e-14
        np.testing.assert_allclose(ours.get(), theirs, rtol=0, atol=bound * np.abs(x).max())
    else:
        np.testing.assert_array_equal(ours.get(), theirs)


@pytest.mark.parametrize("kind", ["float32", "float64", "uint8", "int32"])
def test_both_axes_take_one_launch(kind: str, policy: str) -> None:
    if not FP64 and kind != "float32":
        pytest.skip("the device has no float64")
    for shape in ((16, 24), (33, 21), (5, 67)):
        check(image(shape, kind), lambda m, x: m.gaussian_filter(x, 1, radius=2), 1)
        check(image(shape, kind), lambda m, x: m.gaussian_filter(x, 1, (1, 0), radius=2), 1)


@pytest.mark.parametrize("row", ["tiny-gpu", "gpu"])
def test_what_is_computed_while_it_is_read(row: str, policy: str) -> None:
    """Memory is read by whole vectors; an expression of it must not be taken for the memory."""
    with policy_in_force(row):
        for shape in ((48, 64), (130, 256)):
            check(image(shape), lambda m, x: m.gaussian_filter(-x, 1, radius=2), 1)
            check(image(shape), lambda m, x: m.gaussian_filter(x - x / 2, 1, radius=2), 1)
            check(image(shape), lambda m, x: m.gaussian_filter(x, 1, radius=2), 1)


@pytest.mark.parametrize("mode", ["reflect", "constant", "nearest", "mirror", "wrap"])
def test_modes(mode: str, policy: str) -> None:
    for shape in ((17, 18), (9, 2), (3, 13)):
        check(image(shape), lambda m, x: m.gaussian_filter(x, 1, radius=2, mode=mode, cval=50), 1)
    check(image((9, 13)), lambda m, x: m.gaussian_filter(x, 1, radius=2, mode=["mirror", "wrap"]), 1)


def test_columns_before_rows(policy: str) -> None:
    check(image((20, 21)), lambda m, x: m.sobel(x, 1), 1)
    check(image((20, 21)), lambda m, x: m.sobel(x, 0), 1)
    check(image((20, 21)), lambda m, x: m.sobel(x, 1, mode="constant"), 1)
    # the constant stands beyond the ends of what the first axis gave, so they cannot be exchanged
    check(image((20, 21)), lambda m, x: m.sobel(x, 1, mode="constant", cval=70), 2)
    check(image((20, 21), "int16"), lambda m, x: m.sobel(x, 1), 2)


def test_one_axis_other_axes_and_colours(policy: str) -> None:
    for axis in (0, 1, 2):
        check(image((10, 11, 12)), lambda m, x, a=axis: m.correlate1d(x, [0.2, 0.5, 0.3], a, origin=1), 1)
    check(image((10, 11, 12)), lambda m, x: m.gaussian_filter(x, 1, radius=2, axes=(1, 2)), 1)
    check(image((10, 11, 12)), lambda m, x: m.gaussian_filter(x, 1, radius=1), 2)
    check(image((14, 15, 3)), lambda m, x: m.uniform_filter(x, 2, axes=(0, 1)), 1)


def test_views_and_expressions(policy: str) -> None:
    for view in (lambda x: x[1:, 1:], lambda x: x[::2, ::-1], lambda x: x.T, lambda x: x * 2 + x[0]):
        check(image((24, 28)), lambda m, x, v=view: m.uniform_filter(v(x), 3), 1)


def test_more_weights_than_are_unrolled(policy: str) -> None:
    check(image((20, 21)), lambda m, x: m.gaussian_filter(x, 1, radius=(2, 4)), 2)
