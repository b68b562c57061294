"""Parse kernels that a user has written, and rewrite their parameters so that arrays may have an offset.

OpenCL passes whole buffers, but an array may start at any offset in its buffer. So each pointer to global memory gets
a second parameter, the offset in bytes. The first line of the kernel computes the pointer from both:

    kernel void f(global const float *x, int n) {                the text of the user
    kernel void f(global const float *x_0, long x_1, int n) { global const float *x = x_0 and x_1 bytes more;

The rewritten text keeps the line numbers, so that messages of the compiler refer to the lines of the user.
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
# The dtypes of arrays that a pointer accepts, by its C type. Pointers to other types accept any dtype.
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
        The declaration.
    name : str
    space : str
        'global', 'constant' or 'local' for a pointer, and '' for a value.
    const : bool
        Whether the kernel cannot write through the pointer.
    type : str
        The type of the value, or of the elements of the pointer, without qualifiers.
    """

    text: str
    name: str
    space: str
    const: bool
    type: str

    @property
    def dtype(self) -> str | None:
        """NumPy's name of the type of a value. None if the type is not a scalar type of OpenCL."""
        return _SCALARS.get(self.type)

    @property
    def pointed(self) -> set[str] | None:
        """The dtypes that a pointer accepts. None if it accepts any dtype."""
        return POINTED.get(re.sub(r"(?<=[a-z])(?:2|3|4|8|16)$", "", self.type).removeprefix("u"))


@dataclass(frozen=True, slots=True)
class RawKernelSource:
    """A kernel in a source text.

    Parameters
    ----------
    code : str
        The source text.
    name : str
    parameters : tuple of Parameter
    begin, end : int
        Positions in the text at which the parameters begin and end.
    body : int
        Position at which the body begins.
    """

    code: str
    name: str
    parameters: tuple[Parameter, ...]
    begin: int
    end: int
    body: int

    def text(self, types: Sequence[str], local_bytes: int) -> str:
        """Return the source text with offsets of arrays.

        Parameters
        ----------
        types : sequence of str
            Types of the arguments.
        local_bytes : int
            Bytes of each parameter in local memory.
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
    """Return the declaration with ``*x`` instead of ``x[]``."""
    return re.sub(rf"\b{p.name}\s*\[[^\]]*\]\s*$", f"*{p.name}", p.text) if p.space else p.text


def read_kernel(code: str, name: str) -> RawKernelSource:
    """Find a kernel in OpenCL C.

    Raises
    ------
    ValueError
        If there is no such kernel, or its parameters cannot be parsed.
    """
    plain = re.sub(_IGNORED, lambda match: re.sub(r"[^\n]", " ", match[0]), code)
    for match in re.finditer(rf"\b(?:__)?kernel\b[^;{{}}]*?\b{re.escape(name)}\s*\(", plain):
        begin = match.end()
        end = _closing(plain, begin)
        body = re.compile(r"[^;{]*\{").match(plain, end + 1)
        if body is not None:
            parameters = tuple(_parameter(name, text) for text in _split(plain[begin:end]))
            return RawKernelSource(code, name, parameters, begin, end, body.end())
    if re.search(r"\b__global__\b", plain):
        raise ValueError(f"kernel {name!r} is CUDA C; OpenCL C is wanted: `kernel void {name}(global float *x, int n)`")
    raise ValueError(f"there is no `kernel void {name}(...)` in this source")


def _closing(text: str, at: int) -> int:
    """Return the position of the bracket that closes the bracket before `at`."""
    depth = 1
    while depth and at < len(text):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at - 1


def _split(text: str) -> list[str]:
    """Split parameters at commas outside of brackets."""
    parts, depth, begin = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            parts.append(text[begin:at])
            begin = at + 1
    parts = [" ".join(part.split()) for part in (*parts, text[begin:])]
    return [] if parts in ([""], ["void"]) else parts


def _parameter(kernel: str, text: str) -> Parameter:
    name = re.search(_NAME, text)
    space = re.search(_SPACE, text)
    pointer = "*" in text or (name is not None and name[2] is not None)
    if name is None or pointer != (space is not None) or text.count("*") > 1:
        raise ValueError(
            f"kernel {kernel!r}: the parameter {text!r} cannot be read; write `global float *x`, `constant float *x`, "
            "`local float *x` or `int n`, without macros in place of these words"
        )
    before = text[: name.start()].partition("*")[0]
    kind = " ".join(re.sub(_QUALIFIERS, " ", before).split())
    const = space is not None and (space[1] == "constant" or re.search(r"\bconst\b", before) is not None)
    return Parameter(
        text=text, name=name[1], space=space[1] if space else "", const=const, type=_UNSIGNED.get(kind, kind)
    )


def macros(options: Sequence[str]) -> str:
    r"""Return ``#define`` lines for the options ``-DNAME`` and ``-DNAME=VALUE``. Raise ValueError for other options.

    Examples
    --------
    >>> macros(("-DN=4",))
    '#define N 4\n#line 1\n'
    """
    lines = []
    for option in options:
        macro = re.fullmatch(_MACRO, option.strip())
        if macro is None:
            raise ValueError(f"options may define macros, such as '-DN=4': {option!r} has no meaning here")
        lines.append(f"#define {macro[1]} {'1' if macro[2] is None else macro[2]}\n")
    return "".join(lines) + "#line 1\n" * bool(lines)
