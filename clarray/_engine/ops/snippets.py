"""C snippets of the user's as operations: their parameters and their C functions.

A snippet is a C function whose name has a digest of its text, so that equal snippets share a program in all processes.
``#line`` precedes its text, so that messages of the compiler refer to the user's own lines. Macros and functions of a
preamble have the digest in their names, as one program may have several snippets.
"""

from __future__ import annotations

import hashlib
import keyword
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

import numpy as np

from clarray._engine.fast_dataclass import dataclass
from clarray._engine.ops.ctype import Dialect, compute_type
from clarray._engine.ops.dtypes import DTYPES, dtype_row
from clarray._engine.ops.forms import Form, Row
from clarray._engine.ops.snippet_vectors import vector_lines
from clarray._engine.ops.ufuncs import Loop, next_code

__all__ = [
    "INDEX",
    "SIZE",
    "Parameter",
    "Snippet",
    "check_kernel_name",
    "functions_in",
    "mentions",
    "parse_parameters",
    "snippet_loop",
    "visible_type",
]

INDEX, SIZE = "i", "n"  # predefined in every snippet: the position in C order, and the number of elements
_LONG = np.dtype(np.int64)
_IDENTIFIER = r"[A-Za-z_]\w*\Z"
_CALL = r"\b(cu_\w+?_[0-9a-f]{12})(?:_w(\d+))?\b"
_C_WORDS = frozenset(
    (
        "auto",
        "bool",
        "break",
        "case",
        "char",
        "const",
        "constant",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "float",
        "for",
        "global",
        "goto",
        "half",
        "if",
        "inline",
        "int",
        "kernel",
        "local",
        "long",
        "private",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "typedef",
        "uchar",
        "uint",
        "ulong",
        "union",
        "unsigned",
        "ushort",
        "void",
        "volatile",
        "while",
    )
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A declared parameter.

    Parameters
    ----------
    name : str
    type : str
        A dtype's name, or a letter that stands for the argument's dtype.
    raw : bool
        Whether the snippet gets the whole array.
    """

    name: str
    type: str
    raw: bool = False

    @property
    def dtype(self) -> np.dtype | None:
        """The declared dtype; None for a letter."""
        return None if len(self.type) == 1 else np.dtype(self.type)

    def __str__(self) -> str:
        return f"{'raw ' if self.raw else ''}{self.type} {self.name}"


def parse_parameters(text: str, role: str) -> tuple[Parameter, ...]:
    """Parse declarations such as ``'T x, raw float32 y'``; `role` is their name in error messages.

    Raises
    ------
    TypeError
        `text` is not a string.
    ValueError
        A declaration is invalid; the message shows valid ones.
    """
    if not isinstance(text, str):
        raise TypeError(f"{role} must be a string such as 'T x, float32 y', not {type(text).__name__}")
    declarations = [declaration.split() for declaration in text.split(",")] if text.strip() else []
    declared = []
    for words in declarations:
        raw = words[:1] == ["raw"]
        if len(words) - raw != 2:
            raise ValueError(
                f"{role}: cannot read {' '.join(words)!r}; a parameter is written 'float32 x', 'T x' or 'raw T x', "
                "with commas between"
            )
        declared.append(Parameter(words[-1], _type(words[-2], role), raw))
        _check_name(declared[-1].name, role)
    names = [p.name for p in declared]
    if len(set(names)) < len(names) or {p.type for p in declared} & set(names):
        raise ValueError(f"{role}: a name is used twice in {text!r}")
    return tuple(declared)


def _type(word: str, role: str) -> str:
    if len(word) == 1 and word.isalpha():
        if not word.isupper():
            raise ValueError(f"{role}: the letter that stands for a dtype must be a capital, not {word!r}")
        return word
    try:
        dtype = np.dtype(word)
    except TypeError:
        dtype = None
    if dtype not in DTYPES:
        names = ", ".join(d.name for d in DTYPES)
        raise ValueError(f"{role}: {word!r} is no dtype; use one of {names}, or one capital for the argument's own")
    return DTYPES[dtype].dtype.name


def _check_name(name: str, role: str) -> None:
    if not re.match(_IDENTIFIER, name) or name in _C_WORDS or name.startswith(("_", "clarray")):
        raise ValueError(f"{role}: {name!r} cannot be the name of a variable in C")
    if name in (INDEX, SIZE):
        raise ValueError(f"{role}: {name!r} is the {'position' if name == INDEX else 'number of elements'} already")


def check_kernel_name(name: str) -> str:
    """Return a kernel's name; raise ValueError if it is not a C identifier."""
    if not isinstance(name, str) or not re.match(_IDENTIFIER, name) or name in _C_WORDS or keyword.iskeyword(name):
        raise ValueError(f"a kernel's name must be an identifier, not {name!r}")
    return name


@lru_cache(maxsize=1024)  # called for each call of a kernel
def mentions(text: str, name: str) -> bool:
    """Return whether a name occurs in C text."""
    return re.search(rf"\b{re.escape(name)}\b", text) is not None


def visible_type(dtype: np.dtype) -> str:
    """Return the C type of values in a snippet: bool for bool, and float for float16."""
    return "bool" if dtype.kind == "b" else str(compute_type(dtype))


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """A snippet at given dtypes.

    Parameters
    ----------
    name : str
        Name of the user's lines in messages of the compiler.
    text : str
        Statements that assign the outputs, or the expression to return if there are no outputs.
    inputs, outputs : tuple of (str, dtype, bool)
        Name, dtype and whether the array is passed whole.
    types : tuple of (str, dtype)
        Letters and their dtypes.
    preamble : str
        Definitions.
    result : dtype, optional
        Dtype of an expression.
    """

    name: str
    text: str
    inputs: tuple[tuple[str, np.dtype, bool], ...]
    outputs: tuple[tuple[str, np.dtype, bool], ...]
    types: tuple[tuple[str, np.dtype], ...]
    preamble: str
    result: np.dtype | None = None

    @property
    def returned(self) -> np.dtype | None:
        """The dtype of the return value; None if the function writes through pointers."""
        if not self.outputs:
            return self.result
        return self.outputs[0][1] if len(self.outputs) == 1 and not self.outputs[0][2] else None

    @property
    def function(self) -> str:
        """The C function's name: equal snippets have equal names, in every process."""
        function = _functions.get(self)
        if function is None:
            digest = hashlib.sha256(repr(self).encode()).hexdigest()[:12]
            function = f"cu_{''.join(c if c.isalnum() else '_' for c in self.name)}_{digest}"
            _snippets.setdefault(function, self)
            _functions[self] = function
        return function

    def parameters(self) -> list[str]:
        """Return the declarations of the function's parameters."""
        declarations = []
        for name, dtype, raw in self.inputs:
            if raw:
                declarations += [f"__global const {dtype_row(dtype).storage} *{name}", f"const long {name}_size"]
            else:
                declarations.append(f"const {visible_type(dtype)} {name}")
        for name, dtype, raw in self.outputs:
            if raw:
                declarations += [f"__global {dtype_row(dtype).storage} *{name}", f"const long {name}_size"]
            elif self.returned is None:
                declarations.append(f"{visible_type(dtype)} *clarray_{name}")
        return declarations


_snippets: dict[str, Snippet] = {}
_functions: dict[Snippet, str] = {}
_loops: dict[str, Loop] = {}


def snippet_loop(snippet: Snippet) -> Loop:
    """Return the interned operation of a snippet that returns a value and takes no raw array."""
    function = snippet.function
    loop = _loops.get(function)
    if loop is None:
        assert snippet.returned is not None
        loop = Loop(Row(snippet.name, {}), np.positive, Form(_call_text(function), "exact"), next_code())
        loop.in_dtypes = tuple(d for _, d, _ in snippet.inputs)
        loop.out_dtype = snippet.returned
        loop = _loops.setdefault(function, loop)
    return loop


def _call_text(function: str) -> Any:
    return lambda loop, args, dialect: f"{function}_w{dialect.width}({', '.join(args)})"


# C text -------------------------------------------------------------------------------------------


def functions_in(body: str, dialect: Dialect) -> str:
    """Return the definitions of the snippets that `body` calls, at the widths of these calls.

    ``#line @`` marks the first line that is not the user's: see `clarray._engine.codegen.render.source`.
    """
    definitions: dict[str, None] = {}
    for match in re.finditer(_CALL, body):
        function, width = match.groups()
        definitions[_definition(function)] = None
        if width:
            definitions[_wrapper(function, replace(dialect, width=int(width)))] = None
    return "".join(definitions)


@cache
def _definition(function: str) -> str:
    snippet = _snippets[function]
    lines = [f"#define {letter} {visible_type(dtype)}" for letter, dtype in snippet.types]
    defined = _defined_names(snippet.preamble)
    lines += [f"#define {name} {name}_{function[-12:]}" for name in defined]
    if snippet.preamble.strip():
        lines += [f'#line 1 "{snippet.name} preamble"', snippet.preamble, "#line @"]
    returned = snippet.returned
    kind = "void" if returned is None else visible_type(returned)
    lines.append(f"HELPER {kind} {function}({', '.join(snippet.parameters()) or 'void'}) {{")
    user = [f'#line 1 "{snippet.name}"', snippet.text, "#line @"]
    if snippet.outputs:
        variables = [(n, visible_type(d)) for n, d, raw in snippet.outputs if not raw]
        lines += [f"{t} {n} = ({t})(0);" for n, t in variables]
        lines += ["{", *user, ";", "}"]
        lines += [f"return {n};" if returned is not None else f"*clarray_{n} = {n};" for n, _ in variables]
    else:
        lines += [f"return ({kind})(", *user, ");"]
    lines.append("}")
    lines += [f"#undef {name}" for name in (*defined, *(letter for letter, _ in snippet.types))]
    lines += [f"#undef {name}" for name in re.findall(r"^\s*#\s*define\s+(\w+)", snippet.preamble, re.MULTILINE)]
    return "\n".join(lines) + "\n"


def _defined_names(preamble: str) -> list[str]:
    """Return the names of functions, types and constants that a preamble defines, without its macros."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", preamble, flags=re.DOTALL)
    text = re.sub(r"^\s*#(?:[^\n\\]|\\.)*", " ", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)", " ", text, flags=re.DOTALL)
    depth, outside = 0, []
    for character in text:
        depth -= character == "}"
        outside.append(character if depth == 0 else " ")
        depth += character == "{"
    plain = re.sub(r"=[^;]*", "=", "".join(outside))  # without initializers, which may call C's own functions
    names = re.findall(r"\b([A-Za-z_]\w*)\s*(?=[(=;\[])", plain) + re.findall(r"\b(?:struct|union|enum)\s+(\w+)", plain)
    return sorted({name for name in names if not name.startswith("_") and name not in _C_WORDS and name != "HELPER"})


@cache
def _wrapper(function: str, dialect: Dialect) -> str:
    """Return the definition of a snippet's function on kernels' types: on vectors, or lane by lane."""
    snippet = _snippets[function]
    width, out = dialect.width, snippet.returned
    assert out is not None
    dtypes = [d for _, d, _ in snippet.inputs]
    params = ", ".join(f"const {compute_type(d, width)} x{k}" for k, d in enumerate(dtypes))
    kind = compute_type(out, width)
    minus = "-(char)" if out.kind == "b" else ""
    lines = [f"HELPER {kind} {function}_w{width}({params or 'void'}) {{"]
    vectors = vector_lines(snippet, dialect) if width > 1 else None
    if vectors is not None:
        body, value = vectors
        lines += body
    elif width == 1:
        value = f"{minus}{function}({arguments([f'x{k}' for k in range(len(dtypes))], dtypes)})"
    else:
        for k, d in enumerate(dtypes):
            lines += [f"{compute_type(d)} a{k}[{width}];", f"vstore{width}(x{k}, 0, a{k});"]
        call = f"{function}({arguments([f'a{k}[l]' for k in range(len(dtypes))], dtypes)})"
        lines += [f"{kind.lane} r[{width}];", f"for (int l = 0; l < {width}; ++l) r[l] = {minus}{call};"]
        value = f"vload{width}(0, r)"
    return "\n".join([*lines, f"return {dtype_row(out).rounded(value, kind)};", "}"]) + "\n"


def arguments(names: Sequence[str], dtypes: Sequence[np.dtype]) -> str:
    """Return the arguments of a snippet's function, converted from kernels' types."""
    return ", ".join(f"{n} != 0" if d.kind == "b" else n for n, d in zip(names, dtypes, strict=True))
