"""One body for NumPy and clarray: the fixture `same` runs it as both and compares the results."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine import evaluate
from clarray._engine.evaluate import kernel_cache_of
from clarray._engine.launch.host_tier import setting
from clarray._engine.runtime import current_device
from clarray._engine.tuning.policy import Policies
from clarray._engine.tuning.rows import ROWS

Body = Callable[[ModuleType], Any]

DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]

FEW_DTYPES = ["bool", "uint8", "float16", "float32", "complex64"]  # one per way of storing and computing


def by_dtype(
    name: str, always: Iterable[Any], few: Iterable[Any], those: Container[str] = FEW_DTYPES, **options: Any
) -> pytest.MarkDecorator:
    """Parametrise by dtype and one thing more, where a kernel for every pair would differ in the type's name only.

    Parameters
    ----------
    name : str
        The parameter beside the fixture `dtype`.
    always, few : iterable
        Its values with each dtype, and those with the dtypes of `those` only.
    options
        Of ``pytest.mark.parametrize``.
    """
    first, more = list(always), list(few)
    pairs = [(dtype, value) for dtype in DTYPES for value in (*first, *(more if dtype in those else ()))]
    fixtures = [fixture for fixture in ("dtype", name) if fixture in ("dtype", "policy")]
    return pytest.mark.parametrize(("dtype", name), pairs, indirect=fixtures, **options)


def assert_same(ours: Any, theirs: Any) -> None:
    """Same value, dtype and shape; containers and plain Python objects have the same type too."""
    if isinstance(theirs, np.ndarray | np.generic):
        is_on_device = isinstance(ours, clarray.DeviceArray)
        assert is_on_device or type(ours) is type(theirs), f"{type(ours).__name__} is not on the device"
        assert isinstance(ours, np.generic) == isinstance(theirs, np.generic), (
            "a number is an array, or an array a number"
        )
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        np.testing.assert_array_equal(clarray.asnumpy(ours), theirs)
    elif isinstance(theirs, tuple | list):
        assert type(ours) is type(theirs)
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other)
    else:
        assert type(ours) is type(theirs)
        assert ours == theirs or (ours != ours and theirs != theirs)


def outcome(body: Body, xp: ModuleType) -> tuple[Any, Exception | None]:
    try:
        return body(xp), None
    except Exception as error:
        return None, error


def check_same(body: Body, message: bool = True) -> None:
    """Run a body as NumPy and as clarray: the same result, or the same error with the same text."""
    theirs, expected = outcome(body, np)
    if expected is None:
        assert_same(body(clarray), theirs)
        return
    ours, error = outcome(body, clarray)
    assert error is not None, f"NumPy raised {expected!r}, clarray gave {ours!r}"
    assert isinstance(error, type(expected)), f"{error!r} instead of {expected!r}"
    if message:
        assert str(error) == str(expected)


@pytest.fixture
def same() -> Callable[..., None]:
    return check_same


@pytest.fixture(params=DTYPES)
def dtype(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if name in ("float64", "complex128") and not current_device().capabilities.fp64:
        pytest.skip("the device has no float64")
    return name


@pytest.fixture
def host(dtype: str) -> np.ndarray:
    """Sixty numbers that every dtype holds, in a 3-d array."""
    return (np.arange(60) % 7).astype(dtype).reshape(3, 4, 5)


@contextmanager
def _policies_in_force(changed: Callable[[Policies], Policies]) -> Iterator[None]:
    cache = kernel_cache_of(current_device())
    before = cache.policies
    cache.policies = changed(before)
    try:
        yield
    finally:
        cache.policies = before


def compiles_without_optimization() -> bool:
    """Return whether the device is a CPU whose compiler gives right code without optimization. PoCL 5 and 6 do not."""
    capabilities = current_device().capabilities
    version = re.search(r"PoCL (\d+)", capabilities.platform_version)
    return capabilities.kind == "cpu" and (version is None or int(version[1]) < 5)


@contextmanager
def policy_in_force(name: str) -> Iterator[None]:
    """Plan as the row `name` says: kernels of every device's shape run on any device.

    On a CPU those of GPUs are compiled without optimization, which takes a third of the time. Other rows are compiled
    with optimization, unless `quick_builds` is in force.
    """
    cache = kernel_cache_of(current_device())

    def row(before: Policies) -> Policies:
        found = before if name == "own" else ROWS[name]
        is_of_gpus = not found.elementwise.explicit
        is_quick = not before.optimized or (is_of_gpus and compiles_without_optimization())
        return replace(found, optimized=not is_quick)

    with _policies_in_force(row):
        cache.prepared.clear()
        try:
            yield
        finally:
            cache.prepared.clear()


@contextmanager
def policy_changed(algorithm: str, **changes: Any) -> Iterator[None]:
    """Plan with other values of some fields of an algorithm's policy."""
    with _policies_in_force(
        lambda before: replace(before, **{algorithm: replace(getattr(before, algorithm), **changes)})
    ):
        yield


@pytest.fixture
def quick_builds(request: pytest.FixtureRequest) -> Iterator[None]:
    """Compile kernels without optimization on a CPU, in half the time, unless the test is marked `optimized`.

    For tests of outcomes. Tests of rounding and of bits take kernels as a program has them.
    """
    is_quick = compiles_without_optimization() and request.node.get_closest_marker("optimized") is None
    with _policies_in_force(lambda before: replace(before, optimized=before.optimized and not is_quick)):
        yield


@pytest.fixture
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the threads of pytest's workers: beside other threads a selection is stored in more launches."""
    monkeypatch.setattr(sys, "_current_frames", lambda: {0: None})


@pytest.fixture
def kernels_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """No program is let go of while the test runs, however many there are by then."""
    monkeypatch.setattr(kernel_cache_of(current_device()), "_program_limit", 1 << 30)


@pytest.fixture(params=[False, True], ids=["kernels", "tier"])
def tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Kernels alone, and with what NumPy computes on a CPU: first calls and small calls."""
    monkeypatch.setattr(setting, "on", request.param)
    on: bool = request.param
    return on


@pytest.fixture(params=["own", "tiny-cpu", "tiny-gpu"])
def policy(request: pytest.FixtureRequest) -> Iterator[str]:
    """The device's own policies, and two with which tiny arrays reach every pass and boundary."""
    with policy_in_force(request.param):
        yield request.param


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list with the arguments of each plan of a region that Python makes from now on."""
    calls: list[Any] = []
    plan = evaluate.plan_passes
    monkeypatch.setattr(evaluate, "plan_passes", lambda *args, **options: calls.append(args) or plan(*args, **options))
    return calls
