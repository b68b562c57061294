"""Overlap of views of one memory, and the strides of an operation's result."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import TYPE_CHECKING, Any

import numpy as np

from clarray._engine.expr.view import Shape, View, contiguous, ordered_strides

if TYPE_CHECKING:
    from clarray._engine.expr.node import Node

EXACT_WORK = 10_000  # candidates NumPy may try before it counts as an overlap (< 0.1 ms)
FAKE_ADDRESS = 1 << 40  # NumPy compares addresses of `AddressRange` and never reads them


def extent(view: View | Node) -> tuple[int, int]:
    """Return the first and last element of memory in a view or a leaf; (offset, offset - 1) if it is empty."""
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


def same_strides(shape: Shape, a_strides: Shape, b_strides: Shape) -> bool:
    """Return whether strides are equal, except for axes of one element."""
    return all(extent == 1 or a == b for extent, a, b in zip(shape, a_strides, b_strides, strict=True))


def same_elements(a: View, b: View) -> bool:
    """Return whether both have the same element at every index, so that a += b needs no copy of b."""
    if a == b:
        return True
    if a.shape != b.shape:
        return False
    if 0 in a.shape:
        return True
    return a.offset == b.offset and same_strides(a.shape, a.strides, b.strides)


def repeats_elements(view: View | Node) -> bool:
    """Return whether two indices may select one element, as in a broadcast view; True when in doubt."""
    if view.contiguous:
        return False
    if len(view.shape) == 1:  # the usual targets: a slice with a step, a column
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
    """Return whether two views of one memory have a byte in common; True if that takes too much work to decide.

    The item sizes matter only if they differ: a complex array and its real part.
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
    a_range = AddressRange(a, a_itemsize, FAKE_ADDRESS - first)
    b_range = AddressRange(b, b_itemsize, FAKE_ADDRESS - first)
    # NumPy's stubs know only the two extreme values of max_work
    return np.may_share_memory(np.asarray(a_range), np.asarray(b_range), max_work=EXACT_WORK)  # type: ignore[arg-type]


def _dense(view: View, reach: int) -> bool:
    """Return whether a view has every element of memory between its first and its last."""
    return reach + 1 <= view.size and not repeats_elements(view)


def _steps(view: View) -> list[int]:
    return [s for n, s in zip(view.shape, view.strides, strict=True) if n > 1]


class AddressRange:
    """A view as NumPy's array interface, for NumPy's exact solver of overlaps."""

    def __init__(self, view: View, itemsize: int, base: int) -> None:
        self.__array_interface__: dict[str, Any] = {
            "version": 3,
            "typestr": f"|V{itemsize}",
            "shape": view.shape,
            "strides": tuple(stride * itemsize for stride in view.strides),
            "data": (base + view.offset * itemsize, True),
        }


def k_order_strides(views: Sequence[View], shape: Shape) -> Shape:
    """Return the strides of a ufunc's result in NumPy's layout (``order='K'``).

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
    """Return the strides of a reduction's result in NumPy's layout.

    The remaining axes have the order that 'K' gives them among all axes.

    Parameters
    ----------
    views
        The operand and, if there is one, its mask, before broadcasting.
    axes
        The reduced axes.
    shape
        Shape of the result, with the reduced axes as axes of one element or without them.
    """
    if all(view.contiguous for view in views):
        return contiguous(shape)
    ndim = max(len(view.shape) for view in views)
    order = outermost_first(views, ndim)
    if len(shape) == ndim:
        return ordered_strides(shape, order)
    remaining = [axis for axis in range(ndim) if axis not in axes]
    return ordered_strides(shape, [remaining.index(axis) for axis in order if axis not in axes])


def outermost_first(views: Sequence[View], ndim: int) -> list[int]:
    """Return the axes in the order of NumPy's iterator over operands before broadcasting, outermost first."""
    return _axes_by_stride([_aligned_strides(view, ndim) for view in views], ndim)[::-1]


def joined_strides(views: Sequence[View], shape: Shape) -> Shape:
    """Return the strides of the result of a concatenation: in the arrays' memory order, in C order if they differ.

    Parameters
    ----------
    views
        The arrays, with as many axes as the result.
    shape
        Shape of the result.
    """
    # a stride of 0 counts here, unlike in `k_order_strides`; an axis of one element has no stride to compare
    steps = [[0 if n == 1 else 1 + abs(s) for n, s in zip(v.shape, v.strides, strict=True)] for v in views]
    order: list[int] = []  # outermost first: NumPy sorts in this direction
    for axis in range(len(shape)):
        position = axis
        for at in reversed(range(axis)):
            inner = _is_inner(steps, order[at], axis)
            if inner is None:
                continue
            if not inner:
                break
            position = at
        order.insert(position, axis)
    return ordered_strides(shape, order)


def _aligned_strides(view: View, ndim: int) -> list[int]:
    steps = [abs(s) if n != 1 else 0 for n, s in zip(view.shape, view.strides, strict=True)]
    return [0] * (ndim - len(steps)) + steps


def _axes_by_stride(operands: list[list[int]], ndim: int) -> list[int]:
    """Sort the axes, innermost first, as NumPy's iterator does. If operands differ, the axes have C order."""
    order: list[int] = []
    for axis in reversed(range(ndim)):
        position = len(order)
        for at in reversed(range(len(order))):
            inner = _is_inner(operands, axis, order[at])
            if inner is None:
                continue
            if not inner:
                break
            position = at
        order.insert(position, axis)
    return order


def _is_inner(operands: list[list[int]], axis: int, other: int) -> bool | None:
    """Return whether `axis` has the smaller stride in all operands with two nonzero strides; None if there are none."""
    inner: bool | None = None
    for strides in operands:
        if strides[axis] and strides[other]:
            if strides[other] <= strides[axis]:
                return False
            inner = True
    return inner
