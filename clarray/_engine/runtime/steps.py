"""The steps of a program as Python plans or captures them. speedups/program_reading.cpp reads them.

A program is a list of launches, of calls of host functions, of reads that guard it, of fills, and of waits. A letter
for each argument of a launch says where the argument comes from when the program runs:

======  ===========================================================  ==========================================
letter  the argument                                                 the value
======  ===========================================================  ==========================================
i       an input's memory                                            its number
f       the offset in it                                             the number, and a summand
t       memory that the program allocates                            its number
k       persistent memory of the device                              the `Memory`
n       a number                                                     the number
c       the value of a constant of a region                          its number
m, d    memory and the number of its launch                          None, and the callable that returns both
x       memory and offset, or value, of each input of an expression  the summands of the offsets, or ()
y, z    the output's memory, and the offset in it                    None, and a summand
s       the size of the result                                       None
l       the length of a reduced axis                                 None
e       extents and strides of an expression's loops                 these numbers, and the start of each operand's
======  ===========================================================  ==========================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from clarray._engine.fast_dataclass import dataclass

if TYPE_CHECKING:
    from clarray._engine.runtime.launch import Kernel
    from clarray._engine.runtime.memory import Memory

INPUT, INPUT_OFFSET, TEMPORARY, PERSISTENT, NUMBER = "i", "f", "t", "k", "n"
CONSTANT = "c"
EPOCH_MEMORY, EPOCH_NUMBER = "m", "d"
OPERANDS, OUTPUT, OUTPUT_OFFSET, SIZE, LENGTH, LOOPS = "x", "y", "z", "s", "l", "e"

ALWAYS_INLINE, NEVER_INLINE = (1 << 63) - 1, -1  # as `KernelStep.inline_bytes`


class LaunchEpoch(int):
    """The number of a launch, unique for the memory that is the argument before it.

    Attributes
    ----------
    next : callable
        Return the memory and the number of the next launch.
    """

    next: Callable[[], tuple[Memory, LaunchEpoch]]


class ConstantFloat(float):
    """The value of a constant of a region. A program that is captured takes the value of each run.

    Attributes
    ----------
    number : int
        The number of the constant.
    """

    number: int


class ConstantInt(int):
    """As `ConstantFloat`, an integer."""

    number: int


class WorkShare(NamedTuple):
    """The parameters of the number of work-groups, as in `groups` of the elementwise plan. `unit` counts elements."""

    unit: int
    most_groups: int
    chunk_bytes: int
    chunked: bool


@dataclass(frozen=True, kw_only=True)
class KernelStep:
    """A launch of a kernel.

    Attributes
    ----------
    groups : tuple of int, optional
        The number of work-groups, or None if it follows from `share`.
    letters, args : str, tuple
        The sources of the arguments, see above.
    inline_bytes : int
        A launch that moves at most `inline_bytes` runs on the calling thread, if the device can.
    nbytes : int, optional
        The bytes that the launch moves, or None if they are the bytes of the operands.
    element_bytes : int
        The bytes that the launch moves for each element of the result if these determine `nbytes`, else 0.
    share : WorkShare, optional
    """

    kind: ClassVar[str] = "launch"
    kernel: Kernel
    groups: tuple[int, ...] | None
    local: tuple[int, ...]
    letters: str
    args: tuple[Any, ...]
    inline_bytes: int
    nbytes: int | None
    element_bytes: int = 0
    share: WorkShare | None = None


@dataclass(frozen=True, kw_only=True)
class ReadStep:
    """A guard: the program continues only if the element still has this value."""

    kind: ClassVar[str] = "read"
    letter: str
    memory: Any
    byte_offset: int
    dtype: np.dtype
    value: Any


@dataclass(frozen=True, kw_only=True)
class FillStep:
    """Set every byte of a temporary to zero."""

    kind: ClassVar[str] = "fill"
    temporary: int


@dataclass(frozen=True, kw_only=True)
class HostStep:
    """A call of a function on the host, after a wait.

    Attributes
    ----------
    call : callable
        Takes the `Memory` of each letter. It writes the results to memory and returns True. Or it returns False: the
        program does not apply, and Python does the call. None: besides, the next call of the signature is captured
        again, because kernels can do the work now.
    letters, memories : str, tuple
        The sources of the memories, as those of a launch's arguments.
    until_frequent : bool
        Whether kernels replace the function once the program has run often.
    """

    kind: ClassVar[str] = "host"
    call: Callable[..., bool | None]
    letters: str
    memories: tuple[Any, ...]
    until_frequent: bool = False


@dataclass(frozen=True)
class WaitStep:
    """A wait until all launched work has finished."""

    kind: ClassVar[str] = "wait"


Step = KernelStep | HostStep | ReadStep | FillStep | WaitStep
