"""Transforms through VkFFT, on any device: it is taken on a GPU only, but its results are NumPy's everywhere."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device
from clarray.fft import plans

pytest.importorskip("pyvkfft.opencl", reason="pyvkfft is not installed")

RTOL = {"f": 2e-6, "F": 2e-6, "d": 1e-14, "D": 1e-14, "e": 2e-3}


@pytest.fixture(autouse=True)
def everywhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(plans, "KINDS", ("cpu", "gpu", "accelerator"))
    yield
    current_device().attached.clear()


def host(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    random = np.random.default_rng(0)
    values = random.uniform(-3, 3, shape)
    return (values + 1j * random.uniform(-3, 3, shape) if dtype in "FD" else values).astype(dtype)


def check(name: str, x: np.ndarray, *args: Any, **kwargs: Any) -> None:
    given = clarray.array(x)
    with clarray.config(host_library="raise"):
        ours = getattr(clarray.fft, name)(given, *args, **kwargs)
    theirs = getattr(np.fft, name)(x, *args, **kwargs)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    np.testing.assert_allclose(ours.get(), theirs, rtol=0, atol=RTOL[theirs.dtype.char] * np.abs(theirs).max())
    np.testing.assert_array_equal(given, x)


@pytest.mark.parametrize("dtype", ["F", "f", "D", "d"])
def test_lines(dtype: str) -> None:
    if dtype in "dD" and not current_device().capabilities.fp64:
        pytest.skip("the device has no float64")
    x = host((3, 8, 5), dtype)
    calls: list[dict[str, Any]] = [{}, {"n": 6, "axis": 1, "norm": "ortho"}, {"n": 8, "norm": "forward"}, {"n": 1}]
    for name in ("fft", "ifft", "irfft", "hfft") + (("rfft", "ihfft") if dtype in "fd" else ()):
        for kwargs in calls if dtype in "Ff" else calls[:1]:
            check(name, x, **kwargs)


def test_several_axes() -> None:
    x = host((3, 8, 5), "f")
    for name in ("fftn", "rfftn", "irfftn", "ifft2"):
        check(name, x)
        check(name, x, s=(4, 6), axes=(2, 1), norm="ortho")
        check(name, x, axes=(1,))


@pytest.mark.parametrize("n", [7, 1000, 1021, 4096])
def test_lengths(n: int) -> None:
    check("fft", host((2, n), "F"))


def test_views_and_pending_values() -> None:
    x = host((6, 16), "F")
    for given, exact in (
        (clarray.asarray(x)[::2, ::2], x[::2, ::2]),
        (clarray.array(x)[3:, 8:], x[3:, 8:]),
        (clarray.array(x)[:, 8:] * 2, x[:, 8:] * 2),
    ):
        with clarray.config(host_library="raise"):
            np.testing.assert_allclose(clarray.fft.fft(given), np.fft.fft(exact), atol=1e-4)


def test_a_transform_of_one_value_is_a_copy() -> None:
    x = clarray.array(host((3, 4), "F"))
    clarray.fft.fft(x, 1)[...] = 0
    clarray.fft.fft(x[:, :1])[...] = 0
    np.testing.assert_array_equal(x, host((3, 4), "F"))


def test_what_is_not_of_real_values_does_not_count() -> None:
    x = host((3, 5), "F")
    check("irfft", x)
    check("irfft", x, 7)


def test_empty_arrays_and_errors() -> None:
    for shape in ((0, 4), (3, 0, 4)):
        with clarray.config(host_library="raise"):
            assert clarray.fft.rfft(clarray.zeros(shape, np.float32)).shape == np.fft.rfft(np.zeros(shape)).shape
    x = clarray.zeros((3, 4), np.complex64)
    for kwargs in ({"n": 0}, {"norm": "what"}):
        with pytest.raises(ValueError, match="Invalid"):
            clarray.fft.fft(x, **kwargs)
    with pytest.raises(TypeError):
        clarray.fft.rfft(x)


def test_a_plan_is_compiled_once_and_runs_on_the_device() -> None:
    x = clarray.array(host((4, 12), "F"))
    clarray.fft.fft(x)
    with clarray.profile() as p:
        clarray.fft.fft(x).evaluate()
    assert [record.name for record in p.records if record.kind == "launch"] == ["vkfft"]
    assert p.host_calls == p.transfers == 0


def test_a_plan_that_is_not_right_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    run = plans.Plan.run

    def wrong(self: Any, source: Any, target: Any, inverse: bool) -> None:
        run(self, target, source, inverse)

    monkeypatch.setattr(plans.Plan, "run", wrong)
    x = host((4, 10), "F")
    with clarray.profile() as p:
        found = clarray.fft.fft(clarray.array(x))
    assert p.host_calls == 1
    np.testing.assert_array_equal(found, np.fft.fft(x))


AT_EXIT = """
import clarray
from clarray.fft import plans
plans.KINDS = ("cpu", "gpu", "accelerator")
clarray.fft.fft(clarray.ones(8, clarray.complex64)).evaluate()
assert any(clarray.devices()[n].attached for n in range(len(clarray.devices())))
"""


def test_plans_are_freed_before_the_process_ends() -> None:
    result = subprocess.run([sys.executable, "-c", AT_EXIT], capture_output=True, text=True, timeout=120)
    assert (result.returncode, result.stderr) == (0, "")


def test_a_transform_of_the_users_memory_has_finished() -> None:
    x = host((4, 12), "F")
    exact = np.fft.fft(x)
    found = clarray.fft.fft(clarray.asarray(x))
    x[...] = 0
    np.testing.assert_allclose(found, exact, atol=1e-4)
