"""Show errors without the frames of clarray and of the import system."""

from __future__ import annotations

import os
import sys
import threading
import traceback as tracebacks
from types import TracebackType
from typing import Any

from clarray.run.owners import OWN

__all__ = ["hide_own_frames", "with_clean_traceback"]

_HIDDEN = ("<frozen importlib._bootstrap", "<frozen runpy>")


def hide_own_frames() -> None:
    """Hide clarray's frames from the tracebacks of `traceback`, `logging` and threads."""
    walk = getattr(tracebacks, "_walk_tb_with_full_positions", None)
    if walk is not None and not hasattr(walk, "hides"):

        def walk_without_own(traceback: TracebackType | None) -> Any:
            return walk(without_own_frames(traceback))

        walk_without_own.hides = True  # type: ignore[attr-defined]
        setattr(tracebacks, "_walk_tb_with_full_positions", walk_without_own)  # noqa: B010 - it is private
    show = threading.excepthook

    def show_threads_error(arguments: threading.ExceptHookArgs) -> None:
        clean = without_own_frames(arguments.exc_traceback)
        if arguments.exc_value is not None:
            arguments.exc_value.__traceback__ = clean
        show(threading.ExceptHookArgs((arguments.exc_type, arguments.exc_value, clean, arguments.thread)))

    threading.excepthook = show_threads_error


def with_clean_traceback(error: BaseException, traceback: TracebackType | None) -> BaseException:
    """Make the program's `sys.excepthook` show an error with these frames. Return the error to raise."""
    context = error.__cause__, error.__context__, error.__suppress_context__
    hook = sys.excepthook
    clean = without_own_frames(traceback)

    def show(kind: type[BaseException], value: BaseException, _: Any) -> None:
        value.__cause__, value.__context__, value.__suppress_context__ = context
        for chained in _chained_errors(value):
            chained.__traceback__ = without_own_frames(chained.__traceback__)
        value.__traceback__ = sys.last_traceback = clean
        hook(kind, value, clean)

    sys.excepthook = show
    return error


def _chained_errors(error: BaseException) -> list[BaseException]:
    """Return the causes and contexts of an error, which its traceback shows above it."""
    chained: list[BaseException] = []
    pending = [error.__cause__, error.__context__]
    while pending:
        error_ = pending.pop()
        if error_ is not None and not any(error_ is known_error for known_error in chained):
            chained.append(error_)
            pending += [error_.__cause__, error_.__context__]
    return chained


def without_own_frames(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of clarray and of the import system."""
    frames = []
    while traceback is not None:
        path = traceback.tb_frame.f_code.co_filename
        if not path.startswith(OWN + os.sep) and not path.startswith(_HIDDEN):
            frames.append(traceback)
        traceback = traceback.tb_next
    clean = None
    for frame in reversed(frames):
        clean = TracebackType(clean, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return clean
