"""Every supported ufunc under each name that NumPy gives it; `numpy_ufuncs.pyi` lists them for type checkers."""

from __future__ import annotations

from clarray._api.functions import ufuncs_by_name

_found = ufuncs_by_name()
globals().update(_found)

__all__ = [*_found]
