"""clarray.special beside SciPy's functions: values, dtypes, special values, and how SciPy finds them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

scipy_special = pytest.importorskip("scipy.special")

EDGES = [0.0, -0.0, 0.5, 1.0, 2.0, -1.0, np.inf, -np.inf, np.nan]
UNARY = {
    "entr": (-1, 3),
    "erf": (-6, 6),
    "erfc": (-6, 6),
    "exp10": (-8, 8),
    "expit": (-30, 30),
    "gamma": (-5, 12),
    "gammaln": (-5, 40),
    "i0": (-20, 20),
    "logit": (-0.1, 1.1),
    "ndtr": (-5, 5),
}
BINARY = ("kl_div", "rel_entr", "xlog1py", "xlogy")
RTOL = {"float32": 3e-6, "float64": 1e-13}


def values(name: str, low: float, high: float, dtype: str) -> np.ndarray:
    drawn = np.random.default_rng(len(name)).uniform(low, high, 100)
    return np.concatenate([EDGES, drawn]).astype(dtype)


def check(name: str, *given: Any, rtol: float) -> None:
    with np.errstate(all="ignore"):
        theirs = getattr(scipy_special, name)(*given)
        exact = getattr(scipy_special, name)(*(np.asarray(x, "float64") for x in given))
    ours = getattr(clarray.special, name)(*map(clarray.asarray, given))
    assert isinstance(ours, clarray.DeviceArray)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    # near a zero of the result SciPy's own relative error grows
    np.testing.assert_allclose(ours.get(), exact, rtol, atol=rtol)


@pytest.fixture(params=["float32", "float64"])
def real(request: pytest.FixtureRequest) -> str:
    if request.param == "float64" and not current_device().capabilities.fp64:
        pytest.skip("the device has no float64")
    return str(request.param)


@pytest.mark.parametrize("name", UNARY)
def test_of_one(name: str, real: str) -> None:
    check(name, values(name, *UNARY[name], real), rtol=RTOL[real])


@pytest.mark.parametrize("name", BINARY)
def test_of_two(name: str, real: str) -> None:
    x, y = np.meshgrid(EDGES, values(name, -0.5, 3, real)[:20])
    check(name, x.astype(real), y.astype(real), rtol=RTOL[real])


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16"])
def test_small_dtypes_give_float32(dtype: str) -> None:
    given = np.array([0, 1, 1], dtype)
    for name, operands in (("erf", [given]), ("xlogy", [given, np.float32(2)])):
        ours = getattr(clarray.special, name)(*map(clarray.asarray, operands))
        assert ours.dtype == np.float32
        np.testing.assert_allclose(ours, getattr(scipy_special, name)(*operands), rtol=1e-6)


def test_scalars_are_weak() -> None:
    x = clarray.array([0.5, 2.0], "float32")
    assert clarray.special.xlogy(2.0, x).dtype == np.float32
    assert clarray.special.rel_entr(x, 1).dtype == np.float32
    if current_device().capabilities.fp64:
        assert clarray.special.erf(0.5).dtype == np.float64
        assert clarray.special.erf(clarray.arange(3)).dtype == np.float64
    else:
        with pytest.raises(TypeError, match="float64"):
            clarray.special.erf(clarray.arange(3))


def test_complex_raises() -> None:
    with pytest.raises(TypeError, match="real"):
        clarray.special.erf(clarray.ones(2, "complex64"))


@pytest.mark.kernels_alone
def test_part_of_an_expression() -> None:
    x = clarray.array(np.linspace(-2, 2, 50, dtype="float32")).evaluate()
    with clarray.profile() as record:
        found = float((clarray.special.logit(clarray.special.expit(x)) - x).max())
    assert abs(found) < 1e-5
    assert record.launches <= 2


def test_scipys_ufuncs_ask_the_array() -> None:
    ufunc = getattr(scipy_special.erf, "__wrapped__", scipy_special.erf)  # wrapped where SCIPY_ARRAY_API is set
    x = clarray.array([0.5, 2.0], "float32")
    np.testing.assert_array_equal(ufunc(x), clarray.special.erf(x))
    assert isinstance(scipy_special.erf(x), clarray.DeviceArray)
    unknown = getattr(scipy_special.spence, "__wrapped__", scipy_special.spence)
    with pytest.raises(TypeError, match="no device implementation"):
        unknown(x)
    with pytest.raises(TypeError, match="no device implementation"):
        ufunc(x, out=clarray.zeros(2, "float32"))


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_scipy_copies_nothing_to_the_host(name: str) -> None:
    given = [clarray.array([0.25, 0.5], "float32").evaluate()] * (1 if name in UNARY else 2)
    with clarray.profile() as record:
        result = getattr(scipy_special, name)(*given).evaluate()
    assert isinstance(result, clarray.DeviceArray)
    assert record.transfers == 0
