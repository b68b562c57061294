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

from dataclasses import dataclass
from functools import cache

import numpy as np

from clarray.plan.tuning.sort import SortPolicy

__all__ = ["KeyKind", "LinePlan", "SortPlan", "key_kind", "word_of_bytes"]

_WORDS = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong"}
_SIGNED = {1: "char", 2: "short", 4: "int", 8: "long"}
_MANTISSA = {2: 10, 4: 23, 8: 52}


@dataclass(frozen=True, slots=True)
class KeyKind:
    """How the bits of one dtype become keys.

    Parameters
    ----------
    kind : str
        ``'u'``: as they are; ``'i'``: signed; ``'f'``: floating point; ``'c'``: two floats.
    bits : int
        Bits of a key: of one part of a complex number.
    """

    kind: str
    bits: int

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
        return hex((1 << _MANTISSA[self.bits // 8]) - 1) + self._suffix

    @property
    def negative_zero(self) -> str:
        """The key of -0.0; that of 0.0 is one more."""
        return hex((1 << self.bits - 1) - (1 << _MANTISSA[self.bits // 8])) + self._suffix

    @property
    def nan(self) -> str:
        """The lowest key of a NaN."""
        return hex((1 << self.bits) - (1 << _MANTISSA[self.bits // 8] + 1) + 2) + self._suffix

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
    if dtype.kind == "c":
        return KeyKind("c", dtype.itemsize * 4)
    return KeyKind("u" if dtype.kind == "b" else dtype.kind, dtype.itemsize * 8)


def word_of_bytes(itemsize: int) -> str:
    """The C type that moves so many bytes at once."""
    return _WORDS.get(itemsize, "ulong2")


@dataclass(frozen=True, slots=True)
class LinePlan:
    """Lines that a work-item sorts one at a time.

    Parameters
    ----------
    kind : KeyKind
    form : str
        What is moved: ``'keys'``; ``'packed'``: key and position in one ulong; ``'wide'``: in two.
    descending : bool
    bits : int
        Bits of a digit.
    short : int
        See `SortPolicy`.
    """

    kind: KeyKind
    form: str
    descending: bool
    bits: int
    short: int


@dataclass(frozen=True, slots=True)
class SortPlan:
    """One line that several work-items sort, each a chunk of it.

    Parameters
    ----------
    kind, form, descending
        As in `LinePlan`.
    counter : str
        C type that counts elements.
    policy : SortPolicy
    """

    kind: KeyKind
    form: str
    descending: bool
    counter: str
    policy: SortPolicy


def line_plan(kind: KeyKind, n: int, argsort: bool, descending: bool, policy: SortPolicy) -> LinePlan:
    """The plan of lines of `n` elements."""
    bits = min(kind.bits, 8 if n < 2048 or kind.bits < 32 else policy.digit_bits, policy.digit_bits)
    form = "keys" if not argsort else "packed" if kind.bits <= 32 else "wide"
    return LinePlan(kind, form, descending, bits, policy.short)
