"""The operands of a kernel: what every launch derives from the inputs of what it computes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from clarray._engine.expr.layout import ALIGNMENT, STEPPED, Shape, access, aligned, starts_aligned
from clarray._engine.expr.node import CONST, INDEX, Node, memory_of
from clarray._engine.expr.view import contiguous
from clarray._engine.ops.ufuncs import Loop

_CALL = r"\w\("
# What a byte costs, against one that is only added to another, where functions are called (exp 2, abs of complex128 20)
# or elements are looked up by numbers.
COSTLY = 4


class Operands:
    """The distinct inputs of a kernel, and what it is told of them.

    Strides, steps and shifts are those of `placed`, one for each, as the algorithm's loops have them.

    Parameters
    ----------
    inputs : sequence of Node
        Leaves, constants and indices; some may come again.

    Attributes
    ----------
    pattern : tuple of int
        The number of the distinct input that each input is.
    nodes : list of Node
        The distinct inputs.
    """

    __slots__ = ("pattern", "nodes")

    def __init__(self, inputs: Sequence[Node]) -> None:
        if len(inputs) == 1:
            self.pattern: tuple[int, ...] = (0,)
            self.nodes = list(inputs)
        else:
            numbers: dict[Node, int] = {}
            self.pattern = tuple([numbers.setdefault(node, len(numbers)) for node in inputs])
            self.nodes = list(numbers)

    @property
    def placed(self) -> list[Node]:
        """The inputs that have a place in an array: all but the constants."""
        return [n for n in self.nodes if n.op is not CONST]

    @property
    def names(self) -> list[str]:
        """The names in C of the inputs that have a place in an array."""
        return [f"x{number}" for number, n in enumerate(self.nodes) if n.op is not CONST]

    @property
    def nbytes(self) -> int:
        """Bytes the inputs hold, each element counted once."""
        return sum([n.size * n.dtype.itemsize for n in self.nodes if n.memory is not None])

    @property
    def are_aligned(self) -> bool:
        """Whether all arrays start where an aligned vector may."""
        return all(starts_aligned(n.dtype, n.offset) for n in self.nodes if n.memory is not None)

    def followed_by(self, position: Node) -> Operands:
        """The same, and an index that the kernel is given besides."""
        return Operands([*self.nodes, position])

    def kinds(self, memory: str = "memory") -> tuple[str, ...]:
        """Per distinct input: ``'const'``, ``'index'``, or the word given for those in memory."""
        return tuple(["const" if n.op is CONST else "index" if n.op is INDEX else memory for n in self.nodes])

    def strides(self, ndim: int) -> tuple[Shape, ...]:
        """Strides of each as it is broadcast to `ndim` axes."""
        return tuple([aligned(n.shape, n.strides, ndim) for n in self.nodes if n.op is not CONST])

    def accesses(self, steps: Iterable[int], pairs: bool = False) -> tuple[str, ...]:
        """Per distinct input ``'const'`` or its access class along the inner loop.

        Parameters
        ----------
        steps : iterable of int
            Strides along the inner loop.
        pairs : bool
            Whether vector code reads them, which takes every second element in whole vectors.
        """
        step = iter(steps)
        return tuple(["const" if n.op is CONST else _class(n, next(step), pairs) for n in self.nodes])

    def rows_aligned(self, strides: Iterable[Shape], starts: Iterable[int]) -> bool:
        """Whether every run of neighbouring elements starts where an aligned vector may.

        Parameters
        ----------
        strides : iterable of tuple of int
            The inner loop last.
        starts : iterable of int
            Where the loops begin in each array.
        """
        return all(
            n.memory is None or steps[-1] != 1 or starts_aligned(n.dtype, start, *steps[:-1])
            for n, steps, start in zip(self.placed, strides, starts, strict=True)
        )

    def starts(self, shifts: Sequence[int]) -> list[int]:
        """Where loops begin that are shifted so."""
        return [n.offset + shift for n, shift in zip(self.placed, shifts, strict=True)]

    def dtypes(self, *roots: Node) -> list[np.dtype]:
        """Every dtype inside the trees over these inputs: the widest one limits the vectors."""
        found = {n.dtype for n in (*roots, *self.nodes)}
        level = list(roots)
        while level:
            node = level.pop()
            if node.memory is None and node.args:
                found.update(node.op.in_dtypes)
                found.add(node.dtype)
                level.extend(node.args)
        return list(found)

    def arguments(self, shifts: Sequence[int] = ()) -> list[Any]:
        """The kernel arguments that place the inputs, in order.

        Parameters
        ----------
        shifts : sequence of int
            Added to the offsets, where axes were turned round; empty for none.
        """
        args: list[Any] = []
        number = 0
        for node in self.nodes:
            memory = node.memory
            if memory is None and node.op is CONST:
                append_scalar(args, node)
                continue
            if memory is not None:
                args.append(memory.buffer)
            args.append(node.offset + shifts[number] if shifts else node.offset)
            number += 1
        return args


def place(inputs: Iterable[Node], key: list[Any], args: list[Any], alignment: bool) -> dict[Node, int]:
    """Append to a key how inputs lie, and to arguments where, unshifted; give the distinct ones, in order.

    Parameters
    ----------
    inputs : iterable of Node
        In structural order: with the structure's signature the key tells all that a plan depends on.
    alignment : bool
        Whether it depends on how each starts.
    """
    seen: dict[Node, int] = {}
    for node in inputs:
        number = seen.get(node)
        if number is not None:
            key.append(number)
            continue
        seen[node] = len(seen)
        memory = node.memory
        if memory is not None:
            key.append(node.shape)
            key.append(node.strides)
            if alignment:
                key.append(node.offset * node.dtype.itemsize % ALIGNMENT == 0)
            args.append(memory.buffer)
            args.append(node.offset)
        elif node.op is CONST:
            key.append(None)
            append_scalar(args, node)
        else:
            key.append(node.shape)
            key.append(node.strides)
            args.append(node.offset)
    return seen


def place_flat(
    inputs: Iterable[Node], shape: Shape, key: list[Any], args: list[Any], alignment: bool, starts: bool
) -> bool | None:
    """As `place` where all inputs are contiguous, or one element: nothing depends on the shape then.

    Parameters
    ----------
    shape : tuple of int
        Of what is computed.
    starts : bool
        Whether kernels are told where an index starts; if not, only those are flat that start at 0.

    Returns
    -------
    bool or None
        Whether `alignment` matters and an input starts elsewhere than an aligned vector may, which belongs to the key;
        None where they lie otherwise. Some have been appended then.
    """
    seen: dict[Node, int] = {}  # as in `place`: a generator that both go through costs 0.4 of the 7.3 us of ``x + x``
    loose = False
    for node in inputs:
        number = seen.get(node)
        if number is not None:
            key.append(number)
            continue
        seen[node] = len(seen)
        memory = node.memory
        if memory is not None:
            if node.shape == shape and node.contiguous:
                key.append("u")
                if alignment and node.offset * node.dtype.itemsize % ALIGNMENT:
                    loose = True
            elif node.size == 1:
                key.append("z")
            else:
                return None
            args.append(memory.buffer)
            args.append(node.offset)
        elif node.op is CONST:
            key.append("c")
            append_scalar(args, node)
        elif not _goes_along(node, shape, starts):
            return None
        else:
            key.append("p")
            if starts:
                args.append(node.offset)
    return loose


def _goes_along(node: Node, shape: Shape, starts: bool) -> bool:
    """Whether an index is the position in a flat loop, or is that after its own start; one element has no step."""
    return node.shape == shape and node.strides == contiguous(shape) and (node.size > 1 if starts else not node.offset)


def operands_of(*roots: Node) -> Operands:
    """The operands of a kernel that computes the values of such trees."""
    if len(roots) == 1:
        return Operands(roots[0].inputs or roots)
    return Operands([n for r in roots for n in (r.inputs or (r,))])


def inline_limit(nbytes: int, *roots: Node) -> int:
    """The bytes up to which the calling thread computes such trees: a part of a policy's where functions are called."""
    level = list(roots)
    while level:
        node = level.pop()
        if node.memory is None and node.args:
            text = node.op.form.text if isinstance(node.op, Loop) else ""
            if isinstance(text, str) and re.search(_CALL, text):
                return nbytes // COSTLY
            level.extend(node.args)
    return nbytes


def stride_arguments(accesses: Sequence[str], strides: Sequence[Shape]) -> list[int]:
    """Strides as sources declare them: innermost first, that one only of classes that have it at run time.

    Parameters
    ----------
    accesses : sequence of str
        Constants, which have none, may be among them.
    strides : sequence of tuple of int
        Of the others.
    """
    found: list[int] = []
    for kind, steps in zip([a for a in accesses if a != "const"], strides, strict=True):
        found += steps[::-1] if kind in STEPPED else steps[-2::-1]
    return found


def leaf_arguments(**leaves: Node) -> dict[str, Any]:
    """Return the buffers and offsets of leaves by the names of their arguments: ``yp`` and ``yo`` of ``y``."""
    found: dict[str, Any] = {}
    for name, leaf in leaves.items():
        found[f"{name}p"] = memory_of(leaf).buffer
        found[f"{name}o"] = leaf.offset
    return found


def append_scalar(args: list[Any], node: Node) -> None:
    """The arguments of a constant: complex numbers are passed as two reals."""
    value = node.value
    if node.dtype.kind == "c":
        args.append(value.real)
        args.append(value.imag)
    else:
        args.append(value)


def _class(node: Node, step: int, pairs: bool) -> str:
    return "index" if node.op is INDEX else access(step, pairs and node.dtype.itemsize > 2)
