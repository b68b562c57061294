"""Evaluation of small expressions in host memory by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._engine.expr.node import CONST, Node, Shape
from clarray._engine.ops.host_functions import host_function, host_reduction, integer_range, is_host_exact_cast
from clarray._engine.ops.monoids import Reduction
from clarray._engine.ops.special import cast_loop
from clarray._engine.ops.ufuncs import Loop

__all__ = ["Undefined", "elements_in", "host_array", "host_value", "is_host_exact_tree"]


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


def host_value(root: Node) -> Any:
    """Return the value of an `is_host_exact_tree` of leaves in host memory: an array, or a scalar to broadcast.

    For a leaf it is a view of the leaf's memory.

    Raises
    ------
    Undefined
    """
    value = _evaluate(root, {})
    if root.args and value.dtype.kind == "f" and np.isnan(np.maximum.reduce(value, axis=None)):
        raise Undefined("the sign and the payload of NaN")
    return value


def _evaluate(node: Node, memo: dict[int, Any]) -> Any:
    op, operands = node.op, node.args  # read together: a re-entrant call may make the node a leaf
    if node.memory is not None:
        return host_array(node)
    if not operands:
        return node.dtype.type(node.value) if node.op is CONST else _positions(node)
    value = memo.get(id(node))
    if value is None:
        args = [_evaluate(arg, memo) for arg in operands]
        if _is_copy(op, operands, node.dtype):
            value = args[0]
        elif isinstance(op, Reduction):
            value = _reduce(op, operands[0].shape, args[0]).reshape(node.shape)
        else:
            value = _apply(op, args)
        memo[id(node)] = value
    return value


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
