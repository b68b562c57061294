"""NumPy's methods of an array that are its functions under another spelling: one-line delegations."""

from __future__ import annotations

import importlib
import pickle
from types import GenericAlias
from typing import Any

import numpy as np

_NO = np._NoValue


class _Chapter:
    """A chapter of functions, imported at its first use: chapters build on the array itself."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, function: str) -> Any:
        found = getattr(importlib.import_module(self._name), function)
        setattr(self, function, found)
        return found


compaction = _Chapter("clarray.compaction")
creation = _Chapter("clarray.creation")
flat_iterator = _Chapter("clarray.flat_iterator")
files = _Chapter("clarray.files")
gathering = _Chapter("clarray.gathering")
joining = _Chapter("clarray.joining")
layout_flags = _Chapter("clarray.layout_flags")
manipulation = _Chapter("clarray.manipulation")
products = _Chapter("clarray.products")
reductions = _Chapter("clarray.reductions")
reinterpreting = _Chapter("clarray.reinterpreting")
repeating = _Chapter("clarray.repeating")
scans = _Chapter("clarray.scans")
selecting = _Chapter("clarray.selecting")
sorting = _Chapter("clarray.sorting")


class ArrayMethods:
    """What `clarray.DeviceArray` inherits."""

    __slots__ = ()

    __class_getitem__: Any = classmethod(GenericAlias)  # annotations such as ndarray[tuple[int, int], dtype]

    def __delitem__(self, key: Any) -> None:
        raise ValueError("cannot delete array elements")

    # Reductions ---------------------------------------------------------------------------------

    def sum(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = _NO,
        where: Any = True,
    ) -> Any:
        """Sum of elements over axes."""
        return reductions.sum(self, axis, dtype, out, keepdims, initial, where)

    def prod(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = _NO,
        where: Any = True,
    ) -> Any:
        """Product of elements over axes."""
        return reductions.prod(self, axis, dtype, out, keepdims, initial, where)

    def max(
        self, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = _NO, where: Any = True
    ) -> Any:
        """Largest element over axes."""
        return reductions.max(self, axis, out, keepdims, initial, where)

    def min(
        self, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = _NO, where: Any = True
    ) -> Any:
        """Smallest element over axes."""
        return reductions.min(self, axis, out, keepdims, initial, where)

    def any(self, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True) -> Any:
        """Whether any element is true."""
        return reductions.any(self, axis, out, keepdims, where=where)

    def all(self, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True) -> Any:
        """Whether all elements are true."""
        return reductions.all(self, axis, out, keepdims, where=where)

    def mean(
        self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
    ) -> Any:
        """Mean over axes."""
        return reductions.mean(self, axis, dtype, out, keepdims, where=where)

    def var(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        where: Any = True,
        mean: Any = _NO,
        correction: Any = _NO,
    ) -> Any:
        """Variance over axes."""
        return reductions.var(self, axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction)

    def std(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        where: Any = True,
        mean: Any = _NO,
        correction: Any = _NO,
    ) -> Any:
        """Standard deviation over axes."""
        return reductions.std(self, axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction)

    def argmax(self, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
        """Position of the first largest element."""
        return reductions.argmax(self, axis, out, keepdims=keepdims)

    def argmin(self, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
        """Position of the first smallest element."""
        return reductions.argmin(self, axis, out, keepdims=keepdims)

    # Scans --------------------------------------------------------------------------------------

    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Running sum along an axis, or over all elements in C order."""
        return scans.cumsum(self, axis, dtype, out)

    def cumprod(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Running product along an axis, or over all elements in C order."""
        return scans.cumprod(self, axis, dtype, out)

    # Choosing elements --------------------------------------------------------------------------

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> Any:
        """The elements, or the slices along an axis, where a condition holds."""
        return compaction.compress(condition, self, axis, out)

    def nonzero(self) -> Any:
        """Positions of the elements that are not zero, one array per axis."""
        return compaction.nonzero(self)

    def take(self, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
        """The elements, or the slices along an axis, at given positions."""
        return gathering.take(self, indices, axis, out, mode)

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """Write values at positions that count all elements in C order."""
        gathering.put(self, indices, values, mode)

    def choose(self, choices: Any, out: Any = None, mode: str = "raise") -> Any:
        """Each element from the choice that this array's element names."""
        return selecting.choose(self, choices, out, mode)

    @property
    def flat(self) -> Any:
        """The elements on one axis, in C order: to be indexed, written and gone through."""
        return flat_iterator.flatiter(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        flat_iterator.flatiter(self)[...] = value

    # Sorting ------------------------------------------------------------------------------------

    def sort(
        self, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: Any = None
    ) -> None:
        """Sort in place along an axis."""
        sorting.sort_in_place(self, axis, kind, order, stable=stable, descending=descending)

    def argsort(
        self, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: Any = None
    ) -> Any:
        """Positions that would sort an axis."""
        return sorting.argsort(self, axis, kind, order, stable=stable, descending=descending)

    def partition(self, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None) -> None:
        """Reorder in place so that element `kth` is where a sort would put it."""
        sorting.partition_in_place(self, kth, axis, kind, order)

    def argpartition(self, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
        """Positions that would partition an axis."""
        return sorting.argpartition(self, kth, axis, kind, order)

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> Any:
        """Where elements would be inserted to keep this sorted array sorted."""
        return sorting.searchsorted(self, v, side, sorter)

    # Products -----------------------------------------------------------------------------------

    def dot(self, b: Any, out: Any = None) -> Any:
        """Dot product of two arrays; see `clarray.dot`."""
        return products.dot(self, b, out)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
        """Sum along a diagonal."""
        return reductions.sum(manipulation.diagonal(self, offset, axis1, axis2), -1, dtype, out)

    # Values -------------------------------------------------------------------------------------

    def clip(self, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
        """Values limited to an interval."""
        return selecting.clip(self, min, max, out, **kwargs)

    def round(self, decimals: Any = 0, out: Any = None) -> Any:
        """Values rounded to so many decimals, halves to even."""
        return selecting.round(self, decimals, out)

    def conj(self) -> Any:
        """Complex conjugates; of real numbers the array itself."""
        array: Any = self
        return np.conjugate(array) if array.dtype.kind == "c" else array

    conjugate = conj

    def repeat(self, repeats: Any, axis: Any = None) -> Any:
        """Elements, or slices along an axis, repeated."""
        return repeating.repeat(self, repeats, axis)

    # Memory -------------------------------------------------------------------------------------

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        """The same memory as elements of another dtype, as an array of another class."""
        return reinterpreting.view(self, dtype, type)

    def getfield(self, dtype: Any, offset: int = 0) -> Any:
        """The bytes of every element from an offset on as another dtype: a view, such as of imaginary parts."""
        return reinterpreting.getfield(self, dtype, offset)

    def setfield(self, val: Any, dtype: Any, offset: int = 0) -> None:
        """Write to the part of every element that `getfield` gives."""
        reinterpreting.getfield(self, dtype, offset)[...] = val

    def byteswap(self, inplace: bool = False) -> Any:
        """The bytes of every element in reverse order."""
        return reinterpreting.byteswap(self, inplace)

    def resize(self, *new_shape: Any, refcheck: bool = True) -> None:
        """Another shape and size in place, zeros at the end; views of the array keep the memory it had."""
        reinterpreting.resize(self, new_shape)

    def setflags(self, write: Any = None, align: Any = None, uic: Any = None) -> None:
        """Set whether the array may be written."""
        layout_flags.setflags(self, write, align, uic)

    def tofile(self, fid: Any, sep: str = "", format: str = "%s") -> None:
        """Write the elements to a file, in C order, as bytes or as text with a separator."""
        files.to_file(self, fid, sep, format)

    def dump(self, file: Any) -> None:
        """Write the array's pickle to a file."""
        files.dump(self, file)

    def dumps(self) -> bytes:
        """The array's pickle."""
        return pickle.dumps(self)

    def tobytes(self, order: Any = "C") -> bytes:
        """The elements' bytes, copied to the host."""
        return np.asarray(self).tobytes(order)

    def to_device(self, device: Any, /, *, stream: None = None) -> Any:
        """The array on another device, or itself where it is there; see the Array API standard."""
        if stream is not None:
            raise ValueError("stream must be None: clarray orders the work of a device itself")
        return creation.asarray(self, device=device)
