"""First calls: what NumPy computes in a kernel's place while there is none.

    seldom used            used often                                   compiled
    NumPy computes    ->   rendered, compiled by a thread beside   ->   the kernel computes
                           while NumPy goes on

                           after 1 ms: is it kept on disk?         ->   loaded, and the kernel computes

Compiling a kernel takes PoCL 50 to 150 ms, in which NumPy does ten thousand statements on a hundred elements. So the
small values of a tree whose bits are the same whoever computes it are computed by NumPy, in the arrays' own memory,
and no kernel is made for what a program does a few times.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from clarray._engine.expr.host_value import Undefined, host_array, host_value, is_host_exact_tree
from clarray._engine.expr.node import Node, replanned
from clarray._engine.launch.kernel_cache import Launch
from clarray._engine.runtime import Capabilities, Compiling, Kernel, Memory, compile_beside, held_at_fork, profiling
from clarray._engine.runtime.capture import is_for_kernels
from clarray._engine.speedups import core
from clarray._engine.threads import without_collector

__all__ = ["Awaited", "OnHost", "Setting", "are_used", "kernels_only", "setting"]

MOST_ELEMENTS = 4096


class Setting:
    """Whether there are first calls by NumPy in this process, and after how many seconds of them a kernel is made."""

    def __init__(self) -> None:
        self.on = os.environ.get("CLARRAY_TIER", "1") not in ("", "0")
        self.blocks = 0  # without them, in whatever thread, and what holds outside of these
        self.outside = self.on
        self.look_after = 0.001  # a kernel that is used so often is loaded, if it is kept on disk
        self.compile_after = 0.02  # a kernel that is used so often is compiled
        self.most = 0.0006  # that one call counts: what takes longer waits for the machine
        self.statement = 25e-6 if core is not None else 0.0  # that the core would save, beside NumPy's share


setting = Setting()


@contextmanager
def kernels_only() -> Iterator[None]:
    """For a block that measures or compares kernels: NumPy computes nothing in their place, in no thread."""
    try:
        with _lock:
            if not setting.blocks:
                setting.outside = setting.on
            setting.blocks += 1
            setting.on = False
        yield
    finally:
        with _lock:
            setting.blocks -= 1
            if not setting.blocks:
                setting.on = setting.outside


_lock = threading.RLock()  # of how many such blocks there are: those of several threads end in any order
held_at_fork(_lock)


def are_used(capabilities: Capabilities, root: Node) -> bool:
    """Whether NumPy may compute such a tree in a kernel's place.

    On a device that is a CPU: another one in host memory may divide less exactly, or lack float64.
    """
    return setting.on and capabilities.kind == "cpu" and capabilities.host_memory and is_host_exact_tree(root)


class Awaited:
    """A kernel that is made when it has been used often; NumPy computes small values until it is there.

    Parameters
    ----------
    make : callable
        Renders the kernel, from a tree of its structure; None where the launches know it.
    """

    __slots__ = ("ready", "launched", "seconds", "_make", "_kernel", "_compiling", "_looked")

    def __init__(self, make: Callable[[Node], Kernel] | None = None) -> None:
        self.ready = False  # NumPy computes nothing in its place any more
        self.launched = False  # if only for values too large for NumPy, maybe by the device's other threads
        self.seconds = 0.0  # that first calls have taken: they say when the kernel is made, not who computes
        self._make = make
        self._kernel: Kernel | None = None
        self._compiling: Compiling | None = None
        self._looked = False

    def kernel(self, root: Node) -> Kernel:
        """The kernel, not compiled unless it is ready."""
        if self._kernel is None:
            assert self._make is not None
            self._kernel = self._make(root)
        return self._kernel

    def is_awaited(self, root: Node, target: Node, size: int) -> bool:
        """Whether NumPy computes a tree of so many elements into a leaf this time; if not, the kernel does."""
        if self.ready or not setting.on or is_for_kernels():
            return False
        if self._compiling is not None and self._compiling.done:
            self.ready = True
            return False
        return size <= MOST_ELEMENTS and _is_in_reach(target) and all(map(_is_in_reach, root.inputs or (root,)))

    def launch(self, launch: Launch) -> None:
        """Note that the kernel computes it this time, so that it is there for the next ones that go the same way."""
        self.launched = True
        self.ready = self.ready or launch.inline  # small values go that way

    def is_looked_after(self) -> bool:
        """Whether it is time to see to the kernel, to which nobody has seen yet."""
        if self._compiling is not None:
            return False
        return self.seconds >= setting.compile_after or (self.seconds >= setting.look_after and not self._looked)

    def look_after(self, launches: list[Launch], amount: int) -> None:
        """Have the kernel loaded, or compiled if it is used often: by a launch like this one with nothing to do.

        What is kept on disk is loaded at the next call, in 3 ms. A thread beside took up to 100 for that, as it needs
        the interpreter some ten times, which the program's own thread gives back after 5 ms.
        """
        self._looked = True
        if all(x.kernel.is_stored(x.inline) for x in launches):
            self.ready = True
            return
        if self.seconds < setting.compile_after:
            return
        if len(launches) != 1:
            self.ready = True  # compiled at the next one
            return
        (launch,) = launches
        args: list[Any] = []
        output = 0
        for arg in launch.args:
            if not isinstance(arg, int | float | np.generic):
                output = len(args)
                args.append(None)
            else:
                args.append(0 if args and args[-1] is None else arg)  # where it begins in a buffer
        args[output + 2 + amount] = 0
        self._compiling = compile_beside(launch.kernel, launch.groups, launch.local, args, launch.inline)


def _is_in_reach(node: Node) -> bool:
    """Whether an input's elements, if it has any, lie in host memory."""
    memory = node.memory
    return memory is None or memory.elements(node.dtype) is not None


class _ErrorsIgnored:
    """``np.errstate(all="ignore")``, entered and left while the garbage collector is off: a context variable."""

    __slots__ = ("_state",)

    def __enter__(self) -> None:
        self._state = np.errstate(all="ignore")
        without_collector(self._state.__enter__)

    def __exit__(self, *error: Any) -> None:
        without_collector(self._state.__exit__, *error)


class OnHost:
    """In place of a launch: a tree computed by NumPy into a leaf.

    Parameters
    ----------
    awaited : Awaited
        The kernel that would compute it.
    root, target : Node
        What is computed into what.
    launches : callable
        Gives the launch, or the launches, in whose place this is.
    amount : int
        Which argument after the output's says how much there is to do.
    """

    __slots__ = ("_awaited", "_root", "_target", "_make_launches", "_amount")

    def __init__(
        self, awaited: Awaited, root: Node, target: Node, launches: Callable[[], Any], amount: int = 0
    ) -> None:
        self._awaited = awaited
        self._root = root
        self._target = target
        self._make_launches = launches
        self._amount = amount

    @replanned
    def _launches(self) -> list[Launch]:
        made = self._make_launches()
        return [made] if isinstance(made, Launch) else made

    def keeping(self, thing: Any) -> OnHost:
        """Itself, as of a `Launch`: what is read is kept until then in any case."""
        return self

    def _compute(self, memory: Memory) -> None:
        """Compute the values once more if a re-entrant call has written to the target, which may be an operand."""
        device = memory.device
        out = host_array(self._target)
        assert out is not None
        while True:
            # every write forgets the mirror, of which memory of the host's has no other use
            mark = memory.mirror = (id(self), b"")
            device.finish()
            value = host_value(self._root)
            if device.pending or memory.mirror is not mark:
                continue
            memory.mirror = None
            # no interrupt comes between these two, or before the copy: np.copyto runs a dispatcher in Python
            out[...] = value
            device.begun += 1
            return

    def run(self) -> None:
        """Compute the values; what is pending has been computed when this returns."""
        root, target, awaited = self._root, self._target, self._awaited
        memory = target.memory
        assert memory is not None
        device = memory.device
        with device.lock:
            start = time.perf_counter()
            with _ErrorsIgnored():
                try:
                    self._compute(memory)
                except Undefined:
                    awaited.ready = True
                    for launch in self._launches():
                        launch.run()
                    return
            took = time.perf_counter() - start
            awaited.seconds += min(took + setting.statement, setting.most)
            if profiling.state.recorder is not None:
                profiling.record("first call", getattr(root.op, "name", "copy"), root.size * root.dtype.itemsize, took)
            if awaited.is_looked_after():
                awaited.look_after(self._launches(), self._amount)
