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
MACHINE = "tests/device/whole/test_statements_machine.py"


def passes(variable: str, *tests: str, value: str = "1") -> None:
    """Fail unless tests pass in a process in which a variable of the environment is set."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:benchmark", *tests]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")} | {variable: value}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.mark.skipif(speedups.core is None, reason="all tests are of Python alone")
def test_python_alone_passes_the_tests_of_the_core() -> None:
    files = ("speedups", "views", "aliasing", "known_numbers", "threads", "launch_keys")
    passes("CLARRAY_PURE", *(f"{CORE}/test_{name}.py" for name in files), MACHINE)


@pytest.mark.skipif(not current_device().capabilities.host_memory, reason="all tests are of memory of a device's own")
def test_a_device_with_memory_of_its_own() -> None:
    files = ("mirrors", "launch_keys", "statement_launches", "threads")
    memory = [f"tests/runtime/test_{name}.py" for name in ("memory_limit", "keeping")]
    masks = "tests/device/indexing/test_known_bounds.py::test_what_readers_have_counted_is_of_before"
    linalg = [
        "tests/device/linalg/test_linalg_host.py",
        *(f"tests/device/linalg/test_small_matrices.py::test_{name}" for name in ("who_computes", "threads", "nan")),
        *(f"tests/device/linalg/test_factorization.py::test_{name}" for name in ("who_computes", "threads")),
    ]
    passes("CLARRAY_SIMULATE_OWN_MEMORY", *(f"{CORE}/test_{n}.py" for n in files), MACHINE, masks, *memory, *linalg)


@pytest.mark.skipif(len(devices()) < 2, reason="there is one device")
@pytest.mark.parametrize("which", ["both", "first", "second"])
def test_two_devices_with_memory_of_their_own(which: str) -> None:
    """Memory of a device's own beside the host's, and beside another's; two in the host's are what the suite finds."""
    first = current_device()
    second = next(device for device in devices() if device is not first)
    names = {"both": "1", "first": first.capabilities.platform, "second": second.capabilities.platform}
    files = [f"{CORE}/test_two_devices.py", f"{CORE}/test_between_devices.py", "tests/runtime/test_at_the_same_time.py"]
    passes("CLARRAY_SIMULATE_OWN_MEMORY", *files, value=names[which])
