"""Parts of an array along an axis, as views."""

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
    """Cut an array along an axis into views.

    Parameters
    ----------
    ary : array_like
    indices_or_sections : int or sequence of int
        How many parts, of almost equal length, the longer ones first; or where the array is cut.
    axis : int, optional

    Returns
    -------
    list of DeviceArray

    Raises
    ------
    ValueError
        There shall be less than one part.

    Examples
    --------
    >>> import clarray
    >>> [part.tolist() for part in clarray.array_split([1, 2, 3, 4, 5], 2)]
    [[1, 2, 3], [4, 5]]
    """
    if not hasattr(ary, "shape"):
        len(ary)  # a number has no length: NumPy's TypeError
    array = operand_array(ary)
    total = array.shape[axis]
    if _is_sequence(indices_or_sections):
        cuts = [0, *map(operator.index, indices_or_sections), total]
    else:
        sections = int(indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, longer = divmod(total, sections)
        # One list of all sizes, as NumPy makes: a number that is far too large is a MemoryError.
        cuts = list(accumulate([0] + [each + 1] * longer + [each] * (sections - longer)))
    before = (slice(None),) * normalize_axis(axis, array.ndim)
    return [array[(*before, slice(a, b))] for a, b in pairwise(cuts)]


def _is_sequence(value: Any) -> bool:
    try:
        len(value)
    except TypeError:
        return False
    return True


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[DeviceArray]:
    """Cut an array along an axis into views of equal length, or at the indices given.

    Parameters
    ----------
    ary : array_like
    indices_or_sections : int or sequence of int
        How many parts, or where the array is cut.
    axis : int, optional

    Returns
    -------
    list of DeviceArray

    Raises
    ------
    ValueError
        The length is no multiple of the number of parts.

    Examples
    --------
    >>> import clarray
    >>> [part.tolist() for part in clarray.split([1, 2, 3, 4], [1, 3])]
    [[1], [2, 3], [4]]
    """
    if _is_sequence(indices_or_sections):
        return array_split(ary, indices_or_sections, axis)
    array = operand_array(ary)
    if array.shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return array_split(array, indices_or_sections, axis)


def hsplit(ary: Any, indices_or_sections: Any) -> list[DeviceArray]:
    """Cut along axis 1 (axis 0 of a 1-d array), as views; further parameters as in `split`.

    Parameters
    ----------
    ary : array_like
        Of one axis or more.
    """
    array = _of_ndim(ary, 1, "hsplit")
    return split(array, indices_or_sections, min(array.ndim - 1, 1))


def vsplit(ary: Any, indices_or_sections: Any) -> list[DeviceArray]:
    """Cut along axis 0, as views; further parameters as in `split`.

    Parameters
    ----------
    ary : array_like
        Of two axes or more.
    """
    return split(_of_ndim(ary, 2, "vsplit"), indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[DeviceArray]:
    """Cut along axis 2, as views; further parameters as in `split`.

    Parameters
    ----------
    ary : array_like
        Of three axes or more.
    """
    return split(_of_ndim(ary, 3, "dsplit"), indices_or_sections, 2)


def _of_ndim(ary: Any, ndim: int, name: str) -> DeviceArray:
    array = operand_array(ary)
    if array.ndim < ndim:
        raise ValueError(f"{name} only works on arrays of {ndim} or more dimensions")
    return array


def unstack(x: Any, /, *, axis: int = 0) -> tuple[DeviceArray, ...]:
    """Take an array apart along an axis, into views.

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
        `x` has no axes.
    """
    array = operand_array(x)
    if array.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    return tuple(moveaxis(array, axis, 0))
