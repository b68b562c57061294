"""Base class of user kernels: their parts become snippets and nodes of an expression."""

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
from clarray._engine.runtime.includes import include_comment
from clarray._numpy.kernels.arguments import (
    Call,
    Signature,
    TypedParameters,
    Types,
    check_snippet,
    parameter_dtype,
    resolve_type,
    shape_argument,
    typed_parameters,
)

__all__ = [
    "Kernel",
    "apply_post_map",
    "write_or_wrap",
    "parse_identity",
    "write_result",
    "require_single_output",
    "add_index_inputs",
    "run_snippet",
    "broadcast_node",
    "check_c_text",
]

_LONG = np.dtype(np.int64)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
Shape = tuple[int, ...]


class Kernel:
    """The common parts of user kernels: name, parameters and preamble."""

    def __init__(self, in_params: str, out_params: str, name: str, preamble: str, reserved: tuple[str, ...]) -> None:
        self.name = check_kernel_name(name)
        self._signature = Signature.parse(name, in_params, out_params, reserved)
        self._preamble = check_c_text(preamble, "preamble")
        self._checked_snippets: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}{self._signature}>"

    def _snippet(
        self,
        call: Call,
        part: str,
        text: str,
        inputs: TypedParameters,
        outputs: TypedParameters = (),
        result: np.dtype | None = None,
    ) -> Snippet:
        """Return a part of the kernel at the call's dtypes. The first call compiles it to find errors."""
        types = tuple(sorted(call.types.items()))
        key = (part, call.device, types, inputs)
        checked: Snippet | None = self._checked_snippets.get(key)
        if checked is None:
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
            checked = self._checked_snippets[key] = check_snippet(call.device, snippet, self.name)
        return checked

    def _preamble_for(self, text: str) -> str:
        """Return the preamble with a note of the headers that it and `text` include, as part of the cache key."""
        return self._preamble + include_comment(f"{self._preamble}\n{text}")

    def _shape(self, call: Call, size: Any) -> Shape:
        """Return the shape over which the kernel runs: that of the broadcast inputs and outputs, or ``size``."""
        signature = self._signature
        shapes = [n.shape for n, p in zip(call.nodes, signature.inputs, strict=True) if not p.raw]
        targets = [t for t, p in zip(call.targets, signature.outputs, strict=True) if not p.raw and t is not None]
        if size is not None:
            if any(shapes) or targets:
                raise ValueError(
                    f"kernel {self.name!r}: size= is for kernels whose arrays are all raw; the others have a size"
                )
            return shape_argument(size)
        has_raw = any(p.raw for p in (*signature.inputs, *signature.outputs))
        if not any(shapes) and not targets and (has_raw or not shapes):
            raise ValueError(f"kernel {self.name!r}: no argument tells how many elements there are; give size=")
        shape = broadcast_shapes([*shapes, *(t.shape for t in targets)])
        for t in targets:
            if t.shape != shape:
                raise ValueError(f"kernel {self.name!r}: the output has shape {t.shape}, where {shape} is computed")
        return shape

    def _mapped(self, call: Call, expression: str, result: np.dtype, size: Any) -> Node:
        """Return the elements that a reduction or scan combines. They are pending unless an input is raw."""
        signature = self._signature
        inputs = typed_parameters(signature.inputs, call.types, signature)
        has_raw = any(raw for _, _, raw in inputs)
        call.store_selections()
        shape = self._shape(Call(call.device, call.nodes, [None] * len(signature.outputs), call.types), size)
        if not has_raw and len(inputs) == 1 and expression.strip() == inputs[0][0] and inputs[0][1] == result:
            return call.nodes[0] if call.nodes[0].args or call.nodes[0].memory else broadcast_node(call.nodes[0], shape)
        used, nodes = add_index_inputs(expression, inputs, call.nodes, shape)
        if not has_raw:
            snippet = self._snippet(call, "map", expression, used, result=result)
            return broadcast_node(build.nary(snippet_loop(snippet), tuple(nodes)), shape)
        outputs = (("clarray_mapped", result, False),)
        snippet = self._snippet(call, "map", f"clarray_mapped = ({expression});", used, outputs)
        return run_snippet(call.device, snippet, nodes, [None], shape)[0]._node

    def _monoid(self, call: Call, expression: str, dtype: np.dtype, identity: Any) -> Monoid:
        operands = (("a", dtype, False), ("b", dtype, False))
        snippet = self._snippet(call, "combine", expression, operands, result=dtype)
        if isinstance(identity, CText):
            identity = CText(f"{self._snippet(call, 'identity', identity, (), result=dtype).function}()")
        elif identity is not None and dtype.kind in "biu" and identity != int(identity):
            raise ValueError(f"kernel {self.name!r}: {dtype} does not hold the identity {identity!r}")
        return snippet_monoid(self.name, snippet_loop(snippet), identity)

    def _empty_reduction(self, types: Types, identity: Any, dtype: np.dtype, shape: Shape) -> Node:
        """Return the reduction of no elements: the identity, broadcast to a shape."""
        if identity is None:
            raise ValueError(f"zero-size array to reduction operation {self.name} which has no identity")
        if not isinstance(identity, CText):
            return ufunc_calls.full(scalar_node(identity, dtype), shape)
        type_items = tuple(sorted(types.items()))
        inputs = ((SIZE, _LONG, False),)  # an operation has an operand
        snippet = Snippet(
            name=f"{self.name} identity",
            text=str(identity),
            inputs=inputs,
            outputs=(),
            types=type_items,
            preamble=self._preamble_for(str(identity)),
            result=dtype,
        )
        return broadcast_node(build.nary(snippet_loop(snippet), (scalar_node(1, _LONG),)), shape)

    def _state_dtype(self, call: Call, declared_type: str | None) -> np.dtype:
        """Return the dtype in which values are combined."""
        signature = self._signature
        if declared_type is None:
            return wide_dtype(parameter_dtype(signature.outputs[0], call.types, signature))
        return resolve_type(declared_type, call.types, f"kernel {self.name!r}: the state")


def check_c_text(text: Any, label: str) -> str:
    """Return a C text. ValueError unless its brackets are balanced, so that it cannot extend into the code after it."""
    if not isinstance(text, str):
        raise TypeError(f"{label} must be a string of C, not {type(text).__name__}")
    if "\0" in text:
        raise ValueError(f"{label} holds a null character")
    code = re.sub(r"/\*.*?\*/|//[^\n]*|'[^'\n]*'|\"[^\"\n]*\"", " ", text, flags=re.DOTALL)
    closers = []
    for character in code:
        if character in "([{":
            closers.append(_CLOSING[character])
        elif character in ")]}" and (not closers or closers.pop() != character):
            raise ValueError(f"{label} closes a {character!r} that is not open")
    if closers:
        raise ValueError(f"{label} lacks a {closers[-1]!r}")
    return text


def add_index_inputs(
    text: str, inputs: TypedParameters, nodes: list[Node], shape: Shape
) -> tuple[TypedParameters, list[Node]]:
    """Append the element's position and the number of elements to the inputs if the text mentions them."""
    added: list[tuple[str, Node]] = []
    if mentions(text, INDEX):
        added.append((INDEX, index(shape, contiguous(shape), _LONG)))
    if mentions(text, SIZE) or not (nodes or added):  # an operation has an operand
        added.append((SIZE, scalar_node(math.prod(shape), _LONG)))
    return (*inputs, *((name, _LONG, False) for name, _ in added)), [*nodes, *(node for _, node in added)]


def broadcast_node(node: Node, shape: Shape) -> Node:
    """Broadcast a node to a shape."""
    return node if node.shape == shape else ufunc_calls.broadcast(node, shape)


def write_or_wrap(target: DeviceArray | None, node: Node) -> DeviceArray:
    """Write a pending node to `target`, or wrap it as a new array if `target` is None."""
    if target is None:
        return ufunc_calls.evaluate_if_eager(node)
    target.check_writeable("output array is read-only")
    ufunc_calls.assign(target, node)
    return target


def run_snippet(
    device: Device, snippet: Snippet, nodes: list[Node], targets: list[DeviceArray | None], shape: Shape
) -> list[DeviceArray]:
    """Run a snippet at once and return its outputs. A target of None becomes a new array."""
    outputs = []
    for target, (_, dtype, _) in zip(targets, snippet.outputs, strict=True):
        if target is None:
            memory = device.allocate(math.prod(shape) * dtype.itemsize)
            target = wrap(contiguous_leaf(memory, shape, dtype))
        target.check_writeable("output array is read-only")
        outputs.append(target)
    launchers.snippet.run(device, snippet, nodes, [evaluate(t._node) for t in outputs], shape)
    return outputs


def require_single_output(signature: Signature) -> None:
    """Raise ValueError unless the kernel has exactly one output, not raw."""
    if len(signature.outputs) != 1 or signature.outputs[0].raw:
        raise ValueError(f"kernel {signature.name!r}: out_params must be one output, not raw")


def parse_identity(identity: Any) -> Any:
    """Return an identity as a number, C text or None."""
    if identity is None or (isinstance(identity, str) and not identity.strip()):
        return None
    if not isinstance(identity, str):
        return identity
    for number_type in (int, float):
        try:
            return number_type(identity)
        except ValueError:
            continue
    return CText(check_c_text(identity, "identity"))


def apply_post_map(
    kernel: Kernel, call: Call, text: str, node: Node, inputs: TypedParameters, nodes: list[Node]
) -> Node:
    """Apply the post_map statement to the combined values. An empty statement casts them to the output's dtype."""
    outputs = typed_parameters(kernel._signature.outputs, call.types, kernel._signature)
    if not text.strip():
        return ufunc_calls.cast(node, outputs[0][1])
    used, operands = add_index_inputs(text, inputs, nodes, node.shape)
    snippet = kernel._snippet(call, "post_map", text, used, outputs)
    return build.nary(snippet_loop(snippet), tuple(operands))


def write_result(kernel: Kernel, target: DeviceArray | None, node: Node) -> DeviceArray:
    """Write a node to `target` of the same shape, or wrap it as a new array if `target` is None."""
    if target is not None and target.shape != node.shape:
        raise ValueError(f"kernel {kernel.name!r}: the output has shape {target.shape}, where {node.shape} is computed")
    return write_or_wrap(target, node)
