"""Show a line while long work lasts: on a terminal's stderr, or as a cell's output in a notebook. It goes at the end.

Nothing is shown where stderr is a pipe or a file, nor with CLARRAY_PROGRESS=0.
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


def _shown() -> bool:
    """Return whether somebody sees a line: stderr is a terminal, or a cell of a notebook runs."""
    if os.environ.get("CLARRAY_PROGRESS", "1") in ("", "0"):
        return False
    try:
        return sys.stderr.isatty() or _notebook() is not None
    except (AttributeError, ValueError):  # none, or closed
        return False


def _write(line: str) -> None:
    """Put a line in place of what stands there; '' leaves nothing."""
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
        """Show a line in place of the last one; '' takes the output away."""
        display = import_module("IPython.display")
        shown = {"text/plain": line, "text/html": f"<code>{line}</code>" if line else ""}
        with contextlib.suppress(Exception):  # a front end that has gone is no reason to stop
            if self._handle is None:
                self._handle = display.display(shown, raw=True, display_id=True)
            else:
                self._handle.update(shown, raw=True)
        if not line:
            self._handle = None


_cell = _Cell()


class Progress:
    """A bar.

    Parameters
    ----------
    total : int
        Steps.

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
        self._on = _shown()

    def __enter__(self) -> Progress:
        _compiled.bars += 1
        return self

    def __exit__(self, *_: object) -> None:
        _compiled.bars -= 1
        self.clear()

    def say(self, what: str) -> None:
        """Tell what is done now."""
        self._what = what
        self.draw()

    def step(self, what: str = "", count: int = 1) -> None:
        """So many steps are done."""
        self._done = min(self._done + count, self._total)
        self._what = what or self._what
        self.draw()

    def draw(self) -> None:
        """Show the line."""
        if self._on:
            full = _CELLS * self._done // self._total
            _write(f"[{'#' * full}{'.' * (_CELLS - full)}] {self._done}/{self._total} {self._what}")

    def clear(self) -> None:
        """Take the line away, until something else is to be shown."""
        if self._on:
            _write("")


# Compiling --------------------------------------------------------------------------------------------

_PATIENCE_SECONDS = 1.0  # of compiling in all: a program of a few kernels shows nothing


class _Compiled:
    """How much has been compiled in the program's own threads."""

    def __init__(self) -> None:
        self.kernels = 0
        self.seconds = 0.0
        self.at_once = 0  # a first launch may compile what it launches
        self.bars = 0  # on the line already


_compiled = _Compiled()


@contextlib.contextmanager
def compiling(name: str) -> Iterator[None]:
    """For a block that compiles kernels and is waited for: a line says so, when that has taken long already."""
    start, shown = time.perf_counter(), False
    try:
        _compiled.at_once += 1  # with the look at it one step, as nothing is called
        outermost = _compiled.at_once == 1
        shown = outermost and not _compiled.bars and _compiled.seconds > _PATIENCE_SECONDS and _shown()
        if shown:
            _write(f"clarray compiles kernel {_compiled.kernels + 1}, {name} ({_compiled.seconds:.0f} s so far)")
        yield
    finally:
        _compiled.at_once -= 1
        took = time.perf_counter() - start
        if outermost:
            _compiled.kernels += 1
            _compiled.seconds += took
        if shown:
            _write("")
