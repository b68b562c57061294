"""Programs: source compiled when first launched, once per queue kind, kept in memory and on disk.

    source -> Program -> Kernel -> launch
                |
                +-- per lane: disk cache, else the compiler; the result goes back to disk

PoCL compiles the work-group function at the first launch, not at the build, so there the binary is
saved after the first launch of each kernel (and of each local size): a new process then compiles
nothing at all.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyopencl as cl

from clarray.runtime import profile
from clarray.runtime.cache import key_of
from clarray.runtime.launch import Bound, Kernel
from clarray.runtime.quiet import quiet_build

if TYPE_CHECKING:
    from clarray.runtime.device import Device, Lane

ArgType = str  # 'buffer', or the name of a NumPy scalar type


class Program:
    """OpenCL C source and the kernels in it.

    Parameters
    ----------
    device : Device
        Where it runs.
    source : str
        OpenCL C.
    arg_types : mapping of str to sequence of str
        For each kernel, in the order of its arguments: 'buffer', or a NumPy scalar type's name.
    """

    __slots__ = ("source", "_arg_types", "_built", "_device", "_kernels")

    def __init__(
        self, device: Device, source: str, arg_types: Mapping[str, Sequence[ArgType]]
    ) -> None:
        self.source = source
        self._device = device
        self._arg_types = {name: tuple(types) for name, types in arg_types.items()}
        self._built: dict[str, cl.Program] = {}
        self._kernels: dict[str, Kernel] = {}

    def kernel(self, name: str) -> Kernel:
        """Give a kernel by its name; nothing is compiled before its first launch."""
        try:
            return self._kernels[name]
        except KeyError:
            if name not in self._arg_types:
                raise KeyError(f"no kernel {name!r} among {sorted(self._arg_types)}") from None
            return self._kernels.setdefault(name, Kernel(self._device, self, name))

    def bind(self, name: str, lane: Lane) -> Bound:
        """Compile, if need be, and give a kernel of one lane, ready for arguments."""
        kernel = cl.Kernel(self._program(lane), name)
        types = self._arg_types[name]
        kernel.set_scalar_arg_dtypes([None if t == "buffer" else np.dtype(t) for t in types])
        return Bound(kernel, lane)

    def save(self, lane: Lane) -> None:
        """Write one lane's binary to the disk cache."""
        binary = self._built[lane.name].get_info(cl.program_info.BINARIES)
        # A program made from source names every device of the context; those not built for are empty.
        found = [part for part in binary if part]
        if len(found) == 1:
            self._device.program_cache.store(self._key(lane), bytes(found[0]))

    def _key(self, lane: Lane) -> str:
        return key_of(self._device.identity, lane.name, self.source)

    def _program(self, lane: Lane) -> cl.Program:
        program = self._built.get(lane.name)
        if program is None:
            program = self._load(lane) or self._compile(lane)
            self._built[lane.name] = program
        return program

    def _load(self, lane: Lane) -> cl.Program | None:
        cache = self._device.program_cache
        binary = cache.load(self._key(lane))
        if binary is None:
            return None
        try:
            with quiet_build(self._device.noisy):
                program = cl.Program(self._device.context, [lane.device], [binary])
                return program.build(devices=[lane.device])
        except cl.Error:  # sound bytes, and yet the runtime will not have them: it has changed
            cache.discard(self._key(lane))
            return None

    def _compile(self, lane: Lane) -> cl.Program:
        start = time.perf_counter()
        program = compile_source(self._device.context, lane.device, self.source, self._device.noisy)
        if not self._device.compiles_at_launch:
            self._built[lane.name] = program
            self.save(lane)
        profile.record("build", ", ".join(self._arg_types), 0, time.perf_counter() - start)
        return program


def compile_source(
    context: cl.Context, device: cl.Device, source: str, noisy: bool = True
) -> cl.Program:
    """Compile for one device of a context, without a word.

    Raises
    ------
    RuntimeError
        With the compiler's log and the numbered source.
    """
    # The one-argument form, since pyopencl would keep a second cache beside ours.
    program = cl.Program(cl._cl._Program(context, source))
    try:
        with quiet_build(noisy):
            return program.build(devices=[device])
    except cl.Error as error:
        numbered = "\n".join(
            f"{number:4} {line}" for number, line in enumerate(source.splitlines(), 1)
        )
        raise RuntimeError(
            f"{device.name} cannot compile this program:\n{error}\n{numbered}"
        ) from None
