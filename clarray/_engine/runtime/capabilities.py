"""Describe a device's capabilities as plain values, from OpenCL's answers and from trial compilations."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace

import pyopencl as cl

from clarray._engine.runtime import preflight
from clarray._engine.runtime.backends import Compiled, Trials, backend_of
from clarray._engine.runtime.host_cpu import cpu_flags
from clarray._engine.runtime.host_memory import total_host_bytes
from clarray._engine.runtime.programs import compile_source
from clarray._engine.speedups import core
from clarray._engine.values import dataclass

_CLANG_BUILTINS = """
typedef float floats __attribute__((ext_vector_type(16), aligned(4)));
typedef char chars __attribute__((ext_vector_type(16)));
kernel void probe(global float *x, global float *y) {
    floats a = ((global floats *)x)[0];
    chars below = __builtin_convertvector(a < 1.0f, chars);
    floats b = a * __builtin_convertvector(below & (chars)1, floats);
    __builtin_nontemporal_store(b, (global floats *)y);
}
"""


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """Capabilities that plans and code generation depend on.

    Attributes
    ----------
    kind : str
        'cpu', 'gpu' or 'accelerator'.
    name, vendor, platform, platform_version, driver : str
        As OpenCL tells them.
    compute_units, max_work_group : int
        Parallel processors, and work-items that fit in one group.
    local_bytes, global_bytes, max_alloc_bytes : int
        Sizes of memories, and of the largest single allocation the device promises.
    fp64, fp16 : bool
        Arithmetic in double and half. Loads and stores of half work everywhere.
    host_memory : bool
        Kernels work in host memory: nothing is copied to reach it.
    clang_builtins : bool
        ``__builtin_convertvector``, ``__builtin_nontemporal_store``, ``ext_vector_type`` compile.
    function_attribute : str
        What to put before every kernel and helper; usually ''.
    little_endian : bool
        Byte order.
    int64_atomics : bool
        Atomic exchange and maximum of 64-bit integers.
    wide_registers : bool
        A CPU with 32 registers of 64 bytes (AVX-512).
    numbers_together : bool
        A launch costs less where a kernel takes its numbers in a structure.
    compute_capability : (int, int) or None
        NVIDIA's major and minor number of an architecture; None where the device does not tell.
    hand_over : float
        Seconds that it takes to hand work to the device's threads and to hear that it is done, where the calling thread
        could do it as well; else 0.
    calls_code : bool
        The compiled core runs kernels by their machine code, and has threads of its own for it.
    """

    kind: str
    name: str
    vendor: str
    platform: str
    platform_version: str
    driver: str
    compute_units: int
    max_work_group: int
    local_bytes: int
    global_bytes: int
    max_alloc_bytes: int
    fp64: bool
    fp16: bool
    host_memory: bool
    clang_builtins: bool
    function_attribute: str
    little_endian: bool
    int64_atomics: bool = False
    wide_registers: bool = False
    numbers_together: bool = False
    compute_capability: tuple[int, int] | None = None
    hand_over: float = 0.0
    calls_code: bool = False

    def may_be_nvidias(self, suits: Callable[[tuple[int, int]], bool]) -> bool:
        """Whether this is a device of NVIDIA's whose architecture suits, or that does not tell which it has."""
        found = self.compute_capability
        return "nvidia" in self.vendor.lower() and (found is None or suits(found))


def probe(context: cl.Context, devices: list[cl.Device], known: Compiled | None) -> Compiled:
    """Compile a few lines, unless it is known how that ends, and patch the compiler if it needs that.

    Parameters
    ----------
    context : pyopencl.Context
        Of all the devices.
    devices : list of pyopencl.Device
        One OpenCL device, or several that are used as one; the first is compiled for.
    known : Compiled or None
        What an earlier process found.
    """
    device, backend = devices[0], backend_of(devices[0])
    if known is not None:
        if known.patched:
            for each in devices:
                backend.patch(each)
        return known
    if kind(device) != "cpu":
        return Compiled()
    compiled = backend.probe(devices, trials(context, device), context)
    return replace(
        compiled,
        clang_builtins=_compiles(context, device, _CLANG_BUILTINS),
        hand_over=_hand_over(context, device) if compiled.binary_ids else 0.0,
    )


def trials(context: cl.Context, device: cl.Device) -> Trials:
    """Return the functions with which a backend compiles trial programs for a device."""
    return Trials(
        lambda source: _compiles(context, device, source),
        lambda each, source: compile_source(context, each, source),
        lambda each, gives_binary: preflight.compiling(each, launches=True, gives_binary=gives_binary),
    )


def _hand_over(context: cl.Context, device: cl.Device) -> float:
    """The seconds in which a queue of the device's threads mostly does nothing."""
    queue = cl.CommandQueue(context, device)
    taken = []
    for _ in range(25):
        start = time.perf_counter()
        cl.enqueue_marker(queue)
        queue.finish()
        taken.append(time.perf_counter() - start)
    return sorted(taken)[len(taken) // 2]


def _compiles(context: cl.Context, device: cl.Device, source: str) -> bool:
    try:
        compile_source(context, device, source)
    except RuntimeError:
        return False
    return True


KINDS = ("cpu", "gpu", "accelerator")


def kind(device: cl.Device) -> str:
    """Give one of `KINDS`."""
    if device.type & cl.device_type.GPU:
        return "gpu"
    return "cpu" if device.type & cl.device_type.CPU else "accelerator"


def describe(device: cl.Device, compiled: Compiled) -> Capabilities:
    """Gather everything about a device."""
    extensions = device.extensions.split()
    host = _works_in_host_memory(device)
    return Capabilities(
        kind=kind(device),
        name=device.name.strip(),
        vendor=device.vendor.strip(),
        platform=device.platform.name.strip(),
        platform_version=device.platform.version.strip(),
        driver=device.driver_version.strip(),
        compute_units=device.max_compute_units,
        max_work_group=device.max_work_group_size,
        local_bytes=device.local_mem_size,
        global_bytes=_memory_of(device),
        max_alloc_bytes=device.max_mem_alloc_size,
        fp64="cl_khr_fp64" in extensions and not _simulated("NO_FP64", device),
        fp16="cl_khr_fp16" in extensions,
        host_memory=host,
        clang_builtins=compiled.clang_builtins,
        function_attribute=compiled.function_attribute,
        little_endian=bool(device.endian_little),
        int64_atomics={"cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"} <= {*extensions},
        wide_registers=kind(device) == "cpu" and "avx512f" in cpu_flags(),
        numbers_together=kind(device) == "cpu",
        compute_capability=_compute_capability(device, extensions),
        hand_over=compiled.hand_over,
        calls_code=compiled.calls_code and host and _calls_are_on(),
    )


def _calls_are_on() -> bool:
    """Return whether there is a native implementation to call machine code, and CLARRAY_DIRECT does not forbid it."""
    return core is not None and os.environ.get("CLARRAY_DIRECT", "1") not in ("", "0")


def _works_in_host_memory(device: cl.Device) -> bool:
    return kind(device) == "cpu" and bool(device.host_unified_memory) and not _simulated("OWN_MEMORY", device)


def _memory_of(device: cl.Device) -> int:
    """Return the bytes of a device's memory. Some runtimes on the host report a part of it, so the system is asked."""
    return total_host_bytes() if _works_in_host_memory(device) else int(device.global_mem_size)


def line_of(device: cl.Device) -> str:
    """Return the line for a device in a list of devices: name, kind, size and platform. No context is opened."""
    size = f"{device.max_compute_units} compute units, {_memory_of(device) / 2**30:.1f} GiB"
    return f"{device.name.strip()}: {kind(device)}, {size}, {device.platform.name.strip()}"


def _compute_capability(device: cl.Device, extensions: list[str]) -> tuple[int, int] | None:
    if "cl_nv_device_attribute_query" not in extensions:
        return None
    try:
        return device.compute_capability_major_nv, device.compute_capability_minor_nv
    except cl.Error:
        return None


def _simulated(what: str, device: cl.Device) -> bool:
    """Whether a test has switched a capability off: for all devices by 1, or for a platform by a part of its name.

    With ":1" after the name it is for the platform's second device, and so on.
    """
    chosen = os.environ.get(f"CLARRAY_SIMULATE_{what}", "0").strip().lower()
    name, colon, number = chosen.rpartition(":")
    if colon and number.isdecimal():
        listed = device.platform.get_devices()
        return name in device.platform.name.lower() and listed.index(device) == int(number)
    return chosen == "1" or (chosen not in ("", "0") and chosen in device.platform.name.lower())
