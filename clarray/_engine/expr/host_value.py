"""Values of small trees, computed by NumPy where their memory is."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._engine.expr.node import CONST, Node, Shape
from clarray._engine.ops.host_functions import host_function, host_reduction, integer_range, is_cast_alike
from clarray._engine.ops.monoids import Reduction
from clarray._engine.ops.special import cast_loop
from clarray._engine.ops.ufuncs import Loop

__all__ = ["Undefined", "elements_in", "host_array", "host_value", "is_computed_alike"]


class Undefined(ArithmeticError):
    """A value has bits that are not defined, so that a kernel may compute others."""


def is_computed_alike(root: Node) -> bool:
    """Whether NumPy computes a tree to the bits that a kernel computes, where these are defined."""
    seen = set()
    level = [root]
    while level:
        node = level.pop()
        if id(node) in seen or node.memory is not None or not node.args:
            continue
        seen.add(id(node))
        if _is_copy(node.op, node.args, node.dtype):  # of a leaf it has the structure, and the kernel
            level.extend(node.args)
            continue
        op = node.op
        if isinstance(op, Loop):
            wanted = op.in_dtypes if host_function(op) is not None else ()
        elif isinstance(op, Reduction):
            wanted = (op.monoid.in_dtype,) if host_reduction(op.monoid) is not None and node.args[0].size else ()
        else:
            return False
        # a mask is an operand more than is wanted
        if len(wanted) != len(node.args) or not all(map(is_cast_alike, [a.dtype for a in node.args], wanted)):
            return False
        level.extend(node.args)
    return True


def host_array(leaf: Node) -> np.ndarray | None:
    """A leaf's elements where they are, in host memory; None elsewhere. The leaf keeps them."""
    assert leaf.memory is not None
    whole = leaf.memory.elements(leaf.dtype)
    return None if whole is None else elements_in(whole, leaf)


def elements_in(whole: Any, leaf: Node) -> np.ndarray:
    """A leaf's elements, in a buffer that has its memory; of none it does not matter where they would begin."""
    itemsize = leaf.dtype.itemsize
    begins = leaf.offset * itemsize if leaf.size else 0
    return np.ndarray(leaf.shape, leaf.dtype, whole, begins, [s * itemsize for s in leaf.strides])


def host_value(root: Node) -> Any:
    """The value of a tree that `is_computed_alike` of leaves in host memory: an array or a scalar, to be broadcast.

    Of a leaf it is the memory itself.

    Raises
    ------
    Undefined
    """
    value = _value(root, {})
    if root.args and value.dtype.kind == "f" and np.isnan(np.maximum.reduce(value, axis=None)):
        raise Undefined("the sign and the payload of NaN")
    return value


def _value(node: Node, known: dict[int, Any]) -> Any:
    op, operands = node.op, node.args  # in one step: a re-entrant call may make the node a leaf
    if node.memory is not None:
        return host_array(node)
    if not operands:
        return node.dtype.type(node.value) if node.op is CONST else _positions(node)
    found = known.get(id(node))
    if found is None:
        args = [_value(arg, known) for arg in operands]
        if _is_copy(op, operands, node.dtype):
            found = args[0]
        elif isinstance(op, Reduction):
            found = _reduced(op, operands[0].shape, args[0]).reshape(node.shape)
        else:
            found = _applied(op, args)
        known[id(node)] = found
    return found


def _is_copy(op: Any, operands: tuple[Node, ...], dtype: np.dtype) -> bool:
    """Whether an operation gives its operand, repeated perhaps."""
    return op is cast_loop(dtype) and operands[0].dtype == dtype


def _applied(loop: Loop, args: list[Any]) -> Any:
    for at, dtype in enumerate(loop.in_dtypes):
        if args[at].dtype is not dtype:
            args[at] = _converted(args[at], dtype)
    function = host_function(loop)
    assert function is not None
    return function(*args)


def _reduced(op: Reduction, shape: Shape, value: Any) -> Any:
    ufunc = host_reduction(op.monoid)
    assert ufunc is not None
    dtype = op.monoid.in_dtype
    values = np.broadcast_to(_converted(value, dtype), shape)
    found = ufunc.reduce(values, axis=op.axes, dtype=dtype)
    if dtype.kind == "f" and not np.all(found):
        raise Undefined("the sign of a zero")
    return _converted(found, op.out_dtype)


def _converted(value: Any, dtype: np.dtype) -> Any:
    if value.dtype.kind == "f" and dtype.kind in "iu":
        low, high = integer_range(dtype)
        if not np.all((value >= low) & (value < high)):
            raise Undefined("the integer of what has none")
    return value.astype(dtype, copy=False)


def _positions(node: Node) -> np.ndarray:
    """The values of an index."""
    found = np.array(node.offset)
    for axis, (length, stride) in enumerate(zip(node.shape, node.strides, strict=True)):
        behind = (1,) * (len(node.shape) - axis - 1)
        found = found + np.arange(length, dtype=np.int64).reshape(length, *behind) * np.int64(stride)
    return found.astype(node.dtype)
