"""Random numbers as expressions: functions of a start in the generator's stream and of the position.

Nothing is in memory until a value is needed, so a draw becomes part of the kernel that uses it.
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

__all__ = ["Start", "Take", "bounded", "converted", "drawn", "shape_of", "words"]

UINT32, UINT64, INT64 = np.dtype(np.uint32), np.dtype(np.uint64), np.dtype(np.int64)
NEAR = 2**31  # positions below are counted in 32 bits: vectors of them are twice as wide
BLOCK_BYTES = 16


class Start(NamedTuple):
    """Where a draw starts: key, block and stream.

    Attributes
    ----------
    spacing : int
        Blocks from one element to the next, for elements that are draws of their own; 0 if they follow each other.
    """

    key: int
    block: int
    stream: int
    spacing: int = 0

    def constants(self) -> list[Node]:
        """The 32-bit numbers that kernels take, as no 64-bit operand shall narrow their vectors."""
        parts = (self.key, self.key >> 32, self.block, self.block >> 32, self.stream)
        return [scalar_node(part & 0xFFFFFFFF, UINT32) for part in parts]


Take = Callable[[int], Start]


def shape_of(size: Any) -> Shape:
    """The argument `size`: () for None.

    Raises
    ------
    ValueError
        It is negative.
    """
    shape = () if size is None else as_shape(size)
    if any(extent < 0 for extent in shape):
        raise ValueError("negative dimensions are not allowed")
    return shape


def _positions(shape: Shape, step: int = 1) -> tuple[str, Node]:
    near = math.prod(shape) * step < NEAR
    strides = tuple([stride * step for stride in contiguous(shape)])
    return "" if near else "_far", index(shape, strides, UINT32 if near else INT64)


def _from_words(name: str, take: Take, shape: Shape, dtype: np.dtype, *more: Node) -> Node:
    """Grow a loop that reads one word of `dtype` per element."""
    start = take(-(-math.prod(shape) * dtype.itemsize // BLOCK_BYTES))
    suffix, position = _positions(shape, start.spacing * (BLOCK_BYTES // dtype.itemsize) or 1)
    nodes = (position, *start.constants(), *more)
    return build.nary(random_loop(name + suffix, tuple(n.dtype for n in nodes), dtype), nodes)


def words(take: Take, shape: Shape, dtype: np.dtype) -> Node:
    """Random bits: a uint32 or uint64 per element."""
    return _from_words("words", take, shape, dtype)


def bounded(take: Take, shape: Shape, bound: Node, least: Node) -> Node:
    """Integers in ``[0, bound)``, uint32 or uint64 as `bound` is; `least` is ``2**bits % bound``."""
    return _from_words("bounded", take, shape, bound.dtype, bound, least)


def converted(name: str, value: Node, dtype: np.dtype) -> Node:
    """Grow the function of one operand ``ca_<name>``, of templates/lib."""
    return build.unary(random_loop(name, (value.dtype,), dtype), value)


@cache
def _drawing(name: str, inputs: tuple[np.dtype, ...], out: np.dtype) -> Loop:
    """The loop of a distribution that draws until a number fits: one element after the other."""
    work = next((d for d in inputs[6:] if d.kind == "f"), np.dtype(np.float64))
    given = [f"p{k}" for k in range(len(inputs) - 6)]
    names = ["i", "k0", "k1", "f0", "f1", "stream", *given]
    block = "ca_joined_ulong(k0, k1), ca_joined_ulong(f0, f1), stream"
    text = f"y = ca_{name}_{compute_type(work)}((ulong)i, {', '.join([block, *given])});"
    parameters = tuple((n, d, False) for n, d in zip(names, inputs, strict=True))
    return snippet_loop(
        Snippet(
            name=f"random {name}", text=text, inputs=parameters, outputs=(("y", out, False),), types=(), preamble=""
        )
    )


def drawn(name: str, take: Take, shape: Shape, parameters: Sequence[Node], out: np.dtype) -> Node:
    """Grow a distribution of templates/lib/distributions.mako; each element has blocks of its own."""
    start = take(math.prod(shape))
    suffix, position = _positions(shape, start.spacing or 1)
    nodes: Any = (position, *start.constants(), *parameters)
    inputs = tuple(n.dtype for n in nodes)
    by_vectors = name in ("gamma", "loggamma")
    loop = random_loop(f"{name}s{suffix}", inputs, out) if by_vectors else _drawing(name, inputs, out)
    return build.nary(loop, nodes)
