"""The host tier: NumPy computes small expressions until their kernel is compiled.

    used seldom            used often                              compiled
    NumPy computes    ->   a background thread compiles       ->   the kernel computes
                           the kernel, NumPy still computes

                           after 1 ms: is the kernel on disk? ->   loaded, and the kernel computes

PoCL compiles a kernel in 50 to 150 ms. NumPy executes ten thousand statements on a hundred elements in that time. So
NumPy computes a small expression in the arrays' own memory if its bits do not depend on who computes it. An expression
that a program evaluates only a few times gets no kernel. Profiles count the calls that NumPy computes as first calls.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from clarray._engine.expr.graph import inputs_of
from clarray._engine.expr.host_value import (
    HostExpression,
    MemoryView,
    Undefined,
    host_array,
    host_value,
    is_host_exact_tree,
)
from clarray._engine.expr.node import Node, replanned
from clarray._engine.launch.kernel_cache import Launch
from clarray._engine.runtime import (
    BackgroundCompilation,
    Capabilities,
    Kernel,
    Memory,
    compile_in_background,
    hold_at_fork,
    profiling,
)
from clarray._engine.runtime.capture import abort_capture, current_capture, must_use_kernels, suspended
from clarray._engine.speedups import native
from clarray._engine.threads import without_collector

__all__ = ["HostLaunch", "Settings", "TieredKernel", "kernels_only", "may_compute_on_host", "setting"]

MOST_ELEMENTS = 4096


class Settings:
    """The switch of the host tier in this process, and its thresholds in seconds of NumPy's time per kernel."""

    def __init__(self) -> None:
        self.on = os.environ.get("CLARRAY_TIER", "1") not in ("", "0")
        self.kernels_only_blocks = 0  # blocks that are entered at the moment, of all threads
        self.on_outside_blocks = self.on
        self.prefetch_after = 0.001  # a kernel that is on disk is loaded
        self.compile_after = 0.02  # any kernel is compiled
        self.longest_call = 0.0006  # a call that takes longer counts as this: it waited for the machine
        # the time that the native implementation would save per statement, besides the time of NumPy's function
        self.statement_overhead = 25e-6 if native is not None else 0.0


setting = Settings()


@contextmanager
def kernels_only() -> Iterator[None]:
    """Switch the host tier off in all threads, for a block that measures or compares kernels."""
    try:
        with _lock:
            if not setting.kernels_only_blocks:
                setting.on_outside_blocks = setting.on
            setting.kernels_only_blocks += 1
            setting.on = False
        yield
    finally:
        with _lock:
            setting.kernels_only_blocks -= 1
            if not setting.kernels_only_blocks:
                setting.on = setting.on_outside_blocks


_lock = threading.RLock()  # guards the number of blocks: blocks of several threads end in any order
hold_at_fork(_lock)


def may_compute_on_host(capabilities: Capabilities, root: Node) -> bool:
    """Return whether NumPy may compute an expression of this structure instead of a kernel.

    The device must be a CPU. Another device in host memory may divide less exactly, or lack float64.
    """
    return setting.on and capabilities.kind == "cpu" and capabilities.host_memory and is_host_exact_tree(root)


class TieredKernel:
    """A kernel that is compiled once it has been used often. NumPy computes small values until then.

    Parameters
    ----------
    render : callable
        Renders the kernel of expressions of its structure. None if the launches have the kernel.
    """

    __slots__ = ("ready", "launched", "host_seconds", "_render", "_kernel", "_compiling", "_prefetched")

    def __init__(self, render: Callable[[Sequence[Node]], Kernel] | None = None) -> None:
        self.ready = False  # if set, NumPy no longer computes instead of it
        self.launched = False  # maybe only for values too large for NumPy, or by other threads of the device
        self.host_seconds = 0.0  # time in NumPy: decides when the kernel is compiled, not who computes
        self._render = render
        self._kernel: Kernel | None = None
        self._compiling: BackgroundCompilation | None = None
        self._prefetched = False

    def kernel(self, roots: Sequence[Node]) -> Kernel:
        """Return the kernel. It is not compiled unless it is `ready`."""
        if self._kernel is None:
            assert self._render is not None
            self._kernel = self._render(roots)
        return self._kernel

    def is_due(self) -> bool:
        """Return whether the next evaluation compiles, loads or launches the kernel."""
        is_compiled = self._compiling is not None and self._compiling.done
        return self.ready or is_compiled or self.needs_prefetch() or not setting.on

    def use_host_tier(self, root: Node, target: Node, size: int) -> bool:
        """Return whether NumPy computes an expression of `size` elements into a leaf this time."""
        if self.ready or not setting.on or must_use_kernels():
            return False
        if self._compiling is not None and self._compiling.done:
            self.ready = True
            return False
        return size <= MOST_ELEMENTS and _is_on_host(target) and all(map(_is_on_host, inputs_of(root)))

    def record_launch(self, launch: Launch) -> None:
        """Record that the kernel is launched, so that later launches of the same kind use it too."""
        self.launched = True
        self.ready = self.ready or launch.inline  # small values are launched inline

    def record_host_time(self, start: float) -> float:
        """Add the time since `start` in which NumPy has computed instead of the kernel. Return it in seconds."""
        seconds = time.perf_counter() - start
        self.host_seconds += min(seconds + setting.statement_overhead, setting.longest_call)
        return seconds

    def needs_prefetch(self) -> bool:
        """Return whether the kernel has been used often enough to be loaded or compiled, and is neither yet."""
        if self._compiling is not None:
            return False
        return self.host_seconds >= setting.compile_after or (
            self.host_seconds >= setting.prefetch_after and not self._prefetched
        )

    def prefetch(self, launches: list[Launch], count: str) -> None:
        """Have the kernel loaded, or compiled if it is used often, by a launch like this one without any work.

        A kernel that is on disk is loaded at the next call, which takes 3 ms. A background thread needs up to 100 ms
        for that: it takes the interpreter's lock some ten times, and the program's thread holds it for 5 ms each time.
        """
        self._prefetched = True
        if all(x.kernel.is_stored(x.inline) for x in launches):
            self.ready = True
            return
        if self.host_seconds < setting.compile_after:
            return
        if len(launches) != 1:
            self.ready = True  # compiled at the next call
            return
        (launch,) = launches
        args: list[Any] = []
        for name, arg in zip(launch.kernel.fields.names, launch.args, strict=True):
            if not isinstance(arg, int | float | np.generic):
                args.append(None)
            else:  # no work, and no offsets in buffers
                args.append(0 if name == count or (args and args[-1] is None) else arg)
        self._compiling = compile_in_background(launch.kernel, launch.groups, launch.local, args, launch.inline)


def _is_on_host(node: Node) -> bool:
    """Return whether an input is host memory, a constant or an index."""
    memory = node.memory
    return memory is None or memory.is_host


class _ErrorsIgnored:
    """``np.errstate(all="ignore")`` that is entered and left while the garbage collector is off.

    NumPy keeps the state in a context variable.
    """

    __slots__ = ("_state",)

    def __enter__(self) -> None:
        self._state = np.errstate(all="ignore")
        without_collector(self._state.__enter__)

    def __exit__(self, *error: Any) -> None:
        without_collector(self._state.__exit__, *error)


class HostLaunch:
    """A stand-in for a launch: NumPy computes an expression into a leaf.

    Parameters
    ----------
    tiered_kernel : TieredKernel
        The kernel that would compute it.
    root, target : Node
        The expression, and the leaf that it is written to.
    make_launches : callable
        Returns the launch, or the launches, that this one replaces.
    count : str
        Name of the kernel's argument with the number of elements, rows or tasks.
    """

    __slots__ = ("_tiered_kernel", "_root", "_target", "_make_launches", "_count")

    def __init__(
        self,
        tiered_kernel: TieredKernel,
        root: Node,
        target: Node,
        make_launches: Callable[[], Any],
        count: str,
    ) -> None:
        self._tiered_kernel = tiered_kernel
        self._root = root
        self._target = target
        self._make_launches = make_launches
        self._count = count

    @replanned
    def _launches(self) -> list[Launch]:
        launches = self._make_launches()
        return [launches] if isinstance(launches, Launch) else launches

    def keep_alive(self, owner: Any) -> HostLaunch:
        """Return itself. Unlike a `Launch`, it refers to the nodes that it reads."""
        return self

    def _compute(self, memory: Memory) -> None:
        """Compute the values, again if a re-entrant call has written to the target, which may be an operand."""
        device = memory.device
        out = host_array(self._target)
        assert out is not None
        while True:
            # Every write clears the mirror, which host memory does not use otherwise.
            mark = memory.mirror = (id(self), b"")
            device.finish()
            value = host_value(self._root)
            if device.pending or memory.mirror is not mark:
                continue
            memory.mirror = None
            # No interrupt comes between these two, nor before the copy: np.copyto would run a dispatcher in Python.
            out[...] = value
            device.begun += 1
            return

    def run(self) -> None:
        """Compute the values. All pending work of the device is done when this returns."""
        capture = current_capture()
        if capture is None:
            self._run()
            return
        expression = HostExpression(self._root)
        evaluation = HostEvaluation(self._tiered_kernel, expression, self._target)
        memories = [leaf.memory for leaf in (*expression.leaves, self._target) if leaf.memory is not None]
        expression.leaves.clear()
        with suspended(capture):
            is_computed = self._run()
        if is_computed:
            capture.called_on_host(evaluation, memories)
        else:
            abort_capture()

    def _run(self) -> bool:
        """Compute the values. Return False if the kernel had to."""
        root, target, tiered_kernel = self._root, self._target, self._tiered_kernel
        memory = target.memory
        assert memory is not None
        device = memory.device
        with device.lock:
            start = time.perf_counter()
            with _ErrorsIgnored():
                try:
                    self._compute(memory)
                except Undefined:
                    tiered_kernel.ready = True
                    for launch in self._launches():
                        launch.run()
                    return False
            seconds = tiered_kernel.record_host_time(start)
            if profiling.state.recorder is not None:
                name = getattr(root.op, "name", "copy")
                profiling.record("first call", name, root.size * root.dtype.itemsize, seconds)
            if tiered_kernel.needs_prefetch():
                tiered_kernel.prefetch(self._launches(), self._count)
        return True


class HostEvaluation:
    """A host launch as a step of a program. See `clarray._engine.runtime.steps.HostStep`.

    Its memories are those of the expression's leaves, and then that of the target.
    """

    __slots__ = ("_tiered_kernel", "_expression", "_leaves", "_target")

    def __init__(self, tiered_kernel: TieredKernel, expression: HostExpression, target: Node) -> None:
        self._tiered_kernel = tiered_kernel
        self._expression = expression
        self._leaves = [MemoryView.from_leaf(leaf, number) for number, leaf in enumerate(expression.leaves)]
        self._target = MemoryView.from_leaf(target, len(self._leaves))

    def __call__(self, *memories: Memory) -> bool | None:
        """Compute the values. The device is idle."""
        if self._tiered_kernel.is_due():
            return None
        start = time.perf_counter()
        with _ErrorsIgnored():
            try:
                value = self._expression.compute([leaf.on(memories) for leaf in self._leaves])  # type: ignore[misc]
            except Undefined:
                return False
            self._target.on(memories)[...] = value  # type: ignore[index]
        self._tiered_kernel.record_host_time(start)
        return True
