"""The backend of PoCL. Its methods call the other modules of the package."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pyopencl as cl

from clarray._engine.runtime.backends.backend import Backend, ProbeResult, TrialCompiler
from clarray._engine.runtime.backends.pocl import (
    binary_format,
    compiler_needs,
    cpu_name,
    header,
    linker_flags,
    machine_code,
    pool_threads,
    program_files,
    scratch_folder,
)
from clarray._engine.runtime.backends.pocl.settings import compiler_settings, settings
from clarray._engine.runtime.host_memory import MemoryNeed, need_in_mib

# How the names of PoCL's two CPU devices begin, before and since version 4.
_IN_LINE = ("basic", "cpu-minimal")
_POOL = ("pthread", "cpu-")
_BINARY = need_in_mib(352, 352, 64)
_NO_FOLDER = "; PoCL is there, but no folder that it can write to and run programs from: POCL_CACHE_DIR names one"
# LLVM 18 of PoCL 6.0 aborts for a maximum of complex numbers along the first axis. PoCL 7.1 compiles singular value
# decompositions of stacks for more than five minutes. Both compile all other kernels of the smoke set in at most 8 s.
_FIRST_UNTRUSTED = 5
# The factors that PoCL 7.1 computes in `qr` of stacks do not have the matrices as their products. 6.0 is right.
_FIRST_WITHOUT_REFLECTIONS = 7
_EMPTY = "kernel void probe(void) {}"
_PLAIN = "kernel void probe(global float *x) { x[0] = exp(x[1]); }"
_WITH_ATTRIBUTE = """
{attribute} float16 helper(float16 x) {{ return exp(x); }}
{attribute} kernel void probe(global float *x) {{ vstore16(helper(vload16(1, x)), 0, x); }}
"""
# PoCL 3 keeps the machine code of 128 kernels open. To open another, which takes 0.3 ms, it closes the one that was
# launched longest ago. If the binary cannot be read from PoCL's memory, it is requested by OpenCL. PoCL then holds a
# reference to a variant of each kernel and never drops it. With 126 such references only two kernels could be open, and
# a loop of three kernels opened one at each launch.
_MAX_HELD_OPEN = 40


class Pocl(Backend):
    """PoCL of any version. Features that depend on the structures of PoCL 3.0 do nothing for other versions."""

    name = "pocl"
    compiles_at_launch = True
    works_in_process = True
    accepts_short_buffers = True

    def __init__(self) -> None:
        self._held_open = 0  # kernels with references that PoCL never drops

    def owns(self, device: cl.Device) -> bool:
        """Return whether a device belongs to PoCL."""
        return "pocl" in device.platform.version.lower()

    # Discovery

    def settings(self, has_driver: Callable[[str], bool]) -> dict[str, str]:
        return settings(has_driver)

    def compiler_settings(self, has_driver: Callable[[str], bool]) -> dict[str, str]:
        return compiler_settings(has_driver)

    def end_discovery(self) -> None:
        scratch_folder.remove_if_unused()

    def no_device_hint(self) -> str:
        return _NO_FOLDER if scratch_folder.is_missing() else ""

    def starting(self, discovered: Sequence[cl.Device]) -> AbstractContextManager[None]:
        return pool_threads.pin_threads(discovered, self._has_pool)

    def pair_devices(self, devices: Sequence[cl.Device]) -> list[tuple[cl.Device, cl.Device | None]]:
        """Pair the device with a thread pool and the one that runs kernels in the calling thread."""
        in_line = [device for device in devices if self.survives_fork(device)]
        pool = [device for device in devices if self._has_pool(device)]
        if not (in_line and pool):
            return super().pair_devices(devices)
        rest = [device for device in devices if device not in (*in_line, *pool)]
        return [(pool[0], in_line[0]), *super().pair_devices(rest)]

    def rank(self, device: cl.Device) -> int:
        """List PoCL 3.0, whose machine code can be called, before the PoCL of the system: `x + x` takes 1 us, not 2."""
        return 0 if cpu_name.is_patchable(device) else 1

    def survives_fork(self, device: cl.Device) -> bool:
        return self.owns(device) and device.name.startswith(_IN_LINE)

    def _has_pool(self, device: cl.Device) -> bool:
        return self.owns(device) and device.name.startswith(_POOL) and not self.survives_fork(device)

    def leave_files(self) -> None:
        scratch_folder.leave_to_later_process()

    # Compilation

    def prepare_compiler(self, device: cl.Device) -> None:
        if cpu_name.is_patchable(device):
            linker_flags.patch_linker_flags(device)

    def probe(self, devices: Sequence[cl.Device], trial_compiler: TrialCompiler, context: cl.Context) -> ProbeResult:
        device = devices[0]
        if not cpu_name.is_patchable(device):
            return ProbeResult()
        patched = cpu_name.is_patched(device)
        if not patched and not trial_compiler.compiles(_PLAIN):
            patched = self._patch_all(devices)
        attribute = "" if patched else cpu_name.function_attribute()
        if attribute and not trial_compiler.compiles(_WITH_ATTRIBUTE.format(attribute=attribute)):
            attribute = ""
            patched = self._patch_all(devices)
        ids = tuple(self._binary_id(each, trial_compiler) for each in devices) if len(devices) > 1 else ()
        calls_code = self._calls_code(device, trial_compiler, context)
        return ProbeResult(patched=patched, function_attribute=attribute, binary_ids=ids, calls_code=calls_code)

    def patch(self, device: cl.Device) -> None:
        cpu_name.patch_cpu_name(device)

    def _patch_all(self, devices: Sequence[cl.Device]) -> bool:
        patched = [cpu_name.patch_cpu_name(device) for device in devices]
        return any(patched)

    def _binary_id(self, device: cl.Device, trial_compiler: TrialCompiler) -> str:
        program = trial_compiler.compile(device, _EMPTY)
        with trial_compiler.guard(device, True):
            return binary_format.binary_id(super().program_binary(program, 1))

    def _calls_code(self, device: cl.Device, trial_compiler: TrialCompiler, context: cl.Context) -> bool:
        try:
            program = trial_compiler.compile(device, machine_code.PROBE)
        except RuntimeError:
            return False
        with trial_compiler.guard(device, False):
            return machine_code.is_callable(context, device, program)

    def binary_need(self) -> MemoryNeed:
        return _BINARY

    def require(self, device: cl.Device, loads: bool) -> None:
        scratch_folder.require()
        compiler_needs.require_files()
        if not loads:
            compiler_needs.require_processes(device)

    def require_files(self) -> None:
        scratch_folder.require()

    def wait_for_children(self) -> AbstractContextManager[None]:
        return compiler_needs.wait_for_children()

    def compiles_in_child(self, device: cl.Device) -> bool:
        return os.name == "posix" and _major_version(device) >= _FIRST_UNTRUSTED

    def compiles_reflections(self, device: cl.Device) -> bool:
        return _major_version(device) < _FIRST_WITHOUT_REFLECTIONS

    def shorten_source(self, device: cl.Device, source: str, attribute: str) -> tuple[str, list[str]] | None:
        return header.with_declarations(source, attribute, wheel=cpu_name.is_patchable(device))

    # Binaries

    def program_binary(self, program: cl.Program, kernels: int) -> bytes:
        """Return the binary, or b'' if the request would hold too many kernels open."""
        binary = program_files.program_binary(program)
        if not binary and self._held_open < _MAX_HELD_OPEN:
            self._held_open += kernels
            binary = super().program_binary(program, kernels)
        return binary

    def is_complete(self, binary: bytes) -> bool:
        return binary_format.is_complete(binary)

    def retarget(self, binary: bytes, binary_id: str) -> bytes:
        return binary_format.with_device_id(binary, binary_id)

    def assign_folder(self, binary: bytes, folder: str | None) -> tuple[bytes, str | None]:
        name = folder or scratch_folder.new_program_name()
        if name and binary_format.has_supported_layout(binary):
            binary = binary_format.with_folder_name(binary, name)
        return binary, name

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


def _major_version(device: cl.Device) -> int:
    version = re.search(r"PoCL (\d+)", device.platform.version)
    return int(version[1]) if version else 0
