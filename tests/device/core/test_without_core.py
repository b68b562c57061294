"""Python alone, the reference, passes the tests of what has compiled twins: a run with the core asks for it too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clarray._engine import speedups

ROOT = Path(__file__).resolve().parents[3]
FILES = [
    "tests/device/core/test_speedups.py",
    "tests/device/core/test_views.py",
    "tests/device/core/test_aliasing.py",
    "tests/device/core/test_known_numbers.py",
    "tests/device/core/test_threads.py",
    "tests/device/whole/test_statements_machine.py",
]


@pytest.mark.skipif(speedups.core is None, reason="all tests are of Python alone")
def test_python_alone_passes_the_tests_of_the_core() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:benchmark", *FILES]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")} | {"CLARRAY_PURE": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
