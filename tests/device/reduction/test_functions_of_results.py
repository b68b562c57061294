"""Every function of what a reduction gives, while that is pending: part of its launch, a number at a time."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import clarray
from clarray._engine.ops.ufuncs import supported_ufuncs
from clarray._engine.runtime import current_device

pytestmark = pytest.mark.usefixtures("quick_builds")

UFUNCS = {ufunc.__name__: ufunc for ufunc in supported_ufuncs if ufunc.nin < 3}
DTYPES = ["float32", "uint8"]


def _takes(ufunc: np.ufunc, dtype: str) -> bool:
    """Whether NumPy has a loop for the dtype."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ufunc(*np.ones((ufunc.nin, 1), dtype))
        except TypeError:
            return False
    return True


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ufunc", UFUNCS.values(), ids=UFUNCS)
def test_a_function_of_a_result(ufunc: np.ufunc, dtype: str) -> None:
    if not _takes(ufunc, dtype):
        pytest.skip("NumPy has no such loop")
    if not current_device().capabilities.fp64:
        pytest.skip("float64 is what some of them give")
    host = (np.arange(1, 31) % 7 + 1).astype(dtype)
    others = (host.dtype.type(2),) * (ufunc.nin - 1)
    expected = ufunc(host.max(), *others)
    found = ufunc(clarray.array(host).max(), *others)
    for ours, theirs in zip(found, expected, strict=True) if ufunc.nout > 1 else [(found, expected)]:
        assert ours.dtype == theirs.dtype
        if theirs.dtype.kind == "f":
            np.testing.assert_allclose(clarray.asnumpy(ours), theirs, rtol=8 * np.finfo(theirs.dtype).eps)
        else:
            assert ours == theirs
