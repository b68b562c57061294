"""Run snippets eagerly: snippets with several outputs, or with arrays passed as pointers."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import compress
from math import prod
from typing import Any

from clarray._engine.algorithms.snippet.plan import snippet_plan
from clarray._engine.algorithms.snippet.source import check_source, snippet_source
from clarray._engine.evaluate import evaluate, materialize_shared
from clarray._engine.expr.graph import inputs_of
from clarray._engine.expr.layout import Space, aligned, collapse
from clarray._engine.expr.node import EAGER, Node, Shape, contiguous_leaf, memory_of, replanned
from clarray._engine.fused.elementwise.plan import groups
from clarray._engine.launch.kernel_cache import KernelCache, Launch, kernel_cache_of
from clarray._engine.launch.operands import COSTLY, Operands, collect_operands, leaf_arguments
from clarray._engine.ops.snippets import Snippet
from clarray._engine.runtime import Device, Kernel
from clarray._engine.runtime.snippets import compiler_message
from clarray._engine.writing import flush_readers, overlaps, write

_checked: set[tuple[Device, str]] = set()


def check(device: Device, snippet: Snippet) -> tuple[str, str]:
    """Compile a snippet. Return the compiler's error message and the source, or empty strings if there is no error."""
    key = (device, snippet.function)
    if key in _checked:
        return "", ""
    source = check_source(snippet, device.capabilities)
    message = compiler_message(device, source)
    if not message:
        _checked.add(key)
    return message, source


@replanned
def run(device: Device, snippet: Snippet, inputs: Sequence[Node], targets: Sequence[Node], shape: Shape) -> None:
    """Run a snippet once for each position of `shape`.

    Parameters
    ----------
    inputs : sequence of Node
        Nodes of the snippet's dtypes. Inputs that are not passed whole broadcast to `shape`.
    targets : sequence of Node
        Leaves of the snippet's dtypes. Targets that are not passed whole have the shape `shape`. Their pending readers
        are evaluated first. A target that overlaps an input with other strides is written through a temporary.
    """
    is_whole = [r for _, _, r in snippet.inputs]
    values = list(compress(inputs, map(operator.not_, is_whole)))
    with device.lock:
        for target in targets:
            flush_readers(memory_of(target))
        for node in values:
            materialize_shared(node)
        arrays = list(map(_packed, compress(inputs, is_whole)))
        whole = [r for _, _, r in snippet.outputs]
        outputs = [_output(t, r, values) for t, r in zip(targets, whole, strict=True)]
        if all(shape):
            _launch(kernel_cache_of(device), snippet, values, arrays, outputs, shape).run()
        for output, target in zip(outputs, targets, strict=True):
            _copy_output(output, target)
        everyone = [*inputs_of(*values), *arrays, *targets]
        if any(n.flags & EAGER or (n.memory is not None and n.memory.shared) for n in everyone):
            device.synchronize()


def _copy_output(output: Node, target: Node) -> None:
    # a function of its own, because an interrupt at a branch in a loop could leave the lock held
    if output is not target:
        write(target, output)


def _packed(node: Node) -> Node:
    """Return a node as a contiguous leaf: the node itself, or a copy."""
    evaluate(node)
    if node.contiguous:
        return node
    assert node.memory is not None
    copied = contiguous_leaf(node.memory.device.allocate(node.size * node.dtype.itemsize), node.shape, node.dtype)
    write(copied, node)
    return copied


def _output(target: Node, whole: bool, values: list[Node]) -> Node:
    """Return the leaf that the kernel writes: the target, or a temporary that is copied to the target."""
    if whole:
        return _packed(target)  # the kernel may leave elements unwritten
    assert target.memory is not None
    if not any(overlaps(n, target) for n in inputs_of(*values)):
        return target
    memory = target.memory.device.allocate(target.size * target.dtype.itemsize)
    return contiguous_leaf(memory, target.shape, target.dtype)


def _prepare(
    cache: KernelCache,
    snippet: Snippet,
    values: list[Node],
    inputs: Operands,
    space: Space,
    outs: int,
    strided: bool,
) -> tuple[Kernel, dict[str, Any], int]:
    """Return the kernel, the arguments that depend only on shapes and strides, by name, and the units of work.

    Parameters
    ----------
    outs : int
        Number of outputs that are not passed whole.
    strided : bool
        Whether any operand has strides. Otherwise all are constants or passed whole.
    """
    policy, size = cache.policies.elementwise, prod(space.shape)
    plan = snippet_plan(space, size, inputs.kinds(), outs, policy)
    key = ("snippet", snippet.function, inputs.signature, plan)
    kernel = cache.kernel_for(key, snippet_source, plan, snippet, values, inputs.nodes, cache.capabilities)
    loops = space.shape or (1,)
    strides = [s or (0,) for s in space.strides] if strided else []
    rows = size // loops[-1]
    sizes: dict[str, Any] = {"rows": rows, "k": loops[::-1]}
    names = [*(f"y{number}" for number in range(outs)), *inputs.names]
    sizes |= {f"{name}k": steps[::-1] for name, steps in zip(names, strides, strict=True)} if strided else {}
    segment = policy.segment or 1 if policy.chunked else 1
    return kernel, sizes, rows * -(-loops[-1] // segment)


def _launch(
    cache: KernelCache, snippet: Snippet, values: list[Node], arrays: list[Node], outputs: list[Node], shape: Shape
) -> Launch:
    policy = cache.policies.elementwise
    inputs = collect_operands(*values)
    outs = [p for p, (_, _, raw) in zip(outputs, snippet.outputs, strict=True) if not raw]
    ndim = len(shape)
    strides = (*(aligned(n.shape, n.strides, ndim) for n in outs), *inputs.strides(ndim))
    key: Any = (
        "snippet",
        snippet.function,
        inputs.signature,
        inputs.kinds(),
        shape,
        strides,
    )
    space = collapse(shape, strides) if strides else collapse(shape, (tuple([0] * ndim),))
    kernel, sizes, units = cache.value_for(
        key, _prepare, cache, snippet, values, inputs, space, len(outs), bool(strides)
    )
    nbytes = inputs.nbytes + sum(n.size * n.dtype.itemsize for n in (*arrays, *outputs))
    arguments = sizes.copy()
    raw = [number for number, (_, _, raw) in enumerate((*snippet.inputs, *snippet.outputs)) if raw]
    whole = (*arrays, *(p for p in outputs if all(p is not o for o in outs)))
    for number, node in zip(raw, whole, strict=True):
        arguments |= leaf_arguments(**{f"w{number}": node}) | {f"w{number}n": node.size}
    for number, (out, shift) in enumerate(zip(outs, space.offsets, strict=False)):
        arguments |= {f"y{number}p": memory_of(out).buffer, f"y{number}o": out.offset + shift}
    args = kernel.arguments(inputs=inputs.arguments(space.offsets[len(outs) :]), **arguments)
    return Launch(
        kernel,
        (groups(units, nbytes, cache.units, policy),),
        (policy.work_group,),
        args,
        COSTLY * nbytes <= policy.inline_bytes,
        nbytes,
        (arrays, outputs),
    )
