"""Sorting, partitioning, and searching in sorted arrays."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from clarray._core import ufunc_calls
from clarray._core.creation import as_array, copy, zeros
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.writes import with_device_lock
from clarray._engine.algorithms import launchers
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.axes import axis_number
from clarray._engine.expr.bounds import value_bounds
from clarray._engine.expr.memory_views import has_views
from clarray._engine.expr.node import Node, index
from clarray._engine.expr.view import contiguous
from clarray._engine.speedups import captured
from clarray._numpy.manipulation import shapes
from clarray._numpy.sorting import selection

_INT64 = np.dtype(np.int64)

__all__ = [
    "argpartition",
    "argsort",
    "lexsort",
    "partition",
    "searchsorted",
    "sort",
    "sort_complex",
]


def flattened(array: DeviceArray) -> DeviceArray:
    """Return all elements along one axis, in C order."""
    return array if array.ndim == 1 else shapes.reshape(array, -1)


def ascontiguous(array: DeviceArray) -> Node:
    """Return an array's elements as a C-contiguous leaf."""
    node = evaluate(array._node)
    return node if node.contiguous else ufunc_calls.ascontiguous(node)


def gather_along(source: Node, positions: Node, axis: int) -> Node:
    """Gather elements of a contiguous leaf at positions along an axis, as `take_along_axis` does.

    Parameters
    ----------
    positions : Node
        Positions within bounds, as int64. The shape is the source's except along `axis`.
    """
    shape = positions.shape
    if len(shape) == 1:
        return launchers.gather.gather(source, positions)
    strides = list(contiguous(source.shape))
    axis_stride, strides[axis] = strides[axis], 0
    offsets = wrap(index(shape, tuple(strides), _INT64))
    return launchers.gather.gather(source, (wrap(positions) * axis_stride + offsets)._node)


def check_kind(dtype: np.dtype, kind: Any, order: Any, stable: Any) -> None:
    """Raise NumPy's error for invalid options. Every sort here is stable."""
    if kind is not None or order is not None or stable is not None:
        np.empty(1, dtype).sort(kind=kind, order=order, stable=stable)


def _array_and_axis(a: Any, axis: Any) -> tuple[DeviceArray, int]:
    """Return the array, flattened if the axis is None, and the axis to sort."""
    array = as_array(a)
    if axis is None:
        return flattened(array), 0
    return array, normalize_axis_index(operator.index(axis), array.ndim)


def _reverse_order(array: DeviceArray) -> DeviceArray:
    """Return a pending expression whose sorted order is the reverse. It is its own inverse, and fuses into the sort."""
    return ufunc_calls.call(np.negative if array.dtype.kind in "fc" else np.invert, (array,))


@captured(operands=1)
def sort(
    a: Any,
    axis: int | None = -1,
    kind: str | None = None,
    order: Any = None,
    *,
    stable: bool | None = None,
    descending: bool | None = None,
) -> DeviceArray:
    """Return a sorted copy of an array along an axis.

    NaN comes last. Complex numbers are sorted by real part, then by imaginary part.

    Parameters
    ----------
    a : array_like
    axis : int or None
        Axis to sort along. None sorts the flattened array.
    kind : {'quicksort', 'mergesort', 'heapsort', 'stable'}, optional
        Accepted and ignored: every sort is stable.
    order
        Only None is accepted: device arrays have no fields.
    stable : bool, optional
        Accepted and ignored: every sort is stable. Not together with `kind`.
    descending : bool, optional
        Sort the largest elements first. NaN still comes last, and equal elements keep their order.

    Returns
    -------
    DeviceArray
        Has the same shape as `a`, or one axis if `axis` is None.

    Raises
    ------
    AxisError
        `axis` does not exist.
    ValueError
        `kind` is unknown.

    See Also
    --------
    argsort, lexsort, partition, searchsorted

    References
    ----------
    Radix sort, least digit first: D. Merrill, A. Grimshaw, "High performance and scalable radix sorting", 2011.

    Examples
    --------
    >>> import clarray
    >>> clarray.sort([3, 1, 2]).tolist(), clarray.sort([3, 1, 2], descending=True).tolist()
    ([1, 2, 3], [3, 2, 1])
    """
    array, sort_axis = _array_and_axis(a, axis)
    if descending:
        return _reverse_order(sort(_reverse_order(array), sort_axis, kind, order, stable=stable))
    check_kind(array.dtype, kind, order, stable)
    if array.shape[sort_axis] < 2 or array.size < 2:
        return copy(array, "K")
    return wrap(launchers.sort.sort_rows(array._node, sort_axis))


@captured
@with_device_lock("array")
def sort_in_place(
    array: DeviceArray,
    axis: int = -1,
    kind: str | None = None,
    order: Any = None,
    *,
    stable: bool | None = None,
    descending: bool | None = None,
) -> None:
    """Sort the array along an axis in place, see `clarray.sort`.

    Parameters
    ----------
    axis : int
        Axis to sort along. None is not accepted, unlike in `clarray.sort`.

    Raises
    ------
    ValueError
        The array is read-only.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.array([3, 1, 2])
    >>> x.sort()
    >>> x.tolist()
    [1, 2, 3]
    """
    axis = normalize_axis_index(operator.index(axis), array.ndim)
    array.check_writeable("sort array is read-only")
    _replace(array, sort(array, axis, kind, order, stable=stable, descending=descending))


def _replace(array: DeviceArray, result: DeviceArray) -> None:
    if array._node.memory is None and array._base is None and not has_views(array._node):
        array._node = result._node
    else:
        ufunc_calls.assign(array, result._node)


@captured(operands=1)
def argsort(
    a: Any,
    axis: int | None = -1,
    kind: str | None = None,
    order: Any = None,
    *,
    stable: bool | None = None,
    descending: bool | None = None,
) -> DeviceArray:
    """Return the positions that sort an array along an axis.

    Equal elements keep their order. Parameters and errors as in `sort`.

    Returns
    -------
    DeviceArray of int64
        Has the same shape as `a`, or one axis if `axis` is None.

    Examples
    --------
    >>> import clarray
    >>> clarray.argsort([30, 10, 20]).tolist()
    [1, 2, 0]
    """
    array = as_array(a)
    if axis is not None:
        axis = axis_number(axis)
    if not array.ndim and axis in (0, -1):
        axis = None
    array, sort_axis = _array_and_axis(array, axis)
    if descending:
        return argsort(_reverse_order(array), sort_axis, kind, order, stable=stable)
    check_kind(array.dtype, kind, order, stable)
    if array.shape[sort_axis] < 2 or array.size < 2:
        return zeros(array.shape, _INT64, device=array.device)
    return wrap(launchers.sort.argsort_rows(array._node, sort_axis))


@captured
def lexsort(keys: Any, axis: int = -1) -> DeviceArray:
    """Return the positions that sort by several keys.

    Parameters
    ----------
    keys : sequence of array_like, or array_like of at least one axis
        Keys of one shape. The last key is the most important one. An earlier key decides between elements that are
        equal in all later keys.
    axis : int
        Axis of each key to sort along.

    Returns
    -------
    DeviceArray of int64
        Has the same shape as a key.

    Raises
    ------
    TypeError
        There are no keys.
    ValueError
        The keys differ in shape.

    Examples
    --------
    >>> import clarray
    >>> names, ages = [3, 1, 2], [40, 30, 40]
    >>> clarray.lexsort((names, ages)).tolist()
    [1, 2, 0]
    """
    key_list = keys if isinstance(keys, Sequence) else list(as_array(keys))
    if not len(key_list):
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    device = ufunc_calls.device_of_operands(tuple(key_list))
    arrays = [as_array(k, device) for k in key_list]
    shape = arrays[0].shape
    if any(k.shape != shape for k in arrays):
        raise ValueError("all keys need to be the same shape")
    if not shape:
        return zeros((), _INT64, device=device)[()]  # NumPy returns a scalar here
    sort_axis = normalize_axis_index(operator.index(axis), len(shape))
    if arrays[0].size < 2 or shape[sort_axis] < 2:
        return zeros(shape, _INT64, device=device)
    order = launchers.sort.argsort_rows(arrays[0]._node, sort_axis)
    for key in arrays[1:]:
        order = refine_order(ascontiguous(key), order, sort_axis)
    return wrap(order)


def refine_order(key: Node, order: Node, axis: int) -> Node:
    """Sort positions by a contiguous key. Positions with equal keys keep their order."""
    moved = gather_along(key, order, axis)
    if len(order.shape) == 1:
        return launchers.sort.sort_pairs(moved, order)[1]
    return gather_along(order, launchers.sort.argsort_rows(moved, axis), axis)


# Partition ----------------------------------------------------------------------------------------


def _check_partition(array: DeviceArray, sort_axis: int, kth: Any, kind: Any, order: Any) -> list[int]:
    """Check the arguments of a partition and return the positions."""
    if kind != "introselect" or order is not None:
        np.partition(np.zeros(1, array.dtype), 0, kind=kind, order=order)
    positions_given = np.asarray(kth.get() if isinstance(kth, DeviceArray) else kth)
    if positions_given.dtype.kind == "b":
        raise ValueError("Booleans unacceptable as partition index")
    if positions_given.dtype.kind not in "iu":
        raise TypeError("Partition index must be integer")
    if positions_given.ndim > 1:
        raise ValueError("kth array must have dimension <= 1")
    extent = array.shape[sort_axis]
    positions: list[int] = positions_given.ravel().tolist()
    for position in positions:
        if array.size and not -extent <= position < extent:
            reported = position + extent if position < 0 else position
            raise ValueError(f"kth(={reported}) out of bounds ({extent})")
    return positions


@captured(operands=1)
def partition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None) -> DeviceArray:
    """Return a copy with the element at position `kth` as in the sorted array.

    No element before it is larger, and no element after it is smaller. A radix selection finds one `kth` in a long
    array of one axis. All other calls sort the array, and a sorted array is a partitioned one.

    Parameters
    ----------
    a : array_like
    kth : int or sequence of int
        Positions in the sorted order. Negative ones count from the end.
    axis : int or None
        Axis to partition along. None partitions the flattened array.
    kind : {'introselect'}
        The only kind.
    order
        Only None is accepted: device arrays have no fields.

    Returns
    -------
    DeviceArray
        Has the same shape as `a`, or one axis if `axis` is None.

    Raises
    ------
    ValueError
        `kth` is out of bounds, of bools, or of more than one axis.
    TypeError
        `kth` is not an integer.

    Examples
    --------
    >>> import clarray
    >>> int(clarray.partition([7, 1, 5, 3], 1)[1])
    3
    """
    array, sort_axis = _array_and_axis(a, axis)
    positions = _check_partition(array, sort_axis, kth, kind, order)
    if len(positions) == 1 and selection.partition_is_faster(array) and not _has_nan(array):
        return selection.partition_line(array, positions[0] % array.size)
    return sort(array, sort_axis)


def _has_nan(array: DeviceArray) -> bool:
    return array.dtype.kind == "f" and bool(np.isnan(wrap(array._node).max().item()))


@captured
@with_device_lock("array")
def partition_in_place(
    array: DeviceArray, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None
) -> None:
    """Move the element at position `kth` of the sorted order to that position, in place, see `clarray.partition`.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.array([7, 1, 5, 3])
    >>> x.partition(1)
    >>> int(x[1])
    3
    """
    array.check_writeable("partition array is read-only")
    _replace(array, partition(array, kth, operator.index(axis), kind, order))


@captured(operands=1)
def argpartition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None) -> DeviceArray:
    """Return the positions that partition an array along an axis.

    Parameters and errors as in `partition`. It costs as much as `argsort`, because the positions sort the array.

    Returns
    -------
    DeviceArray of int64
        Has the same shape as `a`, or one axis if `axis` is None.

    Examples
    --------
    >>> import clarray
    >>> int(clarray.argpartition([7, 1, 5, 3], 1)[1])
    3
    """
    array = as_array(a)
    if axis is not None:
        axis = axis_number(axis)
    if not array.ndim and axis in (0, -1):
        axis = None
    array, sort_axis = _array_and_axis(array, axis)
    _check_partition(array, sort_axis, kth, kind, order)
    return argsort(array, sort_axis)


# Searching ----------------------------------------------------------------------------------------


def _check_side(side: Any) -> str:
    if side in ("left", "right"):
        return str(side)
    return ("left", "right")[int(np.searchsorted(np.zeros(1), 0.0, side=side))]


def _check_sorter(sorter: Any, array: DeviceArray) -> Node:
    order = as_array(sorter, array.device)
    if order.dtype.kind not in "biu":
        raise TypeError("sorter must only contain integers")
    if order.shape != array.shape:
        raise ValueError("sorter.size must equal a.size")
    order64 = order if order.dtype == _INT64 else order.astype(_INT64)
    order64.evaluate()
    bounds = value_bounds(order64._node)
    assert bounds is not None
    in_bounds = bounds[0] >= 0 and bounds[1] < array.size
    if order64.size and not in_bounds and (int(order64.min()) < 0 or int(order64.max()) >= array.size):
        raise ValueError("Sorter index out of range.")
    return order64._node


@captured(operands=2)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> DeviceArray:
    """Return the positions at which to insert elements so that an array stays sorted.

    Parameters
    ----------
    a : array_like
        One axis, sorted with NaN last, unless `sorter` is given.
    v : array_like
        Elements to insert, of any shape. Both are compared in the dtype that they promote to.
    side : {'left', 'right'}
        Insert before or after equal elements.
    sorter : array_like of int, optional
        Positions that sort `a`.

    Returns
    -------
    DeviceArray of int64
        Has the same shape as `v`. If `a` is not sorted the positions are meaningless, but within range.

    Raises
    ------
    ValueError
        `a` does not have one axis, `sorter` has another size or positions outside of `a`.
    TypeError
        `sorter` does not have integers.

    Examples
    --------
    >>> import clarray
    >>> clarray.searchsorted([10, 20, 30], [5, 20, 25]).tolist()
    [0, 1, 2]
    """
    device = ufunc_calls.device_of_operands((a, v, sorter))
    array = as_array(a, device)
    needles = as_array(v, device)
    if array.ndim != 1:
        raise ValueError(f"object {'too deep' if array.ndim else 'of too small depth'} for desired array")
    side_name = _check_side(side)
    order = None if sorter is None else _check_sorter(sorter, array)
    return wrap(launchers.search.search(array._node, needles._node, side_name, order))


@captured(operands=1)
def sort_complex(a: Any) -> DeviceArray:
    """Return a sorted copy along the last axis, as complex numbers.

    Parameters
    ----------
    a : array_like

    Returns
    -------
    DeviceArray
        Complex64 for integers of 8 or 16 bits, else complex128. A complex dtype is kept.

    Examples
    --------
    >>> import clarray
    >>> clarray.sort_complex([3, 1, 2]).tolist()
    [(1+0j), (2+0j), (3+0j)]
    """
    ordered = sort(a)
    if ordered.dtype.kind == "c":
        return ordered
    fits_complex64 = ordered.dtype.kind in "iu" and ordered.dtype.itemsize <= 2
    return ordered.astype(np.complex64 if fits_complex64 else np.complex128)
