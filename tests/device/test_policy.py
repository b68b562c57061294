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
from clarray.config import Config
from clarray.runtime import current_device

from .conftest import policy_in_force

HOST = np.array([[2.0, 1.0], [1.0, 3.0]], np.float32)


@pytest.fixture(autouse=True)
def as_it_was() -> Any:
    yield
    clarray.config.host_fallback = "raise"


CALLS = {
    "numpy.linalg.inv": np.linalg.inv,
    "numpy.linalg.eigh": np.linalg.eigh,
    "numpy.fft.rfft": np.fft.rfft,
    "numpy.matmul": lambda x: x @ x,
    "numpy.vecdot": lambda x: np.vecdot(x, x),
    "numpy.kron": lambda x: np.kron(x, x),
    "numpy.interp": lambda x: np.interp(x, [0.0, 1.0], [0.0, 2.0]),
    "numpy.real_if_close": np.real_if_close,
    "numpy.allclose": None,
    "numpy.put": None,
    "numpy.fill_diagonal": None,
}


def is_missing(name: str) -> bool:
    """Whether clarray has no function of this name yet; these tests then need another."""
    scope: Any = clarray
    for part in name.split(".")[1:]:
        scope = getattr(scope, part, None)
    return scope is None


@pytest.mark.parametrize("name", [n for n, call in CALLS.items() if call])
def test_by_default_it_raises_and_says_what_to_do(name: str) -> None:
    if not is_missing(name):
        pytest.skip("it has a device implementation")
    x = clarray.array(HOST)
    with pytest.raises(TypeError) as caught, clarray.profile() as p:
        CALLS[name](x)
    for wanted in (name + " ", "host_fallback", "'raise'", "asnumpy"):
        assert wanted in str(caught.value)
    assert p.transfers == 0


@pytest.mark.parametrize("name", [n for n, call in CALLS.items() if call])
def test_allowed_it_runs_on_the_host(name: str) -> None:
    call = CALLS[name]
    x = clarray.array(HOST)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with clarray.config(host_fallback="allow"), clarray.profile() as p:
            found = call(x)
    expected = call(HOST)
    assert p.transfers >= 1 or not is_missing(name)
    if isinstance(expected, tuple):
        assert type(found) is type(expected)
    else:
        found, expected = (found,), (expected,)
    for one, other in zip(found, expected, strict=True):
        assert isinstance(one, clarray.DeviceArray)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(clarray.asnumpy(one), other)


def test_a_warning_names_the_function_and_the_callers_line() -> None:
    if not is_missing("numpy.linalg.inv"):
        pytest.skip("it has a device implementation")
    clarray.config.host_fallback = "warn"
    x = clarray.array(HOST)
    with pytest.warns(clarray.HostFallbackWarning, match=r"numpy\.linalg\.inv") as caught:
        np.linalg.inv(x)
    assert caught[0].filename == __file__
    with pytest.warns(clarray.HostFallbackWarning, match="eigh") as caught:
        np.linalg.eigh(x)
    assert caught[0].filename == __file__


def test_what_the_function_writes_is_written_back() -> None:
    clarray.config.host_fallback = "allow"
    x = clarray.array(np.arange(6, dtype=np.float32).reshape(2, 3))
    pending = x + 0
    np.put(x, [0, 1], 77)
    assert clarray.asnumpy(x).tolist() == [[77, 77, 2], [3, 4, 5]]
    np.fill_diagonal(x[:, 1:], -1)
    assert clarray.asnumpy(x).tolist() == [[77, -1, 2], [3, 4, -1]]
    assert clarray.asnumpy(pending).tolist() == [[0, 1, 2], [3, 4, 5]]
    out = clarray.zeros((2, 2), np.float32)
    a = clarray.array(HOST)
    assert np.linalg.matmul(a, a) is not None
    assert np.linalg.multi_dot([a, a, a], out=out) is out
    np.testing.assert_array_equal(out, HOST @ HOST @ HOST)
    assert isinstance(np.array2string(x), str)


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
    assert "raise" in repr(config)


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
    where=lambda: np.add(x, host, where=i > 0),
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
