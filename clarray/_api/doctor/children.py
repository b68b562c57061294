"""A process that examines devices, and what is known of it when a driver brings it down or holds it up."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["told_by_child"]

_PATIENCE_SECONDS = 300.0  # for devices to be listed, or to try all families of kernels
_EXAMINATION = [sys.executable, "-m", "clarray._api.doctor.examination"]


def told_by_child(
    words: list[str], step: Callable[[str], None] | None = None
) -> tuple[list[dict[str, Any]], str | None]:
    """Run the examination.

    Parameters
    ----------
    words : list of str
        Its arguments.
    step : callable, optional
        Is called with each family of kernels that is done.

    Returns
    -------
    tuple
        What it said, and how it ended where that was not well.
    """
    told: list[dict[str, Any]] = []
    late = threading.Event()
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        with subprocess.Popen(
            [*_EXAMINATION, *words], stdout=subprocess.PIPE, stderr=errors, text=True, errors="replace"
        ) as child:

            def give_up() -> None:
                late.set()
                child.kill()

            clock = threading.Timer(_PATIENCE_SECONDS, give_up)
            clock.start()
            assert child.stdout is not None
            for line in child.stdout:
                if line.startswith("{"):  # a driver may print, too
                    told.append(json.loads(line))
                    if step is not None and "family" in told[-1]:
                        step(told[-1]["family"])
        clock.cancel()
        errors.seek(0)
        said = errors.read().strip().splitlines()
    if late.is_set():
        return told, f"nothing came back within {_PATIENCE_SECONDS:.0f} s"
    if child.returncode:
        how = f"the process ended by signal {-child.returncode}" if child.returncode < 0 else "the process failed"
        return told, f"{how}{': ' + said[-1] if said else ''}"
    return told, None
