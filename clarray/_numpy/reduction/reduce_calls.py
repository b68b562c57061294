"""Calls of reductions: the axes, masks, outputs and initial values of ``ufunc.reduce``."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from clarray._core import ufunc_calls
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, checked_target, empty, wrap
from clarray._core.fallback import by_numpy
from clarray._core.host_data import device_dtype
from clarray._core.operands import on_device, scalar_node
from clarray._core.views import make_view, view_of
from clarray._core.writes import one_hold
from clarray._engine.evaluate import device_of, evaluate
from clarray._engine.expr import build
from clarray._engine.expr.axes import c_integer, normalize_axes, strict_axis
from clarray._engine.expr.indexing import index
from clarray._engine.expr.node import Node
from clarray._engine.expr.overlap import reduced_strides
from clarray._engine.expr.result_layout import view_of as node_view
from clarray._engine.expr.view import View, broadcast_shapes, memory_order, ordered_strides
from clarray._engine.ops.dtypes import HostOnly, wide_dtype
from clarray._engine.ops.monoids import Monoid, Reduction, fold_monoid, reduction_op
from clarray._engine.ops.promotion import resolve
from clarray._engine.ops.special import select_loop
from clarray._engine.ops.ufuncs import find_loop
from clarray._engine.speedups import accelerated, recorded_growth
from clarray._engine.values import dataclass
from clarray._engine.writing import write

_NO = np._NoValue
_BOOL = np.dtype(bool)
_EXTREMA = (np.maximum, np.minimum, np.fmax, np.fmin)


def operand(a: Any) -> Node:
    """The node of what is reduced."""
    a = on_device(a, None)
    node: Node = (a if isinstance(a, DeviceArray) else as_array(a))._node
    return node


def axes_of(node: Node, axis: Any) -> tuple[int, ...]:
    """The axes that ``axis=`` means, ascending."""
    return normalize_axes(axis, len(node.shape))


def _no_axes(axis: Any) -> bool:
    return isinstance(axis, tuple) and not axis  # an integer of NumPy's compared with () is an empty array


def averaged_axes(node: Node, axis: Any) -> tuple[int, ...]:
    """The axes of a mean or a variance, which NumPy counts itself: a 0-d array has none of them."""
    if isinstance(axis, int):
        c_integer(axis, 32)  # NumPy counts the elements along the axis before it sums
    axes = axes_of(node, axis)
    if not node.shape and axis is not None and not _no_axes(axis):
        strict_axis(axis, 0)
    return axes


def kept_shape(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: Any) -> tuple[int, ...]:
    """Shape of the result."""
    if keepdims is not True and keepdims is not False and keepdims is not _NO:
        keepdims = operator.index(keepdims)
    if keepdims is _NO or not keepdims:
        return tuple(n for a, n in enumerate(shape) if a not in axes)
    return tuple(1 if a in axes else n for a, n in enumerate(shape))


def _mask(where: Any, node: Node) -> Node | None:
    return None if where is True or where is _NO else ufunc_calls.mask_node(where, wrap(node).device)


def split_mask(node: Node, axis: Any, where: Any, keepdims: Any = False) -> tuple[Node, Node | None, Any]:
    """Value, mask and axis; a compressed operand is reduced where its mask is set."""
    mask = _mask(where, node)
    parts = None if mask is not None or _no_axes(axis) else build.selected(node)
    if parts is not None and (len(parts[1].shape) == 1 or keepdims is _NO or not keepdims):
        if axis not in (None, 0, -1, (0,), (-1,)):
            normalize_axes(axis, 1)
        return (*parts, None)
    if mask is not None and broadcast_shapes((mask.shape, node.shape)) != node.shape:
        raise ValueError(f"where of shape {mask.shape} cannot be broadcast to the array's shape {node.shape}")
    return node, mask, axis


def reduced(monoid: Monoid, node: Node, mask: Node | None, axes: tuple[int, ...], keepdims: Any) -> Node:
    """Grow a reduction, of the elements that `mask` selects if there is one."""
    op = reduction_op(monoid, axes, len(node.shape), mask is not None)
    shape = kept_shape(node.shape, axes, keepdims)
    return build.reduction(op, (node,) if mask is None else (node, mask), shape)


def check_out(out: Any) -> None:
    """Raise for an output that is no array, or read-only: what NumPy asks before it looks at axes and dtypes."""
    if out is None:
        return
    checked_target(out, "return arrays must be of ArrayType").check_writeable("output array is read-only")


def check_shape(out: DeviceArray, shape: tuple[int, ...]) -> None:
    """Raise for an output of another shape: those of reductions are not broadcast to."""
    if out.shape != shape:
        raise ValueError(
            f"output parameter for reduction operation has the wrong shape: {out.shape} where {shape} is needed"
        )


def finished(node: Node, out: Any, casting: Any = "unsafe") -> DeviceArray:
    """The result as a new array, or in `out`, to which NumPy casts what is summed as it likes."""
    if out is None:
        return ufunc_calls.evaluate_if_eager(node)
    check_out(out)
    check_shape(out, node.shape)
    if not np.can_cast(node.dtype, out.dtype, casting):
        raise TypeError(f"Cannot cast the result from {node.dtype!r} to {out.dtype!r} with casting rule {casting!r}")
    ufunc_calls.assign(out, node)
    return out


def as_of_copy(found: DeviceArray, node: Node, axis: Any, out: Any) -> DeviceArray:
    """A result that lies as if its operand had been copied first, where repeated elements lie side by side.

    Parameters
    ----------
    node : Node
        The operand.
    axis : int, tuple of int or None
        What the result lacks, or has with one element.
    """
    if out is not None or len(found.shape) < 2 or node.memory is None or 0 not in node.strides:
        return found
    view = node_view(node)
    copied = View(view.shape, ordered_strides(view.shape, memory_order(view)))
    shape = found.shape
    strides = reduced_strides([copied], axes_of(node, axis), shape)
    laid_out: DeviceArray = ufunc_calls.in_order(found._node, "K", View(shape, strides))
    return laid_out


def full_node(value: Any, dtype: np.dtype, shape: tuple[int, ...]) -> Node:
    """A scalar repeated over a shape."""
    return ufunc_calls.full(scalar_node(value, dtype), shape)


_monoids: dict[tuple[np.ufunc, np.dtype, Any, Any], Monoid] = {}


def _reorderable(ufunc: np.ufunc) -> bool:
    """Whether NumPy reduces several axes at once: with an identity, and a few without."""
    return ufunc.identity is not None or ufunc in _EXTREMA


def _fold(ufunc: np.ufunc, dtype: np.dtype, wanted: Any, out_dtype: Any = None) -> Monoid:
    """The monoid for the loop that NumPy chooses; the output's dtype, if there is one, counts."""
    key = (ufunc, dtype, wanted, out_dtype)
    found = _monoids.get(key)
    if found is None:
        if ufunc.nin != 2:
            raise ValueError("reduce only supported for binary functions")
        if ufunc.nout != 1:
            raise ValueError("reduce only supported for functions returning a single value")
        kinds: tuple[Any, ...] = (out_dtype, dtype, None)
        ins, _ = resolve(ufunc, kinds, wanted, None, "unsafe", reduction=True)
        found = _monoids[key] = fold_monoid(ufunc, ins[1])
    return found


@accelerated
@recorded_growth(operands=2)
@one_hold("out")
def ufunc_reduce(
    ufunc: np.ufunc,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = _NO,
    where: Any = True,
) -> DeviceArray:
    """``ufunc.reduce`` with NumPy's keywords and rules."""
    node = operand(array)
    plain = axis is None and where is True and initial is _NO and out is None and keepdims is False
    if plain and dtype is None:  # what most calls are
        chosen = build.selected(node)
        first = node if chosen is None else chosen[0]
        if first.size and first.shape and (chosen is None or ufunc.identity is not None):
            op = plain_reduction(ufunc, first, None, chosen is not None)
            if op is not None:
                return ufunc_calls.evaluate_if_eager(build.reduction(op, chosen or (node,), ()))
    try:
        call = _read(ufunc, node, axis, dtype, out, keepdims, initial, where)
    except HostOnly:  # for methods: a boundary around them would take a twentieth of ``x.sum()``
        given = (array, axis, dtype, out, keepdims, initial, where)
        value: DeviceArray = by_numpy(ufunc.reduce, given, {}, f"numpy.{ufunc.__name__}.reduce")
        return value
    return finished(_grown(call), out)


_plain: dict[tuple[np.ufunc, np.dtype, int, int | None, bool], Reduction | None] = {}


def plain_reduction(ufunc: np.ufunc, node: Node, axis: int | None, masked: bool = False) -> Reduction | None:
    """The reduction of what is not empty over all axes or one that it has; None where it takes more than that."""
    key = (ufunc, node.dtype, len(node.shape), axis, masked)
    if key not in _plain:
        _plain[key] = _new_reduction(ufunc, node, axis, masked)
    return _plain[key]


def _new_reduction(ufunc: np.ufunc, node: Node, axis: int | None, masked: bool) -> Reduction | None:
    ndim = len(node.shape)
    if (axis is None and not _reorderable(ufunc)) or ufunc is np.power:  # NumPy takes them one at a time
        return None
    axes = tuple(range(ndim)) if axis is None else (axis % ndim,)
    monoid = _fold(ufunc, node.dtype, None)
    return None if _is_narrowed(monoid, node.dtype) else reduction_op(monoid, axes, ndim, masked)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """What a call of ``ufunc.reduce`` asks for, read and checked.

    Parameters
    ----------
    ufunc : numpy.ufunc
    monoid : Monoid
        Of the loop that NumPy chooses.
    node : Node
        What is reduced.
    mask : Node or None
        Which of its elements are.
    selected : bool
        Whether they are those of a compressed operand, rather than of ``where``.
    axes : tuple of int
    keepdims : object
    shape : tuple of int
        Of the result.
    first : Node or None
        ``initial``, where it is given.
    identity : object
        What stands in for it; None where that is the first element.
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
        """What the reduction starts with, where that is not its first element."""
        if self.first is not None or self.identity is None:
            return self.first
        return _converted(self.identity, self.monoid.out_dtype)


def _read(
    ufunc: np.ufunc, array: Node, axis: Any, dtype: Any, out: Any, keepdims: Any, initial: Any, where: Any
) -> _Call:
    """Read the arguments, in NumPy's order of objections."""
    check_out(out)
    monoid = _fold(ufunc, array.dtype, None if dtype is None else np.dtype(dtype), getattr(out, "dtype", None))
    device_dtype(monoid.out_dtype, wrap(array).device)
    # What is selected comes in C order: the first power is no exponent, and the first NaN is a complex extremum.
    if ufunc is np.power or (ufunc in _EXTREMA and array.dtype.kind == "c"):
        evaluate(array)
    node, mask, axis = split_mask(array, axis, where, keepdims)
    selected = node is not array
    axes = axes_of(node, axis)
    if len(axes) > 1 and not selected and not _reorderable(ufunc):
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' is not reorderable, so at most one axis may be specified"
        )
    given = initial is not _NO and initial is not None
    identity = None if given or initial is None else ufunc.identity
    if not given and identity is None and mask is not None and not selected:
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' does not have an identity, so to use a where "
            "mask one has to specify 'initial'"
        )
    shape = kept_shape(node.shape, axes, keepdims)
    first = None
    if given:
        ufunc_calls.device_of_operands((wrap(array), initial))
        first = _initial(initial, monoid.out_dtype)
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


def _grown(call: _Call) -> Node:
    """Grow what a call asks for: a value repeated, an element each, or a reduction."""
    node, monoid = call.node, call.monoid
    empty = math.prod([node.shape[a] for a in call.axes]) == 0
    if empty or call.selected:
        start = call.start()
        if start is None and not (call.selected and _any(call.mask)):
            raise ValueError(f"zero-size array to reduction operation {call.ufunc.__name__} which has no identity")
        if empty:
            return full_node(0, monoid.out_dtype, call.shape) if start is None else ufunc_calls.full(start, call.shape)
    if _is_narrowed(monoid, node.dtype):
        node = narrowed(node, monoid.in_dtype)
    if call.ufunc is np.power and monoid.in_dtype.kind == "i":
        _refuse_negative(call)
    if not call.axes:
        return _each(call, node)
    if call.first is None:
        return reduced(monoid, node, call.mask, call.axes, call.keepdims)
    return _reduce_from(call.ufunc, monoid, call.first, node, call.mask, call.axes, call.keepdims)


def _refuse_negative(call: _Call) -> None:
    """Look at the exponents of a reduction to powers: all elements but what it starts with."""
    exponents, chosen = call.node, True if call.mask is None else call.mask
    if call.first is None:
        if not call.axes:
            return
        (axis,) = call.axes
        exponents = wrap(exponents)[(slice(None),) * axis + (slice(1, None),)]._node
    ufunc_calls.refuse_negative(exponents, call.monoid.in_dtype, chosen)


def _any(mask: Node | None) -> bool:
    """Whether a mask selects anything: what has no identity must know, and waits for it."""
    if mask is None:
        return False
    # A mask still pending is asked through a node like it: two consumers of one node would store it.
    alike = build.nary(mask.op, mask.args) if mask.args else mask
    return bool(ufunc_reduce(np.logical_or, wrap(alike), None))


def _initial(value: Any, dtype: np.dtype) -> Node:
    """``initial``, as NumPy converts it."""
    holder = np.zeros((), dtype)
    holder[()] = value.item() if isinstance(value, DeviceArray) else value
    return scalar_node(holder[()], dtype)


def _converted(identity: Any, dtype: np.dtype) -> Node:
    """An identity in the dtype of the result; that of bitwise_and is -1."""
    return scalar_node(identity & np.iinfo(dtype).max, dtype) if dtype.kind == "u" else _initial(identity, dtype)


def _is_narrowed(monoid: Monoid, dtype: np.dtype) -> bool:
    """Whether values of a dtype have to become the monoid's first, not only where they are combined."""
    wide = wide_dtype(monoid.in_dtype) != monoid.in_dtype
    return dtype != monoid.in_dtype and (dtype.kind == "c" or wide)


def narrowed(node: Node, dtype: np.dtype) -> Node:
    """`node` in the dtype of the sum, where accumulating wider would not give the same."""
    return ufunc_calls.convert(node, dtype)


def _each(call: _Call, node: Node) -> Node:
    """The reduction over no axes: of every element by itself."""
    dtype = call.monoid.out_dtype
    value = ufunc_calls.cast(node, dtype) if node.dtype != dtype else ufunc_calls.own_value(node)
    if call.first is not None:
        value = build.binary(find_loop(call.ufunc, (dtype, dtype), (dtype,)), call.first, value)
    if call.mask is None:
        return value
    start = call.start()
    assert start is not None
    return build.nary(select_loop(dtype), (call.mask, value, start))


def _reduce_from(
    ufunc: np.ufunc,
    monoid: Monoid,
    first: Node,
    node: Node,
    mask: Node | None,
    axes: tuple[int, ...],
    keepdims: Any,
) -> Node:
    """A reduction that starts with `first`."""
    dtype = monoid.out_dtype
    if monoid.algebra == "first" or _affects_range(monoid, first):  # `first` becomes the first element
        at = axes[0]
        line = tuple(1 if a == at else n for a, n in enumerate(node.shape))
        node = _joined(ufunc_calls.full(first, line), ufunc_calls.cast(node, dtype), at)
        if mask is not None:
            every = (*node.shape[:at], node.shape[at] - 1, *node.shape[at + 1 :])
            mask = _joined(full_node(True, _BOOL, line), ufunc_calls.broadcast(mask, every), at)
        return reduced(monoid, node, mask, axes, keepdims)
    wide = wide_dtype(dtype) if ufunc in (np.add, np.multiply) else dtype
    total = reduced(fold_monoid(ufunc, dtype, wide), node, mask, axes, keepdims)
    result = build.binary(find_loop(ufunc, (wide, wide), (wide,)), ufunc_calls.cast(first, wide), total)
    return ufunc_calls.cast(result, dtype)


def _affects_range(monoid: Monoid, first: Node) -> bool:
    """Return whether a start can bring a sum or product back into range, so that it must be an element of it."""
    if monoid.algebra == "product":
        return bool(first.value != 1)
    if monoid.algebra != "compensated":
        return False
    info = np.finfo(monoid.out_dtype)
    return max(abs(first.value.real), abs(first.value.imag)) >= float(info.max) * float(info.eps) / 4


def _joined(first: Node, rest: Node, axis: int) -> Node:
    """A leaf with the elements of one node, of one element along the axis, before those of another."""
    shape = tuple(n + (a == axis) for a, n in enumerate(rest.shape))
    device = device_of((*(first.inputs or (first,)), *(rest.inputs or (rest,))))
    made = empty(shape, first.dtype, device)
    for part, which in ((first, slice(0, 1)), (rest, slice(1, None))):
        found = index(view_of(made), (slice(None),) * axis + (which,))
        assert found is not None
        target = make_view(made, found)._node
        write(target, ufunc_calls.own_value(part))
    return made._node
