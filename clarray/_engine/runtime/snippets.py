"""The user's own C, compiled alone before it becomes part of a kernel, so that its errors are told where it is used."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyopencl as cl

from clarray._engine.runtime import includes
from clarray._engine.runtime.cache import cache_of, key_of
from clarray._engine.runtime.programs import build, build_log, build_options, created

if TYPE_CHECKING:
    from clarray._engine.runtime.device import Device

_AROUND = r"^(Device .* failed to build|Compilation (started|failed)|=+$)"


def compiler_message(device: Device, source: str) -> str:
    """Compile a program and give what the compiler says against it; '' where it is sound.

    That a source is sound is kept on disk, so that it is compiled once per device and driver.
    """
    cache = cache_of("devices")
    key = key_of("snippet 1", device.identity, source)
    if cache.load(key) is not None:
        return ""
    program = created(device.context, source)
    with device.lock:
        try:
            build(program, build_options(device.main.device), device.main.device)
        except cl.Error as error:
            device.check_alive(error)
            return _without_frame(build_log(program, device.main.device)) or str(error)
    if includes.may_be_kept(source):
        cache.store(key, b"compiles")
    return ""


def _without_frame(log: str) -> str:
    """Drop the lines that the driver puts around the compiler's."""
    lines = [line.rstrip() for line in log.splitlines()]
    return "\n".join(line for line in lines if line and not re.match(_AROUND, line))
