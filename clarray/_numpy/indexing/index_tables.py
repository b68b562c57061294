"""Make arrays of indices: open and full grids, and conversions between indices and positions in C order."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
from numpy import ndindex

from clarray._core import composing, ufunc_calls
from clarray._core.creation import as_array, asarray, empty, operand_array
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_fallback import ClassWithHostFallback
from clarray._engine.expr import node as nodes
from clarray._engine.expr.node import Node
from clarray._engine.expr.view import Shape, as_shape, broadcast_shapes, check_order, contiguous
from clarray._engine.speedups import captured
from clarray._numpy.indexing import masking
from clarray._numpy.indexing.gathering import normalize_mode
from clarray._numpy.indexing.subscripts import getitem

__all__ = [
    "ix_",
    "indices",
    "ndindex",
    "ndenumerate",
    "unravel_index",
    "ravel_multi_index",
]

_INT64 = np.dtype(np.int64)
_INVALID_DIMS = "invalid dims: array size defined by dims is larger than the maximum possible size."
_MAX_SIZE = 2**63 - 1


# Grids --------------------------------------------------------------------------------------------


@captured
def ix_(*args: Any) -> tuple[DeviceArray, ...]:
    """Make index arrays for the grid of all combinations of the given indices.

    Parameters
    ----------
    *args : array_like
        Indices along one axis each, as int, or a mask, which stands for the positions that it selects.

    Returns
    -------
    tuple of DeviceArray
        One array per argument. The n-th has its elements along axis n, and length 1 along the other axes.

    Raises
    ------
    ValueError
        An argument does not have exactly one axis.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.arange(12).reshape(3, 4)
    >>> x[clarray.ix_([0, 2], [1, 3])].tolist()
    [[1, 3], [9, 11]]
    """
    device = ufunc_calls.device_of_operands(args)
    index_arrays = []
    for axis, axis_indices in enumerate(args):
        if not isinstance(axis_indices, DeviceArray | np.ndarray):
            axis_indices = np.asarray(axis_indices)
            axis_indices = axis_indices if axis_indices.size else axis_indices.astype(np.intp)
        if axis_indices.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        array = as_array(axis_indices, device)
        if array.dtype == bool:
            array = masking.flatnonzero(array)
        index_arrays.append(array.reshape((1,) * axis + (array.size,) + (1,) * (len(args) - axis - 1)))
    return tuple(index_arrays)


def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """Make arrays of the positions along each axis of a shape.

    Parameters
    ----------
    dimensions : sequence of int
        The shape.
    dtype : dtype, optional
        Type of the positions.
    sparse : bool, optional
        True leaves the other axes at length 1.

    Returns
    -------
    DeviceArray, or tuple of DeviceArray
        One array of shape ``(len(dimensions), *dimensions)``. With ``sparse=True`` a tuple of one array per axis.

    Raises
    ------
    ValueError
        A length in `dimensions` is negative.

    Examples
    --------
    >>> import clarray
    >>> clarray.indices((2, 2)).tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    shape = as_shape(tuple(dimensions))
    return grid(shape, [positions_along(axis, n, len(shape)) for axis, n in enumerate(shape)], dtype, sparse)


def positions_along(axis: int, extent: int, ndim: int) -> Node:
    """Return a node of the positions along an axis. The other axes have length 1."""
    if extent < 0:
        raise ValueError("negative dimensions are not allowed")
    shape = (1,) * axis + (extent,) + (1,) * (ndim - axis - 1)
    return nodes.index(shape, tuple(int(a == axis) for a in range(ndim)), _INT64)


def grid(shape: Shape, coordinates: list[Node], dtype: Any, sparse: bool) -> Any:
    """Return the coordinates along each axis: a tuple if `sparse`, else an array broadcast to the grid's shape."""
    dtype = np.dtype(dtype)
    if sparse:
        return tuple(ufunc_calls.evaluate_if_eager(ufunc_calls.cast(node, dtype)) for node in coordinates)
    full_grid = empty((len(shape), *shape), dtype)
    for axis, node in enumerate(coordinates):
        ufunc_calls.assign(full_grid[axis], node)
    return full_grid


class ndenumerate(metaclass=ClassWithHostFallback):  # noqa: N801 - NumPy's name
    """Iterate over an array's elements in C order, as pairs of index and element.

    Parameters
    ----------
    arr : array_like

    Notes
    -----
    Elements are read one by one, which is slow for large arrays.

    Examples
    --------
    >>> import clarray
    >>> [(index, int(value)) for index, value in clarray.ndenumerate([[5, 6]])]
    [((0, 0), 5), ((0, 1), 6)]
    """

    numpys = np.ndenumerate

    def __init__(self, arr: Any) -> None:
        self._array = operand_array(arr)
        self._indices = iter(ndindex(self._array.shape))

    def __iter__(self) -> Iterator[tuple[tuple[int, ...], DeviceArray]]:
        return self

    def __next__(self) -> tuple[tuple[int, ...], DeviceArray]:
        index = next(self._indices)
        return index, getitem(self._array, index)


# Positions in C order -----------------------------------------------------------------------------


def _integer_array(indices: Any, device: Any) -> DeviceArray:
    """Convert indices to a device array, or raise NumPy's TypeError if they are no integers."""
    if not isinstance(indices, DeviceArray | np.ndarray):
        indices = np.asarray(indices)
        if not indices.size and indices.dtype == float:
            raise TypeError(
                "indices must be integral: the provided empty sequence was inferred as float. "
                "Wrap it with 'np.array(indices, dtype=np.intp)'"
            )
    if indices.dtype.kind not in "biu":
        raise TypeError("only int indices permitted")
    return as_array(indices, device)


def _normalize_order(order: Any) -> str:
    """Return an ``order`` argument as 'C' or 'F', in upper case. None is 'C'."""
    order = check_order(order)
    if order not in ("C", "F"):
        raise ValueError("only 'C' or 'F' order is permitted")
    return order


def _steps(shape: Shape, order: str) -> Shape:
    """Return the distance between neighbours along each axis, in positions."""
    return contiguous(shape) if order == "C" else contiguous(shape[::-1])[::-1]


@captured(operands=1)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[DeviceArray, ...]:
    """Convert positions in C (or Fortran) order to one index per axis.

    Parameters
    ----------
    indices : array_like of int
        Positions that count the elements of an array.
    shape : int or tuple of int
        Shape of that array.
    order : {'C', 'F'}, optional
        Whether the positions count in C order (row-major) or in Fortran order (column-major).

    Returns
    -------
    tuple of DeviceArray
        One array per axis, each of the shape of `indices`.

    Raises
    ------
    ValueError
        A position is out of bounds. The function waits for this check.

    See Also
    --------
    ravel_multi_index : The inverse.

    Examples
    --------
    >>> import clarray
    >>> [i.tolist() for i in clarray.unravel_index([1, 5], (2, 3))]
    [[0, 1], [1, 2]]
    """
    extents = as_shape(shape)
    positions = _integer_array(indices, ufunc_calls.device_of_operands((indices,)))
    order = _normalize_order(order)
    if positions.ndim and not extents:
        raise ValueError("multiple indices are not supported for 0d arrays")
    steps, size = _steps(extents, order), prod(extents)
    if size > np.iinfo(np.intp).max:
        raise ValueError(
            "dimensions are too large; arrays and shapes with a total size greater than 'intp' are not supported."
        )
    wide: Any = positions.astype(_INT64)
    outside = (wide < 0) | (wide >= size)
    if bool(outside.any()):
        first = int(wide.reshape(-1)[int(outside.reshape(-1).argmax())])
        raise ValueError(f"index {first} is out of bounds for array with size {size}")
    outermost = 0 if order == "C" else len(extents) - 1
    return tuple(
        _axis_index(wide._node, n, step, axis == outermost)
        for axis, (n, step) in enumerate(zip(extents, steps, strict=True))
    )


def _axis_index(position: Node, extent: int, step: int, outermost: bool) -> DeviceArray:
    """Return the index along an axis of positions that are in bounds."""
    index = position if step == 1 else composing.apply_ufunc(np.floor_divide, position, step)
    if not outermost:
        index = composing.apply_ufunc(np.remainder, index, extent)
    return wrap(ufunc_calls.ascontiguous(index)) if index.memory is not None else ufunc_calls.evaluate_if_eager(index)


@captured
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> DeviceArray:
    """Convert one index per axis to positions in C (or Fortran) order.

    Parameters
    ----------
    multi_index : sequence of array_like of int
        One array of indices per axis. They are broadcast against each other.
    dims : int or tuple of int
        Shape of the array whose elements are counted.
    mode : {'raise', 'wrap', 'clip'}, or a tuple of them, one per axis
        What to do with an index out of bounds, including negative ones: raise ValueError, wrap around, or use the
        nearest index.
    order : {'C', 'F'}, optional
        Whether to count in C order (row-major) or in Fortran order (column-major).

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        An index is out of bounds and the mode is 'raise'. The function waits for this check.

    See Also
    --------
    unravel_index : The inverse.

    Examples
    --------
    >>> import clarray
    >>> clarray.ravel_multi_index(([0, 1], [1, 2]), (2, 3))
    array([1, 5])
    """
    extents = as_shape(dims, _INVALID_DIMS)
    modes = mode if isinstance(mode, tuple | list) else (mode,) * len(extents)
    modes = [normalize_mode(axis_mode) for axis_mode in modes]
    steps = _steps(extents, _normalize_order(order))
    size = prod(extents)
    if size > _MAX_SIZE:
        raise ValueError(_INVALID_DIMS)
    if len(multi_index) != len(extents):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(extents)}")
    device = ufunc_calls.device_of_operands(tuple(multi_index))
    indices = [_integer_array(axis_indices, device)._node for axis_indices in multi_index]
    shape = broadcast_shapes([node.shape for node in indices])
    if size == 0 and prod(shape) > 0:
        raise ValueError("cannot unravel if shape has zero entries (is empty).")
    position: Any = 0
    any_outside: Any = None
    for index, n, step, axis_mode in zip(indices, extents, steps, modes, strict=True):
        wide = ufunc_calls.cast(index, _INT64)
        if axis_mode == "raise":
            outside = composing.apply_ufunc(
                np.logical_or, composing.apply_ufunc(np.less, wide, 0), composing.apply_ufunc(np.greater_equal, wide, n)
            )
            any_outside = outside if any_outside is None else composing.apply_ufunc(np.logical_or, any_outside, outside)
        elif axis_mode == "wrap":
            wide = composing.apply_ufunc(np.remainder, wide, n)
        else:
            wide = composing.apply_ufunc(np.minimum, composing.apply_ufunc(np.maximum, wide, 0), n - 1)
        position = composing.apply_ufunc(np.add, composing.apply_ufunc(np.multiply, wide, step), position)
    if any_outside is not None and bool(wrap(any_outside).any()):
        raise ValueError("invalid entry in coordinates array")
    return asarray(position, _INT64) if not indices else ufunc_calls.evaluate_if_eager(position)
