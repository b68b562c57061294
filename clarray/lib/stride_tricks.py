"""Create views with given strides, as in ``numpy.lib.stride_tricks``."""

from __future__ import annotations

import operator
import sys as _sys
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from clarray._core.creation import operand_array
from clarray._core.device_array import DeviceArray
from clarray._core.host_fallback import add_host_fallbacks as _add_host_fallbacks
from clarray._core.views import make_view, read_only, view_of
from clarray._engine.expr.overlap import extent
from clarray._engine.expr.view import View, as_shape, check_size, contiguous

__all__ = ["as_strided", "sliding_window_view"]


def as_strided(
    x: Any,
    shape: Any = None,
    strides: Any = None,
    subok: bool = False,
    writeable: bool = True,
    *,
    check_bounds: bool | None = None,
) -> DeviceArray:
    """Return a view of the memory of an array with another shape and other strides.

    Parameters
    ----------
    x : array_like
    shape : sequence of int, optional
        Shape of the view. The shape of `x` by default.
    strides : sequence of int, optional
        Bytes from one element to the next along each axis. By default the strides of `x`, or C order if `x` is in C
        order.
    subok : bool, optional
        Accepted and ignored.
    writeable : bool, optional
        False for a read-only view. A view whose elements share memory is always read-only.
    check_bounds : bool, optional
        Accepted and ignored: bounds are always checked.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        The view would leave the memory of `x`, a stride is not a multiple of the itemsize, or there is not one stride
        per axis. NumPy checks the memory only if asked to.

    See Also
    --------
    sliding_window_view

    Examples
    --------
    >>> import clarray
    >>> x = clarray.arange(5)
    >>> clarray.lib.stride_tricks.as_strided(x, (2, 3), (2 * x.itemsize, x.itemsize)).tolist()
    [[0, 1, 2], [2, 3, 4]]
    """
    array = operand_array(x)
    old_view = view_of(array)
    new_shape = old_view.shape if shape is None else as_shape(tuple(shape))
    itemsize = array.itemsize
    if strides is None:
        element_strides = contiguous(new_shape) if old_view.contiguous else old_view.strides
    else:
        if any(stride % itemsize for stride in strides):
            raise ValueError(f"strides must be multiples of the {itemsize} bytes of an element")
        element_strides = tuple(int(stride) // itemsize for stride in strides)
    if len(element_strides) != len(new_shape):
        raise ValueError("mismatch in length of strides and shape")
    if any(operator.index(extent) < 0 for extent in new_shape):
        raise ValueError(f"negative dimensions are not allowed, as in the shape {new_shape}")
    check_size(new_shape, itemsize)
    view = View(new_shape, element_strides, old_view.offset)
    _check_inside(array, view)
    strided = make_view(array, view)
    return strided if writeable else read_only(strided)


def _check_inside(array: DeviceArray, view: View) -> None:
    memory = array._node.memory
    assert memory is not None
    if view.size:
        low, high = extent(view)
        if low < 0 or (high + 1) * array.itemsize > memory.nbytes:
            raise ValueError("the view would leave the array's memory")


def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> DeviceArray:
    """Return a view of all windows of a shape.

    The axes of `x` come first, for the position of the window. The axes of the window follow.

    Parameters
    ----------
    x : array_like
    window_shape : int or sequence of int
        Extent of the window along each of its axes.
    axis : int or sequence of int, optional
        Axes of `x` along which the window slides. All axes by default.
    subok : bool, optional
        Accepted and ignored.
    writeable : bool, optional
        True for a view that can be written. Windows that overlap are always read-only.

    Returns
    -------
    DeviceArray
        A view. A reduction over its last axes reads `x` without a copy.

    Raises
    ------
    ValueError
        A window is larger than the array, has a negative extent, or does not have one extent per axis.

    Examples
    --------
    >>> import clarray
    >>> clarray.lib.stride_tricks.sliding_window_view([1, 2, 3, 4], 3).tolist()
    [[1, 2, 3], [2, 3, 4]]
    """
    array = operand_array(x)
    windows = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
    if np.any(np.array(windows) < 0):
        raise ValueError("`window_shape` cannot contain negative values")
    if axis is None:
        axes = tuple(range(array.ndim))
        if len(windows) != len(axes):
            raise ValueError(
                "Since axis is `None`, must provide window_shape for all dimensions of `x`; "
                f"got {len(windows)} window_shape elements and `x.ndim` is {array.ndim}."
            )
    else:
        axes = normalize_axis_tuple(axis, array.ndim, allow_duplicate=True)
        if len(windows) != len(axes):
            raise ValueError(
                "Must provide matching length window_shape and axis; "
                f"got {len(windows)} window_shape elements and {len(axes)} axes elements."
            )
    windows = as_shape(windows)
    positions = list(array.shape)
    for window_axis, window_extent in zip(axes, windows, strict=True):
        if positions[window_axis] < window_extent:
            raise ValueError("window shape cannot be larger than input array shape")
        positions[window_axis] -= window_extent - 1
    view = view_of(array)
    element_strides = view.strides + tuple(view.strides[window_axis] for window_axis in axes)
    windowed = make_view(array, View((*positions, *windows), element_strides, view.offset))
    return windowed if writeable else read_only(windowed)


_add_host_fallbacks(_sys.modules[__name__], np.lib.stride_tricks, __all__)
