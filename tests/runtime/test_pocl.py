"""The repairs of PoCL 3.0, on structures made up for the purpose."""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from clarray._engine.runtime import current_device, environment, host_cpu, programs
from clarray._engine.runtime.backends.pocl import binary_format, cpu_name, header, linker_flags, program_files
from clarray._engine.runtime.backends.pocl.backend import Pocl
from clarray._engine.runtime.backends.pocl.cpu_name import is_patchable, library_cpu
from clarray._engine.runtime.programs import compile_source


class SettingsOnly(Pocl):
    """The backend, without the folder that `settings` makes."""

    def settings(self, has_driver: Callable[[str], bool]) -> dict[str, str]:
        return {}

    def end_discovery(self) -> None:
        pass


linux_x86 = pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="the wheel's platform")


class Structures:
    """Two devices' structures side by side, slots of pointers to texts."""

    def __init__(self, **texts: bytes) -> None:
        self.slots = (ctypes.c_char_p * 256)()
        for slot, text in texts.items():
            self.slots[int(slot[1:])] = text
        ctypes.cast(self.slots, ctypes.POINTER(ctypes.c_uint64))[1] = 0x1234_5678_9ABC  # unmapped
        ctypes.cast(self.slots, ctypes.POINTER(ctypes.c_uint64))[2] = 7

    def device(self) -> SimpleNamespace:
        return SimpleNamespace(int_ptr=ctypes.addressof(self.slots))


@linux_x86
def test_only_the_first_pointer_of_one_device_is_turned() -> None:
    memory = Structures(_5=b"gener", _80=b"generic", _90=b"generic", _208=b"generic")
    assert cpu_name.patch_cpu_name(memory.device())  # type: ignore[arg-type]
    assert memory.slots[80] == library_cpu().encode()
    assert memory.slots[90] == memory.slots[208] == b"generic"
    assert memory.slots[5] == b"gener"


@linux_x86
def test_a_known_cpu_is_turned_where_it_follows_the_target() -> None:
    memory = Structures(_70=b"znver3", _79=b"x86_64-unknown-linux-gnu", _80=b"znver3", _90=b"znver3")
    assert cpu_name.patch_cpu_name(memory.device())  # type: ignore[arg-type]
    assert memory.slots[80] == library_cpu().encode()
    assert memory.slots[70] == memory.slots[90] == b"znver3"


@linux_x86
def test_nothing_is_touched_where_nothing_fits() -> None:
    memory = Structures(_80=b"znver3", _208=b"generic")
    assert not cpu_name.patch_cpu_name(memory.device())  # type: ignore[arg-type]
    assert memory.slots[80] == b"znver3"
    assert not cpu_name.patch_cpu_name(SimpleNamespace(int_ptr=0x1234_5678_9ABC))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("flags", "cpu"),
    [
        ("sse sse2", "x86-64"),
        ("ssse3 sse4_1 avx f16c", "ivybridge"),
        ("ssse3 sse4_1 avx f16c fma4", "bdver1"),
        ("ssse3 sse4_1 avx f16c avx2 fma", "haswell"),
        ("avx avx2 avx512f avx512bw", "skylake-avx512"),
    ],
)
def test_the_kernel_librarys_cpu(monkeypatch: pytest.MonkeyPatch, flags: str, cpu: str) -> None:
    monkeypatch.setattr(cpu_name, "cpu_flags", lambda: frozenset(flags.split()))
    assert library_cpu() == cpu
    assert f"arch={cpu}" in cpu_name.function_attribute()


def test_binaries_are_made_out_to_another_device() -> None:
    binary = b"poclbin\0" + bytes(range(8)) + b"the rest"
    assert binary_format.binary_id(binary) == bytes(range(8)).hex()
    other = binary_format.with_device_id(binary, "ff" * 8)
    assert other == b"poclbin\0" + b"\xff" * 8 + b"the rest"
    assert binary_format.binary_id(b"poclbin\0") == ""
    assert binary_format.binary_id(b"\x7fELF" + bytes(100)) == ""


def array_of(*flags: bytes | None) -> Any:
    return (ctypes.c_char_p * len(flags))(*flags)


def device_with_arrays(**arrays: Any) -> tuple[SimpleNamespace, Any]:
    """Return a device whose structure has pointers to arrays in some slots, and the slots."""
    slots = (ctypes.c_void_p * 256)()
    for slot, array in arrays.items():
        slots[int(slot[1:])] = ctypes.addressof(array)
    return SimpleNamespace(int_ptr=ctypes.addressof(slots)), slots


@linux_x86
def test_linker_flags_are_extended_once() -> None:
    flags, longer = array_of(b"-nostartfiles", b"-shared", None), array_of(b"-nostartfiles", b"-shared", b"-lm", None)
    device, slots = device_with_arrays(_5=longer, _87=flags, _208=flags)
    assert linker_flags.patch_linker_flags(device)  # type: ignore[arg-type]
    patched = ctypes.cast(slots[87], ctypes.POINTER(ctypes.c_char_p))
    assert [patched[i] for i in range(5)] == [b"-nostartfiles", b"-shared", b"-nodefaultlibs", b"-lgcc", None]
    assert (slots[5], slots[208]) == (ctypes.addressof(longer), ctypes.addressof(flags))
    assert not linker_flags.patch_linker_flags(device)  # type: ignore[arg-type]


@linux_x86
def test_linker_flags_of_another_version_stay() -> None:
    arrays = [array_of(b"-shared", b"-nostartfiles", None), array_of(b"-nostartfiles", None), array_of(None)]
    device, slots = device_with_arrays(**{f"_{87 + i}": array for i, array in enumerate(arrays)})
    before = bytes(slots)
    assert not linker_flags.patch_linker_flags(device)  # type: ignore[arg-type]
    assert bytes(slots) == before
    assert not linker_flags.patch_linker_flags(SimpleNamespace(int_ptr=0x1234_5678_9ABC))  # type: ignore[arg-type]


@linux_x86
def test_a_programs_folder_is_read_from_its_structure() -> None:
    for name in (b"_UNCACHED_a9Zb_c", b"program-12-3"):
        memory = Structures(_3=b"program.bc", _28=name, _200=b"program-99-9")
        assert program_files.program_folder(memory.device()) == name.decode()  # type: ignore[arg-type]
    assert program_files.program_folder(Structures(_5=b"_UNCACHED_", _6=b"program-1").device()) is None  # type: ignore[arg-type]
    assert program_files.program_folder(SimpleNamespace(int_ptr=0x1234_5678_9ABC)) is None  # type: ignore[arg-type]


@linux_x86
def test_pages_of_what_has_been_unloaded_are_left_out() -> None:
    mapped = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    first = ctypes.addressof(ctypes.c_char.from_buffer(mapped))
    pages = range(first, first + len(mapped), mmap.PAGESIZE)
    program_files._touch(pages)
    mapped.close()
    program_files._touch(pages)


def test_the_identity_names_the_cpu() -> None:
    assert host_cpu.cpu_identity().startswith(platform.machine())


@pytest.fixture
def pocls() -> Any:
    """The device in use, where it is the wheel's PoCL."""
    device = current_device()
    if device.backend.name != "pocl" or header._folder(is_patchable(device.cl_device)) is None:
        pytest.skip("another runtime than PoCL, or one without its header")
    device.capabilities  # noqa: B018 - sets it up
    return device


def test_a_source_is_compiled_with_the_declarations_it_needs(pocls: Any) -> None:
    source = """kernel void f(global float *x, local int *n, global double *y) {
        vstore16(exp(convert_float16(vload16(0, y))), 0, x);
        barrier(CLK_LOCAL_MEM_FENCE);
        atomic_add(n, popcount(as_int(fma(x[get_global_id(0)], 2.0f, min(x[1], 1.0f)))));
    }"""
    longer, options = header.with_declarations(source, "", is_patchable(pocls.cl_device))
    declarations = longer.removesuffix(source)
    assert declarations != longer
    assert len(declarations) < 40_000 < 980_000
    assert "float16 __ovld __cnfn exp(float16 x);" in declarations
    assert "cosh" not in declarations
    programs.build(programs.create_program(pocls.context, longer), options, pocls.cl_device)


def test_a_name_that_a_macro_makes_is_found_all_the_same(pocls: Any) -> None:
    source = "#define F(x) c##osh(x)\nkernel void f(global float *x) { x[0] = F(x[1]); }"
    compile_source(pocls.context, pocls.cl_device, source)


def test_an_error_is_told_with_the_sources_own_lines(pocls: Any) -> None:
    with pytest.raises(RuntimeError, match=r"tempfile_\w+\.cl:2:1.*not_there"):
        compile_source(pocls.context, pocls.cl_device, "kernel void f(void) {\nnot_there(); }")


# A copy of 512 bytes calls the C library, and a quotient of 128 bits calls libgcc.
CALLS = """
typedef struct { long items[64]; } block;
kernel void calls(global const block *x, global block *y, const long at) {
    block copy = x[at];
    copy.items[at] = (long)((unsigned __int128)copy.items[at] * 1000000007 / (unsigned __int128)(at + 3));
    y[0] = copy;
}
"""


def test_a_kernel_calls_the_c_library_without_a_reference_to_it(pocls: Any) -> None:
    program = pocls.program(CALLS, {"calls": ("buffer", "buffer", "int64")})
    x = np.arange(128, dtype=np.int64) << 20
    y = np.empty(64, np.int64)
    source, target = pocls.upload(x), pocls.allocate(y.nbytes)
    program.kernel("calls").launch((1,), (1,), (source.buffer, target.buffer, 1), True, nbytes=2 * y.nbytes)
    pocls.read(target, 0, y)
    expected = x[64:].copy()
    expected[1] = int(expected[1]) * 1000000007 // 4
    np.testing.assert_array_equal(y, expected)
    binary = pocls.backend.program_binary(next(iter(program._built.values())), 1)
    assert b"memcpy" in binary
    assert b"libc.so" not in binary


@pytest.mark.parametrize(("driver", "users", "expected"), [(True, None, "0"), (True, "1", "1"), (False, None, None)])
def test_what_the_compiler_reads_stays_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, driver: bool, users: str | None, expected: str | None
) -> None:
    name = "POCL_PREGION_VALUE_REMAT"
    monkeypatch.setenv(name, users or "")  # restored after the test
    if users is None:
        monkeypatch.delenv(name)
    monkeypatch.setattr(environment, "_has_driver", lambda word: driver and word == "pocl")
    monkeypatch.setattr(environment, "BACKENDS", (SettingsOnly(),))
    with environment.prepared_environment():
        assert os.environ.get(name) == expected
    assert os.environ.get(name) == expected
