"""Evaluation of small expressions in host memory by NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clarray._engine.expr.graph import graph_of
from clarray._engine.expr.node import CONST, Node, Shape, leaf
from clarray._engine.ops.host_functions import host_function, host_reduction, integer_range, is_host_exact_cast
from clarray._engine.ops.monoids import Reduction
from clarray._engine.ops.special import cast_loop
from clarray._engine.ops.ufuncs import Loop

if TYPE_CHECKING:
    from clarray._engine.runtime import Memory

__all__ = ["HostExpression", "MemoryView", "Undefined", "elements_in", "host_array", "host_value", "is_host_exact_tree"]


class Undefined(ArithmeticError):
    """Raised for a value with undefined bits, for which a kernel may compute other bits."""


def is_host_exact_tree(root: Node) -> bool:
    """Return whether NumPy computes the same bits as a kernel for a tree, except for undefined bits."""
    visited = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if id(node) in visited or node.memory is not None or not node.args:
            continue
        visited.add(id(node))
        if _is_copy(node.op, node.args, node.dtype):  # a copy of a leaf has the structure and the kernel of the leaf
            stack.extend(node.args)
            continue
        op = node.op
        if isinstance(op, Loop):
            in_dtypes = op.in_dtypes if host_function(op) is not None else ()
        elif isinstance(op, Reduction):
            in_dtypes = (op.monoid.in_dtype,) if host_reduction(op.monoid) is not None and node.args[0].size else ()
        else:
            return False
        # a mask is one operand more than the input dtypes
        if len(in_dtypes) != len(node.args) or not all(
            map(is_host_exact_cast, [a.dtype for a in node.args], in_dtypes)
        ):
            return False
        stack.extend(node.args)
    return True


def host_array(leaf: Node) -> np.ndarray | None:
    """Return a view of a leaf's elements if they are in host memory, else None. The leaf must outlive the view."""
    assert leaf.memory is not None
    buffer = leaf.memory.elements(leaf.dtype)
    return None if buffer is None else elements_in(buffer, leaf)


def elements_in(buffer: Any, leaf: Node) -> np.ndarray:
    """Return an ndarray of a leaf's elements in a buffer that holds the leaf's memory."""
    itemsize = leaf.dtype.itemsize
    start = leaf.offset * itemsize if leaf.size else 0  # an empty leaf may begin beyond the buffer
    return np.ndarray(leaf.shape, leaf.dtype, buffer, start, [s * itemsize for s in leaf.strides])


class MemoryView(NamedTuple):
    """The elements of a leaf, apart from its memory. Programs have one for each array that a host step uses.

    Attributes
    ----------
    number : int
        Number of the memory among those of the step.
    shape : tuple of int
    dtype : dtype
    offset : int
        In bytes.
    strides : tuple of int
        In bytes.
    run : slice or None
        The place of a 1-D array of consecutive elements in its memory. NumPy slices in a quarter of the time in which
        it makes an array of a buffer.
    """

    number: int
    shape: Shape
    dtype: np.dtype
    offset: int
    strides: Shape
    run: slice | None = None

    @classmethod
    def from_leaf(cls, leaf: Node, number: int) -> MemoryView:
        """Return the view of a leaf in the memory with this number."""
        itemsize = leaf.dtype.itemsize
        strides = tuple([stride * itemsize for stride in leaf.strides])
        run = slice(leaf.offset, leaf.offset + leaf.size) if leaf.size and leaf.strides == (1,) else None
        return cls(number, leaf.shape, leaf.dtype, leaf.offset * itemsize if leaf.size else 0, strides, run)

    def on(self, memories: Sequence[Memory]) -> np.ndarray | None:
        """Return the elements as an ndarray on host memory, or None if the host does not see the memory."""
        number, shape, dtype, offset, strides, run = self
        buffer = memories[number].elements(dtype)
        if buffer is None:
            return None
        return np.ndarray(shape, dtype, buffer, offset, strides) if run is None else buffer[run]

    def leaf(self, memories: Sequence[Memory]) -> Node:
        """Return a leaf of the elements, in memory of any device."""
        itemsize = self.dtype.itemsize
        strides = tuple([stride // itemsize for stride in self.strides])
        return leaf(memories[self.number], self.shape, strides, self.offset // itemsize, self.dtype)


class HostExpression:
    """An `is_host_exact_tree` as calls of NumPy's functions. It does not refer to the memory of the leaves.

    Parameters
    ----------
    root : Node
        The tree.

    Attributes
    ----------
    leaves : list of Node
        The distinct leaves in memory, in the order that `compute` takes their elements. Drop them to free the memory.
    """

    __slots__ = ("leaves", "_calls", "_values", "_checks_nan", "_root")

    def __init__(self, root: Node) -> None:
        self.leaves: list[Node] = []
        self._values: list[Any] = []  # constants, and None for a leaf or a result
        self._calls: list[tuple[int, Any, tuple[int, ...], Any]] = []
        self._checks_nan = bool(root.args) and root.dtype.kind == "f"
        graph = graph_of(root)
        numbers: dict[Node, int] = {}
        for node in (*graph.inputs, *graph.pending):
            numbers[node] = self._add(node, numbers)
        self._root = numbers[root]

    def _add(self, node: Node, numbers: dict[Node, int]) -> int:
        """Add a node whose operands have been added, and return its number."""
        op, operands = node.op, node.args  # read together: a re-entrant call may make the node a leaf
        value: Any = None
        call: Any = None
        if node.memory is not None:
            call = _LEAF, (len(self.leaves),), None
            self.leaves.append(node)
        elif not operands:
            value = node.dtype.type(node.value) if node.op is CONST else _positions(node)
        elif _is_copy(op, operands, node.dtype):
            return numbers[operands[0]]
        else:
            args = tuple([self._number(operand, numbers) for operand in operands])
            call = op, args, (operands[0].shape, node.shape) if isinstance(op, Reduction) else None
        number = len(self._values)
        self._values.append(value)
        if call is not None:
            self._calls.append((number, *call))
        return number

    def _number(self, node: Node, numbers: dict[Node, int]) -> int:
        """Return the number of an operand. In a large graph equal constants are one input."""
        if node not in numbers:
            numbers[node] = self._add(node, numbers)
        return numbers[node]

    def compute(self, arrays: list[np.ndarray]) -> Any:
        """Return the value of the root: an array, or a scalar to broadcast. For a leaf it is the leaf's own array.

        Raises
        ------
        Undefined
        """
        values = self._values.copy()
        for number, op, args, shapes in self._calls:
            if op is _LEAF:
                values[number] = arrays[args[0]]
            elif shapes is not None:
                values[number] = _reduce(op, shapes[0], values[args[0]]).reshape(shapes[1])
            else:
                values[number] = _apply(op, [values[arg] for arg in args])
        value = values[self._root]
        if self._checks_nan and np.isnan(np.maximum.reduce(value, axis=None)):
            raise Undefined("the sign and the payload of NaN")
        return value


_LEAF = object()


def host_value(root: Node) -> Any:
    """Return the value of an `is_host_exact_tree` of leaves in host memory. See `HostExpression.compute`."""
    expression = HostExpression(root)
    return expression.compute([host_array(leaf) for leaf in expression.leaves])  # type: ignore[misc]


def _is_copy(op: Any, operands: tuple[Node, ...], dtype: np.dtype) -> bool:
    """Return whether an operation copies its operand, perhaps broadcast."""
    return op is cast_loop(dtype) and operands[0].dtype == dtype


def _apply(loop: Loop, args: list[Any]) -> Any:
    for at, dtype in enumerate(loop.in_dtypes):
        if args[at].dtype is not dtype:
            args[at] = _convert(args[at], dtype)
    function = host_function(loop)
    assert function is not None
    return function(*args)


def _reduce(op: Reduction, shape: Shape, value: Any) -> Any:
    ufunc = host_reduction(op.monoid)
    assert ufunc is not None
    dtype = op.monoid.in_dtype
    values = np.broadcast_to(_convert(value, dtype), shape)
    reduced = ufunc.reduce(values, axis=op.axes, dtype=dtype)
    if dtype.kind == "f" and not np.all(reduced):
        raise Undefined("the sign of a zero")
    return _convert(reduced, op.out_dtype)


def _convert(value: Any, dtype: np.dtype) -> Any:
    if value.dtype.kind == "f" and dtype.kind in "iu":
        low, high = integer_range(dtype)
        if not np.all((value >= low) & (value < high)):
            raise Undefined("the conversion of a float beyond the range of the integers")
    return value.astype(dtype, copy=False)


def _positions(node: Node) -> np.ndarray:
    """Return the values of an index node."""
    positions = np.array(node.offset)
    for axis, (length, stride) in enumerate(zip(node.shape, node.strides, strict=True)):
        trailing = (1,) * (len(node.shape) - axis - 1)
        positions = positions + np.arange(length, dtype=np.int64).reshape(length, *trailing) * np.int64(stride)
    return positions.astype(node.dtype)
