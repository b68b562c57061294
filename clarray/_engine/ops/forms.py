"""What a row of the ufunc table is made of.

A form is the C text of one operation for one kind of operand. Its operands are variable names,
already cast to the loop's input dtypes, so a text may repeat them. Fields a text may use:

``{0} {1}``   the operands
``{T}``       their C type, ``{I}`` and ``{U}`` the signed and unsigned integers of as many bits
``{S}``       the type of one lane
``{F}``       the format's name in memory, of the kind ``e``
``ca_name_{T}(...)``   a helper, defined for any type by ``<%def name="name(t)">`` in templates/lib
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

from clarray._engine.values import dataclass

if TYPE_CHECKING:
    from clarray._engine.ops.ctype import Dialect
    from clarray._engine.ops.ufuncs import Loop

__all__ = ["Form", "Row", "converted", "exact", "lane_int", "test", "value", "wrap"]

Result = Literal["value", "exact", "wrap", "test", "int", "converted"]
Writer = Callable[["Loop", "list[str]", "Dialect"], str]


@dataclass(frozen=True, slots=True)
class Form:
    """``text`` and how its result becomes the loop's output; see the functions below."""

    text: str | Writer
    result: Result


def value(text: str) -> Form:
    """The result has the operands' C type; where the dtype is packed, it is rounded to what memory can hold."""
    return Form(text, "value")


def exact(text: str | Writer) -> Form:
    """As `value`, but a result needs no rounding (negation, minimum, floor, ...)."""
    return Form(text, "exact")


def wrap(text: str) -> Form:
    """Integer arithmetic that wraps around: unsigned operands, the result cut back."""
    return Form(text, "wrap")


def test(text: str) -> Form:
    """A native comparison, 0/1 in scalars, 0/-1 in vectors: join with ``& |``, not ``&& || ~``."""
    return Form(text, "test")


def lane_int(text: str) -> Form:
    """The result has type ``{I}`` and is converted to the output's type."""
    return Form(text, "int")


def converted(text: str) -> Form:
    """The result has the operands' C type and is converted to the output's type."""
    return Form(text, "converted")


@dataclass(frozen=True, slots=True)
class Row:
    """One ufunc: its forms by kind of operand, and ``more`` for a second output.

    Kinds are ``b i u e f c`` (``e`` is a packed float); ``u`` falls back to ``i`` and ``e`` to ``f``.
    Operands of unlike kinds are looked up by all letters, such as ``fi``. ``ulp`` bounds the
    error of float32 and float64 results in units in the last place, 0.5 meaning correctly
    rounded. ``unlike`` are the kinds for which NumPy's ufunc and the text may differ in bits that neither NumPy nor
    IEEE 754 promises (which of two zeros is the larger), or in errors; ``host`` computes what the text does, bit for
    bit, from arrays of real numbers, where NumPy's ufunc does not or there is none.
    """

    name: str
    forms: Mapping[str, Form]
    more: Mapping[str, Form] = field(default_factory=dict)
    ulp: float = 0.5
    unlike: str = ""
    host: Callable[..., Any] | None = None

    def form(self, kinds: str, out_index: int) -> Form | None:
        """The form for operands of these kinds, or None."""
        table = self.more if out_index else self.forms
        key = kinds[0] if len(set(kinds)) == 1 else kinds
        for name in (key, key.replace("u", "i"), key.replace("e", "f")):
            if name in table:
                return table[name]
        return None
