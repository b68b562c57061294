"""Calls that `clarray.config.check_finite` checks: their operands and outputs, and the dependence of elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from clarray._engine.fast_dataclass import dataclass

__all__ = ["INPUT_FUNCTIONS", "Call", "parse_call"]

# Functions whose results are inputs: the contents of memory, of a file or of a string, or bits read as floats.
INPUT_FUNCTIONS = (
    *("empty", "empty_like", "load", "loadtxt", "genfromtxt", "fromfile", "fromregex", "fromstring", "frombuffer"),
    *("view", "from_dlpack", "asarray", "asanyarray"),
)
_REDUCTIONS = ("sum", "prod", "mean", "var", "std", "max", "min", "amax", "amin")  # their second parameter is the axis
_WRITING_FUNCTIONS = (
    "__setitem__",
    "fill",
    "put",
    "set",
    "copyto",
    "place",
    "putmask",
    "put_along_axis",
    "fill_diagonal",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of the user's.

    Attributes
    ----------
    name : str
        Name in messages.
    operands : tuple
        Arguments, arrays or not.
    written : tuple
        Arrays that the call writes to.
    where : array_like of bool
        Elements of the result that are computed.
    dependence : str
        'each': an element depends on the operands' elements at its position. 'reduced': it depends on a line or more
        of the only operand that is an array. 'whole': it depends on all elements.
    """

    name: str
    operands: tuple[Any, ...]
    written: tuple[Any, ...] = ()
    where: Any = True
    dependence: str = "whole"
    axis: Any = None
    keepdims: bool = False

    def broadcast_masks(self, masks: list[Any], shape: tuple[int, ...]) -> list[Any] | None:
        """Map masks of the operands to masks of a result, or return None if an element may depend on all elements."""
        if self.dependence == "reduced":
            masks = [m.all(axis=self.axis, keepdims=self.keepdims) if np.ndim(m) else m for m in masks]
        elif self.dependence != "each":
            return None
        try:
            fits = np.broadcast_shapes(shape, *map(np.shape, masks)) == shape
        except ValueError:
            return None
        return masks if fits else None


def parse_call(name: str, operators: Mapping[str, str], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call:
    """Parse a call of the method or function `name`."""
    out = kwargs.get("out")
    written = out if isinstance(out, tuple) else (out,)
    keyword_operands = tuple(value for key, value in kwargs.items() if key != "out")
    if name == "__array_function__":
        return parse_call(args[1].__name__, {}, args[3], args[4])
    if name == "__array_ufunc__":
        return _parse_ufunc_call(args[1], args[2], args[3:], kwargs, written)
    if name in operators:
        dependence = "whole" if operators[name] == "matmul" else "each"
        updated = args[:1] if name.startswith("__i") and name != "__invert__" else ()
        return Call(name=operators[name], operands=args, written=updated, dependence=dependence)
    owner = args[0] if args else None
    ufunc = getattr(owner, "ufunc", None)
    if isinstance(ufunc, np.ufunc):
        return _parse_ufunc_call(ufunc, name, args[1:], kwargs, written)
    if name == "__call__":
        return Call(
            name=f"kernel {getattr(owner, 'name', owner)!r}", operands=(*args[1:], *keyword_operands), written=written
        )
    if name in _REDUCTIONS:
        return _parse_reduction(name, args, kwargs, written)
    updated = args[:1] if name in _WRITING_FUNCTIONS else ()
    if updated and args[-1] is None:  # NumPy writes None as NaN
        args = (*args, np.nan)
    return Call(name=name, operands=(*args, *keyword_operands), written=(*written, *updated))


def _parse_ufunc_call(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: Mapping[str, Any], written: tuple[Any, ...]
) -> Call:
    name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    if method == "reduce":
        return _parse_reduction(name, inputs, {"axis": 0, **kwargs}, written)
    if method == "at":
        return Call(name=name, operands=inputs, written=inputs[:1])
    if method != "__call__" or ufunc.signature is not None:
        return Call(name=name, operands=inputs, written=written)
    operands, outputs = inputs[: ufunc.nin], (*written, *inputs[ufunc.nin :])
    where = kwargs.get("where", True)
    return Call(name=name, operands=operands, written=outputs, where=where, dependence="each")


def _parse_reduction(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], written: tuple[Any, ...]) -> Call:
    axis = args[1] if len(args) > 1 else kwargs.get("axis")
    operands = (args[:1] or (kwargs.get("a"),)) + (kwargs.get("initial", None),)
    is_simple = len(args) <= 2 and kwargs.get("where", True) is True
    dependence = "reduced" if is_simple else "whole"
    return Call(
        name=name,
        operands=operands if is_simple else (*args, *kwargs.values()),
        written=written,
        dependence=dependence,
        axis=axis,
        keepdims=kwargs.get("keepdims") is True,
    )
