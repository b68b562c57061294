"""Views made of strides: ``numpy.lib.stride_tricks``."""

from __future__ import annotations

import operator
import sys as _sys
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from clarray._core.creation import operand_array
from clarray._core.device_array import DeviceArray
from clarray._core.host_fallback import serve_host_dtypes as _serve_host_dtypes
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
    """View an array's memory with another shape and other strides.

    Parameters
    ----------
    x : array_like
    shape : sequence of int, optional
        The view's; that of `x` when None.
    strides : sequence of int, optional
        Bytes from one element to the next along each axis. By default those of `x`, or C order if `x` is in C order.
    subok : bool, optional
        Accepted for NumPy's sake.
    writeable : bool, optional
        False for a view that cannot be written. One whose elements share memory never can.
    check_bounds : bool, optional
        Accepted for NumPy's sake: bounds are always checked.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        The view would leave the memory (which NumPy does not look at), a stride is no whole number of
        elements, or the strides are not as many as the axes.
    """
    array = operand_array(x)
    old = view_of(array)
    new = old.shape if shape is None else as_shape(tuple(shape))
    itemsize = array.itemsize
    if strides is None:
        steps = contiguous(new) if old.contiguous else old.strides
    else:
        if any(stride % itemsize for stride in strides):
            raise ValueError(f"strides must be multiples of the {itemsize} bytes of an element")
        steps = tuple(int(stride) // itemsize for stride in strides)
    if len(steps) != len(new):
        raise ValueError("mismatch in length of strides and shape")
    if any(operator.index(extent) < 0 for extent in new):
        raise ValueError(f"negative dimensions are not allowed, as in the shape {new}")
    check_size(new, itemsize)
    view = View(new, steps, old.offset)
    _check_inside(array, view)
    made = make_view(array, view)
    return made if writeable else read_only(made)


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
    """View every window of a shape: behind the axes of `x`, over which it slides, come those of the window.

    Parameters
    ----------
    x : array_like
    window_shape : int or sequence of int
        The window's extent along each axis that it slides over.
    axis : int or sequence of int, optional
        These axes; all of them when None.
    subok : bool, optional
        Accepted for NumPy's sake.
    writeable : bool, optional
        Accepted for NumPy's sake: windows that overlap cannot be written through.

    Returns
    -------
    DeviceArray
        A view: a reduction over its last axes reads `x` where it is.

    Raises
    ------
    ValueError
        A window is larger than the array, has a negative extent, or its extents are not as many as the axes.

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
    left = list(array.shape)
    for at, extent_ in zip(axes, windows, strict=True):
        if left[at] < extent_:
            raise ValueError("window shape cannot be larger than input array shape")
        left[at] -= extent_ - 1
    view = view_of(array)
    steps = view.strides + tuple(view.strides[at] for at in axes)
    made = make_view(array, View((*left, *windows), steps, view.offset))
    return made if writeable else read_only(made)


_serve_host_dtypes(_sys.modules[__name__], np.lib.stride_tricks, __all__)
