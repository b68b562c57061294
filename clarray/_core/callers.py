"""Warnings at the user's line, however deep in clarray they are found to be due."""

from __future__ import annotations

import os
import sys
import warnings

from clarray._engine.runtime.recording import spoil

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def warn(message: str, category: type[Warning]) -> None:
    """Give a warning at the line of the nearest caller outside clarray."""
    spoil()
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
