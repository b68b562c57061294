"""C snippets of the user's as operations: their parameters, and the functions they become.

A snippet is a C function of its own, named by what it says, so that equal ones share a program whichever process
compiles them. Its text stands behind ``#line``: a compiler's message names the user's own lines. Macros and functions
of a preamble get the digest into their names, as several snippets may meet in one program.
"""

from __future__ import annotations

import hashlib
import keyword
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from clarray._engine.ops.ctype import Dialect, compute_type
from clarray._engine.ops.dtypes import DTYPES, dtype_row
from clarray._engine.ops.forms import Form, Row
from clarray._engine.ops.snippet_vectors import vector_lines
from clarray._engine.ops.ufuncs import Loop, next_code
from clarray._engine.values import dataclass

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

INDEX, SIZE = "i", "n"  # what every snippet may use: the position in C order, and how many there are
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
    """One parameter as declared.

    Parameters
    ----------
    name : str
    type : str
        A dtype's name, or one letter that stands for the dtype of what is passed.
    raw : bool
        Whether the snippet gets the whole array.
    """

    name: str
    type: str
    raw: bool = False

    @property
    def dtype(self) -> np.dtype | None:
        """The dtype, where it is declared."""
        return None if len(self.type) == 1 else np.dtype(self.type)

    def __str__(self) -> str:
        return f"{'raw ' if self.raw else ''}{self.type} {self.name}"


def parse_parameters(text: str, what: str) -> tuple[Parameter, ...]:
    """Read declarations such as ``'T x, raw float32 y'``.

    Raises
    ------
    TypeError
        `text` is no string.
    ValueError
        It cannot be read; the message says how one is written.
    """
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a string such as 'T x, float32 y', not {type(text).__name__}")
    pieces = [piece.split() for piece in text.split(",")] if text.strip() else []
    found = []
    for words in pieces:
        raw = words[:1] == ["raw"]
        if len(words) - raw != 2:
            raise ValueError(
                f"{what}: cannot read {' '.join(words)!r}; a parameter is written 'float32 x', 'T x' or 'raw T x', "
                "with commas between"
            )
        found.append(Parameter(words[-1], _type(words[-2], what), raw))
        _check_name(found[-1].name, what)
    names = [p.name for p in found]
    if len(set(names)) < len(names) or {p.type for p in found} & set(names):
        raise ValueError(f"{what}: a name is used twice in {text!r}")
    return tuple(found)


def _type(word: str, what: str) -> str:
    if len(word) == 1 and word.isalpha():
        if not word.isupper():
            raise ValueError(f"{what}: the letter that stands for a dtype must be a capital, not {word!r}")
        return word
    try:
        dtype = np.dtype(word)
    except TypeError:
        dtype = None
    if dtype not in DTYPES:
        names = ", ".join(d.name for d in DTYPES)
        raise ValueError(f"{what}: {word!r} is no dtype; use one of {names}, or one capital for the argument's own")
    return DTYPES[dtype].dtype.name


def _check_name(name: str, what: str) -> None:
    if not re.match(_IDENTIFIER, name) or name in _C_WORDS or name.startswith(("_", "clarray")):
        raise ValueError(f"{what}: {name!r} cannot be the name of a variable in C")
    if name in (INDEX, SIZE):
        raise ValueError(f"{what}: {name!r} is the {'position' if name == INDEX else 'number of elements'} already")


def check_kernel_name(name: str) -> str:
    """Give the name, which stands in the source; raise ValueError where C would not have it."""
    if not isinstance(name, str) or not re.match(_IDENTIFIER, name) or name in _C_WORDS or keyword.iskeyword(name):
        raise ValueError(f"a kernel's name must be an identifier, not {name!r}")
    return name


@lru_cache(maxsize=1024)  # asked at each call of a kernel
def mentions(text: str, name: str) -> bool:
    """Whether a name occurs in C text."""
    return re.search(rf"\b{re.escape(name)}\b", text) is not None


def visible_type(dtype: np.dtype) -> str:
    """The C type a value has in a snippet: bool is a bool there, and float16 a float."""
    return "bool" if dtype.kind == "b" else str(compute_type(dtype))


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """A snippet at given dtypes.

    Parameters
    ----------
    name : str
        What the compiler calls the user's lines.
    text : str
        Statements that assign the outputs; or, without outputs, the expression that is the value.
    inputs, outputs : tuple of (str, dtype, bool)
        Name, dtype and whether the array is passed whole.
    types : tuple of (str, dtype)
        What the letters stand for.
    preamble : str
        Definitions.
    result : dtype, optional
        Of an expression.
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
        """The dtype of what the function returns; None where it writes through pointers."""
        if not self.outputs:
            return self.result
        return self.outputs[0][1] if len(self.outputs) == 1 and not self.outputs[0][2] else None

    @property
    def function(self) -> str:
        """The C function's name: equal snippets have equal names, in every process."""
        found = _functions.get(self)
        if found is None:
            digest = hashlib.sha256(repr(self).encode()).hexdigest()[:12]
            found = f"cu_{''.join(c if c.isalnum() else '_' for c in self.name)}_{digest}"
            _snippets.setdefault(found, self)
            _functions[self] = found
        return found

    def parameters(self) -> list[str]:
        """Declarations of the function's parameters."""
        found = []
        for name, dtype, raw in self.inputs:
            if raw:
                found += [f"__global const {dtype_row(dtype).storage} *{name}", f"const long {name}_size"]
            else:
                found.append(f"const {visible_type(dtype)} {name}")
        for name, dtype, raw in self.outputs:
            if raw:
                found += [f"__global {dtype_row(dtype).storage} *{name}", f"const long {name}_size"]
            elif self.returned is None:
                found.append(f"{visible_type(dtype)} *clarray_{name}")
        return found


_snippets: dict[str, Snippet] = {}
_functions: dict[Snippet, str] = {}
_loops: dict[str, Loop] = {}


def snippet_loop(snippet: Snippet) -> Loop:
    """The operation of a snippet that returns a value and takes no raw array; interned."""
    function = snippet.function
    found = _loops.get(function)
    if found is None:
        assert snippet.returned is not None
        found = Loop(Row(snippet.name, {}), np.positive, Form(_written(function), "exact"), next_code())
        found.in_dtypes = tuple(d for _, d, _ in snippet.inputs)
        found.out_dtype = snippet.returned
        found = _loops.setdefault(function, found)
    return found


def _written(function: str) -> Any:
    return lambda loop, args, dialect: f"{function}_w{dialect.width}({', '.join(args)})"


# The text -----------------------------------------------------------------------------------------


def functions_in(body: str, dialect: Dialect) -> str:
    """Definitions of the snippets that `body` calls, at the widths it calls them at.

    Lines that are not the user's are told by ``#line @``: see `clarray._engine.codegen.render.source`.
    """
    found: dict[str, None] = {}
    for match in re.finditer(_CALL, body):
        function, width = match.groups()
        found[_definition(function)] = None
        if width:
            found[_wrapper(function, Dialect(int(width), dialect.clang, dialect.fp64, dialect.fp16))] = None
    return "".join(found)


@cache
def _definition(function: str) -> str:
    snippet = _snippets[function]
    lines = [f"#define {letter} {visible_type(dtype)}" for letter, dtype in snippet.types]
    own = _own_names(snippet.preamble)
    lines += [f"#define {name} {name}_{function[-12:]}" for name in own]
    if snippet.preamble.strip():
        lines += [f'#line 1 "{snippet.name} preamble"', snippet.preamble, "#line @"]
    returned = snippet.returned
    kind = "void" if returned is None else visible_type(returned)
    lines.append(f"HELPER {kind} {function}({', '.join(snippet.parameters()) or 'void'}) {{")
    user = [f'#line 1 "{snippet.name}"', snippet.text, "#line @"]
    if snippet.outputs:
        held = [(n, visible_type(d)) for n, d, raw in snippet.outputs if not raw]
        lines += [f"{t} {n} = ({t})(0);" for n, t in held]
        lines += ["{", *user, ";", "}"]
        lines += [f"return {n};" if returned is not None else f"*clarray_{n} = {n};" for n, _ in held]
    else:
        lines += [f"return ({kind})(", *user, ");"]
    lines.append("}")
    lines += [f"#undef {name}" for name in (*own, *(letter for letter, _ in snippet.types))]
    lines += [f"#undef {name}" for name in re.findall(r"^\s*#\s*define\s+(\w+)", snippet.preamble, re.MULTILINE)]
    return "\n".join(lines) + "\n"


def _own_names(preamble: str) -> list[str]:
    """What a preamble defines: functions, types, constants; not its macros, which are undefined afterwards."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", preamble, flags=re.DOTALL)
    text = re.sub(r"^\s*#(?:[^\n\\]|\\.)*", " ", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)", " ", text, flags=re.DOTALL)
    depth, outside = 0, []
    for character in text:
        depth -= character == "}"
        outside.append(character if depth == 0 else " ")
        depth += character == "{"
    plain = re.sub(r"=[^;]*", "=", "".join(outside))  # what a constant starts with may call C's own functions
    found = re.findall(r"\b([A-Za-z_]\w*)\s*(?=[(=;\[])", plain) + re.findall(r"\b(?:struct|union|enum)\s+(\w+)", plain)
    return sorted({name for name in found if not name.startswith("_") and name not in _C_WORDS and name != "HELPER"})


@cache
def _wrapper(function: str, dialect: Dialect) -> str:
    """The function on the types that kernels compute with: on vectors, or one lane after the other."""
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
    """Values of compute types as a snippet takes them."""
    return ", ".join(f"{n} != 0" if d.kind == "b" else n for n, d in zip(names, dtypes, strict=True))
