"""The interface of a backend, and the backend of an implementation that needs nothing beyond OpenCL."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pyopencl as cl

from clarray._engine.values import dataclass


@dataclass(frozen=True)
class Compiled:
    """Capabilities that only a trial can show. The device's identity names them on disk: all processes plan alike.

    Attributes
    ----------
    patched : bool
        `Backend.patch` is needed before anything compiles.
    clang_builtins : bool
        See `Capabilities`.
    function_attribute : str
        The text that the compiler needs before every function.
    binary_ids : tuple of str
        The id of each device in its binaries, if a binary of one device can be made one of another.
    hand_over : float
        See `Capabilities`.
    calls_code : bool
        The native implementation can call the machine code of kernels.
    """

    patched: bool = False
    clang_builtins: bool = False
    function_attribute: str = ""
    binary_ids: tuple[str, ...] = ()
    hand_over: float = 0.0
    calls_code: bool = False

    @staticmethod
    def from_json(fields: dict[str, Any] | None) -> Compiled | None:
        """Return the capabilities that were stored, or None if these are none, or another version's."""
        try:
            return Compiled(**fields | {"binary_ids": tuple(fields["binary_ids"])}) if fields else None
        except (KeyError, TypeError):
            return None


class MachineCode:
    """The function of a kernel that runs one work-group, loaded as long as this lives.

    Attributes
    ----------
    address : int
    codes, places : bytes
        How the kernel takes its arguments, see `Taken`.
    """

    __slots__ = ("address", "codes", "places")


class Trials(NamedTuple):
    """The functions with which a backend compiles trial programs.

    Attributes
    ----------
    compiles : callable
        Return whether a source compiles for the first device.
    compile : callable
        Compile a source for a device.
    guard : callable
        Return the context in which a trial may launch on a device, and ask for a binary if the second argument says so.
    """

    compiles: Callable[[str], bool]
    compile: Callable[[cl.Device, str], cl.Program]
    guard: Callable[[cl.Device, bool], AbstractContextManager[None]]


class Backend:
    """The interface to an OpenCL implementation beyond OpenCL. This class is for those that need nothing."""

    name: ClassVar[str] = "plain"
    compiles_at_launch: ClassVar[bool] = False  # a build leaves the machine code to each kernel's first launch
    works_in_process: ClassVar[bool] = False  # by threads of this process, so that a fork waits for them
    takes_longer_memory: ClassVar[bool] = False  # a buffer may be shorter than the host memory that it stands for

    # Discovery

    def settings(self, has_driver: Callable[[str], bool]) -> dict[str, str]:
        """Return the environment variables to set for the first query of OpenCL."""
        return {}

    def discovered(self) -> None:
        """Note that the first query is over."""

    def hint(self) -> str:
        """Return what to add to the error that says that there is no device."""
        return ""

    def starting(self, found: Sequence[cl.Device]) -> AbstractContextManager[None]:
        """Return the context in which the drivers start, and put their devices into `found`."""
        return contextlib.nullcontext()

    def paired(self, listed: Sequence[cl.Device]) -> list[tuple[cl.Device, cl.Device | None]]:
        """Return the devices of a platform, each with the one that runs its launches in the calling thread."""
        return [(device, None) for device in listed]

    def survives_fork(self, device: cl.Device) -> bool:
        """Return whether a device of the parent works in a forked process."""
        return False

    def abandon(self) -> None:
        """Leave what this process keeps on disk to a later one: something here still uses it."""

    # Compiling

    def probe(self, devices: Sequence[cl.Device], trials: Trials, context: cl.Context) -> Compiled:
        """Return what trial compilations show of a CPU, but for `clang_builtins` and `hand_over`."""
        return Compiled()

    def patch(self, device: cl.Device) -> None:
        """Make the compiler work, as an earlier process has found out that it must be."""

    def binary_room(self) -> Any:
        """Return the memory that asking for a binary takes, or None if it is that of compiling."""
        return None

    def require(self, device: cl.Device, loads: bool) -> None:
        """Raise OSError if the compiler would lack something; `loads` says that the machine code is on disk."""

    def require_files(self) -> None:
        """Raise OSError if there is no room for the files of a launch."""

    def children_waited_for(self) -> AbstractContextManager[None]:
        """Return the context in which the compiler can wait for its processes."""
        return contextlib.nullcontext()

    def shortened(self, device: cl.Device, source: str, attribute: str) -> tuple[str, list[str]] | None:
        """Return a source that compiles faster to the same program, and its options; None if there is none."""
        return None

    # Binaries

    def program_binary(self, program: cl.Program, kernels: int) -> bytes:
        """Return the binary of a program of so many kernels, compiled for one device; b'' if there is none."""
        # A program made from source names every device of its context, with nothing for the others.
        with contextlib.suppress(cl.Error):
            for part in program.get_info(cl.program_info.BINARIES):
                if part:
                    return bytes(part)
        return b""

    def is_complete(self, binary: bytes) -> bool:
        """Return whether a binary holds all of its kernels."""
        return bool(binary)

    def retarget(self, binary: bytes, binary_id: str) -> bytes:
        """Return a binary for the device that has another id."""
        return binary

    def placed(self, binary: bytes, folder: str | None) -> tuple[bytes, str | None]:
        """Return a binary whose files go to a folder, and the folder: the one given, or a new one."""
        return binary, folder

    # Machine code

    def program_folder(self, program: cl.Program) -> str | None:
        """Return the name of the folder that has a program's files."""
        return None

    def is_compiled(self, folder: str | None, kernel: str, local: tuple[int, ...]) -> bool:
        """Return whether the machine code of such launches came with a program's binary."""
        return False

    def code_file(self, folder: str | None, kernel: str, local: tuple[int, ...]) -> Path | None:
        """Return the file of the machine code of a launch that has finished."""
        return None

    def load(self, file: Path, kernel: str, codes: bytes, places: bytes) -> Any:
        """Load the machine code of a kernel, for the native implementation; None if that fails."""
        return None

    def use_threads(self, compute_units: int) -> None:
        """Have the native implementation share work among as many threads as the device has."""
