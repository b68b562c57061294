"""Comparisons of functions that round: the same dtype, shape and errors as NumPy's, and values within a bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray


def on_device(value: Any) -> Any:
    """Arrays, and those in tuples and lists, on the device; anything else as it is."""
    if isinstance(value, np.ndarray):
        return clarray.asarray(value)
    return type(value)(map(on_device, value)) if type(value) in (tuple, list) else value


def check_close(name: str, *args: Any, ulps: float = 8, **kwargs: Any) -> None:
    """Call a function of NumPy and clarray's on device arrays; skip the test where the device lacks the dtypes.

    Parameters
    ----------
    ulps : float
        Bound of the difference, in the result's machine epsilon times its largest magnitude.
    """
    theirs, expected = outcome(getattr(np, name), args, kwargs)
    given = {key: on_device(value) for key, value in kwargs.items()}
    ours, error = outcome(getattr(clarray, name), tuple(map(on_device, args)), given)
    skip_without_float64(error)
    if expected is not None:
        assert isinstance(error, type(expected)), f"{error!r} instead of {expected!r}"
        assert str(error) == str(expected)
        return
    if error is not None:
        raise error
    assert isinstance(ours, tuple) == isinstance(theirs, tuple)
    pairs = zip(ours, theirs, strict=True) if isinstance(theirs, tuple) else [(ours, theirs)]
    for mine, wanted in pairs:
        assert isinstance(mine, clarray.DeviceArray)
        assert (mine.dtype, mine.shape) == (wanted.dtype, wanted.shape)
        scale = np.abs(wanted[np.isfinite(wanted)]).max(initial=0)
        bound = 0 if wanted.dtype.kind in "biu" else float(ulps * np.finfo(wanted.dtype).eps * scale)
        np.testing.assert_allclose(clarray.asnumpy(mine), wanted, rtol=0, atol=bound)


def skip_without_float64(error: Exception | None) -> None:
    """Skip a test whose result, or input, NumPy has in a dtype that the device lacks."""
    if isinstance(error, TypeError) and "cl_khr_fp64" in str(error):
        pytest.skip("the device has no float64")


def outcome(function: Callable[..., Any], args: Any, kwargs: Any) -> tuple[Any, Exception | None]:
    try:
        with np.errstate(all="ignore"):
            return function(*args, **kwargs), None
    except Exception as error:
        return None, error
