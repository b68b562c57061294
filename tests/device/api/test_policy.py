"""Nothing silently wrong, nothing silently slow: functions without a device implementation, dtypes
the device lacks."""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._core.fallback import through_library
from clarray._core.host_policy import Config
from clarray._engine.runtime import current_device

from ..conftest import policy_in_force

HOST = np.array([[2.0, 1.0], [1.0, 3.0]], np.float32)


@pytest.fixture(autouse=True)
def as_it_was() -> Any:
    yield
    clarray.config.host_fallback = "raise"
    clarray.config.host_library = "allow"


def unheard_of(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call what NumPy would hand over as ``numpy.unheard_of``: clarray will never have a function of that name."""

    def unheard_of(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    unheard_of.__module__ = "numpy"
    x: Any = args[0][0] if isinstance(args[0], list) else args[0]
    return x.__array_function__(unheard_of, (clarray.DeviceArray,), args, kwargs)


def test_by_default_it_raises_and_says_what_to_do() -> None:
    x = clarray.array(HOST)
    with pytest.raises(TypeError) as caught, clarray.profile() as p:
        unheard_of(np.linalg.inv, x)
    for wanted in ("numpy.unheard_of ", "host_fallback", "'raise'", "asnumpy"):
        assert wanted in str(caught.value)
    assert p.transfers == 0


@pytest.mark.parametrize("function", [np.linalg.inv, np.linalg.eigh, lambda x: [x, {"x": 1}]])
def test_allowed_it_runs_on_the_host(function: Any) -> None:
    x = clarray.array(HOST)
    with clarray.config(host_fallback="allow"), clarray.profile() as p:
        found = unheard_of(function, x)
    expected = function(HOST)
    assert p.transfers >= 1
    assert type(found) is (type(expected) if isinstance(expected, tuple | list) else clarray.DeviceArray)
    if isinstance(expected, list):
        assert found == [x, {"x": 1}]
        return
    if not isinstance(expected, tuple):
        found, expected = (found,), (expected,)
    for one, other in zip(found, expected, strict=True):
        assert isinstance(one, clarray.DeviceArray)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(clarray.asnumpy(one), other)


def test_a_warning_names_the_function_and_the_callers_line() -> None:
    clarray.config.host_fallback = "warn"
    x = clarray.array(HOST)
    with pytest.warns(clarray.HostFallbackWarning, match=r"numpy\.unheard_of") as caught:
        unheard_of(np.linalg.inv, x)
    assert caught[0].filename == __file__


def test_what_the_function_writes_is_written_back() -> None:
    clarray.config.host_fallback = "allow"
    x = clarray.array(np.arange(6, dtype=np.float32).reshape(2, 3))
    pending = x + 0
    unheard_of(np.put, x, [0, 1], 77)
    assert clarray.asnumpy(x).tolist() == [[77, 77, 2], [3, 4, 5]]
    assert clarray.asnumpy(pending).tolist() == [[0, 1, 2], [3, 4, 5]]
    out = clarray.zeros((2, 2), np.float32)
    a = clarray.array(HOST)
    assert unheard_of(np.linalg.multi_dot, [a, a, a], out=out) is out
    np.testing.assert_array_equal(out, HOST @ HOST @ HOST)


def test_a_host_library_is_allowed_and_counted() -> None:
    # eigenvalues of general matrices are LAPACK's on every device
    x = clarray.array(HOST)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with clarray.profile() as p:
            found = clarray.linalg.eigvals(x + 0)
    assert p.host_calls == 1
    assert "numpy.linalg.eigvals" in str(p)
    assert found.device is x.device
    np.testing.assert_array_equal(found, np.linalg.eigvals(HOST))


def test_a_host_library_may_be_refused_or_warned_of() -> None:
    x = clarray.array(HOST)
    clarray.config.host_library = "raise"
    with pytest.raises(TypeError) as caught, clarray.profile() as p:
        clarray.linalg.eigvals(x)
    for wanted in ("numpy.linalg.eigvals", "host_library", "'raise'", "asnumpy"):
        assert wanted in str(caught.value)
    assert p.transfers == p.host_calls == 0
    with (
        clarray.config(host_library="warn", host_fallback="raise"),
        pytest.warns(clarray.HostFallbackWarning, match=r"numpy\.linalg\.eigvals") as given,
    ):
        np.linalg.eigvals(x)
    assert given[0].filename == __file__
    assert isinstance(clarray.linalg.norm(x), clarray.DeviceArray)  # on the device, whatever the policy


def test_a_host_library_only_reads_the_arrays() -> None:
    x = clarray.array(HOST)

    def write(array: np.ndarray) -> None:
        array[...] = 0

    if current_device().capabilities.host_memory:
        with pytest.raises(ValueError, match="read-only"):
            through_library("numpy.nothing", write, x)
    else:
        through_library("numpy.nothing", write, x)
    np.testing.assert_array_equal(x, HOST)


def test_settings() -> None:
    config = Config()
    assert config.host_fallback == "raise"
    with pytest.raises(ValueError, match="'raise', 'warn', 'allow'"):
        config.host_fallback = "always"
    with pytest.raises(ValueError, match="host_fallback must be"), config(host_fallback=""):
        pass
    with pytest.raises(AttributeError):
        config.hostfallback = "allow"  # type: ignore[attr-defined]
    with config(host_fallback="allow") as inside:
        assert inside is config
        with config(host_fallback="warn"):
            assert config.host_fallback == "warn"
        assert config.host_fallback == "allow"
        seen: list[str] = []
        thread = threading.Thread(target=lambda: seen.append(config.host_fallback))
        thread.start()
        thread.join()
        assert seen == ["raise"]  # a block is its thread's
    assert (
        repr(config)
        == "<config host_fallback='raise' host_library='allow' check_finite=False show_device=True thumbnails='images' "
        "memory_limit=None>"
    )
    with config(host_library="warn"), config(host_fallback="allow"):
        assert (config.host_fallback, config.host_library) == ("allow", "warn")
    with pytest.raises(ValueError, match="host_library must be"):
        config.host_library = ""


def test_foreign_array_functions_are_left_to_others() -> None:
    class Other:
        def __array_function__(self, *args: Any) -> str:
            return "theirs"

    assert np.concatenate([clarray.ones(3), Other()]) == "theirs"


# float64 ------------------------------------------------------------------------------------------

WITHOUT = """
import numpy as np, clarray as ca
import sys
x = ca.ones(3, np.float32)
host = np.ones(3)
i = ca.arange(3)
z = ca.ones(3, np.complex64)
checks = dict(
    asarray=lambda: ca.asarray(host),
    array=lambda: ca.array(host),
    zeros=lambda: ca.zeros(3),
    ones=lambda: ca.ones(2, float),
    full=lambda: ca.full(3, 0.5),
    linspace=lambda: ca.linspace(0, 1),
    astype=lambda: x.astype(float),
    astype_complex=lambda: x.astype(complex),
    ndarray_beside=lambda: x + host,
    ndarray_before=lambda: host + x,
    scalar_beside=lambda: x * np.float64(2),
    divide=lambda: i / 2,
    sqrt=lambda: np.sqrt(i),
    mixed=lambda: x + i,
    dtype=lambda: np.add(x, x, dtype=float),
    mean=lambda: i.mean(),
    std=lambda: i.std(),
    sum_dtype=lambda: x.sum(dtype=float),
    prod_dtype=lambda: np.multiply.reduce(x, dtype=float),
    complex_beside=lambda: z + np.complex128(1),
    list_beside=lambda: x + [0.5, 1, 2],
    outer=lambda: np.add.outer(x, host),
    where=lambda: ca.add(x, host, out=None, where=i > 0),
    inplace=lambda: x.__iadd__(host),
    accumulate=lambda: np.add.accumulate(x, dtype=float),
)
for name, work in checks.items():
    try:
        made = work()
        print(name, "gave", made.dtype)
    except TypeError as error:
        if x.device.capabilities.name not in str(error) or "float64" not in str(error).replace(
            "complex128", "float64"
        ):
            print(name, "says", error)
    except Exception as error:
        print(name, "raised", repr(error))
assert float((x * 2.5 + 1).sum()) == 10.5
assert float((x * 2).mean()) == 2.0 and float(x.std()) == 0.0
assert int(i.sum()) == 3
assert complex(z.sum()) == 3
print("done", ca.__name__)
"""


@pytest.mark.skipif(not current_device().capabilities.fp64, reason="the device has no float64")
def test_without_float64_nothing_is_downcast() -> None:
    import os

    environment = {**os.environ, "CLARRAY_SIMULATE_NO_FP64": "1"}
    result = subprocess.run(
        [sys.executable, "-c", WITHOUT], env=environment, capture_output=True, text=True, timeout=120
    )
    assert result.stderr == ""
    assert result.stdout == "done clarray\n"


@pytest.mark.parametrize("size", [1, 100, 5003])
def test_the_last_work_group_combines(size: int) -> None:
    """One launch for a split reduction, as on NVIDIA: the answer repeats and is right on any device."""
    host = np.random.default_rng(size).integers(-50, 51, size + 1)
    with policy_in_force("tiny-fenced"):
        array = clarray.array(host)
        for _ in range(20):
            assert int(array.sum()) == host.sum()
            assert int(array.argmax()) == host.argmax()
            assert int(array[array > 3].sum()) == host[host > 3].sum()
            assert bool((array > 48).any()) == (host > 48).any()
            assert abs(float(array.astype(np.float32).var()) - host.var()) <= 1e-5 * host.var()
