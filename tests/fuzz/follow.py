"""What follows from a difference that is meant: values of what reads it, or lies in the same memory, are open then."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

import clarray

from .program import Program, Statement

FOLLOWING = ("value", "shape", "raised", "not raised")  # kinds of differences that values bring about
Names = dict[str, Any]


def following(statements: Iterable[Statement], first: Iterable[str], theirs: Names) -> set[str]:
    """The variables that depend on others, these included: statements read them and make or write more."""
    found = together(first, theirs)
    for statement in statements:
        if statement.names.reads & found:
            found |= statement.names.makes | together(statement.changes, theirs)
    return found


def together(names: Iterable[str], values: Names) -> set[str]:
    """Variables, and those that share memory with one of them."""
    found = set(names)
    written = [a for name in found for a in arrays_in(values.get(name))]
    for name, value in values.items():
        if name[0] in "hv" and any(a is b or np.may_share_memory(a, b) for a in arrays_in(value) for b in written):
            found.add(name)
    return found


def written_apart(program: Program, theirs: Names, ours: Names) -> set[str]:
    """Variables of one memory on one side only, which has been written since.

    What NumPy makes of its scalars is a copy, of clarray's 0-d arrays a view (see Guarantees). And where NumPy says of
    no order that an array lies in it, whether `reshape` or `ravel` can give a view is open.
    """
    found: set[str] = set()
    for k, statement in enumerate(program.statements):
        for name, other in pairs_of(statement, theirs, ours):
            for later in program.statements[k + 1 :]:
                if any(one in written for one in (name, other) for written in reached(later, theirs, ours)):
                    found |= {name, other}
    return found


def pairs_of(statement: Statement, theirs: Names, ours: Names) -> Iterator[tuple[str, str]]:
    """What a statement made and read that shares memory on one side, and on the other not."""
    for name in statement.names.makes:
        for other in statement.names.reads:
            if any(n not in side for n in (name, other) for side in (theirs, ours)):
                continue
            scalar = isinstance(theirs[other], np.generic)
            if not scalar and orders(theirs[other]) == orders(ours[other]):
                continue
            if shares(theirs[name], theirs[other], np.may_share_memory) != shares(
                ours[name], ours[other], clarray.may_share_memory
            ):
                yield name, other


def reached(statement: Statement, theirs: Names, ours: Names) -> Iterator[set[str]]:
    """What a statement writes to, on either side."""
    changes = statement.changes
    if changes:
        yield together(changes, theirs)
        yield {
            name
            for name, value in ours.items()
            if name[0] in "hv"
            and any(shares(value, ours[one], clarray.may_share_memory) for one in changes if one in ours)
        }


def shares(a: Any, b: Any, judge: Callable[[Any, Any], bool]) -> bool:
    return any(judge(one, other) for one in arrays_in(a) for other in arrays_in(b))


LOOKS_AT_ORDER = re.compile(
    r"ravel|flatten|reshape|tobytes|view\(|isfortran|order=|'[AFK]'|require|asarray|ascontiguous|asfortran|copy=False|"
    r"\.shape = |pickle|squeeze|real_if_close"
)


def looks_at_order(statement: Statement, theirs: Names, ours: Names) -> bool:
    """Whether a statement asks how its operands lie, and they lie otherwise: where they come from that was open."""
    if not LOOKS_AT_ORDER.search(statement.text):
        return False
    names = [n for n in statement.names.reads | statement.names.writes if n in theirs and n in ours]
    return any(orders(theirs[n]) != orders(ours[n]) for n in names)


def orders(value: Any) -> list[list[int]]:
    return [order_of(array) for array in arrays_in(value)]


def order_of(array: Any) -> list[int]:
    """Strides of the axes that have more than one element."""
    return [stride for stride, extent in zip(array.strides, array.shape, strict=True) if extent > 1]


def arrays_in(value: Any) -> list[Any]:
    """The arrays that a value is or has, of either side."""
    if isinstance(value, tuple | list):
        return [array for one in value for array in arrays_in(one)]
    return [value] if isinstance(value, np.ndarray | clarray.DeviceArray) else []
