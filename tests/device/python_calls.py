"""Counts of Python functions that are called: none, where the core runs a program."""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import unwrap
from operator import attrgetter
from types import FrameType
from typing import Any

import clarray
from clarray._core.host_fallback import without_host_fallback


class PythonCalls:
    """Count the calls of Python functions of which a condition holds.

    Parameters
    ----------
    is_counted : callable
        Takes the frame of a call.
    """

    def __init__(self, is_counted: Callable[[FrameType], bool]) -> None:
        self.count = 0
        self._is_counted = is_counted

    @classmethod
    def of_function(cls, name: str) -> PythonCalls:
        """Count the calls of the Python function of a captured function."""
        code = unwrap(without_host_fallback(attrgetter(name)(clarray))).__code__
        return cls(lambda frame: frame.f_code is code)

    @classmethod
    def of_modules(cls, *names: str) -> PythonCalls:
        """Count the calls of all functions of modules."""
        return cls(lambda frame: frame.f_globals.get("__name__") in names)

    def __enter__(self) -> PythonCalls:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        self.count += event == "call" and self._is_counted(frame)
