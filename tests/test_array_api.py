"""clarray as a namespace of the Array API standard: its names and signatures, beside those of array-api-strict.

The standard's own suite is run by hand, as docs/engineering/suites.md says; what it found stands in tests of its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import clarray

strict = pytest.importorskip("array_api_strict")
EXTENSIONS = ["linalg", "fft"]
# What array-api-strict has beside the standard's names.
NOT_THE_STANDARDS = {
    *("ArrayAPIStrictFlags", "Device", "ModuleType", "get_array_api_strict_flags"),
    *("reset_array_api_strict_flags", "set_array_api_strict_flags"),
}
ARRAY = type(strict.empty(0))
INFO = type(strict.__array_namespace_info__())


def public(owner: Any) -> list[str]:
    return [n for n in getattr(owner, "__all__", dir(owner)) if not n.startswith("_") and n not in NOT_THE_STANDARDS]


def pairs() -> Iterator[Any]:
    """Every function of the standard's beside ours."""
    places = [(strict, clarray), (INFO, type(clarray.__array_namespace_info__()))]
    places += [(getattr(strict, name), getattr(clarray, name)) for name in EXTENSIONS]
    for theirs, ours in places:
        for name in public(theirs):
            function = getattr(theirs, name)
            if isinstance(function, FunctionType):
                yield pytest.param(function, getattr(ours, name, None), id=f"{theirs.__name__}.{name}")
    # not to_device: `stream` is keyword-only in the standard, and as in NumPy here
    methods = [n for n, f in vars(ARRAY).items() if isinstance(f, FunctionType) and n[:2] == "__"]
    for name in sorted({*methods} - {"__init__", "__new__", "__buffer__", "__repr__", "__str__", "__hash__"}):
        yield pytest.param(getattr(ARRAY, name), getattr(clarray.DeviceArray, name, None), id=f"array.{name}")


def test_names() -> None:
    missing = [n for n in public(strict) if not hasattr(clarray, n)]
    for name in EXTENSIONS:
        missing += [f"{name}.{n}" for n in public(getattr(strict, name)) if not hasattr(getattr(clarray, name), n)]
    missing += [f"array.{n}" for n in public(ARRAY) if not hasattr(clarray.DeviceArray, n)]
    assert missing == []


def test_version() -> None:
    assert clarray.__array_api_version__ == strict.__array_api_version__


@pytest.mark.parametrize(("theirs", "ours"), list(pairs()))
def test_every_call_of_the_standards_is_possible(theirs: Callable[..., Any], ours: Callable[..., Any]) -> None:
    """Functions take as many positional arguments as the standard's, and arguments of the same names."""
    assert ours is not None
    wanted, have = (inspect.signature(f).parameters.values() for f in (theirs, ours))
    by_position = [p for p in wanted if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    room = [p for p in have if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    takes_any = {p.kind for p in have} & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    assert inspect.Parameter.VAR_POSITIONAL in takes_any or len(room) >= len(by_position)
    names = {p.name for p in wanted if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)} - {"self"}
    if inspect.Parameter.VAR_KEYWORD not in takes_any:
        assert names <= {p.name for p in have if p.kind is not p.POSITIONAL_ONLY}
    itself = bool(by_position) and by_position[0].name == "self"  # a method may name the array as it likes
    for expected, found in zip(by_position[itself:], room[itself:], strict=False):
        if expected.kind is expected.POSITIONAL_OR_KEYWORD:
            assert found.name == expected.name
    needed = {p.name for p in have if p.default is p.empty and p.kind is p.KEYWORD_ONLY}
    assert needed <= names, f"{needed - names} must be given"


def test_an_array_names_the_namespace() -> None:
    x = clarray.ones(3, dtype=clarray.float32)
    assert x.__array_namespace__() is x.__array_namespace__(api_version="2022.12") is clarray
    with pytest.raises(ValueError, match=r"no version '2020.01'.*2025.12"):
        x.__array_namespace__(api_version="2020.01")


def test_what_the_namespace_tells_of_itself() -> None:
    info = clarray.__array_namespace_info__()
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}
    assert info.default_device() in info.devices() == tuple(clarray.devices())
    with pytest.raises(ValueError, match="maximum supported dimension for an ndarray is currently 64, found 65"):
        clarray.empty((1,) * 65)


def test_dtypes_by_kind_and_device() -> None:
    info = clarray.__array_namespace_info__()
    for device in info.devices():
        fp64 = device.capabilities.fp64
        every = info.dtypes(device=device)
        assert ("float64" in every) == ("complex128" in every) == fp64
        assert "float16" not in every
        assert all(every[name] == np.dtype(name) for name in every)
        assert set(info.dtypes(device=device, kind="real floating")) == {"float32"} | ({"float64"} if fp64 else set())
        assert info.default_dtypes(device=device)["real floating"] == ("float64" if fp64 else "float32")
        assert info.default_dtypes(device=device)["indexing"] == np.int64
    assert set(info.dtypes(kind=("bool", "signed integer"))) == {"bool", "int8", "int16", "int32", "int64"}
    assert info.dtypes(kind="integral").keys() | info.dtypes(kind="bool").keys() <= info.dtypes().keys()
    with pytest.raises(ValueError, match="unsupported kind 'integer'"):
        info.dtypes(kind="integer")


# What the standard has beside NumPy --------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int8, np.float32])
def test_descending_sorts_keep_equal_elements_in_order(dtype: Any) -> None:
    values = np.array([[3, 1, 2, 1, 3], [0, 0, 5, -1, 5]], dtype)
    x = clarray.array(values)
    for axis in (0, 1, -1):
        order = np.argsort(-values, axis=axis, stable=True)
        assert clarray.asnumpy(clarray.argsort(x, axis=axis, descending=True)).tolist() == order.tolist()
        expected = np.take_along_axis(values, order, axis)
        assert clarray.asnumpy(clarray.sort(x, axis=axis, descending=True)).tolist() == expected.tolist()


def test_descending_has_nan_last_and_zeros_in_order() -> None:
    x = clarray.array([0.0, np.nan, 1.0, -0.0], dtype=clarray.float32)
    found = clarray.asnumpy(clarray.sort(x, descending=True))
    assert np.array_equal(found, [1, 0, 0, np.nan], equal_nan=True)
    assert np.signbit(found).tolist()[1:3] == [False, True]
    assert x.argsort(descending=True).tolist() == [2, 0, 3, 1]
    x.sort(descending=True)
    assert x.tolist()[:1] == [1]


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int64])
def test_descending_integers_to_their_limits(dtype: Any) -> None:
    low, high = (0, 1) if dtype is np.bool_ else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    x = clarray.array([low, high, 1, low], dtype=dtype)
    assert clarray.sort(x, descending=True).tolist() == sorted([dtype(v).item() for v in (low, high, 1, low)])[::-1]
    assert clarray.argsort(x, descending=True).tolist() == [1, 2, 0, 3]


def test_limits_of_clip_by_either_name() -> None:
    x = clarray.arange(5)
    for found in (clarray.clip(x, 1, 3), clarray.clip(x, min=1, max=3), clarray.clip(x, a_min=1, a_max=3)):
        assert found.tolist() == [1, 1, 2, 3, 3]
    assert clarray.clip(x, 2).tolist() == [2, 2, 2, 3, 4]
    with pytest.raises(ValueError, match="forbidden"):
        clarray.clip(x, 1, 3, a_min=2)


def test_limits_of_floats_are_weak() -> None:
    limits = clarray.finfo(clarray.ones(2, dtype=clarray.float32))
    assert type(limits.eps) is type(limits.max) is float
    assert (limits.eps, limits.dtype, limits.bits) == (2.0**-23, np.float32, 32)
    assert (clarray.ones(2, dtype=clarray.float16) * limits.eps).dtype == clarray.float16
    assert repr(limits) == repr(np.finfo(np.float32))
    with pytest.raises(ValueError, match=r"not inexact|not compatible with finfo"):
        clarray.finfo(clarray.int32)
    with pytest.raises(AttributeError):
        limits.nothing  # noqa: B018 - it raises


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("expm1", complex(np.inf, 0), complex(np.inf, 0)),
        ("expm1", complex(-np.inf, np.inf), complex(-1, 0)),
        ("expm1", complex(-0.0, 0), complex(0, 0)),
        ("tanh", complex(np.inf, 2), complex(1, 0)),
        ("tanh", complex(np.inf, -2), complex(1, -0.0)),
    ],
)
def test_special_values_of_complex_functions(name: str, x: complex, expected: complex) -> None:
    found = getattr(clarray, name)(clarray.array([x], dtype=clarray.complex64))[0].item()
    assert (found.real, found.imag) == (expected.real, expected.imag)
    assert np.signbit([found.real, found.imag]).tolist() == np.signbit([expected.real, expected.imag]).tolist()
