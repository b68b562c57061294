"""Lists of launches that are made once, and run for any memories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from clarray._engine.launch.kernel_cache import Launch
from clarray._engine.runtime import Device, Kernel, Memory
from clarray._engine.speedups import core


class Step(NamedTuple):
    """A launch of a list, whose buffers are put in place at every run; after each comes its offset.

    `launched` has the kernel, groups, local size and bytes; `places` where each buffer stands in `args`, and which of
    the memories it is.
    """

    launched: tuple[Kernel, tuple[int, ...], tuple[int, ...], int]
    args: tuple[Any, ...]
    places: tuple[tuple[int, int], ...]


def listed(launches: Iterable[Launch], memories: Sequence[Memory]) -> tuple[Step, ...]:
    """Launches for any memories, of those for some."""
    numbers = {id(memory.buffer): number for number, memory in enumerate(memories)}
    steps = []
    for kernel, groups, local, args, _, nbytes, _ in launches:
        places = tuple((at, numbers[id(arg)]) for at, arg in enumerate(args) if id(arg) in numbers)
        kept = tuple(None if id(arg) in numbers else arg for arg in args)
        steps.append(Step((kernel, groups, local, nbytes), kept, places))
    return tuple(steps)


def run_steps(device: Device, steps: tuple[Step, ...], memories: Sequence[Memory], offsets: Sequence[int]) -> None:
    """Launch all, with these memories, and so much further on in them; the device's lock is held.

    The compiled core launches what it may. First launches, and what a profile or a recording is to see, are Python's.
    """
    held, further = tuple(memories), tuple(offsets)
    done = 0
    while done < len(steps):
        if core is not None:
            done = core.run_listed(device, steps, done, held, further)
            if done == len(steps):
                return
        (kernel, groups, local, nbytes), args, places = steps[done]
        given = list(args)
        for at, number in places:
            given[at] = held[number].buffer
            given[at + 1] += further[number]
        kernel.launch(groups, local, given, False, nbytes)
        done += 1


__all__ = ["Step", "listed", "run_steps"]
