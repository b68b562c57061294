"""Adapters of functions whose results differ from NumPy's by design."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clarray._core.device_array import DeviceArray
from clarray._core.host_policy import config
from clarray._numpy.indexing.iterating import in_host_memory

__all__ = ["NUMPYS_OWN", "AxisConcatenator", "ADAPTERS"]

# Names of ``numpy`` that stay NumPy's own: queries of dtypes, and polynomials of a few coefficients.
NUMPYS_OWN = frozenset(
    (
        *("finfo", "iinfo", "isdtype", "issubdtype"),
        *("poly", "poly1d", "polyadd", "polyder", "polydiv", "polyint", "polymul", "polysub", "roots"),
    )
)
# Eigenvalues are always complex in clarray, and in NumPy from 2.5 on.
_REAL_IF_ALL_ARE = np.lib.NumpyVersion(np.__version__) < "2.5.0"


def _is_real(values: Any) -> bool:
    return isinstance(values, DeviceArray) and values.dtype.kind == "c" and not bool((values.imag != 0).any())


def _eig(ours: Callable[..., Any], theirs: Callable[..., Any]) -> Callable[..., Any]:
    def eig(a: Any) -> Any:
        result = ours(a)
        if not _REAL_IF_ALL_ARE or np.iscomplexobj(a) or not _is_real(result[0]):
            return result
        return type(result)(result[0].real.copy(), result[1].real.copy())

    return eig


def _eigvals(ours: Callable[..., Any], theirs: Callable[..., Any]) -> Callable[..., Any]:
    def eigvals(a: Any) -> Any:
        values = ours(a)
        return values.real.copy() if _REAL_IF_ALL_ARE and not np.iscomplexobj(a) and _is_real(values) else values

    return eigvals


class AxisConcatenator:
    """``np.r_`` and ``np.c_``: clarray's, or NumPy's for dtypes that clarray lacks."""

    def __init__(self, ours: Any, theirs: Any) -> None:
        self._ours = ours
        self._theirs = theirs

    def __getitem__(self, key: Any) -> Any:
        try:
            return self._ours[key]
        except (TypeError, ValueError):
            if config.host_fallback == "raise":
                raise
        return self._theirs[in_host_memory(key)]

    def __len__(self) -> int:
        return 0


ADAPTERS: dict[str, Callable[[Callable[..., Any], Callable[..., Any]], Callable[..., Any]]] = {
    "numpy.linalg.eig": _eig,
    "numpy.linalg.eigvals": _eigvals,
}
