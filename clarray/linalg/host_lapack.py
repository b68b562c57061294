"""Calls of NumPy's LAPACK on the host, for operands that the device does not factorize."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clarray._core.device_array import DeviceArray
from clarray._core.fallback import through_library
from clarray._core.host_data import device_dtype
from clarray._core.ufunc_calls import device_of_operands

__all__ = ["on_host"]

_SQUARE = ("cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "slogdet", "solve")


def on_host(name: str, arrays: tuple[Any, ...], *args: Any, **kwargs: Any) -> Any:
    """Call NumPy's function `name` on the host. Raise TypeError if the device lacks the dtype of the result."""
    if name in _SQUARE:
        _raise_unless_square(name, np.shape(arrays[0]))
    dtypes = [x.dtype if isinstance(x, DeviceArray) else np.asarray(x).dtype for x in arrays]
    if all(dtype.kind in "biufc" for dtype in dtypes):  # NumPy raises the errors for other dtypes
        exact = [dtype if dtype.kind in "fc" else np.dtype(np.float64) for dtype in dtypes]
        device_dtype(np.result_type(*exact), device_of_operands(arrays))
    function = _ALWAYS_COMPLEX.get(name) or getattr(np.linalg, name)
    return through_library(f"numpy.linalg.{name}", function, *arrays, *args, **kwargs)


def _raise_unless_square(name: str, shape: tuple[int, ...]) -> None:
    """Raise NumPy's error for matrices that are not square, even if calls on the host are forbidden."""
    if len(shape) < 2 or shape[-1] != shape[-2]:
        no_elements = np.empty((0,) * (len(shape) - 2) + shape[-2:])
        function = getattr(np.linalg, name)
        function(no_elements, no_elements) if name == "solve" else function(no_elements)


def _complex_eig(a: np.ndarray) -> Any:
    decomposition = np.linalg.eig(a)
    return type(decomposition)(*map(_as_complex, decomposition))


def _complex_eigvals(a: np.ndarray) -> np.ndarray:
    return _as_complex(np.linalg.eigvals(a))


def _as_complex(values: np.ndarray) -> np.ndarray:
    return values.astype(np.result_type(values.dtype, np.complex64), copy=False)


# NumPy before 2.5 returns these in a dtype that depends on the values.
_ALWAYS_COMPLEX: dict[str, Callable[..., Any]] = {"eig": _complex_eig, "eigvals": _complex_eigvals}
