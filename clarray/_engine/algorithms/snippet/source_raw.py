"""Kernels that a user has written whole: their parameters are read, and arrays may begin anywhere in a memory.

OpenCL hands a kernel memories, and an array may begin in the midst of one. So a pointer to global memory has beside it
where its array begins, in bytes, and is made of both in the first line of the kernel:

    kernel void f(global const float *x, int n) {                what the user writes
    kernel void f(global const float *x_0, long x_1, int n) { global const float *x = x_0 and x_1 bytes more;

Lines keep their numbers, so that the compiler's messages name the user's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from clarray._engine.fast_dataclass import dataclass
from clarray._engine.ops.dtypes import DTYPES

__all__ = ["POINTED", "Parameter", "RawKernelSource", "macros", "read_kernel"]

_IGNORED = r"(?s)/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
_NAME = r"([A-Za-z_]\w*)\s*(\[[^\]]*\])?\s*$"
_QUALIFIERS = (
    r"\b(?:const|restrict|__restrict|__restrict__|volatile|signed|private|__private|(?:__)?(?:global|constant|local))\b"
)
_SPACE = r"\b(?:__)?(global|constant|local)\b"
_MACRO = r"(?s)-D\s*([A-Za-z_]\w*)(?:=(.*))?"
_SCALARS = {row.storage: dtype.name for dtype, row in DTYPES.items() if dtype.kind != "b"}
_UNSIGNED = {f"unsigned {word}": f"u{word}" for word in ("char", "short", "int", "long")} | {
    "unsigned": "uint",
    "": "int",
}
# Whose elements a pointer may look at, by what it points to; of anything else whatever is passed.
POINTED = {
    **{word: {_SCALARS[word], _SCALARS[f"u{word}"]} for word in ("short", "int", "long")},
    "char": {"int8", "uint8", "bool"},
    "half": {_SCALARS["half"]},
    "float": {_SCALARS["float"], _SCALARS["float2"]},
    "double": {_SCALARS["double"], _SCALARS["double2"]},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of a kernel.

    Attributes
    ----------
    text : str
        Its declaration.
    name : str
    space : str
        'global', 'constant' or 'local' of a pointer; '' of a value.
    const : bool
        Whether nothing is written through it.
    type : str
        What it is, or points to, without qualifiers.
    """

    text: str
    name: str
    space: str
    const: bool
    type: str

    @property
    def dtype(self) -> str | None:
        """Of a value: NumPy's name of its type; None of one that is no scalar of OpenCL's."""
        return _SCALARS.get(self.type)

    @property
    def pointed(self) -> set[str] | None:
        """Of a pointer: the dtypes that it may look at; None for any."""
        return POINTED.get(re.sub(r"(?<=[a-z])(?:2|3|4|8|16)$", "", self.type).removeprefix("u"))


@dataclass(frozen=True, slots=True)
class RawKernelSource:
    """A kernel of a source, and where it stands there: its parameters begin and end, and its body begins."""

    code: str
    name: str
    parameters: tuple[Parameter, ...]
    begin: int
    end: int
    body: int

    def text(self, types: Sequence[str], local_bytes: int) -> str:
        """The source in which arrays may begin anywhere.

        Parameters
        ----------
        types : sequence of str
            Of the arguments that are passed: one source has one list.
        local_bytes : int
            Of the memory that the work-items of a group share.
        """
        declared, first = [], []
        for number, p in enumerate(self.parameters):
            base, start, shared = (f"clarray_{part}_{number}" for part in ("base", "start", "shared"))
            pointer = re.sub(r"\b(?:restrict|__restrict|__restrict__)\b", "", _as_pointer(p))
            kind = pointer[: pointer.rindex(p.name)] if p.space else ""
            if not p.space:
                declared.append(p.text)
            elif p.space == "local":
                first.append(f"__local uchar {shared}[{local_bytes}] __attribute__((aligned(128)));")
                first.append(f"{pointer} = ({kind}){shared};")
            else:
                constant = "const " if p.const else ""
                declared += [f"{kind}{base}", f"const long {start}"]
                first.append(f"{pointer} = ({kind})((__{p.space} {constant}uchar *){base} + {start});")
        lines = "\n" * self.code.count("\n", self.begin, self.end)
        head = f"{self.code[: self.begin]}{', '.join(declared)}{lines}{self.code[self.end : self.body]}"
        tail = f"\n// {self.name}: {', '.join(types)}\n"
        return f"{head} {' '.join(first)}{self.code[self.body :]}{tail}"


def _as_pointer(p: Parameter) -> str:
    """The declaration with ``*x`` where the user has written ``x[]``."""
    return re.sub(rf"\b{p.name}\s*\[[^\]]*\]\s*$", f"*{p.name}", p.text) if p.space else p.text


def read_kernel(code: str, name: str) -> RawKernelSource:
    """Find a kernel in OpenCL C.

    Raises
    ------
    ValueError
        There is no such kernel, or its parameters cannot be read.
    """
    plain = re.sub(_IGNORED, lambda found: re.sub(r"[^\n]", " ", found[0]), code)
    for found in re.finditer(rf"\b(?:__)?kernel\b[^;{{}}]*?\b{re.escape(name)}\s*\(", plain):
        begin = found.end()
        end = _closing(plain, begin)
        body = re.compile(r"[^;{]*\{").match(plain, end + 1)
        if body is not None:
            parameters = tuple(_parameter(name, text) for text in _split(plain[begin:end]))
            return RawKernelSource(code, name, parameters, begin, end, body.end())
    if re.search(r"\b__global__\b", plain):
        raise ValueError(f"kernel {name!r} is CUDA C; OpenCL C is wanted: `kernel void {name}(global float *x, int n)`")
    raise ValueError(f"there is no `kernel void {name}(...)` in this source")


def _closing(text: str, at: int) -> int:
    """Where the bracket closes that is open at a place."""
    depth = 1
    while depth and at < len(text):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at - 1


def _split(text: str) -> list[str]:
    """Parameters, at commas that no bracket holds."""
    parts, depth, begin = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            parts.append(text[begin:at])
            begin = at + 1
    parts = [" ".join(part.split()) for part in (*parts, text[begin:])]
    return [] if parts in ([""], ["void"]) else parts


def _parameter(kernel: str, text: str) -> Parameter:
    found = re.search(_NAME, text)
    space = re.search(_SPACE, text)
    pointer = "*" in text or (found is not None and found[2] is not None)
    if found is None or pointer != (space is not None) or text.count("*") > 1:
        raise ValueError(
            f"kernel {kernel!r}: the parameter {text!r} cannot be read; write `global float *x`, `constant float *x`, "
            "`local float *x` or `int n`, without macros in place of these words"
        )
    before = text[: found.start()].partition("*")[0]
    kind = " ".join(re.sub(_QUALIFIERS, " ", before).split())
    const = space is not None and (space[1] == "constant" or re.search(r"\bconst\b", before) is not None)
    return Parameter(
        text=text, name=found[1], space=space[1] if space else "", const=const, type=_UNSIGNED.get(kind, kind)
    )


def macros(options: Sequence[str]) -> str:
    r"""Definitions for compiler's options, ``-DNAME`` and ``-DNAME=VALUE``; ValueError for any other.

    Examples
    --------
    >>> macros(("-DN=4",))
    '#define N 4\n#line 1\n'
    """
    lines = []
    for option in options:
        found = re.fullmatch(_MACRO, option.strip())
        if found is None:
            raise ValueError(f"options may define macros, such as '-DN=4': {option!r} has no meaning here")
        lines.append(f"#define {found[1]} {'1' if found[2] is None else found[2]}\n")
    return "".join(lines) + "#line 1\n" * bool(lines)
