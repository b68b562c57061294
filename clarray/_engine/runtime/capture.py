"""Captures: the steps of a call, noted so that they can be run again without the call.

    call, seen before -> Capture <- Pool.allocate: the memory that it takes
                            |    <- Kernel.launch: the kernels, and their arguments
                            |    <- Device.read_scalar: the values that it depends on
                            v
                  a program of the compiled core, see speedups/captured_calls.cpp

The next call takes the same steps only if they follow from the structure of the operands. So a look at anything else,
above all at elements of host memory, ends the capture. A value that is read through the device becomes a guard.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from types import NotImplementedType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl

from clarray._engine.runtime.forking import after_fork_in_child
from clarray._engine.runtime.profiling import state
from clarray._engine.runtime.steps import (
    ALWAYS_INLINE,
    EPOCH_MEMORY,
    EPOCH_NUMBER,
    INPUT,
    KEPT,
    NEVER_INLINE,
    NUMBER,
    TEMPORARY,
    FillStep,
    KernelStep,
    LaunchEpoch,
    ReadStep,
    Step,
    WaitStep,
)

if TYPE_CHECKING:
    from clarray._engine.runtime.launch import Kernel
    from clarray._engine.runtime.memory import Memory

MOST_STEPS = 24  # of a capture: a call that takes more steps does not notice what Python costs

# Calls of one kind after which kernels compute what NumPy has computed until then. A replay takes 2 to 10 us less than
# NumPy, kernels kept on disk 3 ms to load, and others 100 ms to compile: even after 600 and 20,000 calls. NumPy's time
# grows with the operands, so each `PAGE` of them counts as one call more.
OFTEN = 1 << 10
PAGE = 1 << 12  # bytes


class Capture:
    """Note the launches, waits and reads of one thread while it is `state.capture`.

    Parameters
    ----------
    inputs : sequence of Memory
        Memory of the operands. All else that is read or written is allocated meanwhile, or kept for good.
    kept : mapping of int to Memory
        Memory that the device keeps, by the identity of its buffer.
    seen : int
        How often such a call has been made.

    Attributes
    ----------
    temporaries : list of int
        Bytes of the memory allocated.
    written : list of int
        Numbers of the inputs that have been overwritten, once for each time.
    steps : list of Step
    aborted : bool
        Whether the call has looked at something that the steps do not hold.
    """

    def __init__(self, inputs: Sequence[Memory], kept: Mapping[int, Memory], seen: int) -> None:
        self.temporaries: list[int] = []
        self.written: list[int] = []
        self.steps: list[Step] = []
        self.aborted = False
        self.is_of_many = seen * (1 + sum(m.nbytes for m in inputs) // PAGE) >= OFTEN
        self._kept = kept
        self._thread = threading.get_ident()
        self._sources: dict[int, tuple[str, int]] = {id(m.buffer): (INPUT, k) for k, m in enumerate(inputs)}

    @property
    def is_ours(self) -> bool:
        """Whether the calling thread is the captured one."""
        return self._thread == threading.get_ident()

    @property
    def is_whole(self) -> bool:
        """Whether the calling thread is the captured one, and the capture goes on."""
        return self.is_ours and not self.aborted and not self._is_reentrant()

    def temporary_number(self, memory: Memory) -> int:
        """Return the number of a temporary, or -1 for any other memory."""
        letter, number = self._source_of(memory.buffer)
        return number if letter == TEMPORARY else -1

    def _source_of(self, buffer: cl.Buffer) -> tuple[str, Any]:
        """Return the letter of a buffer, with its number or the kept memory; None beside it if it is neither."""
        return self._sources.get(id(buffer)) or (KEPT, self._kept.get(id(buffer)))

    def allocated(self, memory: Memory) -> None:
        if self.is_ours and not self._is_reentrant():
            # the last one to have a block is the one that has it: an earlier one has been dropped
            self._sources[id(memory.buffer)] = TEMPORARY, len(self.temporaries)
            self.temporaries.append(memory.nbytes)

    def overwritten(self, memory: Memory) -> None:
        if self.is_ours:
            letter, number = self._source_of(memory.buffer)
            if letter == INPUT:
                self.written.append(number)

    def launched(
        self,
        kernel: Kernel,
        groups: tuple[int, ...],
        local: tuple[int, ...],
        args: Sequence[Any],
        inline: bool,
        nbytes: int,
    ) -> None:
        if not self.is_ours or self.aborted or self._is_reentrant():
            return
        letters: list[str] = []
        sources: list[Any] = []
        for arg in args:
            if type(arg) is LaunchEpoch and letters:  # it follows its memory
                letters[-1:] = [EPOCH_MEMORY, EPOCH_NUMBER]
                sources[-1:] = [None, arg.next]
            elif type(arg) is cl.Buffer:
                letter, source = self._source_of(arg)
                letters.append(letter)
                sources.append(source)
            else:
                self.aborted |= not isinstance(arg, int | float | np.number)
                letters.append(NUMBER)
                sources.append(arg.item() if isinstance(arg, np.number) and arg.dtype.char in "fdbBhHiIlLqQ" else arg)
        is_known = [
            source is not None or letter == EPOCH_MEMORY for letter, source in zip(letters, sources, strict=True)
        ]
        self.aborted |= not all(is_known)
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
        if self.is_ours and not self._is_reentrant():
            letter, source = self._source_of(memory.buffer)
            self.aborted |= source is None or dtype.kind not in "biu"
            self._note(ReadStep(letter=letter, memory=source, byte_offset=byte_offset, dtype=dtype, value=value))

    def filled(self, memory: Memory) -> None:
        """Note that every byte of a memory has been set to zero by the host."""
        if self.is_ours and not self._is_reentrant():
            number = self.temporary_number(memory)
            self.aborted |= number < 0
            self._note(FillStep(temporary=number))

    def waited(self) -> None:
        if self.is_ours and not self._is_reentrant():
            self._note(WaitStep())

    def _is_reentrant(self) -> bool:
        """Whether code outside the library has been called since the capture began; such a call ends it.

        It may be a signal handler, or a finalizer that the garbage collector runs.
        """
        frame: Any = sys._getframe(2)
        while frame is not None and frame.f_code is not _RUN_CAPTURED:
            if frame.f_globals.get("__name__", "").partition(".")[0] not in _LIBRARIES:
                self.aborted = True
                break
            frame = frame.f_back
        return self.aborted

    def _note(self, step: Step) -> None:
        self.aborted |= len(self.steps) >= MOST_STEPS
        if not self.aborted:
            self.steps.append(step)


def abort_capture() -> None:
    """End the capture of the calling thread: it looks at something that no step holds."""
    capture = state.capture
    if capture is not None and capture.is_ours:
        capture.aborted = True


def is_for_kernels() -> bool:
    """Whether kernels have to do the work of the calling thread, even if NumPy could: its program will run often."""
    capture = state.capture
    return capture is not None and capture.is_of_many and capture.is_ours


_turn: dict[str, Capture] = {}  # one thread captures at a time: its capture is in here


def run_captured(capture: Capture, call: Callable[[], Any]) -> tuple[Any, Capture | NotImplementedType | None]:
    """Call a function under a new capture.

    Nothing is called where the capture ends: an interrupt, which comes at calls, would leave it there for good.

    Returns
    -------
    tuple
        The result, and the capture. None in its place if it does not hold all that was done; NotImplemented if another
        thread, or a call around this one, is captured already.
    """
    turn = _turn
    try:
        is_ours = turn.setdefault("now", capture) is capture  # which no other thread comes between
        if is_ours:
            state.capture = capture
        result = call()
    finally:
        if "now" in turn and turn["now"] is capture:
            if state.capture is capture:  # not in a process that was forked meanwhile
                state.capture = None
            del turn["now"]
    if not is_ours:
        return result, NotImplemented
    return result, None if capture.aborted else capture


_RUN_CAPTURED = run_captured.__code__
_LIBRARIES = {"clarray", "numpy", "pyopencl", "contextlib", "functools"}  # which call functions of clarray's


@after_fork_in_child
def _forget() -> None:
    """Drop a capture that another thread, which is not in this process, had begun."""
    global _turn
    _turn = {}
    state.capture = None
