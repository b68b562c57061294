"""The short form of `signals`: in processes of their own, cold and warm, with the first calls by NumPy and without."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 3

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer interrupts here")


@pytest.mark.parametrize("threshold", [0, 50], ids=["signals", "signals and garbage"])
@pytest.mark.parametrize("tier", ["0", "1"])
def test_statements_are_right_whatever_interrupts_them(tier: str, threshold: int, tmp_path: Path) -> None:
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    settings = {"CLARRAY_TIER": tier, "CLARRAY_CACHE_DIR": str(tmp_path), "PYTHONPATH": paths}
    command = [sys.executable, "-m", "tests.torture.signals", "--seconds", str(SECONDS), "--threshold", str(threshold)]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | settings, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
