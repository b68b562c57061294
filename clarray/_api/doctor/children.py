"""Run the examination of devices in a subprocess, which a driver may crash or block."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["from_subprocess"]

_PATIENCE_SECONDS = 300.0  # time limit of listing the devices, or of running all families of kernels
_EXAMINATION = [sys.executable, "-m", "clarray._api.doctor.examination"]


def from_subprocess(
    words: list[str], step: Callable[[str], None] | None = None
) -> tuple[list[dict[str, Any]], str | None]:
    """Run the examination in a subprocess, and return its records and its error.

    Parameters
    ----------
    words : list of str
        Arguments of the subprocess.
    step : callable, optional
        Called with each completed family of kernels.

    Returns
    -------
    tuple
        The records that the subprocess printed, and its error, or None.
    """
    records: list[dict[str, Any]] = []
    timed_out = threading.Event()
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        with subprocess.Popen(
            [*_EXAMINATION, *words], stdout=subprocess.PIPE, stderr=errors, text=True, errors="replace"
        ) as child:

            def give_up() -> None:
                timed_out.set()
                child.kill()

            clock = threading.Timer(_PATIENCE_SECONDS, give_up)
            clock.start()
            assert child.stdout is not None
            for line in child.stdout:
                if line.startswith("{"):  # a driver may print, too
                    records.append(json.loads(line))
                    if step is not None and "family" in records[-1]:
                        step(records[-1]["family"])
        clock.cancel()
        errors.seek(0)
        error_lines = errors.read().strip().splitlines()
    if timed_out.is_set():
        return records, f"nothing came back within {_PATIENCE_SECONDS:.0f} s"
    if child.returncode:
        cause = f"the process ended by signal {-child.returncode}" if child.returncode < 0 else "the process failed"
        return records, f"{cause}{': ' + error_lines[-1] if error_lines else ''}"
    return records, None
