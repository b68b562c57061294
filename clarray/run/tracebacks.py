"""Show errors as Python does: without the frames of clarray and of the import system."""

from __future__ import annotations

import os
import sys
import threading
import traceback as tracebacks
from types import TracebackType
from typing import Any

from clarray.run.owners import OWN

__all__ = ["hide_own_frames", "shown"]

_HIDDEN = ("<frozen importlib._bootstrap", "<frozen runpy>")


def hide_own_frames() -> None:
    """Leave clarray's frames out of what `traceback` formats, for `logging` and others, and of threads' errors."""
    walk = getattr(tracebacks, "_walk_tb_with_full_positions", None)
    if walk is not None and not hasattr(walk, "hides"):

        def walk_without_own(traceback: TracebackType | None) -> Any:
            return walk(without_own_frames(traceback))

        walk_without_own.hides = True  # type: ignore[attr-defined]
        setattr(tracebacks, "_walk_tb_with_full_positions", walk_without_own)  # noqa: B010 - it is private
    show = threading.excepthook

    def show_threads_error(given: threading.ExceptHookArgs) -> None:
        clean = without_own_frames(given.exc_traceback)
        if given.exc_value is not None:
            given.exc_value.__traceback__ = clean
        show(threading.ExceptHookArgs((given.exc_type, given.exc_value, clean, given.thread)))

    threading.excepthook = show_threads_error


def shown(error: BaseException, traceback: TracebackType | None) -> BaseException:
    """Have the program's `sys.excepthook` show an error with these frames, and return it to be raised."""
    context = error.__cause__, error.__context__, error.__suppress_context__
    hook = sys.excepthook
    clean = without_own_frames(traceback)

    def show(kind: type[BaseException], value: BaseException, _: Any) -> None:
        value.__cause__, value.__context__, value.__suppress_context__ = context
        for each in _chain(value):
            each.__traceback__ = without_own_frames(each.__traceback__)
        value.__traceback__ = sys.last_traceback = clean
        hook(kind, value, clean)

    sys.excepthook = show
    return error


def _chain(error: BaseException) -> list[BaseException]:
    """Return the errors that a traceback shows above another one's."""
    found: list[BaseException] = []
    waiting = [error.__cause__, error.__context__]
    while waiting:
        each = waiting.pop()
        if each is not None and not any(each is one for one in found):
            found.append(each)
            waiting += [each.__cause__, each.__context__]
    return found


def without_own_frames(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of clarray and of the import system."""
    frames = []
    while traceback is not None:
        path = traceback.tb_frame.f_code.co_filename
        if not path.startswith(OWN + os.sep) and not path.startswith(_HIDDEN):
            frames.append(traceback)
        traceback = traceback.tb_next
    clean = None
    for each in reversed(frames):
        clean = TracebackType(clean, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return clean
