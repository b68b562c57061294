"""numpy.testing takes device arrays, and tells what differs."""

from __future__ import annotations

import numpy as np
import numpy.testing
import pytest

import clarray

HOST = np.arange(6, dtype="float32").reshape(2, 3)

NAMES = [
    *("assert_allclose", "assert_almost_equal", "assert_array_almost_equal", "assert_array_almost_equal_nulp"),
    *("assert_array_equal", "assert_array_max_ulp", "assert_equal"),
]
WANT_AN_NDARRAY = ("assert_almost_equal", "assert_equal")  # of NumPy's: clarray.testing has no such wish


def pairs() -> list[tuple]:
    ours = clarray.array(HOST)
    return [(ours, HOST), (HOST, ours), (ours, ours + 0)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("module", [numpy.testing, clarray.testing], ids=["numpy", "clarray"])
def test_comparisons(module, name: str) -> None:
    compare = getattr(module, name)
    for actual, desired in pairs():
        if module is numpy.testing and name in WANT_AN_NDARRAY:
            desired = HOST
        compare(actual, desired)
        with pytest.raises(AssertionError):
            compare(actual + (HOST == 5), desired)


@pytest.mark.parametrize("module", [numpy.testing, clarray.testing], ids=["numpy", "clarray"])
def test_options(module) -> None:
    values = np.array([1.0, np.nan, np.inf], "float32")
    ours = clarray.array(values)
    module.assert_array_less(clarray.array(HOST), HOST + 1)
    with pytest.raises(AssertionError):
        module.assert_array_less(HOST, clarray.array(HOST))
    module.assert_allclose(ours, values)
    with pytest.raises(AssertionError):
        module.assert_allclose(ours, values, equal_nan=False)
    module.assert_array_equal(ours, values, strict=True)
    with pytest.raises(AssertionError):
        module.assert_array_equal(ours, values.astype("float16"), strict=True)
    module.assert_approx_equal(clarray.array(3, "float32"), 3.0)
    module.assert_array_compare(np.not_equal, clarray.array(HOST), HOST + 1)


def test_what_differs_is_printed() -> None:
    with pytest.raises(AssertionError, match=r"(?s)1 / 6 .*\[1, 2\]: 6\.0 \(ACTUAL\), 5\.0 \(DESIRED\)"):
        np.testing.assert_array_equal(clarray.array(HOST) + (HOST == 5), HOST)


def test_arrays_in_containers() -> None:
    ours = clarray.array(HOST)
    clarray.testing.assert_equal([ours, {"a": (ours, 1)}], [HOST, {"a": (ours + 0, 1)}])
    with pytest.raises(AssertionError):
        clarray.testing.assert_equal({"a": [ours]}, {"a": [ours + 1]})


def test_everything_of_numpys_is_there() -> None:
    assert set(clarray.testing.__all__) == set(np.testing.__all__)
    clarray.testing.assert_raises(ValueError, clarray.arange(3).reshape, 2)
