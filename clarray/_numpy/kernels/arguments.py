"""Signatures and call arguments of user kernels, and the error messages for them."""

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
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.ops.dtypes import DTYPES
from clarray._engine.ops.snippets import Parameter, Snippet, parse_parameters
from clarray._engine.runtime import Device

Types = dict[str, np.dtype]
TypedParameters = tuple[tuple[str, np.dtype, bool], ...]
_DIAGNOSTIC = (
    r"^(?:(?:fatal )?error: )?(?P<file>[^:\n]+):(?P<line>\d+):(?P<column>\d+)(?: <Spelling=[^>]*>)?: "
    r"(?:(?:fatal )?error: )?(?P<text>.*)$"
)
_KIND_RANKS = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


@dataclass(frozen=True)
class Signature:
    """The declared parameters of a kernel."""

    name: str
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]

    @staticmethod
    def parse(name: str, in_params: str, out_params: str, reserved: tuple[str, ...] = ()) -> Signature:
        """Parse both lists of parameters. ValueError if a list has a syntax error or a name occurs twice."""
        signature = Signature(
            name, parse_parameters(in_params, "in_params"), parse_parameters(out_params, "out_params")
        )
        names = [p.name for p in (*signature.inputs, *signature.outputs)]
        if not signature.outputs:
            raise ValueError(f"kernel {name!r} has no output: name one in out_params, such as 'T z'")
        if len(set(names)) < len(names) or {p.type for p in (*signature.inputs, *signature.outputs)} & set(names):
            raise ValueError(f"kernel {name!r}: a name is used both as an input and as an output")
        for operand in reserved:
            if operand in names:
                raise ValueError(f"kernel {name!r}: {operand!r} is what its expressions call their operands")
        return signature

    def __str__(self) -> str:
        ins, outs = (", ".join(map(str, p)) for p in (self.inputs, self.outputs))
        return f"({ins}) -> ({outs})"


@dataclass
class Call:
    """The arguments of one call.

    Parameters
    ----------
    nodes : list of Node
        The inputs, with the declared dtypes.
    targets : list of DeviceArray or None
        The outputs. None for an output that the caller did not pass.
    types : dict of str to dtype
        The dtype of each type letter.
    """

    device: Device
    nodes: list[Node]
    targets: list[DeviceArray | None]
    types: Types

    def store_selections(self) -> None:
        """Evaluate the masked operands, whose shapes are unknown until then."""
        self.nodes = [evaluate(n) if n.flags & MASKED else n for n in self.nodes]


def bind(signature: Signature, args: tuple[Any, ...], out: Any, types: Types | None = None) -> Call:
    """Match arguments with parameters and resolve every dtype.

    Raises
    ------
    TypeError
        The number of arguments or a dtype is wrong, or a type letter has no argument.
    """
    inputs, outs = _split_arguments(signature, args, out)
    device = ufunc_calls.device_of_operands((*inputs, *outs))
    arrays = [_as_operand(p, x, device) for p, x in zip(signature.inputs, inputs, strict=True)]
    types_by_letter: Types = dict(types or {})
    for p, array in zip(signature.inputs, arrays, strict=True):
        if array is not None:
            _bind_type(signature, types_by_letter, p, array.dtype)
    for p, target in zip(signature.outputs, outs, strict=True):
        if target is not None:
            if not isinstance(target, DeviceArray):
                raise TypeError(f"kernel {signature.name!r}: output {p.name} must be a clarray array")
            _bind_type(signature, types_by_letter, p, target.dtype)
    for p, x in zip(signature.inputs, inputs, strict=True):  # scalars decide a letter that no array has
        if len(p.type) == 1 and p.type not in types_by_letter:
            types_by_letter[p.type] = np.asarray(x).dtype
    for p in signature.outputs:
        parameter_dtype(p, types_by_letter, signature)
    for dtype in (*types_by_letter.values(), *(p.dtype for p in (*signature.inputs, *signature.outputs))):
        if dtype is not None:
            device_dtype(dtype, device)
    nodes = [
        a._node if a is not None else _scalar(signature, p, x, parameter_dtype(p, types_by_letter, signature))
        for p, x, a in zip(signature.inputs, inputs, arrays, strict=True)
    ]
    operands = [*nodes, *(t._node for t in outs if t is not None)]
    device_of(*operands)  # raises for operands on two devices
    return Call(device, nodes, list(outs), types_by_letter)


def _split_arguments(signature: Signature, args: tuple[Any, ...], out: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    nin, nout = len(signature.inputs), len(signature.outputs)
    if len(args) == nin + nout and out is None:
        return args[:nin], args[nin:]
    if len(args) != nin:
        alternative = f", or {nin + nout} with its outputs" if out is None else ""
        raise TypeError(
            f"kernel {signature.name!r} {signature} takes {nin} arguments{alternative}: {len(args)} were given"
        )
    outs = (None,) * nout if out is None else out if isinstance(out, tuple) else (out,)
    if len(outs) != nout:
        raise TypeError(f"kernel {signature.name!r} has {nout} outputs: out= names {len(outs)}")
    return args, outs


def _as_operand(p: Parameter, x: Any, device: Device) -> DeviceArray | None:
    """Convert an argument to an array. None for a scalar."""
    if isinstance(x, DeviceArray):
        return x
    if not p.raw and (weak_type(x) is not None or isinstance(x, np.generic)):
        return None
    return as_array(x, device)


def _bind_type(signature: Signature, types: Types, p: Parameter, dtype: np.dtype) -> None:
    """Bind a type letter to an array's dtype. TypeError if the letter or the parameter has another dtype."""
    expected = p.dtype if p.dtype is not None else types.setdefault(p.type, dtype)
    if expected != dtype:
        reason = "" if p.dtype is not None else f", for {p.type} is {expected} already"
        raise TypeError(
            f"kernel {signature.name!r}: {p.name} must be {expected}{reason}, and is {dtype}; convert it with "
            f"astype('{expected}') or declare another type"
        )


def parameter_dtype(p: Parameter, types: Types, signature: Signature) -> np.dtype:
    """Return the dtype of a parameter."""
    return resolve_type(p.type, types, f"kernel {signature.name!r}: {p.name}")


def resolve_type(type_name: str, types: Types, subject: str) -> np.dtype:
    """Return the dtype of a type letter or of a dtype's name."""
    if len(type_name) > 1:
        return np.dtype(type_name)
    if type_name not in types:
        raise TypeError(
            f"{subject} is of type {type_name}, which no argument has: pass the output array, or declare a dtype"
        )
    if types[type_name] not in DTYPES:
        raise TypeError(f"{subject}: clarray has no dtype {types[type_name]}")
    return types[type_name]


def _scalar(signature: Signature, p: Parameter, x: Any, dtype: np.dtype) -> Node:
    number = np.asarray(x)
    own_dtype = number.dtype
    if own_dtype not in DTYPES or _KIND_RANKS[own_dtype.kind] > _KIND_RANKS[dtype.kind]:
        raise TypeError(
            f"kernel {signature.name!r}: {p.name} is {dtype}, which cannot hold {x!r}; convert it, or declare another "
            "type"
        )
    return scalar_node(number.item(), dtype)  # a NumPy integer would wrap around


def typed_parameters(parameters: tuple[Parameter, ...], types: Types, signature: Signature) -> TypedParameters:
    """Return parameters as ``(name, dtype, raw)``."""
    return tuple((p.name, parameter_dtype(p, types, signature), p.raw) for p in parameters)


# An empty kernel of so many work-items takes an hour on the fastest GPU.
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


def check_snippet(device: Device, snippet: Snippet, kernel: str) -> Snippet:
    """Compile a snippet for the device and return it.

    Raises
    ------
    RuntimeError
        The snippet does not compile. The error has the compiler's message at the user's own lines.
    """
    log, source = launchers.snippet.check(device, snippet)
    if log:
        raise RuntimeError(
            f"kernel {kernel!r} does not compile on {device}:\n{_format_diagnostics(log, source, snippet)}"
        )
    return snippet


def _format_diagnostics(log: str, source: str, snippet: Snippet) -> str:
    """Return the compiler's errors with their lines of the user's text. The whole log if no error has a line."""
    texts = {snippet.name: snippet.text, f"{snippet.name} preamble": snippet.preamble}
    origins = _line_origins(source)
    messages: dict[tuple[str, int, int], str] = {}
    for match in filter(None, (re.match(_DIAGNOSTIC, line) for line in log.splitlines())):
        file, line, column = match["file"].strip(), int(match["line"]), int(match["column"])
        message = match["text"].removeprefix("warning: ")
        if file not in texts and file != "clarray":  # NVIDIA's compiler ignores #line and counts all lines
            file, line = origins.get(line, (file, line))
        in_user_text = file in texts and line <= len(texts[file].splitlines())
        # NVIDIA's compiler only warns of an undeclared function, and its linker's error has no line
        if (
            in_user_text
            and (message == match["text"] or "implicit declaration" in message)
            and not message.startswith("note:")
        ):
            messages.setdefault((file, line, column), message)
    parts = []
    for (file, line, column), message in sorted((messages or _linker_diagnostics(log, texts)).items()):
        code_line = texts[file].splitlines()[line - 1]
        parts.append(f"{file}, line {line}: {message}\n  {code_line}\n  {' ' * (column - 1)}^")
    if parts:
        return "\n".join(parts)
    numbered = "\n".join(f"{k:4} {line}" for k, line in enumerate(snippet.text.splitlines(), 1))
    return f"{log}\n{snippet.name}:\n{numbered}"


def _linker_diagnostics(log: str, texts: dict[str, str]) -> dict[tuple[str, int, int], str]:
    """Locate the messages of a log without line numbers by the names in them: the first occurrence in the user's texts.

    NVIDIA's driver caches what it compiles, and the linker's errors are all that a second compilation reports.
    """
    messages: dict[tuple[str, int, int], str] = {}
    for message in log.splitlines():
        for name in re.findall(r"'([A-Za-z_]\w*)'", message):
            lines = [(f, k, line) for f, text in texts.items() for k, line in enumerate(text.splitlines(), 1)]
            occurrences = ((f, k, m.start() + 1) for f, k, line in lines if (m := re.search(rf"\b{name}\b", line)))
            first = next(occurrences, None)
            if first is not None:
                messages.setdefault(first, message)
    return messages


def _line_origins(source: str) -> dict[int, tuple[str, int]]:
    """Map each line of a source, counted from 1, to the file and line of its ``#line`` directives."""
    origins = {}
    file, line = "", 1
    for source_line, text in enumerate(source.split("\n"), 1):
        directive = re.match(r'#line (\d+) "(.*)"', text)
        if directive:
            file, line = directive[2], int(directive[1])
            continue
        origins[source_line] = (file, line)
        line += 1
    return origins
