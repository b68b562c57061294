"""Calls that the host computes as a step of a program: small calls, until kernels replace NumPy, and host libraries."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._core import host_calls, small_calls, small_indexing
from clarray._core.small_operands import supports_small_calls
from clarray._engine.launch.host_tier import kernels_only, setting
from clarray._engine.runtime import capture, current_device
from clarray._engine.runtime.capture import Capture
from clarray._engine.speedups import native

pytestmark = [
    pytest.mark.kernels_alone,
    pytest.mark.skipif(native is None, reason="nothing is captured without the native implementation"),
]
needs_small_calls = pytest.mark.skipif(
    not supports_small_calls(current_device()), reason="there are small calls on CPUs only, of all dtypes"
)
needs_float64 = pytest.mark.skipif(not current_device().capabilities.fp64, reason="the matrices are of float64")

# Statements that NumPy computes until they are frequent.
SMALL_CALLS = (
    *(
        "xp.roll(x, 1)",
        "xp.tile(x, 2)",
        "xp.pad(x, 2)",
        "xp.repeat(x, 2)",
        "xp.concatenate([x, y])",
        "xp.block([x, y])",
    ),
    *("x.argmax()", "x.argmin()", "xp.count_nonzero(k)", "xp.searchsorted(k, x)", "xp.array_equal(x, y)"),
    *("xp.sort(x)", "x.argsort()", "xp.partition(x, 3)[3]", "xp.lexsort((x, y))", "xp.isin(k, k)"),
    *(
        "x.take(i)",
        "xp.take(x, i)",
        "k.cumsum()",
        "k.cumprod()",
        "xp.vdot(k, k)",
        "xp.kron(k, k[:2])",
        "xp.allclose(x, y)",
    ),
    *("xp.put(z, i, y)", "xp.putmask(z, m, y)", "xp.put_along_axis(z, i, y, 0)", "z.__setitem__(i, y)"),
)


@pytest.fixture
def host_calls_made(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Count the calls that NumPy computes, planned by Python and by steps of programs."""
    made = {"planned": 0, "steps": 0}

    def counting(function: Any, key: str) -> Any:
        def call(*args: Any) -> Any:
            made[key] += 1
            return function(*args)

        return call

    monkeypatch.setattr(setting, "on", True)
    for module in (small_calls, small_indexing):
        for name in ("compute_on_host", "overwrite"):
            monkeypatch.setattr(module, name, counting(getattr(module, name), "planned"))
    monkeypatch.setattr(host_calls.HostCall, "__call__", counting(host_calls.HostCall.__call__, "steps"))
    return made


def _values(size: int) -> dict[str, Any]:
    """Return operands. Tests that count calls take different sizes, because programs outlive a test."""
    host = np.random.default_rng(0).random(size, np.float32)
    values = {"x": host, "y": host[::-1].copy(), "z": host.copy(), "m": host > 0.5}
    return values | {"k": np.arange(size), "i": np.random.default_rng(1).permutation(size)}


@needs_small_calls
@pytest.mark.parametrize("statement", SMALL_CALLS)
def test_kernels_replace_numpy_in_frequent_calls(
    statement: str, host_calls_made: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture, "FREQUENT_CALLS", 8)
    values = _values(20)
    names = {name: clarray.array(value) for name, value in values.items()} | {"xp": clarray}
    code = compile(statement, "statement", "eval")
    results = []
    for _ in range(40):
        result = eval(code, names)
        results.append(clarray.asnumpy(names["z"] if result is None else result))
    expected = eval(code, values | {"xp": np})
    for result in results:
        np.testing.assert_array_equal(result, values["z"] if expected is None else expected)
    # The first capture with kernels may be aborted. Another one follows at the 16th call.
    assert 7 <= sum(host_calls_made.values()) <= 15
    assert host_calls_made["steps"] >= 2


@needs_small_calls
@pytest.mark.parametrize("statement", SMALL_CALLS)
def test_steps_read_the_operands_of_each_call(statement: str, host_calls_made: dict[str, int]) -> None:
    code = compile(statement, "statement", "eval")
    rng = np.random.default_rng(2)
    for repetition in range(12):
        values = _values(21)
        for name in "xykm":
            rng.shuffle(values[name])
        names = {name: clarray.array(value) for name, value in values.items()} | {"xp": clarray}
        if repetition % 3 == 2:  # pending operands
            names |= {name: names[name] + 0 for name in "xyk"}
        result, expected = eval(code, names), eval(code, values | {"xp": np})
        if expected is None:
            result, expected = names["z"], values["z"]
        np.testing.assert_array_equal(clarray.asnumpy(result), expected)
        assert np.asarray(clarray.asnumpy(result)).dtype == np.asarray(expected).dtype
    if "equal" not in statement and "allclose" not in statement:  # the results of these are guards
        assert host_calls_made["steps"] >= 4


LIBRARY = (
    *("linalg.inv(A)", "linalg.solve(A, b)", "linalg.det(A)", "linalg.cholesky(A)", "linalg.eigvalsh(A)"),
    *("linalg.eigh(A)", "linalg.svd(A)", "linalg.qr(A)", "linalg.slogdet(A)", "linalg.eigvals(A)", "linalg.eig(A)"),
    *("linalg.lstsq(A, b, rcond=None)", "linalg.matrix_rank(A)", "linalg.cond(A)", "linalg.pinv(A)"),
    *("fft.fft(b)", "fft.rfft(b)", "fft.ifft(b * 2)", "linalg.solve(A + 1, b[::-1])", "linalg.inv(A[1:, 1:])"),
)


def _matrices(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    a = rng.random((4, 4))
    return {"A": a @ a.T + 4 * np.eye(4), "b": rng.random(4)}


def _parts(result: Any) -> list[np.ndarray]:
    return [np.asarray(clarray.asnumpy(part)) for part in (result if isinstance(result, tuple) else (result,))]


@needs_float64
@pytest.mark.parametrize("statement", LIBRARY)
def test_host_libraries_are_steps(statement: str, host_calls_made: dict[str, int]) -> None:
    code = compile("xp." + statement, "statement", "eval")
    for seed in range(10):
        values = _matrices(seed)
        names = {name: clarray.array(value) for name, value in values.items()} | {"xp": clarray}
        result, expected = eval(code, names), eval(code, values | {"xp": np})
        assert type(result).__name__ == type(expected).__name__ or not isinstance(expected, tuple)
        for got, want in zip(_parts(result), _parts(expected), strict=True):
            if isinstance(expected, tuple):  # the signs of vectors are open
                got, want = abs(got), abs(want)
            np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)
            assert got.shape == want.shape
    if current_device().capabilities.host_memory or "linalg.eig(" in statement:  # kernels compute the others
        assert host_calls_made["steps"] >= 4


@needs_float64
def test_errors_of_a_step_are_those_of_the_call(host_calls_made: dict[str, int]) -> None:
    for _ in range(6):
        clarray.linalg.eigvals(clarray.array(np.eye(3) * 2))
    invalid = clarray.array(np.full((3, 3), np.inf))
    for _ in range(3):
        with pytest.raises(np.linalg.LinAlgError, match="infs or NaNs"):
            clarray.linalg.eigvals(invalid)
    np.testing.assert_array_equal(clarray.linalg.eigvals(clarray.array(np.eye(3) * 2)).get(), [2, 2, 2])
    assert host_calls_made["steps"] >= 4


@needs_float64
def test_policies_hold_for_steps() -> None:
    x = clarray.array(np.eye(3))
    for _ in range(6):
        clarray.linalg.eigvals(x)
    with clarray.config(host_library="raise"), pytest.raises(TypeError, match="host_library"):
        clarray.linalg.eigvals(x)
    with clarray.config(host_library="warn"), pytest.warns(clarray.HostFallbackWarning):
        clarray.linalg.eigvals(x)


@needs_small_calls
def test_no_step_runs_where_kernels_are_asked_for(host_calls_made: dict[str, int]) -> None:
    x = clarray.array(np.arange(8.0))
    for _ in range(6):
        clarray.roll(x, 1)
    before = dict(host_calls_made)
    assert before["steps"] >= 2
    with kernels_only():
        for _ in range(3):
            np.testing.assert_array_equal(clarray.roll(x, 1).get(), np.roll(np.arange(8.0), 1))
    assert host_calls_made["planned"] == before["planned"]


def test_results_of_other_shapes_are_computed_again() -> None:
    for repetition in range(8):
        host = np.arange(12) % (3 + repetition % 4)
        np.testing.assert_array_equal(clarray.nonzero(clarray.array(host))[0].get(), np.nonzero(host)[0])
        np.testing.assert_array_equal(clarray.bincount(clarray.array(host)).get(), np.bincount(host))


@needs_float64
def test_scalars_with_nan_keep_their_value() -> None:
    a = np.eye(3)
    for value in (1.0, 2.0, 3.0, np.nan, 4.0):
        a[0, 0] = value
        with np.errstate(invalid="ignore"):
            result = clarray.linalg.det(clarray.array(a))
        np.testing.assert_allclose(float(result), value)
        np.testing.assert_allclose((result * 2).get(), value * 2)


def test_exceptions_of_signal_handlers_leave_a_step() -> None:
    """NumPy's own errors send the call to Python. Any other error belongs to the user."""

    def interrupted(*_: Any) -> None:
        raise TimeoutError

    refused = host_calls.HostCall(np.linalg.inv, (np.zeros((2, 2)),), {}, None, lambda: True)
    assert refused() is False
    with pytest.raises(TimeoutError):
        host_calls.HostCall(interrupted, (), {}, None, lambda: True)()


def test_a_capture_has_one_device() -> None:
    """Memory of another device, such as the current one, aborts a capture."""
    x = clarray.array(np.arange(6.0, dtype=np.float32))
    memory = x.evaluate()._node.memory
    for device, is_captured in ((x.device, True), (object(), False)):
        recording = Capture(device, [], {}, 1)  # type: ignore[arg-type]
        assert (capture.run_captured(recording, partial(recording.allocated, memory))[1] is recording) == is_captured


@needs_float64
def test_a_step_copies_no_more_than_its_operands(monkeypatch: pytest.MonkeyPatch) -> None:
    """A matrix of a stack in device memory: the other matrices stay there."""
    host = np.random.default_rng(3).random((64, 4, 4))
    stack = clarray.array(host)
    for number in range(5):
        clarray.linalg.eigvals(stack[number])
    copied: list[int] = []
    device_type = type(stack.device)
    read = device_type.read

    def counting(self: Any, memory: Any, byte_offset: int, out: np.ndarray) -> None:
        copied.append(out.nbytes)
        read(self, memory, byte_offset, out)

    monkeypatch.setattr(device_type, "read", counting)
    values = clarray.linalg.eigvals(stack[7])
    assert sum(copied) <= host[0].nbytes
    np.testing.assert_allclose(np.sort_complex(values.get()), np.sort_complex(np.linalg.eigvals(host[7])), rtol=1e-10)
