"""Splitting of an array along an axis, into views."""

from __future__ import annotations

import operator
from itertools import accumulate, pairwise
from typing import Any

from clarray._core.creation import operand_array
from clarray._core.device_array import DeviceArray
from clarray._engine.expr.axes import normalize_axis
from clarray._numpy.manipulation.shapes import moveaxis

__all__ = ["array_split", "dsplit", "hsplit", "split", "unstack", "vsplit"]


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[DeviceArray]:
    """Split an array along an axis into views of almost equal length, or at given indices.

    Parameters
    ----------
    ary : array_like
    indices_or_sections : int or sequence of int
        The number of parts, of which the first ones may be longer by one. Or the indices at which to split.
    axis : int, optional

    Returns
    -------
    list of DeviceArray
        Views.

    Raises
    ------
    ValueError
        The number of parts is less than one.

    Examples
    --------
    >>> import clarray
    >>> [part.tolist() for part in clarray.array_split([1, 2, 3, 4, 5], 2)]
    [[1, 2, 3], [4, 5]]
    """
    if not hasattr(ary, "shape"):
        len(ary)  # NumPy's TypeError for a scalar
    array = operand_array(ary)
    total = array.shape[axis]
    if _has_length(indices_or_sections):
        cuts = [0, *map(operator.index, indices_or_sections), total]
    else:
        sections = int(indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        length, longer = divmod(total, sections)
        # One list of all sizes, as in NumPy: a huge number of sections raises MemoryError.
        cuts = list(accumulate([0] + [length + 1] * longer + [length] * (sections - longer)))
    leading = (slice(None),) * normalize_axis(axis, array.ndim)
    return [array[(*leading, slice(a, b))] for a, b in pairwise(cuts)]


def _has_length(value: Any) -> bool:
    try:
        len(value)
    except TypeError:
        return False
    return True


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[DeviceArray]:
    """Split an array along an axis into views of equal length, or at given indices.

    Parameters
    ----------
    ary : array_like
    indices_or_sections : int or sequence of int
        The number of parts, or the indices at which to split.
    axis : int, optional

    Returns
    -------
    list of DeviceArray
        Views.

    Raises
    ------
    ValueError
        The length of the axis is no multiple of the number of parts.

    Examples
    --------
    >>> import clarray
    >>> [part.tolist() for part in clarray.split([1, 2, 3, 4], [1, 3])]
    [[1], [2, 3], [4]]
    """
    if _has_length(indices_or_sections):
        return array_split(ary, indices_or_sections, axis)
    array = operand_array(ary)
    if array.shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return array_split(array, indices_or_sections, axis)


def hsplit(ary: Any, indices_or_sections: Any) -> list[DeviceArray]:
    """Split an array along axis 1, or axis 0 if it is 1-d, into views. Further parameters as in `split`.

    Parameters
    ----------
    ary : array_like
        An array of one axis or more.

    Returns
    -------
    list of DeviceArray

    Raises
    ------
    ValueError
        `ary` has no axis, or the parts are not of equal length.

    Examples
    --------
    >>> import clarray
    >>> [part.tolist() for part in clarray.hsplit([[1, 2], [3, 4]], 2)]
    [[[1], [3]], [[2], [4]]]
    """
    array = _with_min_ndim(ary, 1, "hsplit")
    return split(array, indices_or_sections, min(array.ndim - 1, 1))


def vsplit(ary: Any, indices_or_sections: Any) -> list[DeviceArray]:
    """Split an array along axis 0 into views. Further parameters as in `split`.

    Parameters
    ----------
    ary : array_like
        An array of two axes or more.

    Returns
    -------
    list of DeviceArray

    Raises
    ------
    ValueError
        `ary` has fewer than two axes, or the parts are not of equal length.

    Examples
    --------
    >>> import clarray
    >>> [part.tolist() for part in clarray.vsplit([[1, 2], [3, 4]], 2)]
    [[[1, 2]], [[3, 4]]]
    """
    return split(_with_min_ndim(ary, 2, "vsplit"), indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[DeviceArray]:
    """Split an array along axis 2 into views. Further parameters as in `split`.

    Parameters
    ----------
    ary : array_like
        An array of three axes or more.

    Returns
    -------
    list of DeviceArray

    Raises
    ------
    ValueError
        `ary` has fewer than three axes, or the parts are not of equal length.

    Examples
    --------
    >>> import clarray
    >>> [part.tolist() for part in clarray.dsplit([[[1, 2], [3, 4]]], 2)]
    [[[[1], [3]]], [[[2], [4]]]]
    """
    return split(_with_min_ndim(ary, 3, "dsplit"), indices_or_sections, 2)


def _with_min_ndim(ary: Any, ndim: int, name: str) -> DeviceArray:
    array = operand_array(ary)
    if array.ndim < ndim:
        raise ValueError(f"{name} only works on arrays of {ndim} or more dimensions")
    return array


def unstack(x: Any, /, *, axis: int = 0) -> tuple[DeviceArray, ...]:
    """Split an array along an axis into views that no longer have this axis.

    Parameters
    ----------
    x : array_like
    axis : int, optional

    Returns
    -------
    tuple of DeviceArray

    Raises
    ------
    ValueError
        `x` has no axis.

    See Also
    --------
    stack : The inverse.

    Examples
    --------
    >>> import clarray
    >>> [row.tolist() for row in clarray.unstack([[1, 2], [3, 4]])]
    [[1, 2], [3, 4]]
    """
    array = operand_array(x)
    if array.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    return tuple(moveaxis(array, axis, 0))
