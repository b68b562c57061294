"""Leave clarray's frames out of the errors that it raises.

    clarray.reshape(x, 5)  --raises-->  boundary(reshape)  --hide_own_frames-->  the line of the user's program

A user's mistake is shown as NumPy shows it: it ends at the user's line. A defect of clarray's is shown with all of its
frames, and so is every error with ``CLARRAY_TRACEBACK=full``. Calls without an error do not pass through this module:
the core looks only when a call has failed, and ``try`` costs nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import wraps
from opcode import opname
from types import FunctionType, ModuleType, TracebackType
from typing import Any, TypeVar

from clarray._core.public_names import publish_names
from clarray._engine.speedups import core

__all__ = ["boundary", "hide_own_frames", "is_own_file", "serve_boundaries", "setting", "with_boundaries"]

Function = TypeVar("Function", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_DRIVERS = frozenset(("mako", "pyopencl", "pytools"))  # packages that clarray itself calls: their errors are its own
_DEFECTS = (AssertionError, ImportError, NameError, SystemError, RecursionError)


class _Setting:
    """Whether errors keep all frames: the environment variable CLARRAY_TRACEBACK."""

    def __init__(self) -> None:
        self.keeps_all = os.environ.get("CLARRAY_TRACEBACK", "") == "full"


setting = _Setting()


def is_own_file(path: str) -> bool:
    """Return whether code comes from a file of clarray's."""
    return path.startswith(_PACKAGE)


def hide_own_frames(error: BaseException) -> None:
    """Remove clarray's frames, and the errors that clarray has handled, from an error that leaves clarray.

    Parameters
    ----------
    error : BaseException
        It stays as it is if it shows a defect of clarray's.
    """
    if setting.keeps_all or not isinstance(error, Exception):
        return
    frames = _frames(error.__traceback__)
    users = [each for each in frames if not _is_own(each)]
    if len(users) < len(frames):
        if _is_defect(error, frames[-1]):
            return
        error.__traceback__ = _linked(users)
    context = error.__context__
    while context is not None and context.__traceback__ is not None and _is_own(context.__traceback__):
        context = context.__context__
    if context is not error.__context__ and error.__cause__ is None:
        error.__context__ = context


def _frames(trace: TracebackType | None) -> list[TracebackType]:
    frames = []
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    return frames


def _linked(frames: list[TracebackType]) -> TracebackType | None:
    trace = None
    for each in reversed(frames):
        trace = TracebackType(trace, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return trace


def _is_own(trace: TracebackType) -> bool:
    return is_own_file(trace.tb_frame.f_code.co_filename)


def _is_defect(error: Exception, innermost: TracebackType) -> bool:
    """Return whether an error was raised by neither a check of clarray's, nor a function that it had check something.

    A check is a ``raise``. What raises within a call is a function of Python's or NumPy's that was given a user's
    argument. Everything else is a defect: an attribute that None lacks, a key that a table lacks.
    """
    frame = innermost.tb_frame
    if not _is_own(innermost):
        return frame.f_globals.get("__name__", "").partition(".")[0] in _DRIVERS
    if isinstance(error, _DEFECTS) or type(error).__module__.partition(".")[0] in _DRIVERS:
        return True
    code, at = frame.f_code.co_code, innermost.tb_lasti
    while opname[code[at]] == "CACHE":  # a call of a Python function: its instruction stands before
        at -= 2
    return not opname[code[at]].startswith(("RAISE", "RERAISE", "CALL", "PRECALL"))


def boundary(function: Function) -> Function:
    """Return a function whose errors have no frames of clarray's."""
    if core is not None:
        made: Function = core.Boundary(function)
        return made

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            hide_own_frames(error)
            raise

    return call  # type: ignore[return-value]


def serve_boundaries(module: ModuleType, names: Iterable[str]) -> None:
    """Replace the Python functions of a public module by functions whose errors have no frames of clarray's.

    These, and classes, get the names under which users find them.
    """
    names = list(names)
    made: dict[int, Any] = {}  # a function of two names stays one
    for name in names:
        function = vars(module).get(name)
        if type(function) is FunctionType and is_own_file(function.__code__.co_filename):
            setattr(module, name, made.setdefault(id(function), boundary(function)))
    publish_names(module, names)


def with_boundaries(cls: Class) -> Class:
    """Decorator: replace the public methods of a class by methods whose errors have no frames of clarray's."""
    for name, method in list(vars(cls).items()):
        if type(method) is FunctionType and not name.startswith("_"):
            setattr(cls, name, boundary(method))
    return cls
