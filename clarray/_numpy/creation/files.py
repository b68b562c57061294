"""Arrays in files of NumPy's formats. Every read and write passes through host memory."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np

from clarray._core.conversion import asnumpy
from clarray._core.creation import array, asarray
from clarray._core.device_array import DeviceArray
from clarray._engine.ops.dtypes import dtype_row, is_device_dtype

__all__ = ["fromfile", "genfromtxt", "load", "loadtxt", "save", "savetxt", "savez", "savez_compressed"]


def _to_device(loaded: Any) -> Any:
    """Copy a loaded array to the current device. Return objects of other types and dtypes unchanged."""
    if isinstance(loaded, np.ndarray) and is_device_dtype(loaded.dtype):
        # a device that works in host memory reads the mapped file in place
        return asarray(loaded) if isinstance(loaded, np.memmap) else array(loaded)
    return loaded


def _text_to_device(loaded: Any) -> Any:
    """Move an array that was read from text to the device, or raise if the caller's dtype has a foreign byte order."""
    if isinstance(loaded, np.ndarray) and not loaded.dtype.isnative:
        dtype_row(loaded.dtype)  # raises
    return _to_device(loaded)


class Archive(Mapping[str, Any]):
    """Read the arrays of an ``.npz`` file by name. Close it, or use it in a ``with`` statement.

    Each array is read when it is asked for.

    Examples
    --------
    >>> import clarray
    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> clarray.savez(file, a=clarray.arange(3))
    >>> with clarray.load(BytesIO(file.getvalue())) as archive:
    ...     archive["a"]
    array([0, 1, 2])
    """

    def __init__(self, host: Any) -> None:
        self._host = host
        self.files: list[str] = host.files

    @property
    def f(self) -> _Attributes:
        """The arrays as attributes: ``archive.f.name``."""
        return _Attributes(self)

    def __repr__(self) -> str:
        return repr(self._host)

    def __getitem__(self, name: str) -> Any:
        return _to_device(self._host[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._host)

    def __len__(self) -> int:
        return len(self._host)

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._host.close()


class _Attributes:
    """The arrays of an archive as attributes."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def __getattr__(self, name: str) -> Any:
        if name == "_archive" or name not in self._archive.files:  # `copy` asks before it sets _archive
            raise AttributeError(name)
        return self._archive[name]

    def __dir__(self) -> list[str]:
        return self._archive.files


def load(file: Any, mmap_mode: Any = None, **kwargs: Any) -> Any:
    """Read an array from a ``.npy`` file, or several arrays from an ``.npz`` file.

    Parameters
    ----------
    file : path or file object
    mmap_mode : {'r+', 'r', 'w+', 'c'}, optional
        Map the file into memory instead of reading it. A device that works in host memory reads from the mapping.
    **kwargs
        Further arguments of `numpy.load`.

    Returns
    -------
    DeviceArray or mapping
        For an ``.npz`` file a mapping from names to arrays, each read when it is asked for. Data that no device holds
        stays on the host.

    Examples
    --------
    >>> import clarray
    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> clarray.save(file, clarray.arange(3))
    >>> clarray.load(BytesIO(file.getvalue()))
    array([0, 1, 2])
    """
    loaded = np.load(file, mmap_mode, **kwargs)
    return Archive(loaded) if hasattr(loaded, "files") else _to_device(loaded)


def save(file: Any, arr: Any, allow_pickle: bool = True) -> None:
    """Write an array to a ``.npy`` file, through a copy on the host.

    Parameters
    ----------
    file : path or file object
    arr : array_like
    allow_pickle : bool, optional
        Whether Python objects may be written, as pickles.

    See Also
    --------
    load : Read the file.

    Examples
    --------
    >>> import clarray
    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> clarray.save(file, clarray.asarray([1.5, 2.5]))
    >>> clarray.load(BytesIO(file.getvalue()))
    array([1.5, 2.5])
    """
    np.save(file, asnumpy(arr), allow_pickle)


def savez(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Write several arrays to one ``.npz`` file, through copies on the host.

    Parameters
    ----------
    file : path or file object
    *args : array_like
        Arrays that get the names ``arr_0``, ``arr_1`` and so on.
    allow_pickle : bool, optional
        Whether Python objects may be written, as pickles.
    **kwds : array_like
        Arrays that get the names of their keywords.

    See Also
    --------
    load : Read the file.

    Examples
    --------
    >>> import clarray
    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> clarray.savez(file, a=clarray.arange(3), b=clarray.ones(2))
    >>> clarray.load(BytesIO(file.getvalue()))["b"]
    array([1., 1.])
    """
    np.savez(file, *map(asnumpy, args), **_members(kwds, allow_pickle))


def savez_compressed(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Write several arrays to one compressed ``.npz`` file. Parameters as in `savez`.

    Examples
    --------
    >>> import clarray
    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> clarray.savez_compressed(file, a=clarray.arange(3))
    >>> clarray.load(BytesIO(file.getvalue()))["a"]
    array([0, 1, 2])
    """
    np.savez_compressed(file, *map(asnumpy, args), **_members(kwds, allow_pickle))


def _members(arrays: dict[str, Any], allow_pickle: bool) -> dict[str, Any]:
    """Return the keyword arguments for NumPy. NumPy before 2.1 stores `allow_pickle` as an array."""
    pickle_argument = {} if allow_pickle else {"allow_pickle": False}
    return pickle_argument | {name: asnumpy(value) for name, value in arrays.items()}


def savetxt(fname: Any, X: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N803 - NumPy's name
    """Write an array of one or two axes as text. Further parameters as in `numpy.savetxt`.

    Parameters
    ----------
    fname : path or file object
    X : array_like
    *args, **kwargs
        Further arguments of `numpy.savetxt`.

    Examples
    --------
    >>> import clarray
    >>> from io import StringIO
    >>> file = StringIO()
    >>> clarray.savetxt(file, clarray.asarray([[1, 2], [3, 4]]), fmt="%d")
    >>> file.getvalue().splitlines()
    ['1 2', '3 4']
    """
    np.savetxt(fname, asnumpy(X), *args, **kwargs)


def loadtxt(fname: Any, *args: Any, **kwargs: Any) -> Any:
    """Read an array from text. Further parameters as in `numpy.loadtxt`.

    Parameters
    ----------
    fname : path, file object or iterable of str
    *args, **kwargs
        Further arguments of `numpy.loadtxt`.

    Returns
    -------
    DeviceArray or list
        A list of one array per column with ``unpack=True`` and a structured dtype.

    Examples
    --------
    >>> import clarray
    >>> clarray.loadtxt(["1 2", "3 4"])
    array([[1., 2.],
           [3., 4.]])
    """
    parsed = np.loadtxt(fname, *args, **kwargs)
    # with ``unpack=True`` there may be one array for each column
    return [_text_to_device(column) for column in parsed] if isinstance(parsed, list) else _text_to_device(parsed)


def genfromtxt(fname: Any, *args: Any, **kwargs: Any) -> DeviceArray:
    """Read an array from text in which values may be missing. Further parameters as in `numpy.genfromtxt`.

    Parameters
    ----------
    fname : path, file object or iterable of str
    *args, **kwargs
        Further arguments of `numpy.genfromtxt`.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.genfromtxt(["1,2", "3,"], delimiter=",", filling_values=0)
    array([[1., 2.],
           [3., 0.]])
    """
    table: DeviceArray = _text_to_device(np.genfromtxt(fname, *args, **kwargs))
    return table


def fromfile(
    file: Any, dtype: Any = float, count: int = -1, sep: str = "", offset: int = 0, *, like: Any = None
) -> DeviceArray:
    """Read an array of one axis from a binary file, or from a text file with a separator.

    Parameters
    ----------
    file : path or file object
    dtype : dtype, optional
        Type of the elements in the file, float64 by default.
    count : int, optional
        Number of elements to read. -1 reads all.
    sep : str, optional
        Text between the elements of a text file. Empty for a binary file.
    offset : int, optional
        Bytes to skip at the start of a binary file.
    like : object, optional
        Ignored. Accepted for compatibility with NumPy.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> from tempfile import TemporaryFile
    >>> with TemporaryFile() as file:
    ...     clarray.asarray([1, 2, 3], clarray.uint8).tofile(file)
    ...     position = file.seek(0)
    ...     clarray.fromfile(file, clarray.uint8)
    array([1, 2, 3], dtype=uint8)
    """
    return array(np.fromfile(file, dtype, count, sep, offset))


def tofile(a: DeviceArray, fid: Any, sep: str = "", format: str = "%s") -> None:
    """Write the elements to a file in C order, as bytes or as text. See `numpy.ndarray.tofile`.

    Parameters
    ----------
    fid : path or file object
    sep : str, optional
        Text between the elements. Empty (the default) writes bytes.
    format : str, optional
        Format of an element as text.

    Examples
    --------
    >>> import clarray
    >>> from tempfile import TemporaryFile
    >>> with TemporaryFile() as file:
    ...     clarray.asarray([1, 2, 3]).tofile(file, sep=" ")
    ...     position = file.seek(0)
    ...     file.read()
    b'1 2 3'
    """
    asnumpy(a).ravel().tofile(fid, sep, format)


def dump(a: DeviceArray, file: Any) -> None:
    """Write the array's pickle to a file.

    Parameters
    ----------
    file : path or file object

    Examples
    --------
    >>> import clarray, pickle
    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> clarray.arange(3).dump(file)
    >>> pickle.loads(file.getvalue())
    array([0, 1, 2])
    """
    with nullcontext(file) if hasattr(file, "write") else open(file, "wb") as opened:
        pickle.dump(a, opened)
