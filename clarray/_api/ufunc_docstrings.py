"""Generate docstrings of ufuncs from their texts and from NumPy's table of each ufunc's dtypes."""

from __future__ import annotations

import numpy as np

from clarray._api.ufunc_texts import TEXTS
from clarray._engine.ops.ufuncs import supported_ufuncs

__all__ = ["docstring"]

_KINDS = dict.fromkeys("?", "b") | dict.fromkeys("bBhHiIlLqQ", "i") | dict.fromkeys("efdg", "f")
_KINDS |= dict.fromkeys("FDG", "c")
_ON_DEVICES = frozenset({*_KINDS, "-", ">"})
_OPERANDS = {
    "i": "Integers.",
    "f": "Floats. Integers and bools are converted to floats.",
    "bi": "Integers or bools.",
    "fi": "Real numbers.",
    "bfi": "Real numbers or bools.",
    "cf": "Floats or complex numbers. Integers and bools are converted to floats.",
    "cfi": "Numbers.",
    "bcfi": "Numbers or bools.",
}
_OUT = """\
out : DeviceArray, optional
    Array for the result, with the shape of the result."""
_OUTS = """\
out : tuple of DeviceArray, optional
    An array for each result, with the shape of that result. None creates a new array."""
_WHERE = """\
where : array_like of bool, optional
    Elements to compute, broadcast against the operands. The other elements of `out` stay as they are."""
_AXES = """\
axes, axis, keepdims : optional
    Axes of the vectors and matrices in the operands and in the result, as in `numpy.{name}`."""
_OTHERS = """\
dtype, casting, order, subok, signature : optional
    Dtype, casting rule and memory order of the result, as in `numpy.{name}`."""
_RAISES = """\
Raises
------
TypeError
    The dtype of an operand cannot be converted, or the device does not support the dtype of the result.
ValueError
    The operands have incompatible shapes, `out` has the wrong shape, or the arrays are on different devices."""


def docstring(ufunc: np.ufunc) -> str:
    """Return the docstring of a ufunc of clarray's. For a ufunc without a public name it is NumPy's."""
    name = ufunc.__name__
    text = TEXTS.get(name)
    if text is None:
        return str(ufunc.__doc__)
    # no device supports times, objects or strings
    loops = [loop.partition("->") for loop in ufunc.types if _ON_DEVICES.issuperset(loop)]
    bools = all(outs == "?" for _, _, outs in loops)
    results = text.results or ("DeviceArray of bool" if bools else "DeviceArray",)
    if ufunc.nout == 1 and ufunc.signature is None:
        results = (f"{results[0]}\n    A NumPy scalar if all operands are Python or NumPy scalars.",)
    parts = [
        text.summary,
        _section("Parameters", *_operands(ufunc, [ins for ins, _, _ in loops]), *_keywords(ufunc)),
        _section("Returns", *results),
        _RAISES,
    ]
    if text.see:
        parts.append(_section("See Also", text.see))
    if note := _note(ufunc):
        parts.append(_section("Notes", note))
    parts.append(_section("Examples", f">>> import clarray\n>>> clarray.{text.example}"))
    return "\n\n".join(parts)


def _section(title: str, *entries: str) -> str:
    return "\n".join((title, "-" * len(title), *entries))


def _operands(ufunc: np.ufunc, loops: list[str]) -> list[str]:
    """Return the entries of the operands, from the dtypes of each loop."""
    kinds = ["".join(sorted({_KINDS[characters[k]] for characters in loops})) for k in range(ufunc.nin)]
    texts = [_OPERANDS.get(kind, "Numbers.") for kind in kinds]
    if ufunc.nin == 1:
        return [f"x : array_like\n    {texts[0]}"]
    if ufunc.signature is None:
        texts[-1] += " The operands broadcast against each other."
    if kinds[0] == kinds[1]:
        return [f"x1, x2 : array_like\n    {texts[-1]}"]
    return [f"x{k} : array_like\n    {text}" for k, text in enumerate(texts, 1)]


def _keywords(ufunc: np.ufunc) -> tuple[str, str, str]:
    out = _OUT if ufunc.nout == 1 else _OUTS
    which = _WHERE if ufunc.signature is None else _AXES
    return out, which.format(name=ufunc.__name__), _OTHERS.format(name=ufunc.__name__)


def _note(ufunc: np.ufunc) -> str:
    """Return the bound on the error of a ufunc that is not correctly rounded."""
    row = supported_ufuncs.get(ufunc)
    if row is None or row.ulp == 0.5 or ufunc is np.sign:  # the signs of real numbers are exact
        return ""
    unit = "of the larger operand" if ufunc in (np.logaddexp, np.logaddexp2) else "of the result"
    units = "unit" if row.ulp == 1 else "units"
    return (
        f"The measured error of float32 and float64 results is at most {row.ulp:g} {units} in the last place {unit}.\n"
        "Devices differ within this bound."
    )
