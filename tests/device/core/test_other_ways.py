"""What this machine goes by is not all there is: Python alone, the reference, and memory that the host does not see."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clarray._engine import speedups
from clarray._engine.runtime import current_device, devices

ROOT = Path(__file__).resolve().parents[3]
CORE = "tests/device/core"
MACHINES = [f"tests/device/whole/test_statements_{name}.py" for name in ("machine", "in_threads")]


def passes(variable: str, *tests: str, value: str = "1", **more: str) -> None:
    """Fail unless tests pass where variables of the environment are set; of two devices none may be left out."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:benchmark", *tests]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")} | more | {variable: value}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-6000:]
    if len(devices()) > 1 or "POCL_DEVICES" in (variable, *more):
        assert "there is one device" not in done.stdout


@pytest.mark.skipif(speedups.native is None, reason="all tests are of Python alone")
def test_python_alone_passes_the_tests_of_the_core(request: pytest.FixtureRequest) -> None:
    """Ask the bits of small calls for three layouts and three dtypes, and for all of them with `--exhaustive`."""
    files = ("speedups", "views", "aliasing", "known_numbers", "threads", "launch_keys", "interrupts", "small_calls")
    left_out = "test_bits_and_places_are_the_kernels"  # the same kernels as with the core, and many
    if not request.config.getoption("--exhaustive"):
        left_out += " or (test_bits_are_numpys and (strided or backwards or int8 or uint64 or float16 or float64))"
    repeated = "tests/device/whole/test_repeated_calls.py::test_statement"
    passes(
        "CLARRAY_PURE", *(f"{CORE}/test_{name}.py" for name in files), *MACHINES, repeated, "-k", f"not ({left_out})"
    )


@pytest.mark.skipif(not current_device().capabilities.host_memory, reason="all tests are of memory of a device's own")
def test_a_device_with_memory_of_its_own() -> None:
    files = ("mirrors", "launch_keys", "statement_launches", "threads")
    memory = [f"tests/runtime/test_{name}.py" for name in ("memory_limit", "pool_trimmer")]
    masks = "tests/device/indexing/test_known_bounds.py::test_what_readers_have_counted_is_of_before"
    linalg = [
        "tests/device/linalg/test_linalg_host.py",
        *(f"tests/device/linalg/test_small_matrices.py::test_{name}" for name in ("who_computes", "threads", "nan")),
        *(f"tests/device/linalg/test_factorization.py::test_{name}" for name in ("who_computes", "threads")),
    ]
    passes("CLARRAY_SIMULATE_OWN_MEMORY", *(f"{CORE}/test_{n}.py" for n in files), *MACHINES, masks, *memory, *linalg)


# A runtime that is asked for two CPUs gives two devices of one processor, with a context and queues each.
ASKED_TWICE = {} if len(devices()) > 1 else {"POCL_DEVICES": "pthread pthread"}
TWO_DEVICES = [
    f"{CORE}/test_two_devices.py",
    f"{CORE}/test_between_devices.py",
    f"{CORE}/test_set_device.py",
    "tests/runtime/test_at_the_same_time.py",
    "tests/runtime/test_memory_limit.py::TestTwoDevices",
]
OF_ONE_RUNTIME = [
    "tests/device/kernels/test_kernel_errors.py::test_arrays_on_two_devices",
    "tests/device/kernels/test_raw_kernels.py::test_each_device_has_its_own_and_two_are_refused",
    "tests/users/test_dask_cluster.py::test_a_worker_on_each_of_two_devices",
]


def places() -> tuple[str, str]:
    """The platforms of two devices, each with the place that its device has there."""
    first = current_device().cl_device
    others = [device.cl_device for device in devices() if device.cl_device != first]
    pair = [(each.platform.name.strip(), each.platform.get_devices().index(each)) for each in (first, *others[:1])]
    if len(pair) == 1:
        pair = [(pair[0][0], 0), (pair[0][0], 1)]
    return tuple(f"{name}:{number}" for name, number in pair)  # type: ignore[return-value]


@pytest.mark.skipif(not current_device().capabilities.fp64, reason="all tests are of a device without float64")
def test_a_device_without_float64() -> None:
    """No function or method makes float64 unless NumPy does."""
    functions = [f"tests/device/whole/test_every_function.py::test_{name}" for name in ("function", "method")]
    passes("CLARRAY_SIMULATE_NO_FP64", *functions, "tests/device/api/test_mistakes.py")


@pytest.mark.skipif(len(devices()) > 1, reason="the suite finds two")
@pytest.mark.skipif(
    current_device().backend.name != "pocl", reason="there is one device, and its runtime gives no other"
)
def test_two_devices() -> None:
    """What the suite leaves out where there is one."""
    passes("POCL_DEVICES", *TWO_DEVICES, *OF_ONE_RUNTIME, value=ASKED_TWICE["POCL_DEVICES"])


@pytest.mark.skipif(len(devices()) < 2 and current_device().backend.name != "pocl", reason="there is one device")
@pytest.mark.parametrize("which", ["both", "first", "second"])
def test_two_devices_with_memory_of_their_own(which: str) -> None:
    """Memory of a device's own beside the host's, and beside another's; two in the host's are asked above."""
    names = dict(zip(("both", "first", "second"), ("1", *places()), strict=True))
    passes("CLARRAY_SIMULATE_OWN_MEMORY", *TWO_DEVICES, value=names[which], **ASKED_TWICE)
