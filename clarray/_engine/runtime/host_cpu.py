"""What the system says of the host's CPU."""

from __future__ import annotations

import contextlib
import hashlib
import platform
from functools import cache


@cache
def cpu_flags() -> frozenset[str]:
    """Give the instruction sets this CPU names, where the system tells; else nothing."""
    for line in _cpu_lines():
        if line.startswith("flags"):
            return frozenset(line.partition(":")[2].split())
    return frozenset()


@cache
def cpu_identity() -> str:
    """Give a text that differs between CPUs that need different machine code."""
    wanted = ("vendor_id", "cpu family", "model", "stepping", "flags", "CPU part")
    told = "\n".join(line for line in _cpu_lines() if line.startswith(wanted))
    return f"{platform.machine()}-{hashlib.sha256(told.encode()).hexdigest()[:16]}"


@cache
def _cpu_lines() -> list[str]:
    """Give what the system says of the first core."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as info:
        return info.read(8192).partition("\n\n")[0].splitlines()
    return [f"model {platform.processor()}"]
