"""Compile kernels in a background thread while the program runs.

PoCL compiles a kernel at its first launch, so the thread launches it with scratch memory and no work. The thread holds
a lock of the device only for a moment at the end. It changes neither stderr nor the filters of warnings, which belong
to the program. It ends when no kernel waits to be compiled, or when the program ends. A fork waits for it, as for all
work in OpenCL. After a failure the next launch compiles the kernel again, and raises.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clarray._engine.runtime.forking import after_fork_in_child
from clarray._engine.threads import start

if TYPE_CHECKING:
    from clarray._engine.runtime.launch import Kernel


class BackgroundCompilation:
    """The compilation of a kernel in the background. `done` is True after success or failure."""

    __slots__ = ("done", "_kernel", "_launch")

    def __init__(self, kernel: Kernel, *launch: Any) -> None:
        self.done = False
        self._kernel = kernel
        self._launch = launch

    def run(self) -> None:
        """Compile the kernel in the calling thread."""
        with contextlib.suppress(Exception):  # the next launch fails in the same way, and raises
            with compile_lock:
                bound = self._kernel.compile_without_lock(*self._launch)
            self._kernel.adopt(bound)
        self.done = True


# Held while a kernel is compiled. A fork waits for the lock. So does the end of the process, which never releases it.
# The lock is reentrant, since finalizers in the last garbage collection may compute.
compile_lock = threading.RLock()
_waiting: deque[BackgroundCompilation] = deque()
_thread: threading.Thread | None = (
    None  # not locked, since a re-entrant call might wait for a lock; a second thread does no harm
)


def compile_in_background(
    kernel: Kernel, groups: tuple[int, ...], local: tuple[int, ...], args: Sequence[Any], inline: bool
) -> BackgroundCompilation:
    """Queue the compilation of a kernel for launches with these sizes and arguments.

    Parameters
    ----------
    args : sequence
        The arguments as in `Kernel.launch`, with None for each buffer. The numbers must make the kernel do nothing.
    """
    global _thread
    compilation = BackgroundCompilation(kernel, groups, local, args, inline)
    _waiting.append(compilation)
    if _thread is None:
        thread = threading.Thread(target=_compile_all, name="clarray compiling")
        _thread = thread
        try:
            start(thread)
        except RuntimeError:  # the process ends, or has too many threads: the next launch compiles
            _thread = None
            _waiting.clear()
    return compilation


def _compile_all() -> None:
    global _thread
    while threading.main_thread().is_alive():
        try:
            compilation = _waiting.popleft()
        except IndexError:
            _thread = None
            if not _waiting:  # a compilation queued since then has no other thread
                return
        else:
            compilation.run()
    _waiting.clear()
    _thread = None


@after_fork_in_child
def _after_fork_in_child() -> None:
    """Drop the parent's thread, which does not run here."""
    global _thread, compile_lock
    compile_lock = threading.RLock()
    _waiting.clear()
    _thread = None
