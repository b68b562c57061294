"""The features and the identity of the host's CPU, as the system reports them."""

from __future__ import annotations

import contextlib
import hashlib
import platform
from functools import cache


@cache
def cpu_flags() -> frozenset[str]:
    """Return the names of the CPU's instruction sets, or nothing if the system does not report them."""
    for line in _cpu_lines():
        if line.startswith("flags"):
            return frozenset(line.partition(":")[2].split())
    return frozenset()


@cache
def cpu_identity() -> str:
    """Return a text that differs between CPUs that need different machine code."""
    fields = ("vendor_id", "cpu family", "model", "stepping", "flags", "CPU part")
    text = "\n".join(line for line in _cpu_lines() if line.startswith(fields))
    return f"{platform.machine()}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


@cache
def _cpu_lines() -> list[str]:
    """Return the system's lines about the first core."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as info:
        return info.read(8192).partition("\n\n")[0].splitlines()
    return [f"model {platform.processor()}"]
