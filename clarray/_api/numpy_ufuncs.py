"""Every supported ufunc under each of NumPy's names. `numpy_ufuncs.pyi` lists them for type checkers."""

from __future__ import annotations

from clarray._api.functions import ufuncs_by_name

_ufuncs = ufuncs_by_name()
globals().update(_ufuncs)

__all__ = [*_ufuncs]
