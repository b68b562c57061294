"""Recordings: the launches that a call makes, noted so that they can be made again without the call.

    call, seen before -> Recording <- Pool.allocate: which memory it takes
                             |     <- Kernel.launch: which kernels it gives it to
                             |     <- Device.read_scalar: what it goes by
                             v
                   the compiled core's replays, see speedups/recorded.cpp

Only what follows from the structure of a call's operands is the same at the next call. So whatever else it looks at,
the elements of host memory above all, spoils a recording; what it reads through the device is noted, and compared.
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

if TYPE_CHECKING:
    from clarray._engine.runtime.launch import Kernel
    from clarray._engine.runtime.memory import Memory

MOST_STEPS = 24  # of a recording: a call that takes more does not notice what Python costs

# Calls of one kind after which kernels compute what NumPy has computed until then. A replay takes 2 to 10 us less than
# NumPy, kernels kept on disk 3 ms to load, and others 100 ms to compile: even after 600 and 20,000 calls. NumPy's time
# grows with the operands, so each `PAGE` of them counts as one call more.
OFTEN = 1 << 10
PAGE = 1 << 12  # bytes

# How an argument of a launch is told; a number stands for itself.
INPUT, TEMPORARY, KEPT, NUMBER = "i", "t", "k", "n"
DRAWN_MEMORY, DRAWN_NUMBER = "m", "d"


class Drawn(int):
    """The number of a launch, which is another one for each: an argument beside the memory that it numbers.

    Attributes
    ----------
    draw : callable
        Gives the memory, and the number of the next launch.
    """

    draw: Callable[[], tuple[Memory, Drawn]]


class Recording:
    """Record the launches, waits and reads of one thread while it is `state.recording`.

    Parameters
    ----------
    inputs : sequence of Memory
        Of the operands; all that is read or written besides is taken meanwhile, or kept for good.
    kept : mapping of int to Memory
        What the device keeps, by the identity of its buffer.
    seen : int
        How often such a call has been made.

    Attributes
    ----------
    temporaries : list of int
        Bytes of the memory taken.
    written : list of int
        Which inputs have been overwritten, as often as they were.
    steps : list of tuple
        Launches: kernel, groups, local, kinds of the arguments, arguments, inline, bytes. Reads: kind, number, byte
        offset, dtype, value. Waits: nothing.
    """

    def __init__(self, inputs: Sequence[Memory], kept: Mapping[int, Memory], seen: int) -> None:
        self.temporaries: list[int] = []
        self.written: list[int] = []
        self.steps: list[tuple[Any, ...]] = []
        self.spoiled = False
        self.is_of_many = seen * (1 + sum(m.nbytes for m in inputs) // PAGE) >= OFTEN
        self._kept = kept
        self._thread = threading.get_ident()
        self._places: dict[int, tuple[str, int]] = {id(m.buffer): (INPUT, k) for k, m in enumerate(inputs)}

    @property
    def is_ours(self) -> bool:
        """Whether the calling thread is the one that is recorded."""
        return self._thread == threading.get_ident()

    @property
    def is_whole(self) -> bool:
        """Whether the calling thread is recorded, and nothing has spoiled the recording."""
        return self.is_ours and not self.spoiled and not self._is_reentrant()

    def place(self, memory: Memory) -> int:
        """The number of a temporary; -1 for any other memory."""
        kind, number = self._told(memory.buffer)
        return number if kind == TEMPORARY else -1

    def _told(self, buffer: cl.Buffer) -> tuple[str, Any]:
        """How a buffer is told: its kind with its number, or with the memory that is kept; None where it is neither."""
        return self._places.get(id(buffer)) or (KEPT, self._kept.get(id(buffer)))

    def allocated(self, memory: Memory) -> None:
        if self.is_ours and not self._is_reentrant():
            # the last one to have a block is the one that has it: an earlier one has been dropped
            self._places[id(memory.buffer)] = TEMPORARY, len(self.temporaries)
            self.temporaries.append(memory.nbytes)

    def overwritten(self, memory: Memory) -> None:
        if self.is_ours:
            kind, number = self._told(memory.buffer)
            if kind == INPUT:
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
        if not self.is_ours or self.spoiled or self._is_reentrant():
            return
        kinds: list[str] = []
        told: list[Any] = []
        for arg in args:
            if type(arg) is Drawn and kinds:  # it follows its memory
                kinds[-1:] = [DRAWN_MEMORY, DRAWN_NUMBER]
                told[-1:] = [None, arg.draw]
            elif type(arg) is cl.Buffer:
                kind, known = self._told(arg)
                kinds.append(kind)
                told.append(known)
            else:
                self.spoiled |= not isinstance(arg, int | float | np.number)
                kinds.append(NUMBER)
                told.append(arg.item() if isinstance(arg, np.number) and arg.dtype.char in "fdbBhHiIlLqQ" else arg)
        self.spoiled |= any(known is None and kind != DRAWN_MEMORY for kind, known in zip(kinds, told, strict=True))
        self._note((kernel, groups, local, "".join(kinds), tuple(told), inline, nbytes))

    def read(self, memory: Memory, byte_offset: int, dtype: np.dtype, value: Any) -> None:
        if self.is_ours and not self._is_reentrant():
            kind, known = self._told(memory.buffer)
            self.spoiled |= known is None or dtype.kind not in "biu"
            self._note((kind, known, byte_offset, dtype, value))

    def waited(self) -> None:
        if self.is_ours and not self._is_reentrant():
            self._note(())

    def _is_reentrant(self) -> bool:
        """Whether code outside the library has been called since the recording began; such a call spoils it.

        A signal handler, say, or what the garbage collector runs.
        """
        frame: Any = sys._getframe(2)
        while frame is not None and frame.f_code is not _RECORD:
            if frame.f_globals.get("__name__", "").partition(".")[0] not in _LIBRARIES:
                self.spoiled = True
                break
            frame = frame.f_back
        return self.spoiled

    def _note(self, step: tuple[Any, ...]) -> None:
        self.spoiled |= len(self.steps) >= MOST_STEPS
        if not self.spoiled:
            self.steps.append(step)


def spoil() -> None:
    """Note that the calling thread looks at what a recording does not hold."""
    recording = state.recording
    if recording is not None and recording.is_ours:
        recording.spoiled = True


def is_for_kernels() -> bool:
    """Whether kernels have to compute what the calling thread does, even if NumPy could: it will be replayed often."""
    recording = state.recording
    return recording is not None and recording.is_of_many and recording.is_ours


_turn: dict[str, Recording] = {}  # one thread records at a time: whose recording is in here


def record(recording: Recording, call: Callable[[], Any]) -> tuple[Any, Recording | NotImplementedType | None]:
    """Call a function under a new recording.

    Nothing is called where the recording ends: an interrupt, which comes at calls, would leave it there for good.

    Returns
    -------
    tuple
        The result, and the recording; None where that does not hold all that was done; NotImplemented while something
        is recorded already, by another thread or around this call.
    """
    turn = _turn
    try:
        is_ours = turn.setdefault("now", recording) is recording  # which no other thread comes between
        if is_ours:
            state.recording = recording
        result = call()
    finally:
        if "now" in turn and turn["now"] is recording:
            if state.recording is recording:  # not in a process that was forked meanwhile
                state.recording = None
            del turn["now"]
    if not is_ours:
        return result, NotImplemented
    return result, None if recording.spoiled else recording


_RECORD = record.__code__
_LIBRARIES = {"clarray", "numpy", "pyopencl", "contextlib", "functools"}  # which call functions of clarray's


@after_fork_in_child
def _forget() -> None:
    """Record nothing that another thread, which is not here, had begun."""
    global _turn
    _turn = {}
    state.recording = None
