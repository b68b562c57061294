"""Kernels compiled by a thread beside, while the program goes on.

PoCL compiles a kernel when it is first launched, so it is launched: on memory of nobody's, with nothing to do. The
thread takes no lock of a device's but for a moment at the end, and touches neither stderr nor the warnings' filters,
which are the program's. It ends when there is nothing left to compile, or the program ends. A fork waits for it, as for
all that works in OpenCL. What fails is left to the next launch, which compiles it again, and raises.
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


class Compiling:
    """A kernel that is being compiled; `done` when it has been, or cannot be."""

    __slots__ = ("done", "_kernel", "_launch")

    def __init__(self, kernel: Kernel, *launch: Any) -> None:
        self.done = False
        self._kernel = kernel
        self._launch = launch

    def run(self) -> None:
        """Compile; in whatever thread."""
        with contextlib.suppress(Exception):  # the next launch meets it too, and raises
            with working:
                bound = self._kernel.compile_apart(*self._launch)
            self._kernel.use(bound)
        self.done = True


# Held while a kernel is being compiled: a fork waits for it, and so does the end of the process, which keeps it then. A
# thread that has it may take it again, as objects that the last garbage collection deletes may compute.
working = threading.RLock()
_waiting: deque[Compiling] = deque()
_thread: threading.Thread | None = None  # under no lock, which a re-entrant call might wait for; two would do no harm


def compile_beside(
    kernel: Kernel, groups: tuple[int, ...], local: tuple[int, ...], args: Sequence[Any], inline: bool
) -> Compiling:
    """Compile a kernel for launches like one, some time soon.

    Parameters
    ----------
    args : sequence
        As of `Kernel.launch`, with None for each buffer: such that the kernel does nothing.
    """
    global _thread
    made = Compiling(kernel, groups, local, args, inline)
    _waiting.append(made)
    if _thread is None:
        thread = threading.Thread(target=_compile_all, name="clarray compiling")
        _thread = thread
        try:
            start(thread)
        except RuntimeError:  # the process ends, or has too many: it is compiled when it is waited for
            _thread = None
            _waiting.clear()
    return made


def _compile_all() -> None:
    global _thread
    while threading.main_thread().is_alive():
        try:
            waiting = _waiting.popleft()
        except IndexError:
            _thread = None
            if not _waiting:  # what has come since then is nobody else's
                return
        else:
            waiting.run()
    _waiting.clear()
    _thread = None


@after_fork_in_child
def _after_fork_in_child() -> None:
    """Forget a thread that has stayed in the parent."""
    global _thread, working
    working = threading.RLock()
    _waiting.clear()
    _thread = None
