"""Describe the elements of an array that index arrays select."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from clarray._engine.expr.node import Node
from clarray._engine.expr.view import Shape, View

__all__ = ["IndexSelection", "OutOfBounds"]


class OutOfBounds(IndexError):
    """An index is out of bounds. The caller finds the index and raises an IndexError that names it."""


class IndexSelection(NamedTuple):
    """Elements of an array: indices select elements of some axes, and all elements of the other axes are selected.

    Parameters
    ----------
    numbers : Node
        The indices: integers, pending or materialized, that count the elements of the indexed axes in C order.
    shape : tuple of int
        The shape to which the indices are broadcast.
    extents, strides : tuple of int
        Extents and strides of the indexed axes.
    rest : View
        The other axes. Its offset is the offset of the first element of the indexed axes.
    place : int
        The number of axes of `rest` before the axes of the indices in the result.
    mode : str
        The treatment of indices out of bounds: ``'raise'``, ``'wrap'`` or ``'clip'``. ``'known'``: all indices are in
        bounds. ``'seen'``: the same, but run the kernel of ``'raise'`` without a wait.
    checked : tuple of tuple of (Node, int)
        The index arrays from which the indices were computed, and the extents of their axes. The indices are in bounds
        if these arrays are. Empty if there is a single index array.
    """

    numbers: Node
    shape: Shape
    extents: Shape
    strides: Shape
    rest: View
    place: int
    mode: str = "known"
    checked: tuple[tuple[Node, int], ...] = ()

    @property
    def result_shape(self) -> Shape:
        """The shape of the selected elements."""
        rest = self.rest.shape
        return rest[: self.place] + self.shape + rest[self.place :]

    @property
    def bound(self) -> int:
        """The number of elements of the indexed axes: the bound of the indices."""
        return prod(self.extents)
