"""What kernels of the user's are called with, and what is said where that does not fit."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from clarray._core import ufunc_calls
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray
from clarray._core.host_data import device_dtype
from clarray._core.operands import scalar_node, weak_type
from clarray._engine.algorithms import launchers
from clarray._engine.evaluate import device_of, evaluate
from clarray._engine.expr.node import MASKED, Node
from clarray._engine.expr.view import as_shape
from clarray._engine.ops.dtypes import DTYPES
from clarray._engine.ops.snippets import Parameter, Snippet, parse_parameters
from clarray._engine.runtime import Device
from clarray._engine.values import dataclass

Types = dict[str, np.dtype]
Declared = tuple[tuple[str, np.dtype, bool], ...]
_PLACE = (
    r"^(?:(?:fatal )?error: )?(?P<file>[^:\n]+):(?P<line>\d+):(?P<column>\d+)(?: <Spelling=[^>]*>)?: "
    r"(?:(?:fatal )?error: )?(?P<text>.*)$"
)
_RANK = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


@dataclass(frozen=True)
class Signature:
    """The declared parameters of a kernel."""

    name: str
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]

    @staticmethod
    def parse(name: str, in_params: str, out_params: str, reserved: tuple[str, ...] = ()) -> Signature:
        """Read both lists; ValueError where one cannot be read or a name is taken."""
        found = Signature(name, parse_parameters(in_params, "in_params"), parse_parameters(out_params, "out_params"))
        names = [p.name for p in (*found.inputs, *found.outputs)]
        if not found.outputs:
            raise ValueError(f"kernel {name!r} has no output: name one in out_params, such as 'T z'")
        if len(set(names)) < len(names) or {p.type for p in (*found.inputs, *found.outputs)} & set(names):
            raise ValueError(f"kernel {name!r}: a name is used both as an input and as an output")
        for taken in reserved:
            if taken in names:
                raise ValueError(f"kernel {name!r}: {taken!r} is what its expressions call their operands")
        return found

    def __str__(self) -> str:
        ins, outs = (", ".join(map(str, p)) for p in (self.inputs, self.outputs))
        return f"({ins}) -> ({outs})"


@dataclass
class Call:
    """The arguments of one call.

    Parameters
    ----------
    nodes : list of Node
        Inputs, of their dtypes.
    targets : list of DeviceArray or None
        Outputs that were given.
    types : dict of str to dtype
        What the letters stand for.
    """

    device: Device
    nodes: list[Node]
    targets: list[DeviceArray | None]
    types: Types

    def store_selections(self) -> None:
        """Compute what a mask selects, so that its shape is known."""
        self.nodes = [evaluate(n) if n.flags & MASKED else n for n in self.nodes]


def bind(signature: Signature, args: tuple[Any, ...], out: Any, types: Types | None = None) -> Call:
    """Match arguments with parameters and settle every dtype.

    Raises
    ------
    TypeError
        Their number or a dtype is wrong, or a letter stands for nothing.
    """
    inputs, outs = _divided(signature, args, out)
    device = ufunc_calls.device_of_operands((*inputs, *outs))
    arrays = [_array(p, x, device) for p, x in zip(signature.inputs, inputs, strict=True)]
    found: Types = dict(types or {})
    for p, array in zip(signature.inputs, arrays, strict=True):
        if array is not None:
            _settle(signature, found, p, array.dtype)
    for p, target in zip(signature.outputs, outs, strict=True):
        if target is not None:
            if not isinstance(target, DeviceArray):
                raise TypeError(f"kernel {signature.name!r}: output {p.name} must be a clarray array")
            _settle(signature, found, p, target.dtype)
    for p, x in zip(signature.inputs, inputs, strict=True):  # scalars decide where no array does
        if len(p.type) == 1 and p.type not in found:
            found[p.type] = np.asarray(x).dtype
    for p in signature.outputs:
        dtype_of(p, found, signature)
    for dtype in (*found.values(), *(p.dtype for p in (*signature.inputs, *signature.outputs))):
        if dtype is not None:
            device_dtype(dtype, device)
    nodes = [
        a._node if a is not None else _scalar(signature, p, x, dtype_of(p, found, signature))
        for p, x, a in zip(signature.inputs, inputs, arrays, strict=True)
    ]
    given = [*nodes, *(t._node for t in outs if t is not None)]
    device_of([i for n in given for i in (n.inputs or (n,))])  # raises where there are two
    return Call(device, nodes, list(outs), found)


def _divided(signature: Signature, args: tuple[Any, ...], out: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    nin, nout = len(signature.inputs), len(signature.outputs)
    if len(args) == nin + nout and out is None:
        return args[:nin], args[nin:]
    if len(args) != nin:
        more = f", or {nin + nout} with its outputs" if out is None else ""
        raise TypeError(f"kernel {signature.name!r} {signature} takes {nin} arguments{more}: {len(args)} were given")
    outs = (None,) * nout if out is None else out if isinstance(out, tuple) else (out,)
    if len(outs) != nout:
        raise TypeError(f"kernel {signature.name!r} has {nout} outputs: out= names {len(outs)}")
    return args, outs


def _array(p: Parameter, x: Any, device: Device) -> DeviceArray | None:
    """An argument as an array, or None for a scalar."""
    if isinstance(x, DeviceArray):
        return x
    if not p.raw and (weak_type(x) is not None or isinstance(x, np.generic)):
        return None
    return as_array(x, device)


def _settle(signature: Signature, types: Types, p: Parameter, dtype: np.dtype) -> None:
    """Let a letter stand for an array's dtype, or compare it with what is wanted."""
    wanted = p.dtype if p.dtype is not None else types.setdefault(p.type, dtype)
    if wanted != dtype:
        why = "" if p.dtype is not None else f", for {p.type} is {wanted} already"
        raise TypeError(
            f"kernel {signature.name!r}: {p.name} must be {wanted}{why}, and is {dtype}; convert it with "
            f"astype('{wanted}') or declare another type"
        )


def dtype_of(p: Parameter, types: Types, signature: Signature) -> np.dtype:
    """The dtype of a parameter."""
    return type_named(p.type, types, f"kernel {signature.name!r}: {p.name}")


def type_named(word: str, types: Types, what: str) -> np.dtype:
    """The dtype that a letter or a name means."""
    if len(word) > 1:
        return np.dtype(word)
    if word not in types:
        raise TypeError(f"{what} is of type {word}, which no argument has: pass the output array, or declare a dtype")
    if types[word] not in DTYPES:
        raise TypeError(f"{what}: clarray has no dtype {types[word]}")
    return types[word]


def _scalar(signature: Signature, p: Parameter, x: Any, dtype: np.dtype) -> Node:
    number = np.asarray(x)
    given = number.dtype
    if given not in DTYPES or _RANK[given.kind] > _RANK[dtype.kind]:
        raise TypeError(
            f"kernel {signature.name!r}: {p.name} is {dtype}, which cannot hold {x!r}; convert it, or declare another "
            "type"
        )
    return scalar_node(number.item(), dtype)  # a NumPy integer would wrap around


def declared(parameters: tuple[Parameter, ...], types: Types, signature: Signature) -> Declared:
    """Parameters with their dtypes."""
    return tuple((p.name, dtype_of(p, types, signature), p.raw) for p in parameters)


# No launch of so many work-items ends: an empty kernel takes an hour on the fastest GPU.
TOO_MANY_WORK_ITEMS = 2**48


def shape_argument(size: Any) -> tuple[int, ...]:
    """Read ``size=``, an integer or a sequence of integers."""
    shape = as_shape(size)
    if any(n < 0 for n in shape):
        raise ValueError("size must not be negative")
    if math.prod(shape) >= TOO_MANY_WORK_ITEMS:
        raise ValueError(f"size={size!r} has 2**48 work-items or more, which no device computes in an hour")
    return shape


# Compilers ----------------------------------------------------------------------------------------


def checked(device: Device, snippet: Snippet, kernel: str) -> Snippet:
    """The snippet, if the device's compiler takes it.

    Raises
    ------
    RuntimeError
        With the compiler's message at the user's own lines.
    """
    log, source = launchers.snippet.check(device, snippet)
    if log:
        raise RuntimeError(f"kernel {kernel!r} does not compile on {device}:\n{_told(log, source, snippet)}")
    return snippet


def _told(log: str, source: str, snippet: Snippet) -> str:
    """The compiler's errors, each with the line it is about; the whole log where they are about none."""
    texts = {snippet.name: snippet.text, f"{snippet.name} preamble": snippet.preamble}
    places = _places(source)
    found: dict[tuple[str, int, int], str] = {}
    for match in filter(None, (re.match(_PLACE, line) for line in log.splitlines())):
        file, line, column = match["file"].strip(), int(match["line"]), int(match["column"])
        text = match["text"].removeprefix("warning: ")
        if file not in texts and file != "clarray":  # NVIDIA's compiler heeds no #line, and counts all
            file, line = places.get(line, (file, line))
        inside = file in texts and line <= len(texts[file].splitlines())
        # NVIDIA's also warns of a function that is not there, which then fails without a line
        if inside and (text == match["text"] or "implicit declaration" in text) and not text.startswith("note:"):
            found.setdefault((file, line, column), text)
    parts = []
    for (file, line, column), text in sorted((found or _named(log, texts)).items()):
        shown = texts[file].splitlines()[line - 1]
        parts.append(f"{file}, line {line}: {text}\n  {shown}\n  {' ' * (column - 1)}^")
    if parts:
        return "\n".join(parts)
    numbered = "\n".join(f"{k:4} {line}" for k, line in enumerate(snippet.text.splitlines(), 1))
    return f"{log}\n{snippet.name}:\n{numbered}"


def _named(log: str, texts: dict[str, str]) -> dict[tuple[str, int, int], str]:
    """What a log without lines says of names in the texts, at the first line that has each.

    NVIDIA's compiler keeps what it has made of a source until it is linked: the second time the linker alone speaks.
    """
    found: dict[tuple[str, int, int], str] = {}
    for said in log.splitlines():
        for name in re.findall(r"'([A-Za-z_]\w*)'", said):
            lines = [(f, k, line) for f, text in texts.items() for k, line in enumerate(text.splitlines(), 1)]
            seen = ((f, k, m.start() + 1) for f, k, line in lines if (m := re.search(rf"\b{name}\b", line)))
            place = next(seen, None)
            if place is not None:
                found.setdefault(place, said)
    return found


def _places(source: str) -> dict[int, tuple[str, int]]:
    """For each line of a source, counted from 1, what its ``#line`` directives call it."""
    found = {}
    file, line = "", 1
    for number, text in enumerate(source.split("\n"), 1):
        directive = re.match(r'#line (\d+) "(.*)"', text)
        if directive:
            file, line = directive[2], int(directive[1])
            continue
        found[number] = (file, line)
        line += 1
    return found
