"""Compile a user's C code alone before it becomes part of a kernel, so that its errors are raised at the call."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyopencl as cl

from clarray._engine.runtime import includes
from clarray._engine.runtime.cache import cache_key, disk_cache
from clarray._engine.runtime.programs import build, build_log, build_options, create_program

if TYPE_CHECKING:
    from clarray._engine.runtime.device import Device

_DRIVER_LINES = r"^(Device .* failed to build|Compilation (started|failed)|=+$)"


def compiler_message(device: Device, source: str) -> str:
    """Compile a program and return the compiler's errors, or '' if there are none.

    Success is cached on disk, so that each source is compiled once per device and driver.
    """
    cache = disk_cache("devices")
    key = cache_key("snippet 1", device.identity, source)
    if cache.load(key) is not None:
        return ""
    program = create_program(device.context, source)
    with device.lock:
        try:
            build(program, build_options(device.main.device), device.main.device)
        except cl.Error as error:
            device.check_alive(error)
            return _strip_driver_lines(build_log(program, device.main.device)) or str(error)
    if includes.is_cacheable(source):
        cache.store(key, b"compiles")
    return ""


def _strip_driver_lines(log: str) -> str:
    """Remove the driver's lines around the compiler's messages."""
    lines = [line.rstrip() for line in log.splitlines()]
    return "\n".join(line for line in lines if line and not re.match(_DRIVER_LINES, line))
