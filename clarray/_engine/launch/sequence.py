"""Sequences of launches that are planned once and run with any memories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from clarray._engine.launch.kernel_cache import Launch
from clarray._engine.runtime import KernelStep, Memory
from clarray._engine.runtime.steps import ALWAYS_INLINE, INPUT, INPUT_OFFSET, NEVER_INLINE, NUMBER
from clarray._engine.speedups import native

__all__ = ["LaunchSequence"]


class LaunchSequence:
    """Launches that read and write a few memories. Each run has its own memories.

    Parameters
    ----------
    launches : iterable of Launch
        The launches with the memories of the plan. The argument after each buffer is the offset in it.
    memories : sequence of Memory
        The memories of the plan.
    """

    temporaries = ()

    def __init__(self, launches: Iterable[Launch], memories: Sequence[Memory]) -> None:
        numbers = {id(memory.buffer): number for number, memory in enumerate(memories)}
        self.steps = tuple(_step(launch, numbers) for launch in launches)
        self._device = memories[0].device
        self._count = len(memories)

    @cached_property
    def _native(self) -> Any:
        """The program of the native implementation."""
        return native.Sequence(self, self._device, self._count)

    def run(self, memories: Sequence[Memory], offsets: Sequence[int]) -> None:
        """Run all launches. The caller holds the device's lock.

        Parameters
        ----------
        memories : sequence of Memory
            One memory for each memory of the plan.
        offsets : sequence of int
            Number of elements that are added to the offsets in each memory.
        """
        if native is not None:
            self._native.run(tuple(memories), tuple(offsets))
            return
        for step in self.steps:
            assert step.groups is not None
            assert step.nbytes is not None
            args = [
                _bind_argument(letter, arg, memories, offsets)
                for letter, arg in zip(step.letters, step.args, strict=True)
            ]
            step.kernel.launch(step.groups, step.local, args, step.inline_bytes > 0, step.nbytes)


def _step(launch: Launch, numbers: dict[int, int]) -> KernelStep:
    letters = ""
    args: list[Any] = []
    for arg in launch.args:
        if id(arg) in numbers:
            letters, args = letters + INPUT, [*args, numbers[id(arg)]]
        elif letters.endswith(INPUT):
            letters, args = letters + INPUT_OFFSET, [*args, (args[-1], arg)]
        else:
            letters, args = letters + NUMBER, [*args, arg]
    return KernelStep(
        kernel=launch.kernel,
        groups=launch.groups,
        local=launch.local,
        letters=letters,
        args=tuple(args),
        inline_bytes=ALWAYS_INLINE if launch.inline else NEVER_INLINE,
        nbytes=launch.nbytes,
    )


def _bind_argument(letter: str, arg: Any, memories: Sequence[Memory], offsets: Sequence[int]) -> Any:
    """Return a step's argument for the memories and offsets of a run."""
    if letter == INPUT:
        return memories[arg].buffer
    if letter == INPUT_OFFSET:
        number, offset = arg
        return offset + offsets[number]
    return arg
