"""``a.flat``: an array's elements on one axis, in C order, whatever its strides."""

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
from clarray._numpy.indexing import gathering, index_arrays

__all__ = ["flatiter"]

_INT64 = np.dtype(np.int64)
_INVALID = "only integers, slices (`:`), ellipsis (`...`) and integer or boolean arrays are valid indices"


def _compared(operation: Callable[[Any, Any], Any]) -> Any:
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
        self._at = 0

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
        return self._at

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
        return self._place(self._at)

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
        if self._at >= len(self):
            raise StopIteration
        self._at += 1
        found: DeviceArray = self[self._at - 1]
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.copy().__array__(dtype, copy)

    def __getitem__(self, key: Any) -> DeviceArray:
        array, key = self._array, self._key(key)
        if key is Ellipsis:
            return self.copy()
        if type(key) is int:
            return array[self._place(key)]
        view = view_of(array)
        if type(key) is slice:
            start, stop, step = key.indices(view.size)
            numbers, mode = nodes.index((len(range(start, stop, step)),), (step,), _INT64, start), "known"
        else:
            numbers, mode = as_array(key, array.device)._node, "raise"
        named = index_arrays.select(view, numbers, mode)
        try:
            return wrap(launchers.gather.gather_selection(array._node, named))
        except OutOfBounds:
            self._out_of_bounds(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        with hold_for(self._array, key, value):
            self._set(key, value)

    def _set(self, key: Any, value: Any) -> None:
        if type(key) is tuple and not key:
            raise IndexError("Assigning to a flat iterator with a 0-D index is not supported")
        array, key = self._array, self._key(key)
        array.check_writeable()
        if type(key) is int:
            place = self._place(key)
            if np.size(value) != 1:
                raise ValueError("Error setting single item of array.")
            try:
                array[place] = value
            except (OverflowError, TypeError) as error:
                raise ValueError("Error setting single item of array.") from error
            return
        values = gathering.values_for(array, value)
        if type(key) is slice or key is Ellipsis:
            start, stop, step = (slice(None) if key is Ellipsis else key).indices(array.size)
            count = len(range(start, stop, step))
            if count and values.size:
                gathering.put_range(array, start, step, count, values)
            return
        try:
            gathering.put(array, key, wrap(values))
        except IndexError:
            self._out_of_bounds(key)

    def _key(self, key: Any) -> Any:
        """A key as an int, a slice, Ellipsis, or an array of integers."""
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
        return self._selected(items[0]) if _is_mask(items[0]) else items[0]

    def _selected(self, mask: Any) -> Any:
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

    def _place(self, number: int) -> tuple[int, ...]:
        """The index of an element by its number."""
        size = len(self)
        if not -size <= number < size:
            raise IndexError(f"index {number} is out of bounds for size {size}")
        return tuple(int(p) for p in np.unravel_index(number % size, self._array.shape))

    def _out_of_bounds(self, key: Any) -> NoReturn:
        raise IndexError(f"index {index_arrays.first_outside(key, len(self))} is out of bounds for size {len(self)}")

    __eq__, __ne__ = _compared(operator.eq), _compared(operator.ne)
    __lt__, __le__ = _compared(operator.lt), _compared(operator.le)
    __gt__, __ge__ = _compared(operator.gt), _compared(operator.ge)


def _is_mask(item: Any) -> bool:
    return isinstance(item, DeviceArray | np.ndarray) and item.dtype == bool
