"""Distinguish the user's modules from installed libraries, by the source file of their code.

The user's modules are ``__main__`` and modules outside the folders of the standard library and of installed packages.
Code that such a module executes from a string belongs to the user, too: a cell of a notebook, ``exec`` or `timeit`.
"""

from __future__ import annotations

import os
import sysconfig
from functools import cache
from types import FrameType
from typing import Any

__all__ = ["OWN", "is_library_file", "is_users_file", "runs_for_user"]

_MAIN = frozenset(("__main__", "__mp_main__"))  # multiprocessing's children import the program by the second name
_PACKAGES = frozenset(("site-packages", "dist-packages"))
OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_TEMPLATES = os.path.join(os.path.dirname(OWN), "templates")


def _standard_library() -> tuple[str, ...]:
    folders = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    return tuple({*folders, *map(os.path.realpath, folders)})


_STANDARD = _standard_library()


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder + os.sep)


@cache
def is_library_file(path: str) -> bool:
    """Return whether a file belongs to the standard library, an installed package, or clarray itself."""
    absolute = os.path.abspath(path)
    folders = (*_STANDARD, OWN, _TEMPLATES)
    return any(_is_below(absolute, folder) for folder in folders) or not _PACKAGES.isdisjoint(absolute.split(os.sep))


@cache
def _is_standard(path: str) -> bool:
    if not _is_below(os.path.abspath(path), OWN):
        return is_library_file(path) and _PACKAGES.isdisjoint(os.path.abspath(path).split(os.sep))
    return False


@cache
def _is_text(path: str) -> bool:
    """Return whether code has no file: it was typed, or executed from a string."""
    return path.startswith("<") and path.endswith(">")


@cache
def is_users_file(path: str) -> bool:
    """Return whether a file belongs to the user."""
    return not _is_text(path) and not is_library_file(path)


def runs_for_user(frame: FrameType, namespace: dict[str, Any] | None = None) -> bool:
    """Return whether a frame runs the user's code.

    Parameters
    ----------
    frame : frame
    namespace : dict, optional
        The globals of the code, if they are not the frame's.
    """
    names = frame.f_globals if namespace is None else namespace
    if names.get("__name__") in _MAIN:
        return True
    path = frame.f_code.co_filename
    if not _is_text(path):
        return is_users_file(path)
    file = names.get("__file__")
    if isinstance(file, str) and not _is_standard(file):
        return is_users_file(file)
    return _caller_is_users(frame.f_back)


def _caller_is_users(frame: FrameType | None) -> bool:
    """Return whether the nearest calling code with a file outside the standard library is the user's."""
    while frame is not None:
        path = frame.f_code.co_filename
        if frame.f_globals.get("__name__") in _MAIN:
            return True
        if not _is_text(path) and not _is_standard(path):
            return is_users_file(path)
        frame = frame.f_back
    return False
