"""Which elements of a memory two views share, and which layout an operation's result takes."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import TYPE_CHECKING, Any

import numpy as np

from clarray._engine.expr.view import Shape, View, contiguous, ordered_strides

if TYPE_CHECKING:
    from clarray._engine.expr.node import Node

EXACT_WORK = 10_000  # candidates NumPy may try before "cannot tell" counts as an overlap (< 0.1 ms)
SOMEWHERE = 1 << 40  # an address: NumPy compares them here and never follows them


def extent(view: View | Node) -> tuple[int, int]:
    """Give the first and last element that a view, or a leaf, touches; (offset, offset - 1) when empty."""
    low = high = view.offset
    strides = view.strides
    for axis, count in enumerate(view.shape):
        stride = strides[axis]
        if count == 0:
            return view.offset, view.offset - 1
        if stride < 0:
            low += (count - 1) * stride
        else:
            high += (count - 1) * stride
    return low, high


def lie_alike(shape: Shape, one: Shape, other: Shape) -> bool:
    """Tell whether strides place the elements of an array of this shape alike."""
    return all(count == 1 or a == b for count, a, b in zip(shape, one, other, strict=True))


def same_elements(a: View, b: View) -> bool:
    """Tell whether both have the same element at every index, so that a += b needs no copy of b."""
    if a == b:
        return True
    if a.shape != b.shape:
        return False
    if 0 in a.shape:
        return True
    return a.offset == b.offset and lie_alike(a.shape, a.strides, b.strides)


def repeats_elements(view: View | Node) -> bool:
    """Tell whether two indices may name one element (a broadcast view); True when in doubt."""
    if view.contiguous:
        return False
    if len(view.shape) == 1:  # what is written most: a step, a column
        return view.shape[0] > 1 and not view.strides[0]
    steps = sorted((abs(stride), count) for count, stride in zip(view.shape, view.strides, strict=True) if count > 1)
    if 0 in view.shape:
        return False
    reach = 0
    for stride, count in steps:
        if stride <= reach:
            return True
        reach += (count - 1) * stride
    return False


def may_overlap(a: View, b: View, a_itemsize: int = 1, b_itemsize: int = 1) -> bool:
    """Tell whether two views of one memory have a byte in common.

    The answer is exact as long as it is found with bounded work, and True when in doubt. The item
    sizes matter only where they differ: a complex array and its real part.
    """
    if 0 in a.shape or 0 in b.shape:
        return False
    a_low, a_high = extent(a)
    b_low, b_high = extent(b)
    if a_itemsize == b_itemsize:
        a_itemsize = b_itemsize = 1
    a_first, a_end = a_low * a_itemsize, (a_high + 1) * a_itemsize
    b_first, b_end = b_low * b_itemsize, (b_high + 1) * b_itemsize
    if a_end <= b_first or b_end <= a_first:
        return False
    a_dense, b_dense = _dense(a, a_high - a_low), _dense(b, b_high - b_low)
    if a_dense and b_dense:
        return True
    if a_itemsize == b_itemsize:
        step = gcd(*_steps(a), *_steps(b))
        if step and (a.offset - b.offset) % step:
            return False
    first = min(a_first, b_first)
    one = AddressRange(a, a_itemsize, SOMEWHERE - first)
    other = AddressRange(b, b_itemsize, SOMEWHERE - first)
    # NumPy's stubs know only the two extreme values of max_work
    return np.may_share_memory(np.asarray(one), np.asarray(other), max_work=EXACT_WORK)  # type: ignore[arg-type]


def _dense(view: View, reach: int) -> bool:
    """Tell whether the view leaves no element out between its first and its last."""
    return reach + 1 <= view.size and not repeats_elements(view)


def _steps(view: View) -> list[int]:
    return [s for n, s in zip(view.shape, view.strides, strict=True) if n > 1]


class AddressRange:
    """A view as an address range, for NumPy's exact solver of overlaps."""

    def __init__(self, view: View, itemsize: int, base: int) -> None:
        self.__array_interface__: dict[str, Any] = {
            "version": 3,
            "typestr": f"|V{itemsize}",
            "shape": view.shape,
            "strides": tuple(stride * itemsize for stride in view.strides),
            "data": (base + view.offset * itemsize, True),
        }


def k_order_strides(views: Sequence[View], shape: Shape) -> Shape:
    """Give the strides of a new array in the layout NumPy gives a ufunc's result (``order='K'``).

    Parameters
    ----------
    views
        The operands, before broadcasting.
    shape
        The broadcast shape.
    """
    if len(shape) < 2 or all(view.contiguous and view.shape == shape for view in views):
        return contiguous(shape)
    if not views or 0 in shape:
        return contiguous(shape)
    return ordered_strides(shape, outermost_first(views, len(shape)))


def reduced_strides(views: Sequence[View], axes: tuple[int, ...], shape: Shape) -> Shape:
    """Give the strides of a new array in the layout NumPy gives a reduction's result.

    The axes that are kept lie as order 'K' has them among all.

    Parameters
    ----------
    views
        The operand and, perhaps, its mask, before broadcasting.
    axes
        The reduced axes.
    shape
        The result's, with the reduced axes as axes of one element or without them.
    """
    if all(view.contiguous for view in views):
        return contiguous(shape)
    ndim = max(len(view.shape) for view in views)
    order = outermost_first(views, ndim)
    if len(shape) == ndim:
        return ordered_strides(shape, order)
    kept = [axis for axis in range(ndim) if axis not in axes]
    return ordered_strides(shape, [kept.index(axis) for axis in order if axis not in axes])


def outermost_first(views: Sequence[View], ndim: int) -> list[int]:
    """Return the axes in the order in which NumPy iterates over operands, before broadcasting: the outermost first."""
    return _axes_by_stride([_aligned_strides(view, ndim) for view in views], ndim)[::-1]


def joined_strides(views: Sequence[View], shape: Shape) -> Shape:
    """Give the strides of a new array that others are joined to: its axes lie as theirs, in C order where they differ.

    Parameters
    ----------
    views
        The arrays, of as many axes as the result.
    shape
        The result's.
    """
    # a stride of 0 counts here, unlike in `k_order_strides`; an axis of one element tells nothing
    steps = [[0 if n == 1 else 1 + abs(s) for n, s in zip(v.shape, v.strides, strict=True)] for v in views]
    order: list[int] = []  # the outermost axis first, in which direction NumPy sorts them
    for axis in range(len(shape)):
        place = axis
        for at in reversed(range(axis)):
            verdict = _is_inner(steps, order[at], axis)
            if verdict is None:
                continue
            if not verdict:
                break
            place = at
        order.insert(place, axis)
    return ordered_strides(shape, order)


def _aligned_strides(view: View, ndim: int) -> list[int]:
    steps = [abs(s) if n != 1 else 0 for n, s in zip(view.shape, view.strides, strict=True)]
    return [0] * (ndim - len(steps)) + steps


def _axes_by_stride(operands: list[list[int]], ndim: int) -> list[int]:
    """Sort the axes, innermost first, as NumPy's iterator does: where operands differ, C order."""
    order: list[int] = []
    for axis in reversed(range(ndim)):
        place = len(order)
        for at in reversed(range(len(order))):
            verdict = _is_inner(operands, axis, order[at])
            if verdict is None:
                continue
            if not verdict:
                break
            place = at
        order.insert(place, axis)
    return order


def _is_inner(operands: list[list[int]], axis: int, other: int) -> bool | None:
    """Tell whether `axis` steps less than `other` in every operand that tells; None: none tells."""
    verdict: bool | None = None
    for strides in operands:
        if strides[axis] and strides[other]:
            if strides[other] <= strides[axis]:
                return False
            verdict = True
    return verdict
