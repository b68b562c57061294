"""Random numbers as expressions: functions of a start in the generator's stream and of the element's position.

A draw is materialized only when a value is needed, so it fuses with the kernel that uses it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from clarray._core.operands import scalar_node
from clarray._engine.expr import build
from clarray._engine.expr.node import Node, Shape, index
from clarray._engine.expr.view import as_shape, contiguous
from clarray._engine.ops.ctype import compute_type
from clarray._engine.ops.random import random_loop
from clarray._engine.ops.snippets import Snippet, snippet_loop
from clarray._engine.ops.ufuncs import Loop

__all__ = ["Start", "Take", "draw_bounded", "apply_function", "draw_per_element", "as_size", "draw_words"]

UINT32, UINT64, INT64 = np.dtype(np.uint32), np.dtype(np.uint64), np.dtype(np.int64)
LIMIT_OF_32_BITS = 2**31  # smaller positions are computed in 32 bits: their vectors are twice as wide
BLOCK_BYTES = 16


class Start(NamedTuple):
    """Start of a draw: key, block and stream.

    Attributes
    ----------
    spacing : int
        Blocks between the starts of elements, if each element is a separate draw. 0 for contiguous elements.
    """

    key: int
    block: int
    stream: int
    spacing: int = 0

    def constants(self) -> list[Node]:
        """Return the 32-bit arguments of kernels. A 64-bit operand would narrow the kernels' vectors."""
        parts = (self.key, self.key >> 32, self.block, self.block >> 32, self.stream)
        return [scalar_node(part & 0xFFFFFFFF, UINT32) for part in parts]


Take = Callable[[int], Start]


def as_size(size: Any) -> Shape:
    """Convert the argument `size` to a shape: () for None.

    Raises
    ------
    ValueError
        An extent is negative.
    """
    shape = () if size is None else as_shape(size)
    if any(extent < 0 for extent in shape):
        raise ValueError("negative dimensions are not allowed")
    return shape


def _positions(shape: Shape, step: int = 1) -> tuple[str, Node]:
    fits_32_bits = math.prod(shape) * step < LIMIT_OF_32_BITS
    strides = tuple([stride * step for stride in contiguous(shape)])
    return "" if fits_32_bits else "_far", index(shape, strides, UINT32 if fits_32_bits else INT64)


def _from_words(name: str, take: Take, shape: Shape, dtype: np.dtype, *further_operands: Node) -> Node:
    """Build the node of a loop that reads one random word of `dtype` per element."""
    start = take(-(-math.prod(shape) * dtype.itemsize // BLOCK_BYTES))
    suffix, position = _positions(shape, start.spacing * (BLOCK_BYTES // dtype.itemsize) or 1)
    nodes = (position, *start.constants(), *further_operands)
    return build.nary(random_loop(name + suffix, tuple(n.dtype for n in nodes), dtype), nodes)


def draw_words(take: Take, shape: Shape, dtype: np.dtype) -> Node:
    """Draw random bits: a uint32 or uint64 per element."""
    return _from_words("words", take, shape, dtype)


def draw_bounded(take: Take, shape: Shape, bound: Node, least: Node) -> Node:
    """Draw integers in ``[0, bound)`` in the dtype of `bound`, uint32 or uint64. `least` is ``2**bits % bound``."""
    return _from_words("bounded", take, shape, bound.dtype, bound, least)


def apply_function(name: str, value: Node, dtype: np.dtype) -> Node:
    """Build the node of ``ca_<name>``, a function of one operand in templates/lib."""
    return build.unary(random_loop(name, (value.dtype,), dtype), value)


@cache
def _per_element_loop(name: str, inputs: tuple[np.dtype, ...], out: np.dtype) -> Loop:
    """Return the loop of a distribution by rejection: each work-item draws until it accepts a number."""
    work = next((d for d in inputs[6:] if d.kind == "f"), np.dtype(np.float64))
    parameter_names = [f"p{k}" for k in range(len(inputs) - 6)]
    names = ["i", "k0", "k1", "f0", "f1", "stream", *parameter_names]
    block = "ca_joined_ulong(k0, k1), ca_joined_ulong(f0, f1), stream"
    text = f"y = ca_{name}_{compute_type(work)}((ulong)i, {', '.join([block, *parameter_names])});"
    parameters = tuple((n, d, False) for n, d in zip(names, inputs, strict=True))
    return snippet_loop(
        Snippet(
            name=f"random {name}", text=text, inputs=parameters, outputs=(("y", out, False),), types=(), preamble=""
        )
    )


def draw_per_element(name: str, take: Take, shape: Shape, parameters: Sequence[Node], out: np.dtype) -> Node:
    """Build the node of a distribution of templates/lib/distributions.mako. Each element has blocks of its own."""
    start = take(math.prod(shape))
    suffix, position = _positions(shape, start.spacing or 1)
    nodes: Any = (position, *start.constants(), *parameters)
    inputs = tuple(n.dtype for n in nodes)
    by_vectors = name in ("gamma", "loggamma")
    loop = random_loop(f"{name}s{suffix}", inputs, out) if by_vectors else _per_element_loop(name, inputs, out)
    return build.nary(loop, nodes)
