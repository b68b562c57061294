"""Calls of reductions: the axes, masks, outputs and initial values of ``ufunc.reduce``."""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np

from clarray._core import ufunc_calls
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, check_target, empty, wrap
from clarray._core.fallback import by_numpy
from clarray._core.host_data import device_dtype
from clarray._core.operands import on_device, scalar_node
from clarray._core.views import make_view, view_of
from clarray._core.writes import with_device_lock
from clarray._engine.evaluate import device_of, evaluate
from clarray._engine.expr import build
from clarray._engine.expr.axes import c_integer, normalize_axes, strict_axis
from clarray._engine.expr.indexing import index
from clarray._engine.expr.node import Node
from clarray._engine.expr.overlap import reduced_strides
from clarray._engine.expr.result_layout import view_of as node_view
from clarray._engine.expr.view import View, broadcast_shapes, memory_order, ordered_strides
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.ops.dtypes import HostOnly, wide_dtype
from clarray._engine.ops.monoids import Monoid, Reduction, fold_monoid, reduction_op
from clarray._engine.ops.promotion import resolve
from clarray._engine.ops.special import select_loop
from clarray._engine.ops.ufuncs import find_loop
from clarray._engine.speedups import accelerated, captured_growth
from clarray._engine.writing import write

_NO_VALUE = np._NoValue
_BOOL = np.dtype(bool)
_EXTREMA = (np.maximum, np.minimum, np.fmax, np.fmin)


def operand_node(a: Any) -> Node:
    """Return the node of a reduction's operand."""
    a = on_device(a, None)
    node: Node = (a if isinstance(a, DeviceArray) else as_array(a))._node
    return node


def reduction_axes(node: Node, axis: Any) -> tuple[int, ...]:
    """Return the axes of an ``axis`` argument in ascending order."""
    return normalize_axes(axis, len(node.shape))


def _is_empty_tuple(axis: Any) -> bool:
    return isinstance(axis, tuple) and not axis  # ``axis == ()`` of a NumPy integer is an empty array


def averaged_axes(node: Node, axis: Any) -> tuple[int, ...]:
    """Return the axes of a mean or a variance. Unlike for a sum, a 0-d array has no axis 0 or -1."""
    if isinstance(axis, int):
        c_integer(axis, 32)  # NumPy counts the elements along the axis before it sums
    axes = reduction_axes(node, axis)
    if not node.shape and axis is not None and not _is_empty_tuple(axis):
        strict_axis(axis, 0)
    return axes


def reduced_shape(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: Any) -> tuple[int, ...]:
    """Return the shape of a reduction's result."""
    if keepdims is not True and keepdims is not False and keepdims is not _NO_VALUE:
        keepdims = operator.index(keepdims)
    if keepdims is _NO_VALUE or not keepdims:
        return tuple(n for a, n in enumerate(shape) if a not in axes)
    return tuple(1 if a in axes else n for a, n in enumerate(shape))


def _mask(where: Any, node: Node) -> Node | None:
    return None if where is True or where is _NO_VALUE else ufunc_calls.mask_node(where, wrap(node).device)


def split_mask(node: Node, axis: Any, where: Any, keepdims: Any = False) -> tuple[Node, Node | None, Any]:
    """Return the values, the mask and the axis of a reduction. A compressed operand becomes values and a mask."""
    mask = _mask(where, node)
    compressed = None if mask is not None or _is_empty_tuple(axis) else build.selected(node)
    if compressed is not None and (len(compressed[1].shape) == 1 or keepdims is _NO_VALUE or not keepdims):
        if axis not in (None, 0, -1, (0,), (-1,)):
            normalize_axes(axis, 1)
        return (*compressed, None)
    if mask is not None and broadcast_shapes((mask.shape, node.shape)) != node.shape:
        raise ValueError(f"where of shape {mask.shape} cannot be broadcast to the array's shape {node.shape}")
    return node, mask, axis


def build_reduction(monoid: Monoid, node: Node, mask: Node | None, axes: tuple[int, ...], keepdims: Any) -> Node:
    """Return a pending reduction of all elements, or of the elements that a mask selects."""
    op = reduction_op(monoid, axes, len(node.shape), mask is not None)
    shape = reduced_shape(node.shape, axes, keepdims)
    return build.reduction(op, (node,) if mask is None else (node, mask), shape)


def check_out(out: Any) -> None:
    """Raise if the output is no array or is read-only. NumPy checks this before axes and dtypes."""
    if out is None:
        return
    check_target(out, "return arrays must be of ArrayType").check_writeable("output array is read-only")


def check_shape(out: DeviceArray, shape: tuple[int, ...]) -> None:
    """Raise ValueError if the output has another shape. Reductions do not broadcast to their output."""
    if out.shape != shape:
        raise ValueError(
            f"output parameter for reduction operation has the wrong shape: {out.shape} where {shape} is needed"
        )


def write_result(node: Node, out: Any, casting: Any = "unsafe") -> DeviceArray:
    """Wrap a result as a new array, or assign it to `out`. By default, any cast is allowed, as in NumPy."""
    if out is None:
        return ufunc_calls.evaluate_if_eager(node)
    check_out(out)
    check_shape(out, node.shape)
    if not np.can_cast(node.dtype, out.dtype, casting):
        raise TypeError(f"Cannot cast the result from {node.dtype!r} to {out.dtype!r} with casting rule {casting!r}")
    ufunc_calls.assign(out, node)
    return out


def layout_as_copied(reduction: DeviceArray, node: Node, axis: Any, out: Any) -> DeviceArray:
    """Return a result in the memory order that it has if NumPy copies the operand first.

    Parameters
    ----------
    node : Node
        The operand.
    axis : int, tuple of int or None
        The reduced axes.
    """
    if out is not None or len(reduction.shape) < 2 or node.memory is None or 0 not in node.strides:
        return reduction
    view = node_view(node)
    copy_view = View(view.shape, ordered_strides(view.shape, memory_order(view)))
    shape = reduction.shape
    strides = reduced_strides([copy_view], reduction_axes(node, axis), shape)
    reordered: DeviceArray = ufunc_calls.in_order(reduction._node, "K", View(shape, strides))
    return reordered


def constant_node(number: Any, dtype: np.dtype, shape: tuple[int, ...]) -> Node:
    """Return a node with one value for all elements."""
    return ufunc_calls.full(scalar_node(number, dtype), shape)


_monoids: dict[tuple[np.ufunc, np.dtype, Any, Any], Monoid] = {}


def _is_reorderable(ufunc: np.ufunc) -> bool:
    """Return whether NumPy reduces several axes at once: ufuncs with an identity, and extrema."""
    return ufunc.identity is not None or ufunc in _EXTREMA


def _choose_monoid(ufunc: np.ufunc, dtype: np.dtype, requested: Any, out_dtype: Any = None) -> Monoid:
    """Return the monoid of the loop that NumPy chooses. The output's dtype takes part in the choice."""
    key = (ufunc, dtype, requested, out_dtype)
    monoid = _monoids.get(key)
    if monoid is None:
        if ufunc.nin != 2:
            raise ValueError("reduce only supported for binary functions")
        if ufunc.nout != 1:
            raise ValueError("reduce only supported for functions returning a single value")
        dtypes: tuple[Any, ...] = (out_dtype, dtype, None)
        ins, _ = resolve(ufunc, dtypes, requested, None, "unsafe", reduction=True)
        monoid = _monoids[key] = fold_monoid(ufunc, ins[1])
    return monoid


class ReduceArguments(NamedTuple):
    """The arguments of `numpy.ufunc.reduce` after the array, with NumPy's names and defaults."""

    axis: Any = 0
    dtype: Any = None
    out: Any = None
    keepdims: Any = False
    initial: Any = _NO_VALUE
    where: Any = True


@accelerated
@captured_growth(operands=2)
@with_device_lock("out", position=2 + ReduceArguments._fields.index("out"))
def ufunc_reduce(ufunc: np.ufunc, array: Any, *arguments: Any, **keywords: Any) -> DeviceArray:
    """Reduce an array by a ufunc, with the rules of `numpy.ufunc.reduce` and its further arguments."""
    node = operand_node(array)
    options = ReduceArguments(*arguments, **keywords)
    if _reduces_all(options):  # the most frequent call
        compressed = build.selected(node)
        values = node if compressed is None else compressed[0]
        if values.size and values.shape and (compressed is None or ufunc.identity is not None):
            op = plain_reduction(ufunc, values, None, compressed is not None)
            if op is not None:
                return ufunc_calls.evaluate_if_eager(build.reduction(op, compressed or (node,), ()))
    try:
        monoid = _call_monoid(ufunc, node, options.dtype, options.out)
        call = _read_call(ufunc, monoid, node, options)
    except HostOnly:  # a fallback around the methods would cost 5 % of ``x.sum()``
        host_result: DeviceArray = by_numpy(ufunc.reduce, (array, *options), {}, f"numpy.{ufunc.__name__}.reduce")
        return host_result
    return write_result(_build_node(call), options.out)


def _reduces_all(arguments: ReduceArguments) -> bool:
    """Return whether a call reduces all elements over all axes, without any other argument."""
    axis, dtype, out, keepdims, initial, where = arguments
    return axis is dtype is out is None and keepdims is False and initial is _NO_VALUE and where is True


_plain: dict[tuple[np.ufunc, np.dtype, int, int | None, bool], Reduction | None] = {}


def plain_reduction(ufunc: np.ufunc, node: Node, axis: int | None, masked: bool = False) -> Reduction | None:
    """Return the reduction of a non-empty array over all axes or one axis, or None if it needs the general path."""
    key = (ufunc, node.dtype, len(node.shape), axis, masked)
    if key not in _plain:
        _plain[key] = _new_reduction(ufunc, node, axis, masked)
    return _plain[key]


def _new_reduction(ufunc: np.ufunc, node: Node, axis: int | None, masked: bool) -> Reduction | None:
    ndim = len(node.shape)
    if (axis is None and not _is_reorderable(ufunc)) or ufunc is np.power:  # NumPy reduces one axis at a time
        return None
    axes = tuple(range(ndim)) if axis is None else (axis % ndim,)
    monoid = _choose_monoid(ufunc, node.dtype, None)
    return None if _needs_cast_first(monoid, node.dtype) else reduction_op(monoid, axes, ndim, masked)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """The checked arguments of a call of ``ufunc.reduce``.

    Parameters
    ----------
    ufunc : numpy.ufunc
    monoid : Monoid
        The monoid of the loop that NumPy chooses.
    node : Node
        The values to reduce.
    mask : Node or None
        The mask of the elements to reduce.
    selected : bool
        Whether the mask is from a compressed operand and not from ``where``.
    axes : tuple of int
    keepdims : object
    shape : tuple of int
        Shape of the result.
    first : Node or None
        ``initial``, if the caller passed it.
    identity : object
        Start without ``initial``. None starts with the first element.
    """

    ufunc: np.ufunc
    monoid: Monoid
    node: Node
    mask: Node | None
    selected: bool
    axes: tuple[int, ...]
    keepdims: Any
    shape: tuple[int, ...]
    first: Node | None
    identity: Any

    def start(self) -> Node | None:
        """Return the start value of the reduction, or None if it starts with the first element."""
        if self.first is not None or self.identity is None:
            return self.first
        return _identity_scalar(self.identity, self.monoid.out_dtype)


def _call_monoid(ufunc: np.ufunc, node: Node, dtype: Any, out: Any) -> Monoid:
    check_out(out)
    monoid = _choose_monoid(ufunc, node.dtype, None if dtype is None else np.dtype(dtype), getattr(out, "dtype", None))
    device_dtype(monoid.out_dtype, wrap(node).device)
    return monoid


def _read_call(ufunc: np.ufunc, monoid: Monoid, array: Node, arguments: ReduceArguments) -> _Call:
    """Check the arguments of a call, in the order in which NumPy raises errors."""
    axis, _, _, keepdims, initial, where = arguments
    # The order of the selected elements matters: the first one of a power is its base, and a complex extremum is the
    # first NaN. A selection has them in C order.
    if ufunc is np.power or (ufunc in _EXTREMA and array.dtype.kind == "c"):
        evaluate(array)
    node, mask, axis = split_mask(array, axis, where, keepdims)
    selected = node is not array
    axes = reduction_axes(node, axis)
    if len(axes) > 1 and not selected and not _is_reorderable(ufunc):
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' is not reorderable, so at most one axis may be specified"
        )
    has_initial = initial is not _NO_VALUE and initial is not None
    identity = None if has_initial or initial is None else ufunc.identity
    if not has_initial and identity is None and mask is not None and not selected:
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' does not have an identity, so to use a where "
            "mask one has to specify 'initial'"
        )
    shape = reduced_shape(node.shape, axes, keepdims)
    first = None
    if has_initial:
        ufunc_calls.device_of_operands((wrap(array), initial))
        first = _initial_scalar(initial, monoid.out_dtype)
    return _Call(
        ufunc=ufunc,
        monoid=monoid,
        node=node,
        mask=mask,
        selected=selected,
        axes=axes,
        keepdims=keepdims,
        shape=shape,
        first=first,
        identity=identity,
    )


def _build_node(call: _Call) -> Node:
    """Build the node of a call: a constant, an elementwise expression, or a reduction."""
    node, monoid = call.node, call.monoid
    empty = math.prod([node.shape[a] for a in call.axes]) == 0
    if empty or call.selected:
        start = call.start()
        if start is None and not (call.selected and _selects_any(call.mask)):
            raise ValueError(f"zero-size array to reduction operation {call.ufunc.__name__} which has no identity")
        if empty:
            return (
                constant_node(0, monoid.out_dtype, call.shape) if start is None else ufunc_calls.full(start, call.shape)
            )
    if _needs_cast_first(monoid, node.dtype):
        node = cast_first(node, monoid.in_dtype)
    if call.ufunc is np.power and monoid.in_dtype.kind == "i":
        _check_exponents(call)
    if not call.axes:
        return _reduce_no_axes(call, node)
    if call.first is None:
        return build_reduction(monoid, node, call.mask, call.axes, call.keepdims)
    return _reduce_from(call.ufunc, monoid, call.first, node, call.mask, call.axes, call.keepdims)


def _check_exponents(call: _Call) -> None:
    """Raise for negative integer exponents in a reduction by powers. All elements but the start are exponents."""
    exponents, where = call.node, True if call.mask is None else call.mask
    if call.first is None:
        if not call.axes:
            return
        (axis,) = call.axes
        exponents = wrap(exponents)[(slice(None),) * axis + (slice(1, None),)]._node
    ufunc_calls.check_no_negative_powers(exponents, call.monoid.in_dtype, where)


def _selects_any(mask: Node | None) -> bool:
    """Return whether a mask selects any element. Waits for the device. Only reductions without an identity ask."""
    if mask is None:
        return False
    # A second consumer of the pending mask would store it, so the test has its own copy of the node.
    copied_mask = build.nary(mask.op, mask.args) if mask.args else mask
    return bool(ufunc_reduce(np.logical_or, wrap(copied_mask), None))


def _initial_scalar(initial: Any, dtype: np.dtype) -> Node:
    """Return ``initial`` as a scalar node, cast as in NumPy."""
    holder = np.zeros((), dtype)
    holder[()] = initial.item() if isinstance(initial, DeviceArray) else initial
    return scalar_node(holder[()], dtype)


def _identity_scalar(identity: Any, dtype: np.dtype) -> Node:
    """Return an identity as a scalar node of the result's dtype. The identity of bitwise_and is -1."""
    return scalar_node(identity & np.iinfo(dtype).max, dtype) if dtype.kind == "u" else _initial_scalar(identity, dtype)


def _needs_cast_first(monoid: Monoid, dtype: np.dtype) -> bool:
    """Return whether values must be cast to the monoid's dtype before the reduction, not only while combined."""
    widened = wide_dtype(monoid.in_dtype) != monoid.in_dtype
    return dtype != monoid.in_dtype and (dtype.kind == "c" or widened)


def cast_first(node: Node, dtype: np.dtype) -> Node:
    """Cast values before a reduction whose wider accumulator would give another result."""
    return ufunc_calls.convert(node, dtype)


def _reduce_no_axes(call: _Call, node: Node) -> Node:
    """Return the reduction over no axes: each element combined with the start."""
    dtype = call.monoid.out_dtype
    elements = ufunc_calls.cast(node, dtype) if node.dtype != dtype else ufunc_calls.copied_value(node)
    if call.first is not None:
        elements = build.binary(find_loop(call.ufunc, (dtype, dtype), (dtype,)), call.first, elements)
    if call.mask is None:
        return elements
    start = call.start()
    assert start is not None
    return build.nary(select_loop(dtype), (call.mask, elements, start))


def _reduce_from(
    ufunc: np.ufunc,
    monoid: Monoid,
    first: Node,
    node: Node,
    mask: Node | None,
    axes: tuple[int, ...],
    keepdims: Any,
) -> Node:
    """Return a reduction with the start value `first`."""
    dtype = monoid.out_dtype
    if monoid.algebra == "first" or _affects_range(monoid, first):  # prepend the start as an element
        axis = axes[0]
        slice_shape = tuple(1 if a == axis else n for a, n in enumerate(node.shape))
        node = _prepend(ufunc_calls.full(first, slice_shape), ufunc_calls.cast(node, dtype), axis)
        if mask is not None:
            array_shape = (*node.shape[:axis], node.shape[axis] - 1, *node.shape[axis + 1 :])
            mask = _prepend(constant_node(True, _BOOL, slice_shape), ufunc_calls.broadcast(mask, array_shape), axis)
        return build_reduction(monoid, node, mask, axes, keepdims)
    wide = wide_dtype(dtype) if ufunc in (np.add, np.multiply) else dtype
    total = build_reduction(fold_monoid(ufunc, dtype, wide), node, mask, axes, keepdims)
    combined = build.binary(find_loop(ufunc, (wide, wide), (wide,)), ufunc_calls.cast(first, wide), total)
    return ufunc_calls.cast(combined, dtype)


def _affects_range(monoid: Monoid, first: Node) -> bool:
    """Return whether the start can bring an overflowing sum or product back into range. It must then be an element."""
    if monoid.algebra == "product":
        return bool(first.value != 1)
    if monoid.algebra != "compensated":
        return False
    info = np.finfo(monoid.out_dtype)
    return max(abs(first.value.real), abs(first.value.imag)) >= float(info.max) * float(info.eps) / 4


def _prepend(first: Node, rest: Node, axis: int) -> Node:
    """Return a leaf with the slice `first` before the elements of `rest` along an axis."""
    shape = tuple(n + (a == axis) for a, n in enumerate(rest.shape))
    device = device_of(first, rest)
    target = empty(shape, first.dtype, device)
    for part, span in ((first, slice(0, 1)), (rest, slice(1, None))):
        part_leaf = make_view(target, index(view_of(target), (slice(None),) * axis + (span,)))._node
        write(part_leaf, ufunc_calls.copied_value(part))
    return target._node
