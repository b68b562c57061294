"""What a gather or a scatter is asked for: elements of an array that numbers name."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from clarray._engine.expr.node import Node
from clarray._engine.expr.view import Shape, View

__all__ = ["IndexSelection", "OutOfBounds"]


class OutOfBounds(IndexError):
    """A number names no element: the caller finds out which, and says so."""


class IndexSelection(NamedTuple):
    """Elements of an array: of some axes those that a list of numbers names, of the rest all.

    Parameters
    ----------
    numbers : Node
        Integers, maybe pending: elements of the chosen axes, counted in C order.
    shape : tuple of int
        Of the list; the numbers are broadcast to it.
    extents, strides : tuple of int
        Of the chosen axes.
    rest : View
        The other axes; its offset is that of the first chosen element.
    place : int
        Where, among the axes of `rest`, those of the list stand in the result.
    mode : str
        For numbers out of bounds: ``'raise'``, ``'wrap'``, ``'clip'``; ``'known'``: there are none; ``'seen'``: as
        ``'raise'``, but it need not be waited for, since there are none.
    checked : tuple of tuple of (Node, int)
        Where the numbers are made of several index arrays: these, and the extents of their axes. The numbers are in
        bounds where these are.
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
        """The shape of the elements named."""
        rest = self.rest.shape
        return rest[: self.place] + self.shape + rest[self.place :]

    @property
    def bound(self) -> int:
        """How many numbers there are."""
        return prod(self.extents)
