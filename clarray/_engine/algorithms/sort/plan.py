"""Plan radix sorts: the conversion of values to keys, and the tiles of the passes.

A key is an unsigned integer that is computed from the bits of a value and has the order of the values:

            sign bit | exponent | mantissa          float: flip all bits of negative numbers and the sign bit of
    -inf       1       11..11     00..00            others, then subtract the result for -inf. So -inf becomes 0,
     ...                                            and NaNs of either sign come after inf.
      inf      0       11..11     00..00
      NaN   0 or 1     11..11     not 0             integer: flip the sign bit

A complex number has three such words, the last of them most significant: the imaginary part, the real part, and a
class. The class is 0 if no part is NaN, 1 if only the imaginary part is NaN, and 2 if the real part is NaN. This is
NumPy's order of complex numbers.
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

WORD = 2**32  # lines of at least so many elements have 64-bit positions and counts
LOCAL_BYTES = 45056  # of a tile: with its tables it fits the 48 KiB of most GPUs

_WORDS = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong"}
_SIGNED = {1: "char", 2: "short", 4: "int", 8: "long"}


@dataclass(frozen=True, slots=True)
class KeyKind:
    """The conversion of the bits of a dtype to keys.

    Parameters
    ----------
    kind : str
        ``'u'`` for unsigned integers, ``'i'`` for signed integers, ``'f'`` for floats, ``'c'`` for two floats.
    bits : int
        Bits of a key. For complex numbers, of the key of one part.
    mantissa : int
        Bits of a floating-point number below its leading one.
    """

    kind: str
    bits: int
    mantissa: int = 0

    @property
    def type(self) -> str:
        """C type of a key and of the bits of a value."""
        return _WORDS[self.bits // 8]

    @property
    def signed(self) -> str:
        """Signed C type of the same size."""
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
        """The flipped bits of -inf, which are subtracted from all keys."""
        return hex((1 << self.mantissa) - 1) + self._suffix

    @property
    def negative_zero(self) -> str:
        """The key of -0.0. The key of 0.0 is one more."""
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
    """Return the conversion of a dtype to keys.

    Examples
    --------
    >>> key_kind(np.dtype("float32")).nan
    '0xff000002U'
    """
    row = dtype_row(dtype)
    parts = 2 if row.kind == "c" else 1
    return KeyKind("u" if row.kind == "b" else row.kind, dtype.itemsize * 8 // parts, row.mantissa)


def word_of_bytes(itemsize: int) -> str:
    """Return the C type that moves elements of `itemsize` bytes."""
    return _WORDS.get(itemsize, "ulong2")


@dataclass(frozen=True, slots=True)
class RowPlan:
    """The specialization of a kernel that sorts whole lines, one work-item per line.

    Parameters
    ----------
    kind : KeyKind
    form : str
        The elements that passes move: ``'keys'``; ``'packed'``: a key and a position in one ulong; ``'wide'``: in two.
    bits : int
        Bits of a digit.
    short : int
        Lines of up to this many elements are sorted by counting, as in `SortPolicy`.
    """

    kind: KeyKind
    form: str
    bits: int
    short: int


@dataclass(frozen=True, slots=True)
class SortPlan:
    """The specialization of the kernels that sort one line in chunks, one work-item per chunk.

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
    """Choose the digits and the form of elements for lines of `n` elements."""
    bits = min(kind.bits, 8 if n < 2048 or kind.bits < 32 else policy.digit_bits, policy.digit_bits)
    form = "keys" if not argsort else "packed" if kind.bits <= 32 else "wide"
    return RowPlan(kind, form, bits, policy.short)


@dataclass(frozen=True, slots=True, kw_only=True)
class TilePlan:
    """The specialization of the kernels that sort one line in tiles, one work-group per tile.

    Parameters
    ----------
    kind : KeyKind
    passes : int
        Number of digits to sort by.
    position : str
        C type of the positions that move with the keys, or ``''`` to sort keys alone.
    has_order : bool
        Whether the initial positions are an argument. Otherwise they are 0, 1, 2 ...
    state : str
        C type of the states that tiles publish: a count and two flag bits.
    items : int
        Elements per work-item.
    separate_counters : bool
        Whether the counters of a tile have local memory of their own, which its keys do not overwrite.
    policy : SortPolicy
    """

    kind: KeyKind
    passes: int
    position: str
    has_order: bool
    state: str
    items: int
    separate_counters: bool
    policy: SortPolicy

    @property
    def tile(self) -> int:
        """Elements of a tile."""
        return self.policy.work_group * self.items


def tile_items(widest: int, items: int, policy: SortPolicy) -> int:
    """Return the elements of `widest` bytes per work-item. `items` is the tuned number of elements of four bytes."""
    fit = LOCAL_BYTES // (widest * policy.work_group)
    return max(1, min(items * 4 // max(4, widest), fit))


def fits_separate_counters(item_bytes: int, policy: SortPolicy) -> bool:
    """Return whether local memory has room for the counters of a tile in addition to its elements."""
    counters = 4 * (policy.work_group // policy.lanes << policy.digit_bits)
    return policy.apart and item_bytes * policy.work_group + counters <= LOCAL_BYTES


def tile_plan(kind: KeyKind, n: int, bits: int, argsort: bool, has_order: bool, policy: SortPolicy) -> TilePlan:
    """Choose the passes and tiles for a line of `n` keys that differ only in their lowest `bits` bits."""
    position = ("uint" if n < WORD else "ulong") if argsort else ""
    widest = max(kind.bits // 8, 8 if position == "ulong" else 4 if position else 1)
    tuned = policy.small_items if n < policy.small else policy.pair_items if argsort else policy.items
    items = tile_items(widest, tuned, policy)
    return TilePlan(
        kind=kind,
        passes=max(1, -(-bits // policy.digit_bits)),
        position=position,
        has_order=has_order,
        state="uint" if n < WORD // 4 else "ulong",
        items=items,
        separate_counters=fits_separate_counters(widest * items, policy),
        policy=policy,
    )


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """The specialization of a kernel that sorts lines which fit a work-group.

    Parameters
    ----------
    kind, policy
        As in `RowPlan`.
    argsort : bool
    short : bool
        Whether to sort several lines per work-group by counting the smaller elements for each element.
    items : int
        Elements per work-item.
    separate_counters : bool
        As in `TilePlan`.
    """

    kind: KeyKind
    argsort: bool
    short: bool
    items: int
    separate_counters: bool
    policy: SortPolicy


def group_plan(kind: KeyKind, n: int, argsort: bool, policy: SortPolicy) -> GroupPlan | None:
    """Choose the items for lines of `n` elements. Return None if a line does not fit a work-group."""
    if n <= min(policy.short, policy.work_group):
        return GroupPlan(kind, argsort, True, 1, False, policy)
    widest = max(kind.bits // 8, 2)
    max_items = tile_items(widest, policy.items, policy)
    needed = -(-n // policy.work_group)
    if needed > max_items or n > 2**16:
        return None
    items = min(max_items, 1 << (needed - 1).bit_length())
    return GroupPlan(kind, argsort, False, items, fits_separate_counters(widest * items, policy), policy)
