"""Rows of the ufunc table, and their forms.

A form is the C text of one operation for one kind of operand. Its operands are variable names,
already cast to the loop's input dtypes, so a text may repeat them. Fields a text may use:

``{0} {1}``   the operands
``{T}``       their C type, ``{I}`` and ``{U}`` the signed and unsigned integers of as many bits
``{S}``       the type of one lane
``{F}``       the name of the format in memory, for the kind ``e``
``ca_name_{T}(...)``   a helper, defined for any type by ``<%def name="name(t)">`` in templates/lib
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

from clarray._engine.fast_dataclass import dataclass

if TYPE_CHECKING:
    from clarray._engine.ops.ctype import Dialect
    from clarray._engine.ops.ufuncs import Loop

__all__ = ["Form", "Row", "converted", "exact", "lane_int", "test", "value", "wrap"]

Result = Literal["value", "exact", "wrap", "test", "int", "converted"]
Writer = Callable[["Loop", "list[str]", "Dialect"], str]


@dataclass(frozen=True, slots=True)
class Form:
    """``text``, and the conversion of its result to the loop's output; see the functions below."""

    text: str | Writer
    result: Result


def value(text: str) -> Form:
    """Return a form whose result has the operands' C type, rounded to a value of the dtype if that is packed."""
    return Form(text, "value")


def exact(text: str | Writer) -> Form:
    """Return a form as `value` does, whose result needs no rounding (negation, minimum, floor, ...)."""
    return Form(text, "exact")


def wrap(text: str) -> Form:
    """Return a form of integer arithmetic that wraps around: operands are unsigned, the result is truncated."""
    return Form(text, "wrap")


def test(text: str) -> Form:
    """Return a form of a native comparison, 0/1 in scalars, 0/-1 in vectors: join with ``& |``, not ``&& || ~``."""
    return Form(text, "test")


def lane_int(text: str) -> Form:
    """Return a form whose result has type ``{I}`` and is converted to the output's type."""
    return Form(text, "int")


def converted(text: str) -> Form:
    """Return a form whose result has the operands' C type and is converted to the output's type."""
    return Form(text, "converted")


@dataclass(frozen=True, slots=True)
class Row:
    """A ufunc's forms.

    Kinds are ``b i u e f c`` (``e`` is a packed float); ``u`` falls back to ``i`` and ``e`` to ``f``.
    The key for operands of different kinds has all their letters, such as ``fi``.

    Parameters
    ----------
    name : str
    forms : mapping of str to Form
        Forms by the kind of operands.
    more : mapping of str to Form
        Forms of a second output.
    ulp : float
        Bound on the error of float32 and float64 results in units in the last place; 0.5 is correctly rounded.
    unlike : str
        Kinds for which NumPy's ufunc and the text may differ in errors, or in bits that neither NumPy nor IEEE 754
        defines (which of two zeros is the larger).
    host : callable, optional
        A function of real arrays with the same bits as the text, if NumPy's ufunc has others or there is none.
    """

    name: str
    forms: Mapping[str, Form]
    more: Mapping[str, Form] = field(default_factory=dict)
    ulp: float = 0.5
    unlike: str = ""
    host: Callable[..., Any] | None = None

    def form(self, kinds: str, out_index: int) -> Form | None:
        """Return the form for operands of these kinds, or None."""
        table = self.more if out_index else self.forms
        key = kinds[0] if len(set(kinds)) == 1 else kinds
        for name in (key, key.replace("u", "i"), key.replace("e", "f")):
            if name in table:
                return table[name]
        return None
