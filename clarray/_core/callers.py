"""Warnings at the user's line, and the installed release of NumPy, whose answers clarray gives."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.exceptions import ComplexWarning

from clarray._engine.runtime.capture import abort_capture

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

NUMPY_2_5 = np.lib.NumpyVersion(np.__version__) >= "2.5.0"  # for the few answers that NumPy itself cannot be asked for


def warn(message: str, category: type[Warning]) -> None:
    """Give a warning at the line of the nearest caller outside clarray."""
    abort_capture()
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def relay(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function of NumPy, and give its warnings at the line of the nearest caller outside clarray."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*args, **kwargs)
    for each in caught:
        warn(str(each.message), each.category)
    return result


def warn_of_lost_parts(given: np.dtype, wanted: np.dtype) -> None:
    """Warn as NumPy does (ComplexWarning) if a conversion between two dtypes discards imaginary parts."""
    if given.kind == "c" and wanted.kind not in "cb":
        warn("Casting complex values to real discards the imaginary part", ComplexWarning)


def without_lost_parts(value: Any, dtype: np.dtype) -> Any:
    """Return a host value that NumPy converts to a dtype in silence: after a ComplexWarning its real part."""
    if dtype.kind in "cb":
        return value
    given = np.asarray(value)
    warn_of_lost_parts(given.dtype, dtype)
    return given.real[()] if given.dtype.kind == "c" else value
