"""What NumPy's ufunc protocol asks for: calls, reductions, accumulations, outer products, ``at``."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray import array as arrays
from clarray.evaluate import evaluate, write
from clarray.expr import build
from clarray.expr.node import EAGER, MASKED, Node
from clarray.expr.view import broadcast_shapes
from clarray.operands import array_node, is_foreign, scalar_node, weak_type
from clarray.ops.promotion import resolve
from clarray.ops.special import cast_loop, select_loop
from clarray.ops.ufuncs import find_loop
from clarray.runtime import Device, current_device

_BOOL = np.dtype(bool)
_COMPARISONS = {
    np.equal: (False, False), np.not_equal: (True, True), np.less: (True, False),
    np.less_equal: (True, False), np.greater: (False, True), np.greater_equal: (False, True),
}  # fmt: skip


def device_of_operands(operands: tuple[Any, ...]) -> Device:
    """The device of the first array among the operands, else the current one."""
    for x in operands:
        if isinstance(x, arrays.DeviceArray):
            return x.device
    return current_device()


def call(
    ufunc: np.ufunc, inputs: tuple[Any, ...], *, out: Any = None, where: Any = True,
    dtype: Any = None, signature: Any = None, sig: Any = None, casting: str = "same_kind",
    order: str = "K", subok: bool = True,
) -> Any:  # fmt: skip
    """``ufunc(*inputs)`` with NumPy's keywords; the results are pending.

    Returns
    -------
    DeviceArray, tuple of DeviceArray, or NotImplemented
    """
    if any(is_foreign(x) for x in inputs):
        return NotImplemented
    device = device_of_operands((*inputs, *(out if isinstance(out, tuple) else (out,))))
    nodes, kinds = _operands(inputs, device)
    in_dtypes, out_dtypes = resolve(
        ufunc, kinds, dtype, signature if signature is not None else sig, casting
    )
    targets = _targets(ufunc, out)
    if any(t is not None for t in targets):
        _check_out(ufunc, kinds, in_dtypes, targets, casting)
    _check_power(ufunc, inputs, nodes, in_dtypes)
    results = []
    constant = _out_of_range(ufunc, inputs, in_dtypes)
    for number in range(ufunc.nout):
        if constant is not None:
            shape = broadcast_shapes([n.shape for n in nodes if n is not None])
            node = filled(scalar_node(constant, _BOOL), shape)
        else:
            loop = find_loop(ufunc, in_dtypes, out_dtypes, number)
            args = tuple(
                scalar_node(x, d) if n is None else n
                for n, x, d in zip(nodes, inputs, in_dtypes, strict=True)
            )
            node = build.nary(loop, args)
        results.append(_deliver(node, targets[number], where, device))
    return results[0] if ufunc.nout == 1 else tuple(results)


def _operands(
    inputs: tuple[Any, ...], device: Device
) -> tuple[list[Node | None], tuple[np.dtype | type, ...]]:
    """Node and dtype of each operand; weak scalars have no node yet, and their Python type."""
    nodes: list[Node | None] = []
    kinds: list[np.dtype | type] = []
    for x in inputs:
        if isinstance(x, arrays.DeviceArray):
            node: Node | None = x._node
        elif (weak := weak_type(x)) is not None:
            nodes.append(None)
            kinds.append(weak)
            continue
        else:
            node = array_node(x, device)
        assert node is not None
        nodes.append(node)
        kinds.append(node.dtype)
    return nodes, tuple(kinds)


def _targets(ufunc: np.ufunc, out: Any) -> tuple[Any, ...]:
    if out is None:
        return (None,) * ufunc.nout
    if not isinstance(out, tuple):
        out = (out,)
    if len(out) != ufunc.nout:
        raise ValueError(
            "The 'out' tuple must have exactly one entry per ufunc output"
            if ufunc.nout > 1
            else "The 'out' argument must be a single array"
        )
    for target in out:
        if target is not None and not isinstance(target, arrays.DeviceArray):
            raise TypeError(
                f"return arrays must be of DeviceArray type, not {type(target).__name__}: "
                "copy the result with clarray.asnumpy instead"
            )
    return out


def _check_out(
    ufunc: np.ufunc, kinds: tuple[Any, ...], in_dtypes: tuple[np.dtype, ...],
    targets: tuple[Any, ...], casting: str,
) -> None:  # fmt: skip
    """Let NumPy judge whether the results may be cast to the outputs' dtypes."""
    empty = [np.empty(0, k if isinstance(k, np.dtype) else d)
             for k, d in zip(kinds, in_dtypes, strict=True)]  # fmt: skip
    outs = tuple(None if t is None else np.empty(0, t.dtype) for t in targets)
    ufunc(*empty, out=outs, casting=casting)


def _check_power(
    ufunc: np.ufunc, inputs: tuple[Any, ...], nodes: list[Node | None],
    in_dtypes: tuple[np.dtype, ...],
) -> None:  # fmt: skip
    if ufunc is not np.power or in_dtypes[1].kind != "i":
        return
    node = nodes[1]
    if node is None:
        negative = inputs[1] < 0
    else:
        less = find_loop(np.less, (node.dtype, node.dtype), (_BOOL,))
        below = build.binary(less, node, scalar_node(0, node.dtype))
        negative = node.size > 0 and bool(arrays.wrap(below).any())
    if negative:
        raise ValueError("Integers to negative integer powers are not allowed.")


def _out_of_range(
    ufunc: np.ufunc, inputs: tuple[Any, ...], in_dtypes: tuple[np.dtype, ...]
) -> bool | None:
    """The answer of a comparison with a Python int that the integer dtype cannot hold."""
    answers = _COMPARISONS.get(ufunc)
    if answers is None or in_dtypes[0].kind not in "iu":
        return None
    info = np.iinfo(in_dtypes[0])
    for position, x in enumerate(inputs):
        if x.__class__ is int and not info.min <= x <= info.max:
            above = (x > info.max) ^ (position == 0)
            return answers[0] if above else answers[1]
    return None


def filled(value: Node, shape: tuple[int, ...]) -> Node:
    """A constant repeated over a shape, without memory."""
    loop = cast_loop(value.dtype)
    node = build.unary(loop, value)
    size = 1
    for extent in shape:
        size *= extent
    return Node(loop, node.args, shape, value.dtype, size, 2, 0, node.sig, node.inputs)


def cast(node: Node, dtype: np.dtype) -> Node:
    """A node converted to a dtype; the node itself where nothing has to change."""
    return node if node.dtype == dtype else build.nary(cast_loop(dtype), (node,))


def _deliver(node: Node, target: Any, where: Any, device: Device) -> Any:
    """Give the result as a new array, or write it to `target`, where `where` is set."""
    if where is True and target is None:
        return settled(node)
    mask = None
    if where is not True:
        mask = cast(
            where._node if isinstance(where, arrays.DeviceArray) else array_node(where, device),
            _BOOL,
        )
        shape = broadcast_shapes((node.shape, mask.shape))
        if target is None:
            target = arrays.empty(shape, node.dtype, device)
    shape = node.shape if mask is None else broadcast_shapes((node.shape, mask.shape))
    target.check_writeable()
    if broadcast_shapes((shape, target.shape)) != target.shape:
        raise ValueError(
            f"non-broadcastable output operand with shape {target.shape} doesn't match the "
            f"broadcast shape {broadcast_shapes((shape, target.shape))}"
        )
    assign(target, node, mask)
    return target


def settled(node: Node) -> Any:
    """A new array of a node; what may not stay pending is evaluated."""
    if node.flags & EAGER or node.cost > build.COST_LIMIT:
        if not node.flags & MASKED:
            evaluate(node)
    return arrays.wrap(node)


def assign(target: Any, node: Node, mask: Node | None = None) -> None:
    """Write a node (broadcast, converted) to an array's elements, or to those a mask selects."""
    leaf = evaluate(target._node)
    value = cast(node, leaf.dtype)
    if mask is not None:
        value = build.nary(select_loop(leaf.dtype), (mask, value, leaf))
    if value.shape != leaf.shape or value.op is not None and not value.args:
        value = spread(value, leaf.shape)
    write(leaf, value)


def spread(value: Node, shape: tuple[int, ...]) -> Node:
    """A node broadcast to a larger shape, as an expression."""
    made = Node(
        cast_loop(value.dtype), (value,), shape, value.dtype, 1, value.cost + 1, value.flags,
        0, value.inputs or (value,),
    )  # fmt: skip
    size = 1
    for extent in shape:
        size *= extent
    made.size = size
    build.regrow(made)
    return made


def outer(ufunc: np.ufunc, a: Any, b: Any, **kwargs: Any) -> Any:
    """``ufunc.outer``: every element of `a` with every element of `b`."""
    device = device_of_operands((a, b))
    left, right = (arrays.as_array(x, device) for x in (a, b))
    return call(ufunc, (left.reshape(left.shape + (1,) * right.ndim), right), **kwargs)


def packed(node: Node) -> Node:
    """A C-contiguous copy of a leaf."""
    memory = node.memory
    assert memory is not None
    target = arrays.empty(node.shape, node.dtype, memory.device)._node
    write(target, node)
    return target


def in_place(ufunc: np.ufunc, array: Any, other: Any) -> Any:
    """``array op= other``: into the array's memory, or, while it has none, a new pending value."""
    node = array._node
    if node.memory is None and array._base is None:
        result = call(ufunc, (array, other))
        if result is NotImplemented:
            return result
        if not node.flags & MASKED and result.shape != node.shape:
            raise ValueError(
                f"non-broadcastable output operand with shape {node.shape} doesn't match the "
                f"broadcast shape {result.shape}"
            )
        if result.dtype != node.dtype:
            _check_out(ufunc, (node.dtype, result.dtype), (), (array,), "same_kind")
            result = arrays.wrap(cast(result._node, node.dtype))
        array._node = result._node
        return array
    call(ufunc, (array, other), out=(array,))
    return array
