"""Calls of ufuncs with NumPy's keywords, and the nodes that they build."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from clarray._core import callers
from clarray._core import device_array as arrays
from clarray._core.host_data import axis_order, device_dtype, new_leaf
from clarray._core.operands import array_node, scalar_node, weak_type
from clarray._core.ufunc_keywords import UfuncKeywords
from clarray._engine.evaluate import device_of, evaluate
from clarray._engine.expr import build
from clarray._engine.expr.growth import is_costly
from clarray._engine.expr.memory_views import has_views
from clarray._engine.expr.node import CONST, EAGER, MASKED, Node
from clarray._engine.expr.overlap import k_order_strides
from clarray._engine.expr.result_layout import has_same_order, result_view
from clarray._engine.expr.view import View, broadcast_shapes, ordered_strides
from clarray._engine.ops.promotion import resolve
from clarray._engine.ops.special import cast_loop, select_loop
from clarray._engine.ops.ufuncs import find_loop
from clarray._engine.runtime import Device, current_device, different_devices_error
from clarray._engine.speedups import accelerated, captured
from clarray._engine.writing import write as write_leaf

_BOOL = np.dtype(bool)
_COMPARISONS: dict[Any, tuple[bool, bool]] = {
    np.equal: (False, False),
    np.not_equal: (True, True),
    np.less: (True, False),
    np.less_equal: (True, False),
    np.greater: (False, True),
    np.greater_equal: (False, True),
}


def device_of_operands(operands: tuple[Any, ...]) -> Device:
    """Return the device of the arrays among the operands, or the current device if there are none.

    Raises
    ------
    ValueError
        The arrays are on different devices.
    """
    device_so_far = None
    for x in operands:
        if isinstance(x, arrays.DeviceArray):
            if not Device.several:
                return x.device
            device = x.device
            if device_so_far is not None and device is not device_so_far:
                raise different_devices_error(device_so_far, device)
            device_so_far = device
    return device_so_far if device_so_far is not None else current_device()


def host_numbers(operand: Any, *others: Any) -> np.ndarray:
    """Return a small operand that the host needs, such as edges or weights, as an ndarray.

    Raises
    ------
    ValueError
        The operand is on another device than the others.
    """
    if not isinstance(operand, arrays.DeviceArray):
        return np.asarray(operand)
    device_of_operands((*others, operand))
    return operand.get()


_DEFAULTS = UfuncKeywords()


def call(ufunc: np.ufunc, inputs: tuple[Any, ...], **keywords: Any) -> Any:
    """Call a ufunc with NumPy's keywords, the fields of `UfuncKeywords`. The results are pending.

    Returns
    -------
    DeviceArray, tuple of DeviceArray, or NotImplemented
    """
    return _call(ufunc, inputs, UfuncKeywords(**keywords).normalized() if keywords else _DEFAULTS)


def update_pending(ufunc: np.ufunc, array: Any, others: tuple[Any, ...]) -> Any:
    """Compute ``array op= other`` for a pending array: replace its value without a write."""
    return _call(ufunc, (array, *others), UfuncKeywords(out=(array,)), write=False)


def _call(ufunc: np.ufunc, inputs: tuple[Any, ...], keywords: UfuncKeywords, write: bool = True) -> Any:
    inputs, out = _split_operands(ufunc, inputs, keywords.out)
    device = device_of_operands((*inputs, *(out if isinstance(out, tuple) else (out,))))
    targets = _targets(ufunc, out)
    if not any(t is not None for t in targets):
        return _compute(ufunc, inputs, targets, device, keywords)
    inputs = tuple([_on_device(x, device) for x in inputs])  # a conversion may call other code, so no lock is held
    with device.lock:  # from reading the operands to the launches that store
        return _compute(ufunc, inputs, targets, device, keywords, write)


def _on_device(operand: Any, device: Device) -> Any:
    """Convert an operand that is neither an array nor a Python number."""
    if isinstance(operand, arrays.DeviceArray) or weak_type(operand) is not None:
        return operand
    return arrays.wrap(array_node(operand, device))


def _compute(
    ufunc: np.ufunc,
    inputs: tuple[Any, ...],
    targets: tuple[Any, ...],
    device: Device,
    keywords: UfuncKeywords,
    write: bool = True,
) -> Any:
    """Build the results of a call, and write those that have an output."""
    _, where, dtype, signature, _, casting, order, _ = keywords
    nodes, types = _operands(inputs, device)
    try:
        in_dtypes, out_dtypes = resolve(ufunc, types, dtype, signature, casting)
    except TypeError:
        if None in nodes and casting != "unsafe":
            _convert_numbers(ufunc, inputs, nodes, resolve(ufunc, types, dtype, signature, "unsafe")[0])
        raise
    for loop_dtype in (*in_dtypes, *out_dtypes):
        device_dtype(loop_dtype, device)
    if casting == "unsafe":  # only this rule discards imaginary parts
        for node, loop_dtype in zip(nodes, in_dtypes, strict=True):
            if node is not None:
                callers.warn_complex_cast(node.dtype, loop_dtype)
    if any(t is not None for t in targets):
        _convert_numbers(ufunc, inputs, nodes, in_dtypes)
        if casting != "unsafe":
            _check_out(ufunc, types, in_dtypes, targets, casting, dtype, signature)
        if write or not targets[0]._node.flags & MASKED:  # a selection stays pending: `_replace_pending` checks
            shapes = [() if n is None else n.shape for n in nodes]
            broadcast_shapes([*shapes, *(t._node.shape for t in targets if t is not None)])
    _check_power(ufunc, inputs, nodes, in_dtypes, where, device)
    # build all results before the first write, because an output may be an input, too
    results = _results(ufunc, inputs, nodes, in_dtypes, out_dtypes)
    if not write:
        return _replace_pending(targets[0], results[0])
    delivered = [_deliver(n, t, where, device, order, nodes) for n, t in zip(results, targets, strict=True)]
    return delivered[0] if ufunc.nout == 1 else tuple(delivered)


@cache
def ufunc_writer(ufunc: np.ufunc) -> Callable[..., Any]:
    """Return a function of the output, ``where`` and the inputs that writes the result of a ufunc with one result."""

    def write(out: Any, where: Any, *inputs: Any) -> Any:
        return call(ufunc, inputs, out=out, where=where)

    return captured(write)


def _results(
    ufunc: np.ufunc,
    inputs: tuple[Any, ...],
    nodes: list[Node | None],
    in_dtypes: tuple[np.dtype, ...],
    out_dtypes: tuple[np.dtype, ...],
) -> list[Node]:
    constant = _constant_comparison(ufunc, inputs, in_dtypes)
    if constant is not None:
        (array,) = (n for n in nodes if n is not None)
        shape = array.shape
        like = View(shape, k_order_strides([result_view(array)], shape))
        return [in_order(full(scalar_node(constant, _BOOL), shape), "K", like)._node]
    args = tuple(_argument(n, x, d) for n, x, d in zip(nodes, inputs, in_dtypes, strict=True))
    return [build.nary(find_loop(ufunc, in_dtypes, out_dtypes, output), args) for output in range(ufunc.nout)]


def _convert_numbers(
    ufunc: np.ufunc, inputs: tuple[Any, ...], nodes: list[Node | None], in_dtypes: tuple[np.dtype, ...]
) -> None:
    """Raise if a Python integer is out of the loop dtype's range. NumPy checks this before the casting rule."""
    if None in nodes and _constant_comparison(ufunc, inputs, in_dtypes) is None:
        for node, operand, dtype in zip(nodes, inputs, in_dtypes, strict=True):
            if node is None and isinstance(operand, int):
                _argument(node, operand, dtype)


# Kinds of dtypes that hold Python's floats and complex numbers.
_KINDS_OF_NUMBERS: dict[type, str] = {float: "fc", complex: "c"}


def _argument(node: Node | None, operand: Any, dtype: np.dtype) -> Node:
    """Return the argument of a loop. Constants are cast here, so that their dtype is not part of the cache key."""
    if node is None:
        if dtype.kind == "b" and type(operand) is int:
            np.int64(operand)  # NumPy converts to int64 before it takes the truth value, and raises OverflowError
        elif dtype.kind not in _KINDS_OF_NUMBERS.get(type(operand), dtype.kind):
            operand = np.asarray(callers.drop_imaginary(operand, dtype)).astype(dtype)[()]  # as NumPy casts it
        return scalar_node(operand, dtype)
    if node.op is CONST and node.dtype != dtype and np.can_cast(node.dtype, dtype):
        return scalar_node(node.dtype.type(node.value), dtype)
    return node


def _split_operands(ufunc: np.ufunc, inputs: tuple[Any, ...], out: Any) -> tuple[tuple[Any, ...], Any]:
    """Return inputs and outputs. Outputs may be positional, after the inputs."""
    nin, nargs = ufunc.nin, ufunc.nin + ufunc.nout
    if len(inputs) == nin:
        return inputs, out
    if not nin <= len(inputs) <= nargs:
        raise TypeError(
            f"{ufunc.__name__}() takes from {nin} to {nargs} positional arguments but "
            f"{len(inputs)} {'was' if len(inputs) == 1 else 'were'} given"
        )
    if out is not None:
        raise TypeError("cannot specify 'out' as both a positional and keyword argument")
    return inputs[:nin], inputs[nin:] + (None,) * (nargs - len(inputs))


def _operands(inputs: tuple[Any, ...], device: Device) -> tuple[list[Node | None], tuple[np.dtype | type, ...]]:
    """Return the node and the dtype of each operand. A weak scalar has None and its Python type."""
    nodes: list[Node | None] = []
    types: list[np.dtype | type] = []
    for x in inputs:
        if isinstance(x, arrays.DeviceArray):
            node: Node | None = x._node
        elif (python_type := weak_type(x)) is not None:
            nodes.append(None)
            types.append(python_type)
            continue
        else:
            node = array_node(x, device)
        assert node is not None
        nodes.append(node)
        types.append(node.dtype)
    if not any(nodes):
        return nodes, tuple(np.asarray(x).dtype for x in inputs)
    return nodes, tuple(types)


def _targets(ufunc: np.ufunc, out: Any) -> tuple[Any, ...]:
    if out is None:
        return (None,) * ufunc.nout
    if not isinstance(out, tuple):
        if ufunc.nout > 1:
            raise TypeError("'out' must be a tuple of arrays")
        out = (out,)
    if len(out) != ufunc.nout:
        raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
    for target in out:
        if target is not None:
            array = arrays.check_target(target, "return arrays must be of DeviceArray type, not {}")
            array.check_writeable("output array is read-only")  # NumPy's first check
    return out


def _check_out(
    ufunc: np.ufunc,
    types: tuple[Any, ...],
    in_dtypes: tuple[np.dtype, ...],
    targets: tuple[Any, ...],
    casting: str,
    dtype: Any = None,
    signature: Any = None,
) -> None:
    """Raise NumPy's error if the results cannot be cast to the outputs' dtypes."""
    dtypes = tuple(None if t is None else t.dtype for t in targets)
    key = (ufunc, types, in_dtypes, dtypes, casting, dtype, signature)
    if key in _allowed:
        return
    empty_inputs = [np.empty(0, k if isinstance(k, np.dtype) else in_dtypes[n]) for n, k in enumerate(types)]
    empty_outputs = tuple(None if d is None else np.empty(0, d) for d in dtypes)
    keywords = {"dtype": dtype, "signature": signature}
    ufunc(*empty_inputs, out=empty_outputs, casting=casting, **{k: v for k, v in keywords.items() if v is not None})
    _allowed.add(key)


_allowed: set[tuple[Any, ...]] = set()


def _check_power(
    ufunc: np.ufunc,
    inputs: tuple[Any, ...],
    nodes: list[Node | None],
    in_dtypes: tuple[np.dtype, ...],
    where: Any,
    device: Device,
) -> None:
    """Raise ValueError for negative powers of integers, as NumPy does if it computes one."""
    if ufunc is not np.power or in_dtypes[1].kind != "i" or not all(n is None or n.size for n in nodes):
        return
    exponents = _argument(nodes[1], inputs[1], in_dtypes[1])
    check_no_negative_powers(exponents, in_dtypes[1], True if where is True else mask_node(where, device))


def check_no_negative_powers(exponents: Node, dtype: np.dtype, where: Any = True) -> None:
    """Raise ValueError if an exponent of integers is negative.

    Parameters
    ----------
    exponents : Node
    dtype : numpy.dtype
        The integer dtype of the loop, to which exponents are cast.
    where : Node or True
        Mask of the powers that are computed. It broadcasts with the exponents.
    """
    if exponents.op is CONST and exponents.value >= 0:
        return
    if not np.can_cast(exponents.dtype, dtype):  # the cast exponent counts
        exponents = build.unary(cast_loop(dtype), exponents)
    less_loop = find_loop(np.less, (exponents.dtype, exponents.dtype), (_BOOL,))
    negative = build.binary(less_loop, exponents, scalar_node(0, exponents.dtype))
    if where is not True:
        negative = build.binary(find_loop(np.logical_and, (_BOOL, _BOOL), (_BOOL,)), negative, where)
    if negative.size and bool(arrays.wrap(negative).any()):
        raise ValueError("Integers to negative integer powers are not allowed.")


def _constant_comparison(ufunc: np.ufunc, inputs: tuple[Any, ...], in_dtypes: tuple[np.dtype, ...]) -> bool | None:
    """Return the constant result of a comparison with a Python int out of the integer dtype's range, else None."""
    constants = _COMPARISONS.get(ufunc)
    if constants is None or in_dtypes[0].kind not in "iu":
        return None
    info = np.iinfo(in_dtypes[0])
    for position, x in enumerate(inputs):
        if type(x) is int and not info.min <= x <= info.max:
            if getattr(inputs[1 - position], "dtype", None) == np.bool_:
                return None  # NumPy converts the int to int64, and raises OverflowError
            above = (x > info.max) ^ (position == 0)
            return constants[0] if above else constants[1]
    return None


def full(constant: Node, shape: tuple[int, ...]) -> Node:
    """Return a node that broadcasts a constant to a shape, without memory."""
    loop = cast_loop(constant.dtype)
    node = build.unary(loop, constant)
    size = 1
    for extent in shape:
        size *= extent
    broadcast_node = Node(loop, node.args, shape, constant.dtype, size, node.sig, node.inputs)
    broadcast_node.since = node.since
    return broadcast_node


def cast(node: Node, dtype: np.dtype) -> Node:
    """Cast a node to a dtype. Return the node itself if it has the dtype."""
    return node if node.dtype == dtype else build.nary(cast_loop(dtype), (node,))


def convert(node: Node, dtype: np.dtype) -> Node:
    """Cast a node that the user converts: warn as NumPy does if imaginary parts are discarded."""
    if node.dtype == dtype:
        return node
    callers.warn_complex_cast(node.dtype, dtype)
    return build.nary(cast_loop(dtype), (node,))


def copied_value(node: Node) -> Node:
    """Return a new node with a node's value. A write to one does not change the other."""
    return build.nary(cast_loop(node.dtype), (node,))


def _deliver(node: Node, target: Any, where: Any, device: Device, order: str, operands: Sequence[Node | None]) -> Any:
    """Return a result as a new array with an `order`, or write it to `target` at the elements that `where` selects."""
    if where is True and target is None:
        return evaluate_if_eager(node) if order == "K" else in_operand_order(node, order, operands)
    mask = None
    if where is not True:
        mask = mask_node(where, device)
        if target is None:
            shape = broadcast_shapes((node.shape, mask.shape))
            like = View(shape, _strides(shape, order, (*operands, mask)))
            target = arrays.wrap(new_leaf(device, shape, node.dtype, "K", like, zero=True))
    shape = node.shape if mask is None else broadcast_shapes((node.shape, mask.shape))
    _check_output_shape(shape, target.shape)
    assign(target, node, mask)
    return target


def in_operand_order(node: Node, order: str, operands: Sequence[Node | None]) -> Any:
    """Return a node as an array in the memory order of a ufunc call's argument `order`."""
    return in_order(node, "K", View(node.shape, _strides(node.shape, order, operands)))


def _strides(shape: tuple[int, ...], order: str, operands: Sequence[Node | None]) -> tuple[int, ...]:
    """Return the strides of a ufunc's new array. 'A' is 'F' if all operands are in Fortran order, else 'C'."""
    layouts = [result_view(operand) for operand in operands if operand is not None]
    if order == "K":
        return k_order_strides(layouts, shape)
    fortran = order == "F" or (order == "A" and all(view.f_contiguous for view in layouts))
    return ordered_strides(shape, range(len(shape))[:: -1 if fortran else 1])


def mask_node(where: Any, device: Device) -> Node:
    """Return the node of a ufunc's argument ``where``: an array of bools, or the truth values of another object."""
    if isinstance(where, arrays.DeviceArray):
        mask = where._node
    else:
        mask = array_node(where if isinstance(where, np.ndarray) else np.asarray(where, bool), device)
    if mask.dtype != _BOOL:
        raise TypeError(f"Cannot cast array data from {mask.dtype!r} to dtype('bool') according to the rule 'safe'")
    return mask


def _check_output_shape(shape: tuple[int, ...], out_shape: tuple[int, ...]) -> None:
    broadcast_shape = broadcast_shapes((shape, out_shape))
    if broadcast_shape != out_shape:
        out_text, broadcast_text = (str(s).replace(" ", "") for s in (out_shape, broadcast_shape))
        raise ValueError(
            f"non-broadcastable output operand with shape {out_text} doesn't match the broadcast shape {broadcast_text}"
        )


@accelerated
def evaluate_if_eager(node: Node) -> Any:
    """Wrap a node as an array. Evaluate it if it must not stay pending."""
    if node.flags & EAGER or is_costly(node):
        evaluate(node)
    return arrays.wrap(node)


def in_order(node: Node, order: str, like: View | None = None) -> Any:
    """Return a node as an array with the memory layout of `order` and `like`. It stays pending if it has it already."""
    current = result_view(node)
    strides = ordered_strides(node.shape, axis_order(like or current, order))
    if all(n < 2 or s == t for n, s, t in zip(node.shape, current.strides, strides, strict=True)):
        return evaluate_if_eager(node)
    reordered = arrays.wrap(new_leaf(device_of(node), node.shape, node.dtype, order, like or current))
    assign(reordered, node)
    return reordered


def assign(target: Any, node: Node, mask: Node | None = None) -> None:
    """Write a node, broadcast and cast, to an array's elements or to the elements that a mask selects."""
    converted = convert(node, target._node.dtype)  # before the lock is taken: a warning may run any code
    with target.device.lock:  # a masked write reads the other elements, too, under the same lock
        leaf = evaluate(target._node)
        if mask is not None:
            converted = build.nary(select_loop(leaf.dtype), (mask, converted, leaf))
        if converted.shape != leaf.shape or (converted.op is not None and not converted.args):
            converted = broadcast(converted, leaf.shape)
        write_leaf(leaf, converted)


def broadcast(node: Node, shape: tuple[int, ...]) -> Node:
    """Broadcast a node to a larger shape, as a pending node."""
    return build.broadcast(cast_loop(node.dtype), node, shape)


def ascontiguous(node: Node) -> Node:
    """Copy a leaf to a C-contiguous leaf."""
    memory = node.memory
    assert memory is not None
    target = arrays.empty(node.shape, node.dtype, memory.device)._node
    write_leaf(target, node)
    return target


def _replace_pending(array: Any, node: Node) -> Any:
    """Replace the value of a pending array by a node, cast to the array's dtype."""
    if build.selected(array._node) is None or build.selected(node) is None:  # otherwise, the same mask selects both
        _check_output_shape(node.shape, array._node.shape)
    new_node = convert(node, array.dtype)
    if has_views(array._node) or not has_same_order(new_node, array._node):
        write_leaf(evaluate(array._node), new_node)
        return array
    if new_node.flags & EAGER or is_costly(new_node):
        evaluate(new_node)
    array._node = new_node
    return array
