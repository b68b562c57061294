"""Operands of a kernel: the layout, access classes and arguments of an expression's inputs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from clarray._engine.expr.graph import constant_key, graph_of
from clarray._engine.expr.layout import ALIGNMENT, STEPPED, Shape, access, aligned, starts_aligned
from clarray._engine.expr.node import CONST, INDEX, HostScalar, Node, NodeEvaluated, memory_of
from clarray._engine.expr.view import contiguous
from clarray._engine.ops.ufuncs import Loop
from clarray._engine.runtime.capture import current_capture
from clarray._engine.runtime.profiling import state
from clarray._engine.runtime.steps import ConstantFloat, ConstantInt

_CALL = r"\w\("
# Cost of a byte relative to a byte of an addition, for function calls (exp: 2, abs of complex128: 20) and for elements
# that are selected by indices.
COSTLY = 4


class Operands:
    """The distinct inputs of a kernel.

    Arguments `strides`, `steps` and `shifts` of the methods have one entry for each of `non_constants`.

    Parameters
    ----------
    nodes : sequence of Node
        Leaves, constants and indices, each once.
    signature : int
        The structure of the expressions of these inputs. 0 if no kernel is looked up by it.
    """

    __slots__ = ("nodes", "signature")

    def __init__(self, nodes: Sequence[Node], signature: int = 0) -> None:
        self.nodes = list(nodes)
        self.signature = signature

    @property
    def non_constants(self) -> list[Node]:
        """The distinct inputs that have strides: arrays and indices."""
        return [n for n in self.nodes if n.op is not CONST]

    @property
    def names(self) -> list[str]:
        """The names in C of the inputs that have a place in an array."""
        return [f"x{number}" for number, n in enumerate(self.nodes) if n.op is not CONST]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays. A broadcast element counts once."""
        return sum([n.size * n.dtype.itemsize for n in self.nodes if n.memory is not None])

    @property
    def are_aligned(self) -> bool:
        """Whether the first elements of all arrays are aligned for vectors."""
        return all(starts_aligned(n.dtype, n.offset) for n in self.nodes if n.memory is not None)

    def with_index(self, position: Node) -> Operands:
        """Return these operands followed by an index."""
        return Operands([*self.nodes, position])

    def kinds(self, memory: str = "memory") -> tuple[str, ...]:
        """Return ``'const'``, ``'index'`` or the argument `memory`, for each distinct input."""
        return tuple(["const" if n.op is CONST else "index" if n.op is INDEX else memory for n in self.nodes])

    def strides(self, ndim: int) -> tuple[Shape, ...]:
        """Return the strides of each of `non_constants`, broadcast to `ndim` axes."""
        return tuple([aligned(n.shape, n.strides, ndim) for n in self.nodes if n.op is not CONST])

    def accesses(self, steps: Iterable[int], pairs: bool = False) -> tuple[str, ...]:
        """Return ``'const'`` or the access class along the inner loop, for each distinct input.

        Parameters
        ----------
        steps : iterable of int
            Strides along the inner loop.
        pairs : bool
            Whether the kernel is vector code, which loads every second element by whole vectors.
        """
        step = iter(steps)
        return tuple(["const" if n.op is CONST else _access_class(n, next(step), pairs) for n in self.nodes])

    def rows_aligned(self, strides: Iterable[Shape], starts: Iterable[int]) -> bool:
        """Return whether every contiguous run of elements starts aligned for vectors.

        Parameters
        ----------
        strides : iterable of tuple of int
            Strides of the loops, innermost last.
        starts : iterable of int
            Offset of the first element of the loops in each array.
        """
        return all(
            n.memory is None or steps[-1] != 1 or starts_aligned(n.dtype, start, *steps[:-1])
            for n, steps, start in zip(self.non_constants, strides, starts, strict=True)
        )

    def shifted_offsets(self, shifts: Sequence[int]) -> list[int]:
        """Return the offsets of `non_constants`, each plus its shift."""
        return [n.offset + shift for n, shift in zip(self.non_constants, shifts, strict=True)]

    def dtypes(self, *roots: Node) -> list[np.dtype]:
        """Return all dtypes inside the expressions `roots` of these inputs. The widest one limits the vectors."""
        dtypes = {n.dtype for n in (*roots, *self.nodes)}
        for node in graph_of(*roots).pending:
            op = node.op
            if op is None:
                raise NodeEvaluated
            dtypes.update(op.in_dtypes)
            dtypes.add(node.dtype)
        return list(dtypes)

    def arguments(self, shifts: Sequence[int] = ()) -> list[Any]:
        """Return the kernel arguments of the inputs: buffers, offsets and the values of constants.

        Parameters
        ----------
        shifts : sequence of int
            Added to the offsets, for axes that are reversed. Empty if no axis is.
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


def append_inputs(inputs: Iterable[Node], key: list[Any], args: list[Any], alignment: bool) -> None:
    """Append the layouts of inputs to a key and their unshifted arguments to `args`.

    Parameters
    ----------
    inputs : iterable of Node
        The inputs of a graph. The key, with the graph's signature in it, has all that a plan depends on.
    alignment : bool
        Whether the plan depends on the alignment of each first element.
    """
    for node in inputs:
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


def append_flat_inputs(
    inputs: Iterable[Node], shape: Shape, key: list[Any], args: list[Any], alignment: bool, starts: bool
) -> bool | None:
    """Append flat inputs to a key and to `args`, as `append_inputs` does. The key does not depend on the shape.

    All flat inputs are contiguous or have one element.

    Parameters
    ----------
    shape : tuple of int
        Shape of the result.
    starts : bool
        Whether the kernel has an argument for the start of an index. If not, an index is flat only if it starts at 0.

    Returns
    -------
    bool or None
        Whether `alignment` is set and an input is unaligned, which belongs to the key. None if an input is not flat.
        Some inputs have been appended then.
    """
    # A generator shared with `append_inputs` would take 0.4 of the 7.3 us of ``x + x``.
    unaligned = False
    for node in inputs:
        memory = node.memory
        if memory is not None:
            if node.shape == shape and node.contiguous:
                key.append("u")
                if alignment and node.offset * node.dtype.itemsize % ALIGNMENT:
                    unaligned = True
            elif node.size == 1:
                key.append("z")
            else:
                return None
            args.append(memory.buffer)
            args.append(node.offset)
        elif node.op is CONST:
            key.append("c")
            append_scalar(args, node)
        elif not _is_flat_index(node, shape, starts):
            return None
        else:
            key.append("p")
            if starts:
                args.append(node.offset)
    return unaligned


def _is_flat_index(node: Node, shape: Shape, starts: bool) -> bool:
    """Return whether an index is the position in a flat loop, plus its own start if `starts` is set."""
    # an index of one element has no step
    return node.shape == shape and node.strides == contiguous(shape) and (node.size > 1 if starts else not node.offset)


def collect_operands(*roots: Node) -> Operands:
    """Return the operands of a kernel that computes the expressions `roots`."""
    graph = graph_of(*roots)
    return Operands(graph.inputs, graph.signature)


def inline_limit(nbytes: int, *roots: Node) -> int:
    """Return the number of bytes up to which the calling thread runs a launch: less for costly functions.

    Parameters
    ----------
    nbytes : int
        The limit of the policy.
    *roots : Node
        The expressions that the launch computes.
    """
    for node in graph_of(*roots).pending:
        text = node.op.form.text if isinstance(node.op, Loop) else ""
        if isinstance(text, str) and re.search(_CALL, text):
            return nbytes // COSTLY
    return nbytes


def stride_arguments(accesses: Sequence[str], strides: Sequence[Shape]) -> list[int]:
    """Return the stride arguments in the order of the sources' parameters: the innermost loop first.

    The innermost stride is an argument only of access classes that do not fix it.

    Parameters
    ----------
    accesses : sequence of str
        Access classes. Constants may be among them.
    strides : sequence of tuple of int
        Strides of all but the constants.
    """
    args: list[int] = []
    for kind, steps in zip([a for a in accesses if a != "const"], strides, strict=True):
        args += steps[::-1] if kind in STEPPED else steps[-2::-1]
    return args


def leaf_arguments(**leaves: Node) -> dict[str, Any]:
    """Return the buffers and offsets of leaves by the names of their arguments: ``yp`` and ``yo`` of ``y``."""
    found: dict[str, Any] = {}
    for name, leaf in leaves.items():
        found[f"{name}p"] = memory_of(leaf).buffer
        found[f"{name}o"] = leaf.offset
    return found


def append_scalar(args: list[Any], node: Node) -> None:
    """Append the arguments of a constant: a complex number is two reals."""
    value = node.value
    if node.dtype.kind == "c":
        args.append(value.real)
        args.append(value.imag)
    else:
        args.append(value if state.capture is None else _numbered(node))


def _numbered(node: Node) -> Any:
    """Return a constant's value, with its number if a capture of its region needs that."""
    value = node.value
    capture = current_capture()
    if capture is None or not capture.constants or isinstance(node, HostScalar) or type(value) not in (float, int):
        return value
    number = capture.constants.get(constant_key(node))
    if number is None:
        return value
    numbered: Any = ConstantFloat(value) if type(value) is float else ConstantInt(value)
    numbered.number = number
    return numbered


def _access_class(node: Node, step: int, pairs: bool) -> str:
    return "index" if node.op is INDEX else access(step, pairs and node.dtype.itemsize > 2)
