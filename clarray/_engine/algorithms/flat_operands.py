"""Operands of algorithms that go through their elements in one loop."""

from __future__ import annotations

from dataclasses import dataclass

from clarray._engine.codegen.expression import distinct
from clarray._engine.evaluate import evaluate, materialize_shared, write
from clarray._engine.expr.layout import Shape, access, aligned, collapse
from clarray._engine.expr.node import CONST, INDEX, Node, contiguous_leaf
from clarray._engine.fused.elementwise.plan import ALIGNMENT
from clarray._engine.launch.kernel_cache import device_of


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatOperands:
    """A value as one loop over its distinct inputs.

    Parameters
    ----------
    value : Node
        What is read: the value given, or a contiguous copy of it.
    pattern : tuple of int
        The number of the distinct input that each input is.
    nodes : list of Node
    accesses : tuple of str
        Per distinct input.
    steps : tuple of int
        Strides of those with a run-time stride, in order.
    offsets : tuple of int
        Added to the offsets of the inputs that are no constants.
    whole : bool
        Whether contiguous inputs start where vectors are aligned.
    furthest : int
        Largest distance from an input's first element.
    """

    value: Node
    pattern: tuple[int, ...]
    nodes: list[Node]
    accesses: tuple[str, ...]
    steps: Shape
    offsets: Shape
    whole: bool
    furthest: int


def flat_operands_of(value: Node, ordered: bool) -> FlatOperands:
    """Make a value one loop: as it is, computed while it is read, or else by way of a copy.

    Parameters
    ----------
    ordered : bool
        Whether the loop must go through the elements in C order.
    """
    materialize_shared(value)
    found = _line(value, ordered)
    if found is not None:
        return found
    if value.memory is None:
        evaluate(value)
        found = _line(value, ordered)
        if found is not None:
            return found
    memory = device_of((value,)).allocate(value.size * value.dtype.itemsize)
    copy = contiguous_leaf(memory, value.shape, value.dtype)
    write(copy, value)
    found = _line(copy, ordered)
    assert found is not None
    return found


def _line(value: Node, ordered: bool) -> FlatOperands | None:
    pattern, nodes = distinct(value.inputs or (value,))
    placed = [n for n in nodes if n.op is not CONST]
    strides = [aligned(n.shape, n.strides, len(value.shape)) for n in placed]
    if ordered:
        # an output in C order comes first, as the one whose order the loop follows
        out = []
        step = 1
        for extent in reversed(value.shape):
            out.append(step)
            step *= extent
        strides.insert(0, tuple(reversed(out)))
    if not strides:
        return FlatOperands(
            value=value,
            pattern=pattern,
            nodes=nodes,
            accesses=("const",) * len(nodes),
            steps=(),
            offsets=(),
            whole=True,
            furthest=value.size,
        )
    space = collapse(value.shape, tuple(strides))
    if len(space.shape) > 1 or (ordered and space.offsets[0]):
        return None
    first = int(ordered)
    steps = [s[0] if s else 0 for s in space.strides[first:]]
    kinds = {id(n): "index" if n.op is INDEX else access(s) for n, s in zip(placed, steps, strict=True)}
    accesses = tuple("const" if n.op is CONST else kinds[id(n)] for n in nodes)
    return FlatOperands(
        value=value, pattern=pattern, nodes=nodes, accesses=accesses,
        steps=tuple(s for n, s in zip(placed, steps, strict=True) if kinds[id(n)] in ("strided", "index")),
        offsets=space.offsets[first:],
        whole=all(
            (n.offset + o) * n.dtype.itemsize % ALIGNMENT == 0
            for n, o in zip(placed, space.offsets[first:], strict=True)
            if kinds[id(n)] == "unit"
        ),
        furthest=max([value.size, *(abs(s) * value.size for s in steps)]),
    )  # fmt: skip
