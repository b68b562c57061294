"""What NumPy's ufunc protocol asks for: calls, reductions, accumulations, outer products, ``at``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from clarray._core import callers
from clarray._core import device_array as arrays
from clarray._core.host_data import axis_order, device_dtype, new_leaf
from clarray._core.operands import array_node, scalar_node, weak_type
from clarray._engine.evaluate import device_of, evaluate
from clarray._engine.expr import build
from clarray._engine.expr.node import CONST, EAGER, MASKED, Node
from clarray._engine.expr.overlap import k_order_strides
from clarray._engine.expr.result_layout import layout_of, lies_alike
from clarray._engine.expr.view import View, broadcast_shapes, check_order, ordered_strides
from clarray._engine.ops.promotion import resolve
from clarray._engine.ops.special import cast_loop, select_loop
from clarray._engine.ops.ufuncs import Loop, find_loop
from clarray._engine.runtime import Device, current_device, different_devices
from clarray._engine.speedups import accelerated, recorded
from clarray._engine.writing import write as write_leaf

_BOOL = np.dtype(bool)
loops_of_one: dict[tuple[np.ufunc, np.dtype], Loop] = {}  # what calls with one operand took
_COMPARISONS: dict[Any, tuple[bool, bool]] = {
    np.equal: (False, False),
    np.not_equal: (True, True),
    np.less: (True, False),
    np.less_equal: (True, False),
    np.greater: (False, True),
    np.greater_equal: (False, True),
}


def device_of_operands(operands: tuple[Any, ...]) -> Device:
    """The device of the arrays among the operands, else the current one.

    Raises
    ------
    ValueError
        They are on different devices.
    """
    found = None
    for x in operands:
        if isinstance(x, arrays.DeviceArray):
            if not Device.several:
                return x.device
            device = x.device
            if found is not None and device is not found:
                raise different_devices(found, device)
            found = device
    return found if found is not None else current_device()


# What NumPy's ufuncs take by name, beside their operands.
_CALL_KEYWORDS = frozenset(("out", "where", "casting", "order", "dtype", "subok", "signature", "sig"))
_PRODUCT_KEYWORDS = _CALL_KEYWORDS - {"where"} | {"axes", "axis", "keepdims"}


def check_keywords(ufunc: np.ufunc, names: Iterable[str]) -> None:
    """Raise TypeError for a name that a call of a ufunc does not take, as NumPy does."""
    taken = _CALL_KEYWORDS if ufunc.signature is None else _PRODUCT_KEYWORDS
    for name in names:
        if name not in taken:
            raise TypeError(f"{ufunc.__name__}() got an unexpected keyword argument {name!r}")


def host_numbers(value: Any, *beside: Any) -> np.ndarray:
    """The elements of a small operand that the host looks at: edges, weights, places.

    Raises
    ------
    ValueError
        It is an array on another device than those beside it.
    """
    if not isinstance(value, arrays.DeviceArray):
        return np.asarray(value)
    device_of_operands((*beside, value))
    return value.get()


def call(
    ufunc: np.ufunc,
    inputs: tuple[Any, ...],
    *,
    out: Any = None,
    where: Any = True,
    dtype: Any = None,
    signature: Any = None,
    sig: Any = None,
    casting: str = "same_kind",
    order: str = "K",
    subok: bool = True,
    _write: bool = True,
) -> Any:
    """``ufunc(*inputs)`` with NumPy's keywords; the results are pending.

    With ``_write=False`` the one output is no memory yet, and stays so: its value is replaced.

    Returns
    -------
    DeviceArray, tuple of DeviceArray, or NotImplemented
    """
    order = "K" if order is None else check_order(order)
    inputs, out = _positional(ufunc, inputs, out)
    device = device_of_operands((*inputs, *(out if isinstance(out, tuple) else (out,))))
    targets = _targets(ufunc, out)
    signature = signature if signature is not None else sig
    given = (dtype, signature, casting, order)
    if not any(t is not None for t in targets):
        return _computed(ufunc, inputs, targets, device, where, given)
    inputs = tuple([_on_device(x, device) for x in inputs])  # may call other code, so no lock is held
    with device.lock:  # from reading the operands to the launches that store
        return _computed(ufunc, inputs, targets, device, where, given, _write)


def _on_device(operand: Any, device: Device) -> Any:
    """Convert an operand that is neither an array nor a Python number."""
    if isinstance(operand, arrays.DeviceArray) or weak_type(operand) is not None:
        return operand
    return arrays.wrap(array_node(operand, device))


def _computed(
    ufunc: np.ufunc,
    inputs: tuple[Any, ...],
    targets: tuple[Any, ...],
    device: Device,
    where: Any,
    given: tuple[Any, Any, str, str],
    write: bool = True,
) -> Any:
    """Grow the results of a call and store those that have an output."""
    dtype, signature, casting, order = given
    nodes, kinds = _operands(inputs, device)
    try:
        in_dtypes, out_dtypes = resolve(ufunc, kinds, dtype, signature, casting)
    except TypeError:
        if None in nodes and casting != "unsafe":
            _convert_numbers(ufunc, inputs, nodes, resolve(ufunc, kinds, dtype, signature, "unsafe")[0])
        raise
    for each in (*in_dtypes, *out_dtypes):
        device_dtype(each, device)
    if casting == "unsafe":  # no other rule lets parts be lost
        for node, each in zip(nodes, in_dtypes, strict=True):
            if node is not None:
                callers.warn_of_lost_parts(node.dtype, each)
    if any(t is not None for t in targets):
        _convert_numbers(ufunc, inputs, nodes, in_dtypes)
        if casting != "unsafe":
            _check_out(ufunc, kinds, in_dtypes, targets, casting, dtype, signature)
        if write or not targets[0]._node.flags & MASKED:  # a selection stays pending: `_replace` looks
            shapes = [() if n is None else n.shape for n in nodes]
            broadcast_shapes([*shapes, *(t._node.shape for t in targets if t is not None)])
    _check_power(ufunc, inputs, nodes, in_dtypes, where, device)
    # all are grown before one is written: an output may be an input too
    results = _results(ufunc, inputs, nodes, in_dtypes, out_dtypes)
    first = nodes[0]
    if ufunc.nin == ufunc.nout == 1 and dtype is None is signature and first is not None:
        loops_of_one[ufunc, first.dtype] = find_loop(ufunc, in_dtypes, out_dtypes)
    if not write:
        return _replace(targets[0], results[0])
    made = [_deliver(n, t, where, device, order, nodes) for n, t in zip(results, targets, strict=True)]
    return made[0] if ufunc.nout == 1 else tuple(made)


@cache
def writing(ufunc: np.ufunc) -> Callable[..., Any]:
    """Give what writes a ufunc's one result: it takes the output, ``where=`` and the inputs, none of another type."""

    def write(out: Any, where: Any, *inputs: Any) -> Any:
        return call(ufunc, inputs, out=out, where=where)

    return recorded(write)


def _results(
    ufunc: np.ufunc,
    inputs: tuple[Any, ...],
    nodes: list[Node | None],
    in_dtypes: tuple[np.dtype, ...],
    out_dtypes: tuple[np.dtype, ...],
) -> list[Node]:
    constant = _out_of_range(ufunc, inputs, in_dtypes)
    if constant is not None:
        (array,) = (n for n in nodes if n is not None)
        shape = array.shape
        like = View(shape, k_order_strides([layout_of(array)], shape))
        return [in_order(full(scalar_node(constant, _BOOL), shape), "K", like)._node]
    args = tuple(_argument(n, x, d) for n, x, d in zip(nodes, inputs, in_dtypes, strict=True))
    return [build.nary(find_loop(ufunc, in_dtypes, out_dtypes, number), args) for number in range(ufunc.nout)]


def _convert_numbers(
    ufunc: np.ufunc, inputs: tuple[Any, ...], nodes: list[Node | None], in_dtypes: tuple[np.dtype, ...]
) -> None:
    """Raise where a Python integer is none of the loop's dtype, which NumPy looks at before it judges casts."""
    if None in nodes and _out_of_range(ufunc, inputs, in_dtypes) is None:
        for node, value, dtype in zip(nodes, inputs, in_dtypes, strict=True):
            if node is None and isinstance(value, int):
                _argument(node, value, dtype)


_HOLDING: dict[type, str] = {float: "fc", complex: "c"}  # the kinds of dtypes that have such numbers


def _argument(node: Node | None, value: Any, dtype: np.dtype) -> Node:
    """An operand as a loop takes it: constants are converted here, so that no dtype of theirs makes another kernel."""
    if node is None:
        if dtype.kind == "b" and type(value) is int:
            np.int64(value)  # in which NumPy has a number that it takes the truth of, or raises
        elif dtype.kind not in _HOLDING.get(type(value), dtype.kind):
            value = np.asarray(callers.without_lost_parts(value, dtype)).astype(dtype)[()]  # as NumPy casts it
        return scalar_node(value, dtype)
    if node.op is CONST and node.dtype != dtype and np.can_cast(node.dtype, dtype):
        return scalar_node(node.dtype.type(node.value), dtype)
    return node


def _positional(ufunc: np.ufunc, inputs: tuple[Any, ...], out: Any) -> tuple[tuple[Any, ...], Any]:
    """Inputs and outputs, where outputs may have been given after the inputs."""
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
    if not any(nodes):
        return nodes, tuple(np.asarray(x).dtype for x in inputs)
    return nodes, tuple(kinds)


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
            array = arrays.checked_target(target, "return arrays must be of DeviceArray type, not {}")
            array.check_writeable("output array is read-only")  # NumPy asks this first of all
    return out


def _check_out(
    ufunc: np.ufunc,
    kinds: tuple[Any, ...],
    in_dtypes: tuple[np.dtype, ...],
    targets: tuple[Any, ...],
    casting: str,
    dtype: Any = None,
    signature: Any = None,
) -> None:
    """Let NumPy judge whether the results may be cast to the outputs' dtypes."""
    dtypes = tuple(None if t is None else t.dtype for t in targets)
    key = (ufunc, kinds, in_dtypes, dtypes, casting, dtype, signature)
    if key in _allowed:
        return
    empty = [np.empty(0, k if isinstance(k, np.dtype) else in_dtypes[n]) for n, k in enumerate(kinds)]
    outs = tuple(None if d is None else np.empty(0, d) for d in dtypes)
    given = {"dtype": dtype, "signature": signature}
    ufunc(*empty, out=outs, casting=casting, **{k: v for k, v in given.items() if v is not None})
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
    """Refuse negative powers of integers, as NumPy does where it computes one."""
    if ufunc is not np.power or in_dtypes[1].kind != "i" or not all(n is None or n.size for n in nodes):
        return
    exponents = _argument(nodes[1], inputs[1], in_dtypes[1])
    refuse_negative(exponents, in_dtypes[1], True if where is True else mask_node(where, device))


def refuse_negative(exponents: Node, dtype: np.dtype, chosen: Any = True) -> None:
    """Raise ValueError where integers would be raised to a negative power.

    Parameters
    ----------
    exponents : Node
    dtype : numpy.dtype
        Of integers: of the loop, into which exponents are cast.
    chosen : Node or True
        Where powers are computed; broadcasts with the exponents.
    """
    if exponents.op is CONST and exponents.value >= 0:
        return
    if not np.can_cast(exponents.dtype, dtype):  # what the cast makes of it counts
        exponents = build.unary(cast_loop(dtype), exponents)
    less = find_loop(np.less, (exponents.dtype, exponents.dtype), (_BOOL,))
    negative = build.binary(less, exponents, scalar_node(0, exponents.dtype))
    if chosen is not True:
        negative = build.binary(find_loop(np.logical_and, (_BOOL, _BOOL), (_BOOL,)), negative, chosen)
    if negative.size and bool(arrays.wrap(negative).any()):
        raise ValueError("Integers to negative integer powers are not allowed.")


def _out_of_range(ufunc: np.ufunc, inputs: tuple[Any, ...], in_dtypes: tuple[np.dtype, ...]) -> bool | None:
    """The answer of a comparison with a Python int that the integer dtype cannot hold."""
    answers = _COMPARISONS.get(ufunc)
    if answers is None or in_dtypes[0].kind not in "iu":
        return None
    info = np.iinfo(in_dtypes[0])
    for position, x in enumerate(inputs):
        if type(x) is int and not info.min <= x <= info.max:
            above = (x > info.max) ^ (position == 0)
            return answers[0] if above else answers[1]
    return None


def full(value: Node, shape: tuple[int, ...]) -> Node:
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


def convert(node: Node, dtype: np.dtype) -> Node:
    """Return `cast` of a value that the user converts: warn as NumPy does if imaginary parts are discarded."""
    if node.dtype == dtype:
        return node
    callers.warn_of_lost_parts(node.dtype, dtype)
    return build.nary(cast_loop(dtype), (node,))


def own_value(node: Node) -> Node:
    """A node's value as a node of its own: a write to one does not change the other."""
    return build.nary(cast_loop(node.dtype), (node,))


def _deliver(node: Node, target: Any, where: Any, device: Device, order: str, operands: Sequence[Node | None]) -> Any:
    """Give the result as a new array in the `order` of the operands, or write it to `target`, where `where` is set."""
    if where is True and target is None:
        return evaluate_if_eager(node) if order == "K" else laid_out(node, order, operands)
    mask = None
    if where is not True:
        mask = mask_node(where, device)
        if target is None:
            shape = broadcast_shapes((node.shape, mask.shape))
            like = View(shape, _strides(shape, order, (*operands, mask)))
            target = arrays.wrap(new_leaf(device, shape, node.dtype, "K", like, zero=True))
    shape = node.shape if mask is None else broadcast_shapes((node.shape, mask.shape))
    _check_fits(shape, target.shape)
    assign(target, node, mask)
    return target


def laid_out(node: Node, order: str, operands: Sequence[Node | None]) -> Any:
    """A new array of a node in the order that a ufunc's call asks for."""
    return in_order(node, "K", View(node.shape, _strides(node.shape, order, operands)))


def _strides(shape: tuple[int, ...], order: str, operands: Sequence[Node | None]) -> tuple[int, ...]:
    """How a ufunc's new array lies in memory; 'A' is 'F' where all operands are, else 'C'."""
    views = [layout_of(each) for each in operands if each is not None]
    if order == "K":
        return k_order_strides(views, shape)
    columns = order == "F" or (order == "A" and all(view.f_contiguous for view in views))
    return ordered_strides(shape, range(len(shape))[:: -1 if columns else 1])


def mask_node(where: Any, device: Device) -> Node:
    """A ufunc's ``where=`` on the device: an array of bools, or the truth of anything that is no array."""
    if isinstance(where, arrays.DeviceArray):
        mask = where._node
    else:
        mask = array_node(where if isinstance(where, np.ndarray) else np.asarray(where, bool), device)
    if mask.dtype != _BOOL:
        raise TypeError(f"Cannot cast array data from {mask.dtype!r} to dtype('bool') according to the rule 'safe'")
    return mask


def _check_fits(shape: tuple[int, ...], into: tuple[int, ...]) -> None:
    whole = broadcast_shapes((shape, into))
    if whole != into:
        have, need = (str(s).replace(" ", "") for s in (into, whole))
        raise ValueError(f"non-broadcastable output operand with shape {have} doesn't match the broadcast shape {need}")


@accelerated
def evaluate_if_eager(node: Node) -> Any:
    """A new array of a node; what may not stay pending is evaluated."""
    if node.flags & EAGER or node.cost > build.COST_LIMIT:
        evaluate(node)
    return arrays.wrap(node)


def in_order(node: Node, order: str, like: View | None = None) -> Any:
    """A new array of a node that lies in memory as `order` and `like` say, whatever its operands lie in."""
    have = layout_of(node)
    strides = ordered_strides(node.shape, axis_order(like or have, order))
    if all(n < 2 or s == t for n, s, t in zip(node.shape, have.strides, strides, strict=True)):
        return evaluate_if_eager(node)
    made = arrays.wrap(new_leaf(device_of(node.inputs or (node,)), node.shape, node.dtype, order, like or have))
    assign(made, node)
    return made


def assign(target: Any, node: Node, mask: Node | None = None) -> None:
    """Write a node (broadcast, converted) to an array's elements, or to those a mask selects."""
    value = convert(node, target._node.dtype)  # before the lock is held: a warning may run any code
    with target.device.lock:  # a mask leaves elements as they are, so they are read and written in one hold
        leaf = evaluate(target._node)
        if mask is not None:
            value = build.nary(select_loop(leaf.dtype), (mask, value, leaf))
        if value.shape != leaf.shape or (value.op is not None and not value.args):
            value = broadcast(value, leaf.shape)
        write_leaf(leaf, value)


def broadcast(value: Node, shape: tuple[int, ...]) -> Node:
    """A node broadcast to a larger shape, as an expression."""
    return build.broadcast(cast_loop(value.dtype), value, shape)


def ascontiguous(node: Node) -> Node:
    """A C-contiguous copy of a leaf."""
    memory = node.memory
    assert memory is not None
    target = arrays.empty(node.shape, node.dtype, memory.device)._node
    write_leaf(target, node)
    return target


def _replace(array: Any, node: Node) -> Any:
    """Give an array that is no memory yet another value, of its own dtype and shape."""
    if build.selected(array._node) is None or build.selected(node) is None:  # else the same mask has selected both
        _check_fits(node.shape, array._node.shape)
    made = convert(node, array.dtype)
    if not lies_alike(made, array._node):
        write_leaf(evaluate(array._node), made)
        return array
    if made.flags & EAGER or made.cost > build.COST_LIMIT:
        evaluate(made)
    array._node = made
    return array
