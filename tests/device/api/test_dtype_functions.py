"""Questions about dtypes: NumPy's answers, arrays on the device standing for theirs."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.ops.dtypes import DTYPES
from clarray._engine.runtime import current_device


def both(*hosts: Any) -> list[tuple[Any, Any]]:
    return [(h, clarray.asarray(h)) for h in hosts]


ARRAYS = both(np.ones(2, "i1"), np.float32(2) * np.ones((), "f4"), np.zeros((0, 3), "c8"), np.ones(1, bool))


def needs(dtype: np.dtype) -> None:
    """Skip a test of a dtype that the device lacks."""
    if dtype in (np.float64, np.complex128) and not current_device().capabilities.fp64:
        pytest.skip("the device has no float64")


def outcome(function: Any, *args: Any) -> Any:
    try:
        return function(*args)
    except (TypeError, ValueError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_result_type_takes_arrays_dtypes_and_weak_scalars(count: int) -> None:
    operands = [*ARRAYS, (2, 2), (1.5, 1.5), (2j, 2j), (True, True), ("u2", "u2"), (np.float16, np.float16)]
    for chosen in itertools.product(operands, repeat=count):
        hosts, ours = zip(*chosen, strict=True)
        assert outcome(clarray.result_type, *ours) == outcome(np.result_type, *hosts)


def test_result_type_of_nothing() -> None:
    assert outcome(clarray.result_type) == outcome(np.result_type)


def test_can_cast() -> None:
    for (host, ours), to, casting in itertools.product(
        [*ARRAYS, ("f4", "f4"), (1, 1)], DTYPES, ("no", "equiv", "safe", "same_kind", "unsafe", "wrong")
    ):
        assert outcome(clarray.can_cast, ours, to, casting) == outcome(np.can_cast, host, to, casting)


@pytest.mark.parametrize("value", [0, 1, -1, 255, 256, -129, 2**32, 1.0, 65520.0, 1e300, np.nan, 1 + 2j, True, 2**63])
def test_min_scalar_type(value: Any) -> None:
    assert clarray.min_scalar_type(value) == np.min_scalar_type(value)
    host = np.asarray(value)
    needs(host.dtype)
    assert clarray.min_scalar_type(clarray.asarray(host)) == np.min_scalar_type(host)
    assert clarray.min_scalar_type(clarray.asarray(host[None])) == np.min_scalar_type(host[None])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_kinds(dtype: np.dtype) -> None:
    needs(dtype)
    host, ours = np.ones(2, dtype), clarray.ones(2, dtype)
    assert clarray.iscomplexobj(ours) is np.iscomplexobj(host)
    assert clarray.isrealobj(ours) is np.isrealobj(host)
    assert clarray.mintypecode([ours, "f"]) == np.mintypecode([host, "f"])
    assert outcome(clarray.common_type, ours) == outcome(np.common_type, host)
    assert outcome(clarray.common_type, ours, np.ones(1, "f2")) == outcome(np.common_type, host, np.ones(1, "f2"))


def test_scalars_are_no_arrays() -> None:
    for value in (1, 2.5, np.float32(1), "text", None, [1], b""):
        assert clarray.isscalar(value) == np.isscalar(value)
    assert not clarray.isscalar(clarray.asarray(1))


def test_numpy_finds_them_for_device_arrays() -> None:
    x = clarray.ones(3, "f4")
    assert np.result_type(x, np.float64) == np.float64
    assert np.can_cast(x, "f8")
    assert np.common_type(x) is np.float32
    assert not np.iscomplexobj(x)


def test_names_are_numpys() -> None:
    from clarray._api import numpy_names

    for name in set(numpy_names.__all__) - {"ndarray", "ufunc"}:
        assert getattr(clarray, name) is getattr(np, name)
    assert isinstance(clarray.arange(1), clarray.ndarray)
    assert isinstance(clarray.add, clarray.ufunc)
