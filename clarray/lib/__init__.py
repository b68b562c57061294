"""Provide functions outside of NumPy's main namespace, as in ``numpy.lib``. All other names are NumPy's own."""

from typing import Any as _Any

import numpy as _np

from clarray.lib import scimath, stride_tricks

__all__ = ["scimath", "stride_tricks"]


def __getattr__(name: str) -> _Any:
    if name.startswith("_") or not hasattr(_np.lib, name):
        raise AttributeError(f"module 'clarray.lib' has no attribute {name!r}")
    return getattr(_np.lib, name)
