"""Capture the steps of a call, so that a program can replay them without the call.

    repeated call -> Capture <- Pool.allocate: the allocated memory
                        |    <- Kernel.launch: the kernels and their arguments
                        |    <- Device.read_scalar: the values that the call depends on
                        |    <- host_calls.call_on_host: the functions of NumPy or another library of the host
                        v
              a program of the native implementation, see speedups/captured_calls.cpp

A replay is correct only if the steps follow from the structure of the operands. So a read of anything else, above all
of elements in host memory, aborts the capture. A value that is read through the device becomes a guard.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType, NotImplementedType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl

from clarray._engine.runtime.forking import after_fork_in_child
from clarray._engine.runtime.profiling import state
from clarray._engine.runtime.steps import (
    ALWAYS_INLINE,
    CONSTANT,
    EPOCH_MEMORY,
    EPOCH_NUMBER,
    INPUT,
    NEVER_INLINE,
    NUMBER,
    PERSISTENT,
    TEMPORARY,
    ConstantFloat,
    ConstantInt,
    FillStep,
    HostStep,
    KernelStep,
    LaunchEpoch,
    ReadStep,
    Step,
    WaitStep,
)

if TYPE_CHECKING:
    from clarray._engine.runtime.device import Device
    from clarray._engine.runtime.launch import Kernel
    from clarray._engine.runtime.memory import Memory

MAX_STEPS = 24  # of a capture: Python's share of the time of a longer call is small

# The number of calls with one signature after which kernels replace NumPy. A replay takes 2 to 10 us less than NumPy.
# A kernel on disk takes 3 ms to load, which 600 calls make up for. Another takes 100 ms to compile, which 20,000 calls
# make up for. NumPy's time grows with the operands, so each `PAGE` of them counts as one more call.
FREQUENT_CALLS = 1 << 10
PAGE = 1 << 12  # bytes


class Capture:
    """Record the launches, waits and reads of one thread while it is `state.capture`.

    Parameters
    ----------
    device : Device
        Device of the operands. Work on another device aborts the capture.
    inputs : sequence of Memory
        Memory of the operands. All other memory of the steps is allocated during the capture, or persistent.
    persistent : mapping of int to Memory
        Memory that the device keeps, by the id of its buffer.
    calls : int
        The number of earlier calls with the same signature.
    constants : mapping, optional
        The numbers of a region's constants, by their values. Launches take the value of each run.

    Attributes
    ----------
    temporaries : list of int
        The size of each temporary in bytes.
    written : list of int
        The number of an input for each time that it has been overwritten.
    steps : list of Step
    scalars : dict
        The results of host steps that are host scalars: the node and the number of the temporary that the step writes,
        by the node's id.
    aborted : bool
        Whether the call has read something that the steps do not contain.
    """

    def __init__(
        self,
        device: Device,
        inputs: Sequence[Memory],
        persistent: Mapping[int, Memory],
        calls: int,
        constants: Mapping[Any, int] | None = None,
    ) -> None:
        self.constants = constants or {}
        self.temporaries: list[int] = []
        self.written: list[int] = []
        self.steps: list[Step] = []
        self.aborted = False
        self._device = device
        self.is_frequent = calls * (1 + sum(m.nbytes for m in inputs) // PAGE) >= FREQUENT_CALLS
        self.scalars: dict[int, tuple[Any, int]] = {}
        self._persistent = persistent
        self._constants: set[int] = set()  # ids of the buffers of uploaded memory
        self._thread = threading.get_ident()
        self._sources: dict[int, tuple[str, Any]] = {id(m.buffer): (INPUT, k) for k, m in enumerate(inputs)}

    @property
    def is_current_thread(self) -> bool:
        """Whether the calling thread is the captured one."""
        return self._thread == threading.get_ident()

    @property
    def is_recording(self) -> bool:
        """Whether the calling thread is the captured one, and the capture is not aborted."""
        return self.is_current_thread and not self.aborted and not self._is_reentrant()

    def temporary_number(self, memory: Memory) -> int:
        """Return the number of a temporary, or -1 for any other memory."""
        letter, number = self._find_source(memory.buffer)
        return number if letter == TEMPORARY else -1

    def _find_source(self, buffer: cl.Buffer) -> tuple[str, Any]:
        """Return the letter of a buffer with its number or persistent memory, or with None if the buffer is unknown."""
        return self._sources.get(id(buffer)) or (PERSISTENT, self._persistent.get(id(buffer)))

    def allocated(self, memory: Memory) -> None:
        if self.is_current_thread and not self._is_reentrant():
            self.aborted |= memory.device is not self._device
            # a later temporary with the same block replaces the earlier one, which has been dropped
            self._sources[id(memory.buffer)] = TEMPORARY, len(self.temporaries)
            self.temporaries.append(memory.nbytes)

    def overwritten(self, memory: Memory) -> None:
        if self.is_current_thread:
            letter, number = self._find_source(memory.buffer)
            if letter == INPUT:
                self.written.append(number)
            self.aborted |= id(memory.buffer) in self._constants

    def launched(
        self,
        kernel: Kernel,
        groups: tuple[int, ...],
        local: tuple[int, ...],
        args: Sequence[Any],
        inline: bool,
        nbytes: int,
    ) -> None:
        if not self.is_current_thread or self.aborted or self._is_reentrant():
            return
        letters: list[str] = []
        sources: list[Any] = []
        for arg in args:
            if type(arg) is LaunchEpoch and letters:  # the argument before it is the memory of the epoch
                letters[-1:] = [EPOCH_MEMORY, EPOCH_NUMBER]
                sources[-1:] = [None, arg.next]
            elif type(arg) in (ConstantFloat, ConstantInt):
                letters.append(CONSTANT)
                sources.append(arg.number)
            elif type(arg) is cl.Buffer:
                letter, source = self._find_source(arg)
                letters.append(letter)
                sources.append(source)
            else:
                self.aborted |= not isinstance(arg, int | float | np.number)
                letters.append(NUMBER)
                sources.append(arg.item() if isinstance(arg, np.number) and arg.dtype.char in "fdbBhHiIlLqQ" else arg)
        is_captured = [
            source is not None or letter == EPOCH_MEMORY for letter, source in zip(letters, sources, strict=True)
        ]
        self.aborted |= not all(is_captured)
        step = KernelStep(
            kernel=kernel,
            groups=groups,
            local=local,
            letters="".join(letters),
            args=tuple(sources),
            inline_bytes=ALWAYS_INLINE if inline else NEVER_INLINE,
            nbytes=nbytes,
        )
        self._note(step)

    def read(self, memory: Memory, byte_offset: int, dtype: np.dtype, value: Any) -> None:
        if self.is_current_thread and not self._is_reentrant():
            letter, source = self._find_source(memory.buffer)
            self.aborted |= source is None or dtype.kind not in "biu"
            self._note(ReadStep(letter=letter, memory=source, byte_offset=byte_offset, dtype=dtype, value=value))

    def uploaded(self, memory: Memory) -> None:
        """Note new memory with values that follow from the signature and the guards. The program keeps the memory."""
        if self.is_current_thread and not self._is_reentrant():
            self.aborted |= memory.device is not self._device
            self._sources[id(memory.buffer)] = PERSISTENT, memory
            self._constants.add(id(memory.buffer))

    def is_constant(self, memory: Memory) -> bool:
        """Return whether a memory has been uploaded during the capture."""
        return id(memory.buffer) in self._constants

    def filled(self, memory: Memory) -> None:
        """Note that every byte of a memory has been set to zero by the host."""
        if self.is_current_thread and not self._is_reentrant():
            number = self.temporary_number(memory)
            self.aborted |= number < 0
            self._note(FillStep(temporary=number))

    def called_on_host(
        self, call: Callable[..., bool | None], memories: Sequence[Memory], until_frequent: bool = False
    ) -> None:
        """Note a call of a host function that reads and writes memories. See `HostStep`."""
        if self.is_current_thread and not self._is_reentrant():
            letters, sources = zip(*(self._find_source(memory.buffer) for memory in memories), strict=True)
            self.aborted |= any(source is None for source in sources)
            self._note(HostStep(call=call, letters="".join(letters), memories=sources, until_frequent=until_frequent))

    def scalar_temporary(self, node: Any) -> int:
        """Return the number of the temporary with a host scalar's value, or -1 if no host step computes the scalar."""
        return self.scalars.get(id(node), (None, -1))[1]

    def waited(self) -> None:
        if self.is_current_thread and not self._is_reentrant():
            self._note(WaitStep())

    def _is_reentrant(self) -> bool:
        """Return whether the capture is aborted, and abort it if code outside the library is on the stack.

        Such code is a signal handler, or a finalizer that the garbage collector runs.
        """
        frame: Any = sys._getframe(2)
        while frame is not None and frame.f_code is not _RUN_CAPTURED:
            if not _is_library_frame(frame):
                self.aborted = True
                break
            frame = frame.f_back
        return self.aborted

    def _note(self, step: Step) -> None:
        self.aborted |= len(self.steps) >= MAX_STEPS
        if not self.aborted:
            self.steps.append(step)


def abort_capture() -> None:
    """Abort the capture of the calling thread, which reads something that no step contains."""
    capture = state.capture
    if capture is not None and capture.is_current_thread:
        capture.aborted = True


def current_capture() -> Capture | None:
    """Return the capture of the calling thread, unless it is aborted."""
    capture = state.capture
    return capture if capture is not None and capture.is_current_thread and not capture.aborted else None


@contextmanager
def suspended(capture: Capture) -> Iterator[None]:
    """Note nothing in a capture of the calling thread during a block. The caller notes what the block does."""
    state.capture = None
    try:
        yield
    finally:
        if _active.get("now") is capture:  # not in a process that was forked meanwhile
            state.capture = capture


def _is_library_frame(frame: FrameType) -> bool:
    """Return whether the code of a frame belongs to clarray or a library that clarray calls."""
    return frame.f_globals.get("__name__", "").partition(".")[0] in _LIBRARIES


def is_raised_by_library(error: BaseException) -> bool:
    """Return whether clarray or a library that it calls has raised an error, and no signal handler or finalizer."""
    traceback = error.__traceback__
    while traceback is not None and _is_library_frame(traceback.tb_frame):
        traceback = traceback.tb_next
    return traceback is None


def must_use_kernels() -> bool:
    """Return whether kernels must do the work of the calling thread even if NumPy could, as its program runs often."""
    capture = state.capture
    return capture is not None and capture.is_frequent and capture.is_current_thread


_active: dict[str, Capture] = {}  # at most one capture, under the key "now": one thread captures at a time


def run_captured(capture: Capture, call: Callable[[], Any]) -> tuple[Any, Capture | NotImplementedType | None]:
    """Call a function under a new capture.

    The code that ends the capture makes no calls: an interrupt, which comes at calls, would leave the capture active.

    Returns
    -------
    tuple
        The result and the capture. None in place of an aborted capture. NotImplemented if another thread or an outer
        call is already captured.
    """
    active = _active
    try:
        is_active = active.setdefault("now", capture) is capture  # one atomic step
        if is_active:
            state.capture = capture
        result = call()
    finally:
        if "now" in active and active["now"] is capture:
            if state.capture is capture:  # not in a process that was forked meanwhile
                state.capture = None
            del active["now"]
    if not is_active:
        return result, NotImplemented
    return result, None if capture.aborted else capture


_RUN_CAPTURED = run_captured.__code__
# libraries whose frames do not abort a capture
_LIBRARIES = {"clarray", "numpy", "scipy", "pyopencl", "contextlib", "functools"}


@after_fork_in_child
def _forget() -> None:
    """Drop a capture of another thread, which runs in the parent only."""
    global _active
    _active = {}
    state.capture = None
