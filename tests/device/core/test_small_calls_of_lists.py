"""Calls of lists that NumPy computes: the bits are those of kernels, and what is no list of numbers is left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clarray
from clarray._api.small_functions import FUNCTIONS
from clarray._core.small_operands import supports_small_calls
from clarray._engine.launch.host_tier import kernels_only
from clarray._engine.runtime import current_device

from ..conftest import outcome
from .test_small_calls import CALLS, EQUAL, bits, host, small

__all__ = ["small"]  # a fixture

pytestmark = [
    pytest.mark.kernels_alone,
    pytest.mark.skipif(
        not supports_small_calls(current_device()), reason="there are small calls on CPUs only, of all dtypes"
    ),
]


@pytest.mark.parametrize("dtype", ["bool", "int64", "float64", "complex128"])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.usefixtures("small")
def test_lists_are_numpys(name: str, dtype: str) -> None:
    """The bits are those of kernels, and NumPy computes the calls whose dtypes it may compute."""
    x = (np.arange(36) * 5 % 7).astype(dtype).reshape(4, 9)
    arrays = {"x": x, "v": x.ravel()[:9], "m": x != 0, "i": np.array([2, 0, 1, 2, 5])}
    names = {key: array.tolist() for key, array in arrays.items()}
    calls = asked = 0
    for text in [text for text in CALLS[name] if text.startswith("xp.")]:
        theirs, expected = outcome(lambda xp, text=text: eval(text, {**names, "xp": xp}), np)
        if expected is not None:
            continue  # lists have no methods, and no arithmetic
        with clarray.profile() as p:
            ours = eval(text, {**names, "xp": clarray})
        with kernels_only():
            kernels = eval(text, {**names, "xp": clarray})
        asked += 1
        calls += p.small_calls
        if name in EQUAL:
            np.testing.assert_equal(host(ours), host(kernels), text)
            np.testing.assert_equal(host(ours), host(theirs), text)
        else:
            assert bits(ours) == bits(kernels), text
    floats = np.dtype(dtype).kind in "fc"
    assert calls or not asked or (floats and FUNCTIONS[name].dtypes in ("integers", "alike"))


@pytest.mark.usefixtures("small")
def test_negative_zeros_in_lists_are_for_kernels() -> None:
    values = [0.0, -0.0, np.nan, 1.0, -0.0]
    ours, arrays = clarray.sort(values), clarray.sort(clarray.array(values))
    assert np.signbit(ours.get()[:3]).tolist() == np.signbit(arrays.get()[:3]).tolist() == [True, True, False]


@pytest.mark.parametrize("value", [["b", "a"], [[1], [2, 3]], [], "ba", range(3), [None], [2**70, 1], [[]]])
@pytest.mark.usefixtures("small")
def test_sequences_that_are_no_numbers(value: Any) -> None:
    ours, error = outcome(lambda xp: xp.sort(value), clarray)
    with kernels_only():
        kernels, refused = outcome(lambda xp: xp.sort(value), clarray)
    assert type(error) is type(refused)
    assert error is not None or bits(ours) == bits(kernels)


@pytest.mark.usefixtures("small")
def test_lists_of_arrays_stay_on_the_device() -> None:
    x = clarray.arange(4) % 3
    assert bits(clarray.sort([x, x])) == bits(clarray.sort(clarray.stack([x, x])))
