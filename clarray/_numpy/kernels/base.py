"""What every kernel of the user's has, and how its parts become nodes of an expression."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from clarray._core import ufunc_calls
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.operands import scalar_node
from clarray._engine.algorithms import launchers
from clarray._engine.evaluate import evaluate
from clarray._engine.expr import build
from clarray._engine.expr.node import Node, contiguous_leaf, index
from clarray._engine.expr.view import broadcast_shapes, contiguous
from clarray._engine.ops.dtypes import wide_dtype
from clarray._engine.ops.monoids import CText, Monoid, snippet_monoid
from clarray._engine.ops.snippets import INDEX, SIZE, Snippet, check_kernel_name, mentions, snippet_loop
from clarray._engine.runtime import Device
from clarray._engine.runtime.includes import note_of
from clarray._numpy.kernels.arguments import (
    Call,
    Declared,
    Signature,
    Types,
    checked,
    declared,
    dtype_of,
    shape_argument,
    type_named,
)

__all__ = [
    "Kernel",
    "finished",
    "given",
    "identity_value",
    "into",
    "one_output",
    "positions",
    "run_now",
    "spread",
    "text_of",
]

_LONG = np.dtype(np.int64)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
Shape = tuple[int, ...]


class Kernel:
    """What all kernels have: a name, parameters, a preamble."""

    def __init__(self, in_params: str, out_params: str, name: str, preamble: str, reserved: tuple[str, ...]) -> None:
        self.name = check_kernel_name(name)
        self._signature = Signature.parse(name, in_params, out_params, reserved)
        self._preamble = text_of(preamble, "preamble")
        self._sound: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}{self._signature}>"

    def _snippet(
        self,
        call: Call,
        part: str,
        text: str,
        inputs: Declared,
        outputs: Declared = (),
        result: np.dtype | None = None,
    ) -> Snippet:
        """A part of the kernel at the call's dtypes, compiled once to see whether it can be."""
        types = tuple(sorted(call.types.items()))
        key = (part, call.device, types, inputs)
        found: Snippet | None = self._sound.get(key)
        if found is None:
            name = f"{self.name} {part}".strip()
            snippet = Snippet(
                name=name,
                text=text,
                inputs=inputs,
                outputs=outputs,
                types=types,
                preamble=self._preamble_for(text),
                result=result,
            )
            found = self._sound[key] = checked(call.device, snippet, self.name)
        return found

    def _preamble_for(self, text: str) -> str:
        """Give the preamble with what it and a text include, so that kernels of another header are others."""
        return self._preamble + note_of(f"{self._preamble}\n{text}")

    def _shape(self, call: Call, size: Any) -> Shape:
        """Over which positions the kernel runs: the inputs and outputs broadcast, or what ``size`` says."""
        signature = self._signature
        shapes = [n.shape for n, p in zip(call.nodes, signature.inputs, strict=True) if not p.raw]
        targets = [t for t, p in zip(call.targets, signature.outputs, strict=True) if not p.raw and t is not None]
        if size is not None:
            if any(shapes) or targets:
                raise ValueError(
                    f"kernel {self.name!r}: size= is for kernels whose arrays are all raw; the others have a size"
                )
            return shape_argument(size)
        raw = any(p.raw for p in (*signature.inputs, *signature.outputs))
        if not any(shapes) and not targets and (raw or not shapes):
            raise ValueError(f"kernel {self.name!r}: no argument tells how many elements there are; give size=")
        shape = broadcast_shapes([*shapes, *(t.shape for t in targets)])
        for t in targets:
            if t.shape != shape:
                raise ValueError(f"kernel {self.name!r}: the output has shape {t.shape}, where {shape} is computed")
        return shape

    def _mapped(self, call: Call, expression: str, result: np.dtype, size: Any) -> Node:
        """The elements that enter a reduction or scan: pending, unless arrays are passed whole."""
        signature = self._signature
        inputs = declared(signature.inputs, call.types, signature)
        whole = any(raw for _, _, raw in inputs)
        call.store_selections()
        shape = self._shape(Call(call.device, call.nodes, [None] * len(signature.outputs), call.types), size)
        if not whole and len(inputs) == 1 and expression.strip() == inputs[0][0] and inputs[0][1] == result:
            return call.nodes[0] if call.nodes[0].args or call.nodes[0].memory else spread(call.nodes[0], shape)
        used, nodes = positions(expression, inputs, call.nodes, shape)
        if not whole:
            snippet = self._snippet(call, "map", expression, used, result=result)
            return spread(build.nary(snippet_loop(snippet), tuple(nodes)), shape)
        outputs = (("clarray_mapped", result, False),)
        snippet = self._snippet(call, "map", f"clarray_mapped = ({expression});", used, outputs)
        return run_now(call.device, snippet, nodes, [None], shape)[0]._node

    def _monoid(self, call: Call, expression: str, dtype: np.dtype, identity: Any) -> Monoid:
        operands = (("a", dtype, False), ("b", dtype, False))
        snippet = self._snippet(call, "combine", expression, operands, result=dtype)
        if isinstance(identity, CText):
            identity = CText(f"{self._snippet(call, 'identity', identity, (), result=dtype).function}()")
        elif identity is not None and dtype.kind in "biu" and identity != int(identity):
            raise ValueError(f"kernel {self.name!r}: {dtype} does not hold the identity {identity!r}")
        return snippet_monoid(self.name, snippet_loop(snippet), identity)

    def _nothing(self, types: Types, identity: Any, dtype: np.dtype, shape: Shape) -> Node:
        """The identity, repeated over a shape: what nothing is combined to."""
        if identity is None:
            raise ValueError(f"zero-size array to reduction operation {self.name} which has no identity")
        if not isinstance(identity, CText):
            return ufunc_calls.full(scalar_node(identity, dtype), shape)
        known = tuple(sorted(types.items()))
        inputs = ((SIZE, _LONG, False),)  # an operation has an operand
        snippet = Snippet(
            name=f"{self.name} identity",
            text=str(identity),
            inputs=inputs,
            outputs=(),
            types=known,
            preamble=self._preamble_for(str(identity)),
            result=dtype,
        )
        return spread(build.nary(snippet_loop(snippet), (scalar_node(1, _LONG),)), shape)

    def _state(self, call: Call, given: str | None) -> np.dtype:
        """The dtype in which values are combined."""
        signature = self._signature
        if given is None:
            return wide_dtype(dtype_of(signature.outputs[0], call.types, signature))
        return type_named(given, call.types, f"kernel {self.name!r}: the state")


def text_of(value: Any, what: str) -> str:
    """C text whose brackets close: what follows it in the source must not be taken for a part of it."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a string of C, not {type(value).__name__}")
    if "\0" in value:
        raise ValueError(f"{what} holds a null character")
    plain = re.sub(r"/\*.*?\*/|//[^\n]*|'[^'\n]*'|\"[^\"\n]*\"", " ", value, flags=re.DOTALL)
    open_ = []
    for character in plain:
        if character in "([{":
            open_.append(_CLOSING[character])
        elif character in ")]}" and (not open_ or open_.pop() != character):
            raise ValueError(f"{what} closes a {character!r} that is not open")
    if open_:
        raise ValueError(f"{what} lacks a {open_[-1]!r}")
    return value


def positions(text: str, inputs: Declared, nodes: list[Node], shape: Shape) -> tuple[Declared, list[Node]]:
    """Inputs with the position and the number of elements, where the text mentions them."""
    more: list[tuple[str, Node]] = []
    if mentions(text, INDEX):
        more.append((INDEX, index(shape, contiguous(shape), _LONG)))
    if mentions(text, SIZE) or not (nodes or more):  # an operation has an operand
        more.append((SIZE, scalar_node(math.prod(shape), _LONG)))
    return (*inputs, *((name, _LONG, False) for name, _ in more)), [*nodes, *(node for _, node in more)]


def spread(node: Node, shape: Shape) -> Node:
    """A node broadcast to a shape."""
    return node if node.shape == shape else ufunc_calls.broadcast(node, shape)


def given(target: DeviceArray | None, node: Node) -> DeviceArray:
    """A lazy result as a new array, or written to the one that was given."""
    if target is None:
        return ufunc_calls.evaluate_if_eager(node)
    target.check_writeable("output array is read-only")
    ufunc_calls.assign(target, node)
    return target


def run_now(
    device: Device, snippet: Snippet, nodes: list[Node], targets: list[DeviceArray | None], shape: Shape
) -> list[DeviceArray]:
    """Run a snippet at once; outputs that were not given are new arrays."""
    made = []
    for target, (_, dtype, _) in zip(targets, snippet.outputs, strict=True):
        if target is None:
            memory = device.allocate(math.prod(shape) * dtype.itemsize)
            target = wrap(contiguous_leaf(memory, shape, dtype))
        target.check_writeable("output array is read-only")
        made.append(target)
    launchers.snippet.run(device, snippet, nodes, [evaluate(t._node) for t in made], shape)
    return made


def one_output(signature: Signature) -> None:
    """Raise ValueError unless there is one output that is not passed whole."""
    if len(signature.outputs) != 1 or signature.outputs[0].raw:
        raise ValueError(f"kernel {signature.name!r}: out_params must be one output, not raw")


def identity_value(value: Any) -> Any:
    """A number, C text or None."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if not isinstance(value, str):
        return value
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return CText(text_of(value, "identity"))


def finished(kernel: Kernel, call: Call, text: str, node: Node, inputs: Declared, nodes: list[Node]) -> Node:
    """What a statement makes of combined values, or these themselves in the output's dtype."""
    outputs = declared(kernel._signature.outputs, call.types, kernel._signature)
    if not text.strip():
        return ufunc_calls.cast(node, outputs[0][1])
    used, operands = positions(text, inputs, nodes, node.shape)
    snippet = kernel._snippet(call, "post_map", text, used, outputs)
    return build.nary(snippet_loop(snippet), tuple(operands))


def into(kernel: Kernel, target: DeviceArray | None, node: Node) -> DeviceArray:
    """The result as a new array, or in the output that was given, which must have its shape."""
    if target is not None and target.shape != node.shape:
        raise ValueError(f"kernel {kernel.name!r}: the output has shape {target.shape}, where {node.shape} is computed")
    return given(target, node)
