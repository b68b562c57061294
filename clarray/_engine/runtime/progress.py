"""Show a line during long work, on a terminal's stderr or as output of a notebook's cell, and remove it at the end.

Nothing is shown if stderr is a pipe or a file, or with CLARRAY_PROGRESS=0.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any

__all__ = ["Progress", "compiling"]

_CELLS = 20


def _notebook() -> Any:
    """Return IPython's shell if it runs in a notebook's kernel, else None."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell if hasattr(shell, "kernel") else None


def _is_visible() -> bool:
    """Return whether a line is visible: stderr is a terminal, or a cell of a notebook runs."""
    if os.environ.get("CLARRAY_PROGRESS", "1") in ("", "0"):
        return False
    try:
        return sys.stderr.isatty() or _notebook() is not None
    except (AttributeError, ValueError):  # stderr is None or closed
        return False


def _write(line: str) -> None:
    """Replace the line on the terminal or in the cell. '' removes it."""
    if _notebook() is not None:
        _cell.write(line)
        return
    width = shutil.get_terminal_size().columns - 1
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"\r{line[:width]:{width}}\r")
        sys.stderr.flush()


class _Cell:
    """The output of a notebook's cell that holds the line."""

    def __init__(self) -> None:
        self._handle: Any = None

    def write(self, line: str) -> None:
        """Replace the line in the cell. '' removes the output."""
        display = import_module("IPython.display")
        formats = {"text/plain": line, "text/html": f"<code>{line}</code>" if line else ""}
        with contextlib.suppress(Exception):  # a missing front end must not stop the work
            if self._handle is None:
                self._handle = display.display(formats, raw=True, display_id=True)
            else:
                self._handle.update(formats, raw=True)
        if not line:
            self._handle = None


_cell = _Cell()


class Progress:
    """A progress bar.

    Parameters
    ----------
    total : int
        The number of steps.

    Examples
    --------
    >>> with Progress(2) as progress:
    ...     progress.step("first")
    ...     progress.step("second")
    """

    def __init__(self, total: int) -> None:
        self._total = max(total, 1)
        self._done = 0
        self._what = ""
        self._on = _is_visible()

    def __enter__(self) -> Progress:
        _compiled.bars += 1
        return self

    def __exit__(self, *_: object) -> None:
        _compiled.bars -= 1
        self.clear()

    def say(self, what: str) -> None:
        """Show the name of the current work."""
        self._what = what
        self.draw()

    def step(self, what: str = "", count: int = 1) -> None:
        """Count finished steps, and show the name of the current work."""
        self._done = min(self._done + count, self._total)
        self._what = what or self._what
        self.draw()

    def draw(self) -> None:
        """Show the line."""
        if self._on:
            full = _CELLS * self._done // self._total
            _write(f"[{'#' * full}{'.' * (_CELLS - full)}] {self._done}/{self._total} {self._what}")

    def clear(self) -> None:
        """Remove the line until the next update."""
        if self._on:
            _write("")


# BackgroundCompilation --------------------------------------------------------------------------------------------

_SILENT_SECONDS = 1.0  # of compilation in total, before a line is shown: a program with a few kernels shows none


class _Compiled:
    """The compilations in the program's own threads so far."""

    def __init__(self) -> None:
        self.kernels = 0
        self.seconds = 0.0
        self.depth = 0  # nested blocks: a first launch may compile its kernel
        self.bars = 0  # progress bars that show a line


_compiled = _Compiled()


@contextlib.contextmanager
def compiling(name: str) -> Iterator[None]:
    """Show a line during a block that compiles kernels, once compilation has taken long in total."""
    start, shown = time.perf_counter(), False
    try:
        _compiled.depth += 1  # one step with the check, since there is no call between
        outermost = _compiled.depth == 1
        shown = outermost and not _compiled.bars and _compiled.seconds > _SILENT_SECONDS and _is_visible()
        if shown:
            _write(f"clarray compiles kernel {_compiled.kernels + 1}, {name} ({_compiled.seconds:.0f} s so far)")
        yield
    finally:
        _compiled.depth -= 1
        took = time.perf_counter() - start
        if outermost:
            _compiled.kernels += 1
            _compiled.seconds += took
        if shown:
            _write("")
