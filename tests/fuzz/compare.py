"""The oracle's rules: how far a value of clarray's may lie from NumPy's.

NumPy runs several times: once as it is, and with the inputs or results of every statement that rounds moved by a few
units in the last place. What NumPy's own answers have between them says how well a value is determined, whatever
was done to it since: where they agree to the last bit, clarray's must be that; where they differ, it must lie
within some multiples of that difference; where a rounding decides which integer, shape or error comes out, nothing is
asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import clarray

SPREADS = 8  # how many times the difference of NumPy's answers is allowed
CHANCE = 256  # of so many integers that moved runs leave open, one may be as it is in all of them
ULPS = 4  # and units in the last place beside it, where they differ at all


class Undetermined(Exception):
    """NumPy's answers differ in shape, type or error."""


@dataclass(frozen=True)
class Difference:
    """What clarray gave, or did, otherwise than NumPy.

    Attributes
    ----------
    kind : str
        'raised', 'not raised', 'type', 'dtype', 'shape', 'value', 'writeable', 'layout', 'shares'.
    statement : int
        Its place in the program: where it showed.
    """

    kind: str
    statement: int
    name: str
    theirs: str
    ours: str
    how: str = ""
    detail: Any = None

    def __str__(self) -> str:
        return f"{self.kind} of {self.name or 'the statement'}: NumPy {self.theirs}, clarray {self.ours} {self.how}"


class Found(Exception):
    """A difference, on its way out of the values that it lies in."""

    def __init__(self, kind: str, theirs: Any, ours: Any, how: str = "") -> None:
        super().__init__(kind)
        self.kind, self.theirs, self.ours, self.how = kind, shown(theirs), shown(ours), how


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 300 else text[:300] + "..."


def compare(theirs: Any, ours: Any, moved: Sequence[Any]) -> None:
    """Raise `Found` where a value is not NumPy's.

    Parameters
    ----------
    moved
        NumPy's answers to rounded programs.
    """
    if any(kind_of(m) is not kind_of(theirs) for m in moved):
        raise Undetermined  # a number where there is nothing, an array else
    if isinstance(theirs, tuple | list):
        same_type(theirs, ours)
        if len(theirs) != len(ours):
            raise Found("shape", len(theirs), len(ours), "elements")
        if any(len(m) != len(theirs) for m in moved):
            raise Undetermined
        for k, (one, other) in enumerate(zip(theirs, ours, strict=True)):
            compare(one, other, [m[k] for m in moved])
    elif isinstance(theirs, np.ndarray | np.generic):
        compare_arrays(theirs, ours, moved)
    elif isinstance(theirs, float | complex):
        same_type(theirs, ours)
        close(np.asarray(theirs), np.asarray(ours), [np.asarray(m) for m in moved])
    elif all(m == theirs for m in moved):
        same_type(theirs, ours)
        if not (theirs == ours or theirs is ours):
            raise Found("value", theirs, ours)


def kind_of(value: Any) -> type:
    """An array's type for NumPy's scalars too."""
    return np.ndarray if isinstance(value, np.generic) else type(value)


def same_type(theirs: Any, ours: Any) -> None:
    # a namedtuple of clarray's own class has NumPy's name
    if type(theirs) is not type(ours) and type(theirs).__name__ != type(ours).__name__:
        raise Found("type", type(theirs).__name__, type(ours).__name__)


def compare_arrays(theirs: Any, ours: Any, moved: Sequence[Any]) -> None:
    if isinstance(ours, np.generic) != isinstance(theirs, np.generic):  # a number for an array, or the reverse
        raise Found("type", type(theirs).__name__, type(ours).__name__)
    if not isinstance(ours, clarray.DeviceArray | np.generic) and not (
        theirs.dtype == ours.dtype == object
    ):  # NumPy's on both sides
        raise Found("type", type(theirs).__name__, type(ours).__name__)
    if ours.dtype != theirs.dtype:
        raise Found("dtype", theirs.dtype, ours.dtype)
    if any(m.shape != theirs.shape or m.dtype != theirs.dtype for m in moved):
        raise Undetermined
    if ours.shape != theirs.shape:
        raise Found("shape", theirs.shape, ours.shape)
    close(np.asarray(theirs), clarray.asnumpy(ours), [np.asarray(m) for m in moved])


def compare_hosts(theirs: np.ndarray, ours: np.ndarray, moved: Sequence[np.ndarray]) -> None:
    """Compare arrays of the host's, which clarray may have written to."""
    if ours.dtype != theirs.dtype:
        raise Found("dtype", theirs.dtype, ours.dtype)
    if any(m.shape != theirs.shape or m.dtype != theirs.dtype for m in moved):
        raise Undetermined
    if ours.shape != theirs.shape:
        raise Found("shape", theirs.shape, ours.shape)
    close(theirs, ours, moved)


def close(theirs: np.ndarray, ours: np.ndarray, moved: Sequence[np.ndarray]) -> None:
    """Compare elements; dtypes and shapes are the same."""
    with np.errstate(all="ignore"):
        wrong = unlike(theirs, ours, moved)
    if wrong.any():
        places = np.argwhere(wrong)
        at = tuple(int(k) for k in places[0])
        how = f"at {at}, {len(places)} of {theirs.size} elements"
        raise Found("value", theirs[at], ours[at], how)


def unlike(theirs: np.ndarray, ours: np.ndarray, moved: Sequence[np.ndarray]) -> np.ndarray:
    """Which elements are not NumPy's."""
    open_ = np.zeros(theirs.shape, bool)
    for m in moved:
        open_ |= (m != theirs) & ((m == m) | (theirs == theirs))  # two NaN are alike
    if theirs.dtype.kind in "fc":
        odd = ~np.isfinite(theirs)
        # which part of a complex number that is not finite is NaN, C leaves open
        alike = odd & ~np.isfinite(ours) if theirs.dtype.kind == "c" else np.isnan(theirs) & np.isnan(ours)
        wrong = ~((theirs == ours) | alike | within(theirs, ours, moved, odd))
    else:
        wrong = (theirs != ours) & ~open_
    # which no moved run reached, such as equal keys of many, or remainders
    by_chance = np.count_nonzero(wrong) <= np.count_nonzero(open_) / CHANCE and not (wrong & open_).any()
    return np.asarray(wrong & (not by_chance))


def within(theirs: np.ndarray, ours: np.ndarray, moved: Sequence[np.ndarray], odd: np.ndarray) -> np.ndarray:
    """Which elements lie as near as NumPy's own answers do, or are not determined."""
    wide = np.complex128 if theirs.dtype.kind == "c" else np.float64
    center = theirs.astype(wide)
    spread = np.zeros(theirs.shape)
    open_ = np.zeros(theirs.shape, bool)
    for m in moved:
        open_ |= ~np.isfinite(m) != odd
        open_ |= odd & ~((m == theirs) | (np.isnan(m) & np.isnan(theirs)))
        spread = np.fmax(spread, np.abs(m.astype(wide) - center))
    if not spread.any():
        return open_
    unit = np.finfo(theirs.dtype).eps * np.abs(center) + np.finfo(theirs.dtype).smallest_subnormal
    bound = SPREADS * spread + ULPS * unit
    # beside what overflows in a moved run, the value may lie at the dtype's end
    return open_ | (np.abs(ours.astype(wide) - center) <= bound) | ~np.isfinite(spread)


def keep_range(theirs: Any, ours: Any) -> None:
    """Raise `Found` where a sum, a product or what follows from one is NaN, and NumPy's is not; operands are finite."""
    if (
        isinstance(theirs, np.ndarray | np.generic)
        and theirs.dtype.kind in "fc"
        and isinstance(ours, clarray.DeviceArray)
    ):
        lost = np.isnan(clarray.asnumpy(ours)) & ~np.isnan(theirs)
        if lost.any():
            raise Found("value", theirs, ours, "NaN of finite operands")


def left_open(theirs: Any, ours: Any) -> bool:
    """Whether there are numbers that are not NumPy's, and need not be: what overflows on one side alone."""
    if isinstance(theirs, tuple | list):
        return isinstance(ours, tuple | list) and any(map(left_open, theirs, ours))
    shape = getattr(ours, "shape", None)
    if not isinstance(theirs, np.ndarray | np.generic) or theirs.dtype.kind not in "fc" or theirs.shape != shape:
        return False
    if ours.dtype != theirs.dtype:  # a difference of its own
        return False
    sides = [np.ascontiguousarray(side) for side in (theirs, clarray.asnumpy(ours))]
    one, other = (side.view(side.real.dtype) for side in sides)
    return bool(np.any((np.isnan(one) != np.isnan(other)) | (np.isinf(one) != np.isinf(other))))
