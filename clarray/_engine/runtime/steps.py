"""The steps of a program, as Python plans or captures them; speedups/program_reading.cpp reads them.

A program is a list of launches, of reads that guard it, of fills, and of waits. Each argument of a launch has a letter
that says where it comes from when the program runs:

======  ===========================================================  ==========================================
letter  the argument                                                 the value beside the letter
======  ===========================================================  ==========================================
i       an input's memory                                            its number
f       the offset in it                                             the number, and what is added to the run's
t       memory that the program allocates                            its number
k       memory that the device keeps                                 the `Memory`
n       a number                                                     the number
m, d    memory, and the number of the launch in it                   None, and the callable that gives both
x       memory and offset, or value, of each input of an expression  what is added to the offsets, or ()
y, z    the output's memory, and the offset in it                    None, and what is added to the caller's
s       the elements of the result                                   None
l       the length of a reduced axis                                 None
e       extents and strides of an expression's loops                 these numbers, and where each operand's begin
======  ===========================================================  ==========================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from clarray._engine.values import dataclass

if TYPE_CHECKING:
    from clarray._engine.runtime.launch import Kernel
    from clarray._engine.runtime.memory import Memory

INPUT, INPUT_OFFSET, TEMPORARY, KEPT, NUMBER = "i", "f", "t", "k", "n"
EPOCH_MEMORY, EPOCH_NUMBER = "m", "d"
OPERANDS, OUTPUT, OUTPUT_OFFSET, SIZE, LENGTH, LOOPS = "x", "y", "z", "s", "l", "e"

ALWAYS_INLINE, NEVER_INLINE = (1 << 63) - 1, -1  # as `KernelStep.inline_bytes`


class LaunchEpoch(int):
    """The number of a launch, which is another one for each: an argument beside the memory that it numbers.

    Attributes
    ----------
    next : callable
        Gives the memory, and the number of the next launch.
    """

    next: Callable[[], tuple[Memory, LaunchEpoch]]


class WorkShare(NamedTuple):
    """How many groups share the work of a launch, as `groups` of the elementwise plan; a unit is so many elements."""

    unit: int
    most_groups: int
    chunk_bytes: int
    chunked: bool


@dataclass(frozen=True, kw_only=True)
class KernelStep:
    """A launch.

    Attributes
    ----------
    groups : tuple of int, optional
        None if they follow from `share`.
    letters, args : str, tuple
        Where each argument comes from, see above.
    inline_bytes : int
        Launches that move at most so many bytes run on the calling thread, if the device can.
    nbytes : int, optional
        Bytes that the launch moves; None if they are those of the operands.
    element_bytes : int
        The same for each element of the result, if `nbytes` follows from that; else 0.
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
    """A guard: the program goes on if the element still has this value."""

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


@dataclass(frozen=True)
class WaitStep:
    """Wait until all that was launched has been done."""

    kind: ClassVar[str] = "wait"


Step = KernelStep | ReadStep | FillStep | WaitStep
