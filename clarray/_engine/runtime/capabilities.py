"""Describe a device's capabilities as plain values, from OpenCL's queries and trial compilations."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace

import pyopencl as cl

from clarray._engine.fast_dataclass import dataclass
from clarray._engine.runtime import preflight
from clarray._engine.runtime.backends import ProbeResult, TrialCompiler, find_backend
from clarray._engine.runtime.host_cpu import cpu_flags
from clarray._engine.runtime.host_memory import total_host_bytes
from clarray._engine.runtime.programs import compile_source
from clarray._engine.speedups import native

# Parts of the names of platforms whose compilers make machine code of the CPU from clang's builtins. Other compilers
# may end the process: rusticl translates a program to SPIR-V, and exits at `__builtin_prefetch`.
_MACHINE_CODE_COMPILERS = ("portable computing language", "intel(r) opencl")

# Every builtin of the templates. `tests/device/core/test_plain_compilers.py` compares the two.
_CLANG_BUILTINS = """
typedef float floats __attribute__((ext_vector_type(16), aligned(4)));
typedef char chars __attribute__((ext_vector_type(16)));
kernel void probe(global float *x, global float *y) {
    floats a = ((global floats *)x)[0];
    __builtin_prefetch(x + 64);
    chars below = __builtin_convertvector(a < 1.0f, chars);
    floats b = a * __builtin_convertvector(below & (chars)1, floats);
    __builtin_nontemporal_store(b, (global floats *)y);
}
"""


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """The capabilities of a device that plans and code generation depend on.

    Attributes
    ----------
    kind : str
        'cpu', 'gpu' or 'accelerator'.
    name, vendor, platform, platform_version, driver : str
        As OpenCL reports them.
    compute_units, max_work_group : int
        The number of parallel processors, and the largest work-group.
    local_bytes, global_bytes, max_alloc_bytes : int
        The sizes of local and global memory, and of the largest allocation that the device promises.
    fp64, fp16 : bool
        Arithmetic in double and half. Loads and stores of half work everywhere.
    fma : bool
        Whether ``fma`` of floats is an instruction, and not a function of many.
    subnormals : bool
        Whether operations on floats take and give subnormal numbers. Some devices take them for zeros.
    host_memory : bool
        Whether kernels work in host memory, so that no copies are needed.
    clang_builtins : bool
        Whether ``__builtin_convertvector``, ``__builtin_nontemporal_store``, ``__builtin_prefetch`` and
        ``ext_vector_type`` compile to machine code.
    function_attribute : str
        The text before every kernel and helper, usually ''.
    little_endian : bool
        Whether the byte order is little-endian.
    reflections : bool
        See `Backend.compiles_reflections`.
    int64_atomics : bool
        Whether the device has atomic exchange and maximum of 64-bit integers.
    wide_registers : bool
        Whether the device is a CPU with 32 registers of 64 bytes (AVX-512).
    argument_struct : bool
        Whether a launch costs less if a kernel takes its numbers in a struct.
    compute_capability : (int, int) or None
        NVIDIA's major and minor number of the architecture, or None if the device does not report it.
    handover_seconds : float
        The seconds that a handover of work to the device's threads and back takes, if the calling thread could do the
        work as well. Else 0.
    calls_code : bool
        Whether the native implementation runs kernels by their machine code, with threads of its own.
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
    reflections: bool = True
    fma: bool = True
    subnormals: bool = True
    int64_atomics: bool = False
    wide_registers: bool = False
    argument_struct: bool = False
    compute_capability: tuple[int, int] | None = None
    handover_seconds: float = 0.0
    calls_code: bool = False

    def may_be_nvidias(self, suits: Callable[[tuple[int, int]], bool]) -> bool:
        """Return whether this is an NVIDIA device whose architecture suits or is unknown."""
        version = self.compute_capability
        return "nvidia" in self.vendor.lower() and (version is None or suits(version))


def probe(context: cl.Context, devices: list[cl.Device], stored: ProbeResult | None) -> ProbeResult:
    """Compile trial programs unless a stored result exists, and patch the compiler if necessary.

    Parameters
    ----------
    context : pyopencl.Context
        A context of all devices.
    devices : list of pyopencl.Device
        One OpenCL device, or several that are used as one. The trial programs are compiled for the first.
    stored : ProbeResult or None
        The result of an earlier process.
    """
    device, backend = devices[0], find_backend(devices[0])
    for each in devices:
        backend.prepare_compiler(each)
    if stored is not None:
        if stored.patched:
            for each in devices:
                backend.patch(each)
        return stored
    if kind(device) != "cpu":
        return ProbeResult()
    probed = backend.probe(devices, trial_compiler(context, device), context)
    return replace(
        probed,
        clang_builtins=_makes_machine_code(device) and _compiles(context, device, _CLANG_BUILTINS),
        handover_seconds=_measure_handover(context, device) if len(devices) > 1 else 0.0,
    )


def trial_compiler(context: cl.Context, device: cl.Device) -> TrialCompiler:
    """Return the functions with which a backend compiles trial programs for a device."""
    return TrialCompiler(
        lambda source: _compiles(context, device, source),
        lambda each, source: compile_source(context, each, source),
        lambda each, gives_binary: preflight.compiling(each, launches=True, gives_binary=gives_binary),
    )


def _makes_machine_code(device: cl.Device) -> bool:
    """Return whether the compiler of a CPU is known to make machine code, so that trying a builtin is safe."""
    platform = device.platform.name.lower()
    return any(name in platform for name in _MACHINE_CODE_COMPILERS)


def _measure_handover(context: cl.Context, device: cl.Device) -> float:
    """Return the median time of an empty command in a queue of the device's threads, in seconds."""
    queue = cl.CommandQueue(context, device)
    seconds = []
    for _ in range(25):
        start = time.perf_counter()
        cl.enqueue_marker(queue)
        queue.finish()
        seconds.append(time.perf_counter() - start)
    return sorted(seconds)[len(seconds) // 2]


def _compiles(context: cl.Context, device: cl.Device, source: str) -> bool:
    try:
        compile_source(context, device, source)
    except RuntimeError:
        return False
    return True


KINDS = ("cpu", "gpu", "accelerator")


def kind(device: cl.Device) -> str:
    """Return the kind of a device, one of `KINDS`."""
    if device.type & cl.device_type.GPU:
        return "gpu"
    return "cpu" if device.type & cl.device_type.CPU else "accelerator"


def describe(device: cl.Device, probed: ProbeResult) -> Capabilities:
    """Return the capabilities of a device, from OpenCL's queries and a probe."""
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
        global_bytes=_total_bytes(device),
        max_alloc_bytes=device.max_mem_alloc_size,
        fp64="cl_khr_fp64" in extensions and not _simulated("NO_FP64", device),
        fp16="cl_khr_fp16" in extensions,
        host_memory=host,
        clang_builtins=probed.clang_builtins and not _simulated("NO_BUILTINS", device),
        function_attribute=probed.function_attribute,
        little_endian=bool(device.endian_little),
        reflections=find_backend(device).compiles_reflections(device),
        fma=_has_fma(device),
        subnormals=bool(device.single_fp_config & cl.device_fp_config.DENORM)
        and not _simulated("NO_SUBNORMALS", device),
        int64_atomics={"cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"} <= {*extensions},
        wide_registers=kind(device) == "cpu" and "avx512f" in cpu_flags(),
        argument_struct=kind(device) == "cpu",
        compute_capability=_compute_capability(device, extensions),
        handover_seconds=probed.handover_seconds,
        calls_code=probed.calls_code and host and _calls_are_on(),
    )


def _has_fma(device: cl.Device) -> bool:
    """Return whether `fma` of floats is an instruction. Intel's runtime for CPUs has it, and does not report it."""
    if _simulated("NO_FMA", device):
        return False
    if kind(device) == "cpu" and _makes_machine_code(device) and cpu_flags():
        return "fma" in cpu_flags()
    return bool(device.single_fp_config & cl.device_fp_config.FMA)


def _calls_are_on() -> bool:
    """Return whether there is a native implementation to call machine code, and CLARRAY_DIRECT does not forbid it."""
    return native is not None and os.environ.get("CLARRAY_DIRECT", "1") not in ("", "0")


def _works_in_host_memory(device: cl.Device) -> bool:
    return kind(device) == "cpu" and bool(device.host_unified_memory) and not _simulated("OWN_MEMORY", device)


def _total_bytes(device: cl.Device) -> int:
    """Return the bytes of a device's memory. Some runtimes on the host report a part of it, so the system is asked."""
    return total_host_bytes() if _works_in_host_memory(device) else int(device.global_mem_size)


def describe_in_line(device: cl.Device) -> str:
    """Return the line for a device in a list of devices: name, kind, size and platform. No context is opened."""
    size = f"{device.max_compute_units} compute units, {_total_bytes(device) / 2**30:.1f} GiB"
    return f"{device.name.strip()}: {kind(device)}, {size}, {device.platform.name.strip()}"


def _compute_capability(device: cl.Device, extensions: list[str]) -> tuple[int, int] | None:
    if "cl_nv_device_attribute_query" not in extensions:
        return None
    try:
        return device.compute_capability_major_nv, device.compute_capability_minor_nv
    except cl.Error:
        return None


def _simulated(what: str, device: cl.Device) -> bool:
    """Return whether a test simulates a missing capability: for all devices by 1, or for a platform by its name.

    The suffix ":1" after a part of the platform's name selects the platform's second device, and so on.
    """
    chosen = os.environ.get(f"CLARRAY_SIMULATE_{what}", "0").strip().lower()
    name, colon, number = chosen.rpartition(":")
    if colon and number.isdecimal():
        devices = device.platform.get_devices()
        return name in device.platform.name.lower() and devices.index(device) == int(number)
    return chosen == "1" or (chosen not in ("", "0") and chosen in device.platform.name.lower())
