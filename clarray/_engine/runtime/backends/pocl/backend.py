"""PoCL as a backend: each method calls the module that does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pyopencl as cl

from clarray._engine.runtime.backends.backend import Backend, Compiled, Trials
from clarray._engine.runtime.backends.pocl import (
    binary_format,
    compiler_needs,
    cpu_name,
    header,
    machine_code,
    pool_threads,
    program_files,
    scratch_folder,
)
from clarray._engine.runtime.backends.pocl.settings import settings
from clarray._engine.runtime.host_memory import Room, mebibytes

_BINARY = mebibytes(352, 352, 64)
_NO_FOLDER = "; PoCL is there, but no folder that it can write to and run programs from: POCL_CACHE_DIR names one"
_EMPTY = "kernel void probe(void) {}"
_PLAIN = "kernel void probe(global float *x) { x[0] = exp(x[1]); }"
_WITH_ATTRIBUTE = """
{attribute} float16 helper(float16 x) {{ return exp(x); }}
{attribute} kernel void probe(global float *x) {{ vstore16(helper(vload16(1, x)), 0, x); }}
"""
# PoCL 3 keeps the machine code of 128 kernels open and closes what was launched longest ago for the next one, which it
# opens in 0.3 ms. Where its own memory does not tell the binary, whoever asks for one asks twice, its size first; the
# second time PoCL counts a user, who never leaves, of a variant of each of its kernels. After 126 of them the others
# had two places, and a loop of three kernels opened one at each launch.
_MOST_HELD_OPEN = 40


class Pocl(Backend):
    """PoCL, of any version. What depends on the structures of PoCL 3.0 does nothing for others."""

    name = "pocl"
    compiles_at_launch = True
    works_in_process = True
    takes_longer_memory = True

    def __init__(self) -> None:
        self._held_open = 0  # kernels, because their binaries have been asked for

    def owns(self, device: cl.Device) -> bool:
        """Return whether a device is PoCL's."""
        return "pocl" in device.platform.version.lower()

    # Discovery

    def settings(self, has_driver: Callable[[str], bool]) -> dict[str, str]:
        return settings(has_driver)

    def discovered(self) -> None:
        scratch_folder.confirm()

    def hint(self) -> str:
        return _NO_FOLDER if scratch_folder.is_missing() else ""

    def starting(self, found: Sequence[cl.Device]) -> AbstractContextManager[None]:
        return pool_threads.spread(found, self.owns)

    def paired(self, listed: Sequence[cl.Device]) -> list[tuple[cl.Device, cl.Device | None]]:
        """Make `basic`, which runs kernels in the calling thread, a part of the device with a thread pool."""
        basic = [device for device in listed if self.survives_fork(device)]
        pool = [device for device in listed if device.name.startswith("pthread")]
        if not (basic and pool):
            return super().paired(listed)
        rest = [device for device in listed if device not in (*basic, *pool)]
        return [(pool[0], basic[0]), *super().paired(rest)]

    def survives_fork(self, device: cl.Device) -> bool:
        return self.owns(device) and device.name.startswith("basic")

    def abandon(self) -> None:
        scratch_folder.abandon()

    # Compiling

    def probe(self, devices: Sequence[cl.Device], trials: Trials, context: cl.Context) -> Compiled:
        device = devices[0]
        if not cpu_name.is_patchable(device):
            return Compiled()
        patched = cpu_name.is_patched(device)
        if not patched and not trials.compiles(_PLAIN):
            patched = self._patch_all(devices)
        attribute = "" if patched else cpu_name.function_attribute()
        if attribute and not trials.compiles(_WITH_ATTRIBUTE.format(attribute=attribute)):
            attribute = ""
            patched = self._patch_all(devices)
        ids = tuple(self._binary_id(each, trials) for each in devices) if len(devices) > 1 else ()
        calls_code = self._calls_code(device, trials, context)
        return Compiled(patched=patched, function_attribute=attribute, binary_ids=ids, calls_code=calls_code)

    def patch(self, device: cl.Device) -> None:
        cpu_name.patch_cpu_name(device)

    def _patch_all(self, devices: Sequence[cl.Device]) -> bool:
        patched = [cpu_name.patch_cpu_name(device) for device in devices]
        return any(patched)

    def _binary_id(self, device: cl.Device, trials: Trials) -> str:
        program = trials.compile(device, _EMPTY)
        with trials.guard(device, True):
            return binary_format.binary_id(super().program_binary(program, 1))

    def _calls_code(self, device: cl.Device, trials: Trials, context: cl.Context) -> bool:
        try:
            program = trials.compile(device, machine_code.PROBE)
        except RuntimeError:
            return False
        with trials.guard(device, False):
            return machine_code.is_callable(context, device, program)

    def binary_room(self) -> Room:
        return _BINARY

    def require(self, device: cl.Device, loads: bool) -> None:
        scratch_folder.require()
        compiler_needs.require_files()
        if not loads:
            compiler_needs.require_processes(device)

    def require_files(self) -> None:
        scratch_folder.require()

    def children_waited_for(self) -> AbstractContextManager[None]:
        return compiler_needs.children_waited_for()

    def shortened(self, device: cl.Device, source: str, attribute: str) -> tuple[str, list[str]] | None:
        return header.with_declarations(source, attribute) if cpu_name.is_patchable(device) else None

    # Binaries

    def program_binary(self, program: cl.Program, kernels: int) -> bytes:
        """Return the binary; b'' if asking for it would hold too many kernels open."""
        binary = program_files.program_binary(program)
        if not binary and self._held_open < _MOST_HELD_OPEN:
            self._held_open += kernels
            binary = super().program_binary(program, kernels)
        return binary

    def is_complete(self, binary: bytes) -> bool:
        return binary_format.is_complete(binary)

    def retarget(self, binary: bytes, binary_id: str) -> bytes:
        return binary_format.for_device(binary, binary_id)

    def placed(self, binary: bytes, folder: str | None) -> tuple[bytes, str | None]:
        name = folder or scratch_folder.new_name()
        return (binary_format.renamed(binary, name) if name and binary_format.is_known(binary) else binary), name

    # Machine code

    def program_folder(self, program: cl.Program) -> str | None:
        return program_files.program_folder(program)

    def is_compiled(self, folder: str | None, kernel: str, local: tuple[int, ...]) -> bool:
        return program_files.is_unpacked(folder, kernel, local)

    def code_file(self, folder: str | None, kernel: str, local: tuple[int, ...]) -> Path | None:
        return program_files.machine_code_file(folder, kernel, local)

    def load(self, file: Path, kernel: str, codes: bytes, places: bytes) -> Any:
        return machine_code.load(file, kernel, codes, places)

    def use_threads(self, compute_units: int) -> None:
        machine_code.set_threads(compute_units)
