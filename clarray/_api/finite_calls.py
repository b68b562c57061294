"""Calls that `clarray.config.check_finite` looks at: what they are given and write, what an element is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from clarray._engine.values import dataclass

__all__ = ["GIVES_INPUTS", "Call", "understood"]

# What gives whatever was in memory, in a file or in a text, or reads bits as floats: an input, whatever it holds.
GIVES_INPUTS = (
    *("empty", "empty_like", "load", "loadtxt", "genfromtxt", "fromfile", "fromregex", "fromstring", "frombuffer"),
    *("view", "from_dlpack", "asarray", "asanyarray"),
)
_REDUCING = ("sum", "prod", "mean", "var", "std", "max", "min", "amax", "amin")  # their second parameter is the axis
_WRITING = ("__setitem__", "fill", "put", "set", "copyto", "place", "putmask", "put_along_axis", "fill_diagonal")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of the user's.

    Attributes
    ----------
    name : str
        What it is called in messages.
    operands : tuple
        What it was given, arrays or not.
    written : tuple
        Arrays that it writes to.
    where : array_like of bool
        Where a result has been computed.
    manner : str
        'each': an element is of the operands' elements that it is broadcast with; 'reduced': of a row or more of the
        one operand that is an array; 'whole': of any.
    """

    name: str
    operands: tuple[Any, ...]
    written: tuple[Any, ...] = ()
    where: Any = True
    manner: str = "whole"
    axis: Any = None
    keepdims: bool = False

    def fitted(self, masks: list[Any], shape: tuple[int, ...]) -> list[Any] | None:
        """The operands' masks as masks of a result of this shape; None where an element may be of any."""
        if self.manner == "reduced":
            masks = [m.all(axis=self.axis, keepdims=self.keepdims) if np.ndim(m) else m for m in masks]
        elif self.manner != "each":
            return None
        try:
            fits = np.broadcast_shapes(shape, *map(np.shape, masks)) == shape
        except ValueError:
            return None
        return masks if fits else None


def understood(name: str, operators: Mapping[str, str], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call:
    """Read a call of a method or function of this name."""
    out = kwargs.get("out")
    written = out if isinstance(out, tuple) else (out,)
    named = tuple(value for key, value in kwargs.items() if key != "out")
    if name == "__array_function__":
        return understood(args[1].__name__, {}, args[3], args[4])
    if name == "__array_ufunc__":
        return _of_ufunc(args[1], args[2], args[3:], kwargs, written)
    if name in operators:
        each = "whole" if operators[name] == "matmul" else "each"
        changed = args[:1] if name.startswith("__i") and name != "__invert__" else ()
        return Call(name=operators[name], operands=args, written=changed, manner=each)
    owner = args[0] if args else None
    ufunc = getattr(owner, "ufunc", None)
    if isinstance(ufunc, np.ufunc):
        return _of_ufunc(ufunc, name, args[1:], kwargs, written)
    if name == "__call__":
        return Call(name=f"kernel {getattr(owner, 'name', owner)!r}", operands=(*args[1:], *named), written=written)
    if name in _REDUCING:
        return _reducing(name, args, kwargs, written)
    changed = args[:1] if name in _WRITING else ()
    if changed and args[-1] is None:  # which NumPy writes as NaN
        args = (*args, np.nan)
    return Call(name=name, operands=(*args, *named), written=(*written, *changed))


def _of_ufunc(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: Mapping[str, Any], written: tuple[Any, ...]
) -> Call:
    name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    if method == "reduce":
        return _reducing(name, inputs, {"axis": 0, **kwargs}, written)
    if method == "at":
        return Call(name=name, operands=inputs, written=inputs[:1])
    if method != "__call__" or ufunc.signature is not None:
        return Call(name=name, operands=inputs, written=written)
    given, outputs = inputs[: ufunc.nin], (*written, *inputs[ufunc.nin :])
    where = kwargs.get("where", True)
    return Call(name=name, operands=given, written=outputs, where=where, manner="each")


def _reducing(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], written: tuple[Any, ...]) -> Call:
    axis = args[1] if len(args) > 1 else kwargs.get("axis")
    operands = (args[:1] or (kwargs.get("a"),)) + (kwargs.get("initial", None),)
    plain = len(args) <= 2 and kwargs.get("where", True) is True
    manner = "reduced" if plain else "whole"
    return Call(
        name=name,
        operands=operands if plain else (*args, *kwargs.values()),
        written=written,
        manner=manner,
        axis=axis,
        keepdims=kwargs.get("keepdims") is True,
    )
