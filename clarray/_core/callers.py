"""Warnings at the user's line, and the installed release of NumPy, whose behaviour clarray follows."""

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

NUMPY_2_5 = np.lib.NumpyVersion(np.__version__) >= "2.5.0"  # for behaviour that no call of NumPy shows


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the line of the nearest caller outside clarray."""
    abort_capture()
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def relay(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function of NumPy, and repeat its warnings at the line of the nearest caller outside clarray."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        returned = function(*args, **kwargs)
    for warning in caught:
        warn_user(str(warning.message), warning.category)
    return returned


def warn_complex_cast(source: np.dtype, target: np.dtype) -> None:
    """Warn as NumPy does (ComplexWarning) if a conversion between two dtypes discards imaginary parts."""
    if source.kind == "c" and target.kind not in "cb":
        warn_user("Casting complex values to real discards the imaginary part", ComplexWarning)


def drop_imaginary(operand: Any, dtype: np.dtype) -> Any:
    """Return the real part of a complex host value, with a ComplexWarning, for a cast to a real dtype."""
    if dtype.kind in "cb":
        return operand
    host_operand = np.asarray(operand)
    warn_complex_cast(host_operand.dtype, dtype)
    return host_operand.real[()] if host_operand.dtype.kind == "c" else operand
