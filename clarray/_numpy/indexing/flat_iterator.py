"""Iterate over and index an array's elements in C order: ``a.flat``."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from clarray._core import callers
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, hold_for, wrap
from clarray._core.keys import as_item
from clarray._core.views import view_of
from clarray._engine.algorithms import launchers
from clarray._engine.algorithms.gather.selection import OutOfBounds
from clarray._engine.expr import node as nodes
from clarray._engine.expr.indexing import slice_indices
from clarray._numpy.indexing import gathering, index_arrays

__all__ = ["flatiter"]

_INT64 = np.dtype(np.int64)
_INVALID = "only integers, slices (`:`), ellipsis (`...`) and integer or boolean arrays are valid indices"


def _comparison(operation: Callable[[Any, Any], Any]) -> Any:
    return lambda self, other: operation(self.copy(), other)


class flatiter:  # noqa: N801 - NumPy's name
    """View an array along one axis in C order: the type of ``a.flat``. It can be indexed, written and iterated over.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.asarray([[1, 2], [3, 4]])
    >>> x.flat[1:3] = 0
    >>> x.tolist()
    [[1, 0], [0, 4]]
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, array: DeviceArray) -> None:
        self._array = array
        self._position = 0

    @property
    def base(self) -> DeviceArray:
        """The array that the iterator goes through.

        Examples
        --------
        >>> import clarray
        >>> x = clarray.zeros((2, 2))
        >>> x.flat.base is x
        True
        """
        return self._array

    @property
    def index(self) -> int:
        """The position of the next element, counted in C order.

        Examples
        --------
        >>> import clarray
        >>> elements = clarray.asarray([[1, 2], [3, 4]]).flat
        >>> int(next(elements)), elements.index
        (1, 1)
        """
        return self._position

    @property
    def coords(self) -> tuple[int, ...]:
        """The index of the next element, one number per axis.

        Examples
        --------
        >>> import clarray
        >>> elements = clarray.asarray([[1, 2], [3, 4]]).flat
        >>> int(next(elements)), elements.coords
        (1, (0, 1))
        """
        return self._multi_index(self._position)

    def copy(self) -> DeviceArray:
        """Copy all elements to a new array of one axis.

        Examples
        --------
        >>> import clarray
        >>> clarray.asarray([[1, 2], [3, 4]]).flat.copy()
        array([1, 2, 3, 4])
        """
        return self._array.flatten()

    def __len__(self) -> int:
        return self._array.size

    def __iter__(self) -> Iterator[DeviceArray]:
        return self

    def __next__(self) -> DeviceArray:
        if self._position >= len(self):
            raise StopIteration
        self._position += 1
        element: DeviceArray = self[self._position - 1]
        return element

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.copy().__array__(dtype, copy)

    def __getitem__(self, key: Any) -> DeviceArray:
        array, key = self._array, self._normalize_key(key)
        if key is Ellipsis:
            return self.copy()
        if type(key) is int:
            return array[self._multi_index(key)]
        view = view_of(array)
        if type(key) is slice:
            start, stop, step = slice_indices(key, view.size)
            flat_indices, mode = nodes.index((len(range(start, stop, step)),), (step,), _INT64, start), "known"
        else:
            flat_indices, mode = as_array(key, array.device)._node, "raise"
        selection = index_arrays.flat_selection(view, flat_indices, mode)
        try:
            return wrap(launchers.gather.gather_selection(array._node, selection))
        except OutOfBounds:
            self._raise_out_of_bounds(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        with hold_for(self._array, key, value):
            self._write(key, value)

    def _write(self, key: Any, value: Any) -> None:
        if type(key) is tuple and not key:
            raise IndexError("Assigning to a flat iterator with a 0-D index is not supported")
        array, key = self._array, self._normalize_key(key)
        array.check_writeable()
        if type(key) is int:
            index = self._multi_index(key)
            if np.size(value) != 1:
                raise ValueError("Error setting single item of array.")
            try:
                array[index] = value
            except (OverflowError, TypeError) as error:
                raise ValueError("Error setting single item of array.") from error
            return
        values = gathering.flat_values(array, value)
        if type(key) is slice or key is Ellipsis:
            start, stop, step = slice_indices(slice(None) if key is Ellipsis else key, array.size)
            count = len(range(start, stop, step))
            if count and values.size:
                gathering.put_range(array, start, step, count, values)
            return
        try:
            gathering.put(array, key, wrap(values))
        except IndexError:
            self._raise_out_of_bounds(key)

    def _normalize_key(self, key: Any) -> Any:
        """Convert a key to an int, a slice, Ellipsis, or an array of integers."""
        items = key if isinstance(key, tuple) else (key,)
        if not items:
            return Ellipsis
        if any(item is None or isinstance(item, str) for item in items):
            raise IndexError(_INVALID)
        items = tuple(as_item(item) for item in items)
        used = sum(item.ndim if _is_mask(item) else 1 for item in items)
        if used > 1 or len(items) > 1:
            raise IndexError(
                f"too many indices for flat iterator: flat iterator is 1-dimensional, but {used} were indexed"
            )
        return self._positions(items[0]) if _is_mask(items[0]) else items[0]

    def _positions(self, mask: Any) -> Any:
        """Return the positions that a mask selects as an array of integers, or as an int for a 0-d mask."""
        if not mask.ndim:
            callers.warn_user(
                "0-dimensional boolean index of a flat iterator: the first element, or none", DeprecationWarning
            )
            return 0 if mask else as_array(np.arange(0), self._array.device)
        if mask.size != len(self):
            raise IndexError(
                f"boolean index did not match indexed flat iterator along axis 0; size of axis is {len(self)} "
                f"but size of corresponding boolean axis is {mask.size}"
            )
        return as_array(mask, self._array.device).nonzero()[0]

    def _multi_index(self, position: int) -> tuple[int, ...]:
        """Return the index of an element along each axis by its position in C order."""
        size = len(self)
        if not -size <= position < size:
            raise IndexError(f"index {position} is out of bounds for size {size}")
        return tuple(int(index) for index in np.unravel_index(position % size, self._array.shape))

    def _raise_out_of_bounds(self, key: Any) -> NoReturn:
        """Raise IndexError for the first index of an array that is out of bounds."""
        raise IndexError(
            f"index {index_arrays.first_out_of_bounds(key, len(self))} is out of bounds for size {len(self)}"
        )

    __eq__, __ne__ = _comparison(operator.eq), _comparison(operator.ne)
    __lt__, __le__ = _comparison(operator.lt), _comparison(operator.le)
    __gt__, __ge__ = _comparison(operator.gt), _comparison(operator.ge)


def _is_mask(item: Any) -> bool:
    return isinstance(item, DeviceArray | np.ndarray) and item.dtype == bool
