"""Keys of a radix sort: unsigned numbers in the order of the values, found from their bits.

            sign bit | exponent | mantissa          float: flip all bits of negative numbers, the sign of
    -inf       1       11..11     00..00            others, and subtract what -inf became, so that it is 0
     ...                                            and NaNs of either sign come after inf
      inf      0       11..11     00..00
      NaN   0 or 1     11..11     not 0             integer: flip the sign bit

A complex number is ordered by three such words, the last of them the most significant: imaginary
part, real part, and its class: 0 for a number, 1 where only the imaginary part is NaN, 2 where the
real part is. That is NumPy's order of complex numbers.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from clarray._engine.algorithms.sort.policy import SortPolicy
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.ops.dtypes import dtype_row

__all__ = [
    "GroupPlan",
    "KeyKind",
    "RowPlan",
    "SortPlan",
    "TilePlan",
    "group_plan",
    "key_kind",
    "row_plan",
    "tile_items",
    "tile_plan",
    "word_of_bytes",
]

WORD = 2**32  # from so many elements on, positions and counts take 64 bits
LOCAL_BYTES = 45056  # of a tile: with the tables beside it within the 48 KiB most GPUs have

_WORDS = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong"}
_SIGNED = {1: "char", 2: "short", 4: "int", 8: "long"}


@dataclass(frozen=True, slots=True)
class KeyKind:
    """How the bits of one dtype become keys.

    Parameters
    ----------
    kind : str
        ``'u'``: as they are; ``'i'``: signed; ``'f'``: floating point; ``'c'``: two floats.
    bits : int
        Bits of a key: of one part of a complex number.
    mantissa : int
        Bits of a floating-point number below its leading one.
    """

    kind: str
    bits: int
    mantissa: int = 0

    @property
    def type(self) -> str:
        """C type of a key, and of the bits it is made from."""
        return _WORDS[self.bits // 8]

    @property
    def signed(self) -> str:
        """The signed C type of as many bits."""
        return _SIGNED[self.bits // 8]

    @property
    def element_bytes(self) -> int:
        """Bytes of one element."""
        return self.bits // 8 * (2 if self.kind == "c" else 1)

    @property
    def sign(self) -> str:
        """The sign bit."""
        return hex(1 << self.bits - 1) + self._suffix

    @property
    def lowest(self) -> str:
        """What the bits of -inf become before they are moved to 0."""
        return hex((1 << self.mantissa) - 1) + self._suffix

    @property
    def negative_zero(self) -> str:
        """The key of -0.0; that of 0.0 is one more."""
        return hex((1 << self.bits - 1) - (1 << self.mantissa)) + self._suffix

    @property
    def infinity(self) -> str:
        """The bits of inf."""
        return hex((1 << self.bits - 1) - (1 << self.mantissa)) + self._suffix

    @property
    def nan(self) -> str:
        """The lowest key of a NaN."""
        return hex((1 << self.bits) - (1 << self.mantissa + 1) + 2) + self._suffix

    @property
    def _suffix(self) -> str:
        return "UL" if self.bits == 64 else "U"


@cache
def key_kind(dtype: np.dtype) -> KeyKind:
    """The keys of a dtype.

    Examples
    --------
    >>> key_kind(np.dtype("float32")).nan
    '0xff000002U'
    """
    row = dtype_row(dtype)
    parts = 2 if row.kind == "c" else 1
    return KeyKind("u" if row.kind == "b" else row.kind, dtype.itemsize * 8 // parts, row.mantissa)


def word_of_bytes(itemsize: int) -> str:
    """The C type that moves so many bytes at once."""
    return _WORDS.get(itemsize, "ulong2")


@dataclass(frozen=True, slots=True)
class RowPlan:
    """Lines that a work-item sorts one at a time.

    Parameters
    ----------
    kind : KeyKind
    form : str
        What is moved: ``'keys'``; ``'packed'``: key and position in one ulong; ``'wide'``: in two.
    bits : int
        Bits of a digit.
    short : int
        See `SortPolicy`.
    """

    kind: KeyKind
    form: str
    bits: int
    short: int


@dataclass(frozen=True, slots=True)
class SortPlan:
    """One line that several work-items sort, each a chunk of it.

    Parameters
    ----------
    kind, form
        As in `RowPlan`.
    counter : str
        C type that counts elements.
    policy : SortPolicy
    """

    kind: KeyKind
    form: str
    counter: str
    policy: SortPolicy


def row_plan(kind: KeyKind, n: int, argsort: bool, policy: SortPolicy) -> RowPlan:
    """The plan of lines of `n` elements."""
    bits = min(kind.bits, 8 if n < 2048 or kind.bits < 32 else policy.digit_bits, policy.digit_bits)
    form = "keys" if not argsort else "packed" if kind.bits <= 32 else "wide"
    return RowPlan(kind, form, bits, policy.short)


@dataclass(frozen=True, slots=True, kw_only=True)
class TilePlan:
    """One line that work-groups sort, pass by pass.

    Parameters
    ----------
    kind : KeyKind
    passes : int
        Digits to sort by.
    position : str
        C type of the positions moved along with the keys, or ``''``: keys alone.
    given : bool
        Whether the positions to begin with are given; else they are 0, 1, 2 ...
    state : str
        C type of what tiles publish: a count and two more bits.
    items : int
        Elements of a work-item.
    apart : bool
        Whether a tile's counters and its keys lie beside each other in local memory.
    policy : SortPolicy
    """

    kind: KeyKind
    passes: int
    position: str
    given: bool
    state: str
    items: int
    apart: bool
    policy: SortPolicy

    @property
    def tile(self) -> int:
        """Elements of a tile."""
        return self.policy.work_group * self.items


def tile_items(widest: int, wanted: int, policy: SortPolicy) -> int:
    """Elements of `widest` bytes that a work-item takes, where it wants so many of four bytes."""
    fit = LOCAL_BYTES // (widest * policy.work_group)
    return max(1, min(wanted * 4 // max(4, widest), fit))


def fits_apart(item_bytes: int, policy: SortPolicy) -> bool:
    """Whether the counters of a tile have room beside its elements."""
    counters = 4 * (policy.work_group // policy.lanes << policy.digit_bits)
    return policy.apart and item_bytes * policy.work_group + counters <= LOCAL_BYTES


def tile_plan(kind: KeyKind, n: int, bits: int, argsort: bool, given: bool, policy: SortPolicy) -> TilePlan:
    """The plan of a line of `n` keys whose lowest `bits` bits may differ."""
    position = ("uint" if n < WORD else "ulong") if argsort else ""
    widest = max(kind.bits // 8, 8 if position == "ulong" else 4 if position else 1)
    wanted = policy.small_items if n < policy.small else policy.pair_items if argsort else policy.items
    items = tile_items(widest, wanted, policy)
    return TilePlan(
        kind=kind,
        passes=max(1, -(-bits // policy.digit_bits)),
        position=position,
        given=given,
        state="uint" if n < WORD // 4 else "ulong",
        items=items,
        apart=fits_apart(widest * items, policy),
        policy=policy,
    )


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """Lines that work-groups sort one at a time, or several if they are short.

    Parameters
    ----------
    kind, policy
        As in `RowPlan`.
    argsort : bool
    short : bool
        Whether every element counts those before it.
    items : int
        Elements of a work-item.
    apart : bool
        As in `TilePlan`.
    """

    kind: KeyKind
    argsort: bool
    short: bool
    items: int
    apart: bool
    policy: SortPolicy


def group_plan(kind: KeyKind, n: int, argsort: bool, policy: SortPolicy) -> GroupPlan | None:
    """The plan of lines of `n` elements, or None if they do not fit a work-group."""
    if n <= min(policy.short, policy.work_group):
        return GroupPlan(kind, argsort, True, 1, False, policy)
    widest = max(kind.bits // 8, 2)
    most = tile_items(widest, policy.items, policy)
    needed = -(-n // policy.work_group)
    if needed > most or n > 2**16:
        return None
    items = min(most, 1 << (needed - 1).bit_length())
    return GroupPlan(kind, argsort, False, items, fits_apart(widest * items, policy), policy)
