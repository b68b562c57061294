"""Vector code for snippets of plain arithmetic, as CPU compilers do not vectorize a loop over lanes.

It covers operations that are the same for a vector as for each lane: sums, products, quotients and math functions of
values of one type, none narrower than int. All other snippets run lane by lane. Such expressions have the same meaning
in C and in Python, so Python's own parser reads them.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import numpy as np

from clarray._engine.ops.ctype import Dialect, compute_type
from clarray._engine.ops.dtypes import wide_dtype
from clarray._engine.ops.ufuncs import emit, find_loop

if TYPE_CHECKING:
    from clarray._engine.ops.snippets import Snippet

__all__ = ["vector_lines"]

_FUNCTIONS: dict[str, np.ufunc] = {
    **{
        name: getattr(np, name)
        for name in (
            "exp",
            "exp2",
            "expm1",
            "log",
            "log2",
            "log10",
            "log1p",
            "sqrt",
            "sin",
            "cos",
            "tan",
            "sinh",
            "cosh",
            "tanh",
            "fabs",
            "floor",
            "ceil",
            "trunc",
            "rint",
            "fmin",
            "fmax",
            "hypot",
        )
    },
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "pow": np.power,
}
_OPERATORS: dict[type[ast.operator], np.ufunc] = {ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply}
_NUMBER = r"(?<![\w.])((?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?)(f?)(?![\w.])"
_STATEMENT = r"(?s)\s*(?:(?:const\s+)?(\w+)\s+)?(\w+)\s*([-+*/]?)=(?!=)(.*)"


class _NoArithmetic(Exception):
    """Raised for a snippet with more than arithmetic."""


def vector_lines(snippet: Snippet, dialect: Dialect) -> tuple[list[str], str] | None:
    """Return statements on the vectors ``x0, x1, ...`` and the result's name; None for other than arithmetic."""
    out = snippet.returned
    dtypes = {d for _, d, _ in snippet.inputs}
    if out is None or dtypes != {out} or snippet.preamble.strip() or out.kind not in "iuf":
        return None
    if out.kind in "iu" and out.itemsize < 4:
        return None
    if re.search(r"//|/\*|#|\\", snippet.text):
        return None
    try:
        return _VectorWriter(snippet, out, dialect).write()
    except (_NoArithmetic, SyntaxError, RecursionError, TypeError):  # TypeError: no such loop
        return None


class _VectorWriter:
    """Translates a snippet's statements to vector code."""

    def __init__(self, snippet: Snippet, dtype: np.dtype, dialect: Dialect) -> None:
        self._snippet = snippet
        self._dtype = wide_dtype(dtype)
        self._dialect = dialect
        self._type = str(compute_type(self._dtype, dialect.width))
        self._values = {name: f"x{k}" for k, (name, _, _) in enumerate(snippet.inputs)}
        self._lines: list[str] = []
        self._numbers: dict[str, str] = {}

    def write(self) -> tuple[list[str], str]:
        snippet = self._snippet
        if not snippet.outputs:
            return self._lines, self._expression(snippet.text)
        result = snippet.outputs[0][0]
        letters = {letter for letter, dtype in snippet.types if dtype == snippet.returned}
        letters.add(str(compute_type(self._dtype)))
        inputs = {name for name, _, _ in snippet.inputs}
        for statement in snippet.text.split(";"):
            if not statement.strip():
                continue
            match = re.fullmatch(_STATEMENT, statement)
            if match is None:
                raise _NoArithmetic
            kind, name, operator, text = match.groups()
            declares = kind is not None
            if (declares and (kind not in letters or name in self._values or name == result)) or name in inputs:
                raise _NoArithmetic
            if not declares and name != result and name not in self._values:
                raise _NoArithmetic
            if operator:
                if name not in self._values:
                    raise _NoArithmetic
                text = f"{name} {operator} ({text})"
            self._values[name] = self._expression(text)
        if result not in self._values:
            raise _NoArithmetic
        return self._lines, self._values[result]

    def _expression(self, text: str) -> str:
        def number(match: re.Match[str]) -> str:
            digits, suffix = match.groups()
            is_integer = digits.isdigit()
            single = self._dtype == np.float32
            if not is_integer and (self._dtype.kind != "f" or single != bool(suffix)):
                raise _NoArithmetic  # C computes it in another type than the values'
            if is_integer and (suffix or (len(digits) > 1 and digits[0] == "0") or int(digits) >= 2**31):
                raise _NoArithmetic
            name = f"_number{len(self._numbers)}"
            self._numbers[name] = match.group(0)
            return name

        if "_number" in text:
            raise _NoArithmetic
        tree = ast.parse(f"({re.sub(_NUMBER, number, text).strip()})", mode="eval")
        return self._emit(tree.body)

    def _emit(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            if node.id in self._numbers:
                return self._assign(f"({self._type})({self._numbers[node.id]})")
            if node.id in self._values:
                return self._values[node.id]
        elif isinstance(node, ast.BinOp):
            if self._is_int(node.left) and self._is_int(node.right):
                raise _NoArithmetic  # C computes it in int
            a, b = self._emit(node.left), self._emit(node.right)
            if isinstance(node.op, ast.Div) and self._dtype.kind == "f":
                return self._assign(f"{a} / {b}")
            if type(node.op) in _OPERATORS:
                return self._apply(_OPERATORS[type(node.op)], a, b)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not self._is_int(node.operand):
            return self._apply(np.negative, self._emit(node.operand))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            return self._call(node.func.id, [self._emit(a) for a in node.args])
        raise _NoArithmetic

    def _call(self, name: str, args: list[str]) -> str:
        if name in self._values:
            raise _NoArithmetic
        if name in ("max", "min") and len(args) == 2:
            a, b = args
            return self._assign(f"({a} < {b}) ? {b} : {a}" if name == "max" else f"({b} < {a}) ? {b} : {a}")
        ufunc = _FUNCTIONS.get(name)
        if ufunc is None or ufunc.nin != len(args) or self._dtype.kind != "f":
            raise _NoArithmetic
        return self._apply(ufunc, *args)

    def _is_int(self, node: ast.expr) -> bool:
        """Return whether C reads a constant as an int."""
        if isinstance(node, ast.UnaryOp):
            return self._is_int(node.operand)
        return isinstance(node, ast.Name) and self._numbers.get(node.id, "").isdigit() and self._dtype.kind == "f"

    def _apply(self, ufunc: np.ufunc, *args: str) -> str:
        loop = find_loop(ufunc, (self._dtype,) * len(args), (self._dtype,))
        return self._assign(emit(loop, list(args), self._dialect))

    def _assign(self, text: str) -> str:
        name = f"v{len(self._lines)}"
        self._lines.append(f"const {self._type} {name} = {text};")
        return name
