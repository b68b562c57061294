"""One body for NumPy and clarray, as in tests/device, where libraries in between round in their own order."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

Body = Callable[[ModuleType], Any]


def assert_agrees(ours: Any, theirs: Any, rtol: float) -> None:
    """The same structure, dtypes and shapes, and values as near as `rtol` says."""
    if isinstance(theirs, np.ndarray | np.generic):
        is_on_device = isinstance(ours, clarray.DeviceArray)
        assert is_on_device or type(ours) is type(theirs), f"{type(ours).__name__} is not on the device"
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        scale = float(np.max(np.abs(theirs), initial=0.0, where=np.isfinite(theirs)))
        np.testing.assert_allclose(clarray.asnumpy(ours), theirs, rtol, rtol * scale)
    elif isinstance(theirs, tuple | list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_agrees(one, other, rtol)
    else:
        assert type(ours) is type(theirs)
        assert ours == (pytest.approx(theirs, rel=rtol) if isinstance(theirs, float) else theirs)


@pytest.fixture
def agree() -> Callable[..., None]:
    """Run a body as NumPy and as clarray, and compare the results."""

    def check(body: Body, rtol: float = 1e-6) -> None:
        assert_agrees(body(clarray), body(np), rtol)

    return check


@pytest.fixture(params=["float32", "float64"])
def real(request: pytest.FixtureRequest) -> str:
    """A dtype that the device computes in."""
    if request.param == "float64" and not current_device().capabilities.fp64:
        pytest.skip("the device has no float64")
    return str(request.param)
