"""Removal of clarray's frames from the tracebacks of its errors.

    clarray.reshape(x, 5)  --raises-->  boundary(reshape)  --hide_own_frames-->  the line of the user's program

The traceback of a user's mistake ends at the user's line, as in NumPy. A defect of clarray keeps all frames, as does
every error with ``CLARRAY_TRACEBACK=full``. Calls without an error do not run this module: the core calls it only after
an exception, and ``try`` costs nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import wraps
from opcode import opname
from types import FunctionType, ModuleType, TracebackType
from typing import Any, TypeVar

from clarray._core.public_names import publish_names
from clarray._engine.speedups import native

__all__ = ["boundary", "hide_own_frames", "is_own_file", "add_boundaries", "setting", "with_boundaries"]

Function = TypeVar("Function", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_DRIVERS = frozenset(
    ("mako", "pyopencl", "pytools")
)  # errors of packages that only clarray calls are defects of clarray
_DEFECTS = (AssertionError, ImportError, NameError, SystemError, RecursionError)


class _Setting:
    """The environment variable CLARRAY_TRACEBACK: whether errors keep all frames."""

    def __init__(self) -> None:
        self.keeps_all = os.environ.get("CLARRAY_TRACEBACK", "") == "full"


setting = _Setting()


def is_own_file(path: str) -> bool:
    """Return whether a file belongs to clarray."""
    return path.startswith(_PACKAGE)


def hide_own_frames(error: BaseException) -> None:
    """Remove clarray's frames, and the errors that clarray has handled, from an error that leaves clarray.

    Parameters
    ----------
    error : BaseException
        The error. It stays unchanged if it is a defect of clarray.
    """
    if setting.keeps_all or not isinstance(error, Exception):
        return
    frames = _frames(error.__traceback__)
    kept_frames = [frame for frame in frames if not _is_own(frame)]
    if len(kept_frames) < len(frames):
        if _is_defect(error, frames[-1]):
            return
        error.__traceback__ = _relink(kept_frames)
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


def _relink(frames: list[TracebackType]) -> TracebackType | None:
    trace = None
    for frame in reversed(frames):
        trace = TracebackType(trace, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return trace


def _is_own(trace: TracebackType) -> bool:
    return is_own_file(trace.tb_frame.f_code.co_filename)


def _is_defect(error: Exception, innermost: TracebackType) -> bool:
    """Return whether an error is a defect of clarray: not from a check, and not from a function that checks.

    A check is a ``raise`` in clarray. An error within a call is from a function of Python or NumPy, which got a user's
    argument. All other errors are defects, such as an attribute that None lacks or a key that a table lacks.
    """
    frame = innermost.tb_frame
    if not _is_own(innermost):
        return frame.f_globals.get("__name__", "").partition(".")[0] in _DRIVERS
    if isinstance(error, _DEFECTS) or type(error).__module__.partition(".")[0] in _DRIVERS:
        return True
    code, instruction = frame.f_code.co_code, innermost.tb_lasti
    while opname[code[instruction]] == "CACHE":  # inline caches follow the instruction of a call
        instruction -= 2
    return not opname[code[instruction]].startswith(("RAISE", "RERAISE", "CALL", "PRECALL"))


def boundary(function: Function) -> Function:
    """Wrap a function: its errors have no frames of clarray."""
    if native is not None:
        native_boundary: Function = native.Boundary(function)
        return native_boundary

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            hide_own_frames(error)
            raise

    return call  # type: ignore[return-value]


def add_boundaries(module: ModuleType, names: Iterable[str]) -> None:
    """Replace the Python functions of a public module by functions whose errors have no frames of clarray.

    Functions and classes also get their public names.
    """
    names = list(names)
    wrapped: dict[int, Any] = {}  # a function with two names is wrapped once
    for name in names:
        function = vars(module).get(name)
        if type(function) is FunctionType and is_own_file(function.__code__.co_filename):
            setattr(module, name, wrapped.setdefault(id(function), boundary(function)))
    publish_names(module, names)


def with_boundaries(cls: Class) -> Class:
    """Decorator: replace the public methods of a class by methods whose errors have no frames of clarray."""
    for name, method in list(vars(cls).items()):
        if type(method) is FunctionType and not name.startswith("_"):
            setattr(cls, name, boundary(method))
    return cls
