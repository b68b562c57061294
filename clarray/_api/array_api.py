"""Inspection functions of the Array API standard: version, devices and dtypes of the namespace."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.creation import device_for
from clarray._engine.expr.view import MAX_DIMENSIONS
from clarray._engine.ops.dtypes import DTYPES
from clarray._engine.runtime import Device, current_device, devices

__all__ = ["__array_api_version__", "__array_namespace_info__"]

__array_api_version__ = "2025.12"

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")

_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


class ArrayNamespaceInfo:
    """Describe what `clarray` offers on this machine, in the terms of the Array API standard.

    Examples
    --------
    >>> import clarray
    >>> info = clarray.__array_namespace_info__()
    >>> info.capabilities()["boolean indexing"]
    True
    """

    __module__ = "clarray"

    def capabilities(self) -> dict[str, Any]:
        """Return which optional parts of the standard clarray has. It has all of them.

        Examples
        --------
        >>> import clarray
        >>> clarray.__array_namespace_info__().capabilities()["data-dependent shapes"]
        True
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": MAX_DIMENSIONS}

    def default_device(self) -> Device:
        """Return the device that new arrays are made on.

        Examples
        --------
        >>> import clarray
        >>> clarray.__array_namespace_info__().default_device() is clarray.zeros(3).device
        True
        """
        return current_device()

    def devices(self) -> tuple[Device, ...]:
        """Return the devices that the argument `device` of a creation function takes.

        Examples
        --------
        >>> import clarray
        >>> list(clarray.__array_namespace_info__().devices()) == clarray.devices()
        True
        """
        return tuple(devices())

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype]:
        """Return the dtype to use on a device for each kind of numbers.

        On a device without float64 that is float32 and complex64. Functions whose default is float64 in NumPy raise
        TypeError there if no dtype is given, as clarray never reduces the precision silently.

        Parameters
        ----------
        device : Device, str or int, optional
            The current device by default.

        Returns
        -------
        dict of str to dtype

        Examples
        --------
        >>> import clarray
        >>> clarray.__array_namespace_info__().default_dtypes()["indexing"]
        dtype('int64')
        """
        fp64 = device_for(device).capabilities.fp64
        return {
            "real floating": np.dtype("float64" if fp64 else "float32"),
            "complex floating": np.dtype("complex128" if fp64 else "complex64"),
            "integral": np.dtype(np.int_),
            "indexing": np.dtype(np.intp),
        }

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, np.dtype]:
        """Return the standard's dtypes that a device supports, by name.

        Parameters
        ----------
        device : Device, str or int, optional
            The current device by default.
        kind : str or tuple of str, optional
            Return only dtypes of these kinds, which have the names of `isdtype`.

        Returns
        -------
        dict of str to dtype

        Raises
        ------
        ValueError
            There is no such kind.

        Examples
        --------
        >>> import clarray
        >>> sorted(clarray.__array_namespace_info__().dtypes(kind="signed integer"))
        ['int16', 'int32', 'int64', 'int8']
        """
        kinds = "".join(map(_letters, kind if isinstance(kind, tuple) else (kind,)))
        fp64 = device_for(device).capabilities.fp64
        return {
            dtype.name: dtype
            for dtype, row in DTYPES.items()
            if row.kind in kinds and not row.packed and (fp64 or row.compute != "double")
        }

    def __repr__(self) -> str:
        return "<Array API namespace info of clarray>"


def _letters(kind: str | None) -> str:
    """Return the letters of ``dtype.kind`` for one of the standard's kinds."""
    if kind is None:
        return "biufc"
    if kind not in _KINDS:
        names = ", ".join(map(repr, _KINDS))
        raise ValueError(f"unsupported kind {kind!r}; the kinds are {names}")
    return _KINDS[kind]


def __array_namespace_info__() -> ArrayNamespaceInfo:  # noqa: N807 - the standard's name
    """Return the Array API standard's inspection functions.

    Returns
    -------
    ArrayNamespaceInfo
        It has the methods ``capabilities``, ``default_device``, ``default_dtypes``, ``devices`` and ``dtypes``.

    Examples
    --------
    >>> import clarray
    >>> sorted(clarray.__array_namespace_info__().dtypes(kind="bool"))
    ['bool']
    """
    return ArrayNamespaceInfo()
