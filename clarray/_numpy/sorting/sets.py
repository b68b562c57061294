"""Distinct values and set operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core import creation, ufunc_calls
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, mark_0d_array, wrap
from clarray._engine.algorithms import launchers
from clarray._engine.evaluate import select
from clarray._engine.expr.axes import normalize_axis
from clarray._engine.speedups import captured
from clarray._numpy.manipulation import joining, shapes
from clarray._numpy.sorting.sorting import argsort, flattened, sort
from clarray._numpy.sorting.uniques import Unique, distinct_slices, distinct_values

_INT64 = np.dtype(np.int64)
_UINT64 = np.dtype(np.uint64)

__all__ = [
    "intersect1d",
    "isin",
    "setdiff1d",
    "setxor1d",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]

# NumPy's result types have no public name.
_All, _Counts, _Inverse = (type(f(np.zeros(0))) for f in (np.unique_all, np.unique_counts, np.unique_inverse))


# Distinct values ----------------------------------------------------------------------------------


@captured(operands=1)
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """Return the distinct values of an array, or its distinct slices along an axis.

    Parameters
    ----------
    ar : array_like
    return_index : bool
        Also return the first position of each value, in the flattened array or along the axis.
    return_inverse : bool
        Also return for each element the position of its value among the distinct ones. Of the shape of `ar` without an
        axis.
    return_counts : bool
        Also return how often each value occurs.
    axis : int, optional
        Compare whole slices along this axis. By default `ar` is flattened.
    equal_nan : bool
        Whether all NaN count as one value. Slices with a NaN are always distinct.
    sorted : bool
        Accepted and ignored: the values are always sorted.

    Returns
    -------
    DeviceArray, or tuple of DeviceArray
        The sorted values, then the other results in the order of the parameters, as int64.

    Raises
    ------
    AxisError
        `axis` does not exist.

    See Also
    --------
    unique_values, unique_counts, unique_inverse, unique_all

    Notes
    -----
    Integers that lie close together, and all integers of 8 or 16 bits, take one pass with a table. The values alone may
    be found with a hash table or a bitmap. Otherwise the values are sorted.

    Examples
    --------
    >>> import clarray
    >>> values, counts = clarray.unique([3, 1, 3], return_counts=True)
    >>> values.tolist(), counts.tolist()
    ([1, 3], [1, 2])
    """
    array = as_array(ar)
    with_index, with_inverse, with_counts = bool(return_index), bool(return_inverse), bool(return_counts)
    if axis is not None:
        if array.ndim > 1 and (not hasattr(axis, "__index__") or np.ndim(axis)):
            shapes.moveaxis(array, axis, 0)  # NumPy raises the errors of moveaxis first
        axis = normalize_axis(axis, array.ndim)
    if axis is None or array.ndim == 1:
        distinct = distinct_values(array, with_index, with_inverse, with_counts, bool(equal_nan))
        if with_inverse:
            assert distinct.inverse is not None
            distinct = distinct._replace(inverse=shapes.reshape(distinct.inverse, array.shape))
    else:
        distinct = distinct_slices(array, axis, with_index, with_inverse, with_counts)
    return _as_result(distinct)


def _as_result(distinct: Unique) -> Any:
    requested = tuple(x for x in distinct if x is not None)
    return requested if len(requested) > 1 else requested[0]


@captured(operands=1)
def unique_all(x: Any) -> Any:
    """Return the distinct values with their first positions, inverse positions and counts.

    Parameters
    ----------
    x : array_like
        Flattened. Each NaN is a value of its own.

    Returns
    -------
    namedtuple
        ``values``, ``indices``, ``inverse_indices`` and ``counts``, as `unique` returns them.

    Examples
    --------
    >>> import clarray
    >>> found = clarray.unique_all([3, 1, 3])
    >>> found.values.tolist(), found.indices.tolist()
    ([1, 3], [1, 0])
    >>> found.inverse_indices.tolist(), found.counts.tolist()
    ([1, 0, 1], [1, 2])
    """
    return _All(*unique(x, True, True, True, equal_nan=False))


@captured(operands=1)
def unique_counts(x: Any) -> Any:
    """Return the distinct values and how often each occurs.

    Parameters
    ----------
    x : array_like
        Flattened. Each NaN is a value of its own.

    Returns
    -------
    namedtuple
        ``values``, sorted, and ``counts``.

    Examples
    --------
    >>> import clarray
    >>> values, counts = clarray.unique_counts([3, 1, 3])
    >>> values.tolist(), counts.tolist()
    ([1, 3], [1, 2])
    """
    return _Counts(*unique(x, return_counts=True, equal_nan=False))


@captured(operands=1)
def unique_inverse(x: Any) -> Any:
    """Return the distinct values, and for each element the position of its value.

    Parameters
    ----------
    x : array_like
        Each NaN is a value of its own.

    Returns
    -------
    namedtuple
        ``values``, sorted, and ``inverse_indices`` of the shape of `x`.

    Examples
    --------
    >>> import clarray
    >>> values, inverse = clarray.unique_inverse([30, 10, 30])
    >>> values.tolist(), inverse.tolist()
    ([10, 30], [1, 0, 1])
    """
    return _Inverse(*unique(x, return_inverse=True, equal_nan=False))


@captured(operands=1)
def unique_values(x: Any) -> DeviceArray:
    """Return the distinct values of an array, sorted.

    Parameters
    ----------
    x : array_like
        Flattened. Each NaN is a value of its own.

    Returns
    -------
    DeviceArray
        Has one axis.

    Examples
    --------
    >>> import clarray
    >>> clarray.unique_values([3, 1, 3]).tolist()
    [1, 3]
    """
    return unique(x, equal_nan=False)


# Membership ---------------------------------------------------------------------------------------


def _as_operands(first: Any, second: Any) -> tuple[DeviceArray, DeviceArray]:
    device = ufunc_calls.device_of_operands((first, second))
    return as_array(first, device), as_array(second, device)


@captured(operands=2)
def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> DeviceArray:
    """Return whether each element is one of the test elements.

    Parameters
    ----------
    element : array_like
        Elements to search for.
    test_elements : array_like
        Values to compare with, flattened. NaN is equal to none of them.
    assume_unique : bool
        Accepted and ignored.
    invert : bool
        Return whether each element is not one of the test elements.
    kind : {None, 'sort', 'table'}
        This has no effect: the test elements are always sorted and searched.

    Returns
    -------
    DeviceArray of bool
        Has the same shape as `element`.

    Raises
    ------
    ValueError
        `kind` is unknown, or it is ``'table'`` and an array is neither of integers nor of bools.

    Examples
    --------
    >>> import clarray
    >>> clarray.isin([1, 2, 3], [3, 1]).tolist()
    [True, False, True]
    """
    elements, tests = _as_operands(element, test_elements)
    if kind not in (None, "sort", "table"):
        raise ValueError(f"Invalid kind: '{kind}'. Please use None, 'sort' or 'table'.")
    integral = elements.dtype.kind in "biu" and tests.dtype.kind in "biu"
    if kind == "table" and not integral:
        raise ValueError(
            "The 'table' method is only supported for boolean or integer arrays. Please select 'sort' or None for kind."
        )
    return mark_0d_array(_is_member(elements, tests, bool(invert)))


def _is_member(elements: DeviceArray, tests: DeviceArray, invert: bool) -> DeviceArray:
    if not tests.size or not elements.size:
        return creation.full(elements.shape, invert, bool, device=elements.device)
    dtypes = {elements.dtype, tests.dtype}
    mixed = _UINT64 in dtypes and any(d.kind == "i" for d in dtypes)
    if not mixed:
        line = launchers.sort.sort_rows(flattened(tests)._node, 0)
        return wrap(launchers.search.search(line, elements._node, membership=not invert))
    # no dtype holds int64 and uint64: compare both as uint64, and let no negative value be a member
    if tests.dtype.kind == "i":
        tests = wrap(select(flattened(tests)._node, (flattened(tests) >= 0)._node))
        return _is_member(elements, tests.astype(_UINT64), invert)
    membership = _is_member(elements.astype(_UINT64), tests, invert)
    return membership | (elements < 0) if invert else membership & (elements >= 0)


def _compress(array: DeviceArray, mask: DeviceArray) -> DeviceArray:
    return wrap(select(array._node, mask._node))


@captured(operands=2)
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """Return the sorted values that are in both arrays.

    Parameters
    ----------
    ar1, ar2 : array_like
        Flattened.
    assume_unique : bool
        Assume that neither array has a value twice, and save the search for distinct values.
    return_indices : bool
        Also return the first position of each value in both arrays.

    Returns
    -------
    DeviceArray, or tuple of three
        Values, then positions in `ar1` and positions in `ar2`.

    Notes
    -----
    The distinct values of each array are compared in the common dtype, as in NumPy. Two numbers of one array that
    become equal in that dtype therefore count as common values.

    Examples
    --------
    >>> import clarray
    >>> clarray.intersect1d([1, 3, 4, 3], [3, 1, 2]).tolist()
    [1, 3]
    """
    first, second = _as_operands(ar1, ar2)
    if assume_unique:
        first, second, first_positions = flattened(first), flattened(second), None
    elif return_indices:
        (first, first_index), (second, second_index) = (unique(x, return_index=True) for x in (first, second))
        first_positions = first_index, second_index
    else:
        first, second, first_positions = unique(first), unique(second), None
    merged = joining.concatenate((first, second))
    if not return_indices:
        merged = sort(merged)
        return merged[:-1][merged[1:] == merged[:-1]].evaluate()
    order = argsort(merged, kind="stable")
    merged = merged[order]
    repeated = merged[1:] == merged[:-1]
    matches = order[:-1][repeated], order[1:][repeated] - first.size
    return merged[:-1][repeated], *(
        matches if first_positions is None else (p[i] for p, i in zip(first_positions, matches, strict=True))
    )


@captured(operands=2)
def union1d(ar1: Any, ar2: Any) -> DeviceArray:
    """Return the sorted values that are in at least one of two arrays.

    Parameters
    ----------
    ar1, ar2 : array_like
        Flattened.

    Returns
    -------
    DeviceArray
        Has one axis.

    Examples
    --------
    >>> import clarray
    >>> clarray.union1d([3, 1], [2, 1]).tolist()
    [1, 2, 3]
    """
    return unique(joining.concatenate((ar1, ar2), None))


@captured(operands=2)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> DeviceArray:
    """Return the values of the first array that are not in the second.

    Parameters
    ----------
    ar1, ar2 : array_like
        Flattened.
    assume_unique : bool
        Assume that neither array has a value twice, and keep the order of `ar1`. By default the result is sorted.

    Returns
    -------
    DeviceArray
        Has one axis.

    Examples
    --------
    >>> import clarray
    >>> clarray.setdiff1d([4, 1, 3, 1], [3, 2]).tolist()
    [1, 4]
    """
    first, second = _as_operands(ar1, ar2)
    first = flattened(first) if assume_unique else unique(first)
    return _compress(first, _is_member(first, second, True))


@captured(operands=2)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> DeviceArray:
    """Return the sorted values that are in exactly one of two arrays.

    Parameters
    ----------
    ar1, ar2 : array_like
        Flattened.
    assume_unique : bool
        Assume that neither array has a value twice.

    Returns
    -------
    DeviceArray
        Has one axis.

    Examples
    --------
    >>> import clarray
    >>> clarray.setxor1d([1, 2, 3], [3, 4]).tolist()
    [1, 2, 4]
    """
    first, second = _as_operands(ar1, ar2)
    first, second = (flattened(x) if assume_unique else unique(x) for x in (first, second))
    merged = sort(joining.concatenate((first, second)))
    if not merged.size:
        return merged
    edge = creation.ones(1, bool, device=merged.device)
    begins = joining.concatenate((edge, merged[1:] != merged[:-1], edge))
    return merged[begins[1:] & begins[:-1]].evaluate()
