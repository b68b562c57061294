"""The interface of a backend, and the default backend for implementations without special needs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pyopencl as cl

from clarray._engine.fast_dataclass import dataclass


@dataclass(frozen=True)
class ProbeResult:
    """Capabilities that only trial compilations show. They are cached on disk, so that all processes plan alike.

    Attributes
    ----------
    patched : bool
        Whether `Backend.patch` is needed before anything compiles.
    clang_builtins : bool
        See `Capabilities`.
    function_attribute : str
        The text that the compiler needs before every function.
    binary_ids : tuple of str
        The id of each device in its binaries, if a binary can be converted to one for another device.
    handover_seconds : float
        See `Capabilities`.
    calls_code : bool
        Whether the native implementation can call the machine code of kernels.
    """

    patched: bool = False
    clang_builtins: bool = False
    function_attribute: str = ""
    binary_ids: tuple[str, ...] = ()
    handover_seconds: float = 0.0
    calls_code: bool = False

    @staticmethod
    def from_json(fields: dict[str, Any] | None) -> ProbeResult | None:
        """Return stored capabilities, or None if there are none or they have other fields."""
        try:
            return ProbeResult(**fields | {"binary_ids": tuple(fields["binary_ids"])}) if fields else None
        except (KeyError, TypeError):
            return None


class MachineCode:
    """The machine code of a kernel: a function that runs one work-group. It stays loaded while this object lives.

    Attributes
    ----------
    address : int
    codes, places : bytes
        The layout of the arguments, see `ArgumentLayout`.
    """

    __slots__ = ("address", "codes", "places")


class TrialCompiler(NamedTuple):
    """The functions with which a backend compiles trial programs.

    Attributes
    ----------
    compiles : callable
        Return whether a source compiles for the first device.
    compile : callable
        Compile a source for a device.
    guard : callable
        Return the context in which a trial may launch on a device. The second argument says whether it requests a
        binary.
    """

    compiles: Callable[[str], bool]
    compile: Callable[[cl.Device, str], cl.Program]
    guard: Callable[[cl.Device, bool], AbstractContextManager[None]]


class Backend:
    """The interface to an OpenCL implementation. This class is for implementations without special needs."""

    name: ClassVar[str] = "plain"
    compiles_at_launch: ClassVar[bool] = (
        False  # whether the first launch of a kernel makes its machine code, and not the build
    )
    works_in_process: ClassVar[bool] = (
        False  # whether threads of this process run kernels, so that a fork waits for them
    )
    accepts_short_buffers: ClassVar[bool] = False  # whether kernels may access host memory behind the end of a buffer

    # Discovery

    def settings(self, has_driver: Callable[[str], bool]) -> dict[str, str]:
        """Return the environment variables to set for the first query of OpenCL."""
        return {}

    def compiler_settings(self, has_driver: Callable[[str], bool]) -> dict[str, str]:
        """Return the environment variables to set for good, since the compiler reads them."""
        return {}

    def end_discovery(self) -> None:
        """Handle the end of the first query."""

    def no_device_hint(self) -> str:
        """Return a hint for the error that there is no device."""
        return ""

    def starting(self, discovered: Sequence[cl.Device]) -> AbstractContextManager[None]:
        """Return the context in which the drivers start, and the discovery adds their devices to `discovered`."""
        return contextlib.nullcontext()

    def pair_devices(self, devices: Sequence[cl.Device]) -> list[tuple[cl.Device, cl.Device | None]]:
        """Return pairs of a platform's device and the device that runs its launches in the calling thread, or None."""
        return [(device, None) for device in devices]

    def rank(self, device: cl.Device) -> int:
        """Return a number that is smaller for a device that should be listed before others of this backend."""
        return 0

    def survives_fork(self, device: cl.Device) -> bool:
        """Return whether a device of the parent works in a forked process."""
        return False

    def leave_files(self) -> None:
        """Leave the files of this process to a later process, since a thread still uses them."""

    # Compilation

    def prepare_compiler(self, device: cl.Device) -> None:
        """Change the compiler's settings for a device before anything is compiled."""

    def probe(self, devices: Sequence[cl.Device], trial_compiler: TrialCompiler, context: cl.Context) -> ProbeResult:
        """Return the result of trial compilations for a CPU, without `clang_builtins` and `handover_seconds`."""
        return ProbeResult()

    def patch(self, device: cl.Device) -> None:
        """Patch the compiler, if an earlier process has found that necessary."""

    def binary_need(self) -> Any:
        """Return the memory that a request for a binary needs, or None if it needs no more than compilation."""
        return None

    def require(self, device: cl.Device, loads: bool) -> None:
        """Raise OSError if the compiler would fail. `loads` says whether the machine code is on disk."""

    def require_files(self) -> None:
        """Raise OSError if there is no space for the files of a launch."""

    def wait_for_children(self) -> AbstractContextManager[None]:
        """Return the context in which the compiler can wait for its child processes."""
        return contextlib.nullcontext()

    def compiles_in_child(self, device: cl.Device) -> bool:
        """Return whether a child process compiles programs, since the compiler may end its process or never finish."""
        return False

    def compiles_reflections(self, device: cl.Device) -> bool:
        """Return whether the compiler makes right code of Householder's reflections in stacks of small matrices."""
        return True

    def shorten_source(self, device: cl.Device, source: str, attribute: str) -> tuple[str, list[str]] | None:
        """Return a source that compiles faster to the same program, with its options, or None."""
        return None

    # Binaries

    def program_binary(self, program: cl.Program, kernels: int) -> bytes:
        """Return the binary of a program with `kernels` kernels, compiled for one device, or b'' if there is none."""
        # A program made from source lists every device of its context, and has no binary for the others.
        with contextlib.suppress(cl.Error):
            for binary in program.get_info(cl.program_info.BINARIES):
                if binary:
                    return bytes(binary)
        return b""

    def is_complete(self, binary: bytes) -> bool:
        """Return whether a binary holds all of its kernels."""
        return bool(binary)

    def retarget(self, binary: bytes, binary_id: str) -> bytes:
        """Return the binary with the id of another device."""
        return binary

    def assign_folder(self, binary: bytes, folder: str | None) -> tuple[bytes, str | None]:
        """Return the binary with the name of the folder for its files, and the name: `folder` or a new one."""
        return binary, folder

    # Machine code

    def program_folder(self, program: cl.Program) -> str | None:
        """Return the name of the folder with a program's files."""
        return None

    def is_compiled(self, folder: str | None, kernel: str, local: tuple[int, ...]) -> bool:
        """Return whether the machine code for a local size came with a program's binary."""
        return False

    def code_file(self, folder: str | None, kernel: str, local: tuple[int, ...]) -> Path | None:
        """Return the file with the machine code of a finished launch."""
        return None

    def load(self, file: Path, kernel: str, codes: bytes, places: bytes) -> Any:
        """Load the machine code of a kernel for the native implementation, or return None if that fails."""
        return None

    def use_threads(self, compute_units: int) -> None:
        """Set the number of threads of the native implementation to the number of the device's threads."""
