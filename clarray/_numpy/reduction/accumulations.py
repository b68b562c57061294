"""``ufunc.outer``, ``ufunc.accumulate``, ``ufunc.reduceat`` and ``ufunc.at``.

They work for any ufunc, also for one that is not associative: its elements are taken in order.
Float sums along an axis are compensated, as those of a reduction are.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from clarray._core import callers, creation, ufunc_calls
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, checked_target, wrap
from clarray._core.host_data import device_dtype
from clarray._core.operands import array_node
from clarray._core.views import make_view, view_of
from clarray._core.writes import one_hold
from clarray._engine.algorithms import launchers
from clarray._engine.algorithms.gather.selection import OutOfBounds
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.axes import strict_axis
from clarray._engine.expr.indexing import index, is_basic
from clarray._engine.expr.node import Node
from clarray._engine.expr.view import broadcast_shapes
from clarray._engine.ops.monoids import Monoid, fold_monoid
from clarray._engine.ops.promotion import resolve
from clarray._engine.ops.ufuncs import Loop, find_loop
from clarray._engine.speedups import recorded
from clarray._engine.writing import overlaps
from clarray._numpy.indexing.index_arrays import index_selection, out_of_bounds

_INT64 = np.dtype(np.int64)
_NONE = np._NoValue


def outer(ufunc: np.ufunc, a: Any, b: Any, **kwargs: Any) -> Any:
    """``ufunc.outer``: every element of `a` with every element of `b`."""
    device = ufunc_calls.device_of_operands((a, b))
    left, right = (as_array(x, device) for x in (a, b))
    return ufunc_calls.call(ufunc, (left.reshape(left.shape + (1,) * right.ndim), right), **kwargs)


# What all methods check ---------------------------------------------------------------------------


def _check_binary(ufunc: np.ufunc, method: str) -> None:
    if ufunc.signature is not None:
        raise RuntimeError("Reduction not defined on ufunc with signature")
    if ufunc.nin != 2:
        raise ValueError(f"{method} only supported for binary functions")
    if ufunc.nout != 1:
        raise ValueError(f"{method} only supported for functions returning a single value")


def _operand(method: str, array: Any, out: Any) -> Node:
    device = ufunc_calls.device_of_operands((array, out))
    node = as_array(array, device)._node
    if not node.shape:
        raise TypeError(f"cannot {method} on a scalar")
    return node


def _axis(axis: Any, ndim: int, method: str) -> int:
    if axis is None:
        axis = tuple(range(ndim))
    if isinstance(axis, tuple):
        axis = tuple(strict_axis(each, ndim) for each in axis)
        if len(axis) != 1:
            raise ValueError(f"{method} does not allow multiple axes")
        axis = axis[0]
    return strict_axis(axis, ndim)


def _target(out: Any) -> DeviceArray | None:
    if isinstance(out, tuple):
        if len(out) != 1:
            raise ValueError("The 'out' tuple must have exactly one entry")
        out = out[0]
    if out is None:
        return None
    target = checked_target(out, "return arrays must be of DeviceArray type, not {}")
    target.check_writeable()
    return target


def _monoid(ufunc: np.ufunc, method: str, node: Node, dtype: Any, out: Any) -> Monoid:
    """The operation in the dtype NumPy chooses: that of `out` takes part in the choice."""
    dtype = None if dtype is None else np.dtype(dtype)
    kinds = (None if out is None else out.dtype, node.dtype, None)
    ins, outs = resolve(ufunc, kinds, dtype, None, "unsafe", reduction=True)  # type: ignore[arg-type]
    if not ins[0] == ins[1] == outs[0]:
        raise TypeError(
            f"the resolved dtypes are not compatible with {ufunc.__name__}.{method}. Resolved {(*ins, *outs)}"
        )
    wanted = device_dtype(ins[0], wrap(node).device)
    callers.warn_of_lost_parts(node.dtype, wanted)
    return fold_monoid(ufunc, wanted)


# accumulate ---------------------------------------------------------------------------------------


@recorded(operands=2)
@one_hold("out")
def accumulate(ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> DeviceArray:
    """The running result of a binary ufunc along an axis; see `numpy.ufunc.accumulate`.

    Parameters
    ----------
    ufunc : numpy.ufunc
        Of two operands and one result.
    array : array_like
    axis : int
    dtype : dtype, optional
        Of the computation; by default NumPy's choice: 64-bit for sums and products of smaller
        integers.
    out : DeviceArray, optional
        Where the result goes, converted.

    Returns
    -------
    DeviceArray
        `out` if given. Sums and products of float16 are accumulated in float32.
    """
    _check_binary(ufunc, "accumulate")
    target = _target(out)
    node = _operand("accumulate", array, target)
    axis = _axis(axis, len(node.shape), "accumulate")
    monoid = _monoid(ufunc, "accumulate", node, dtype, target)
    if target is not None and target.shape != node.shape:
        raise ValueError("provided out is the wrong size for the accumulation.")
    if ufunc is np.power and monoid.in_dtype.kind == "i":
        exponents = wrap(node)[(slice(None),) * axis + (slice(1, None),)]
        ufunc_calls.refuse_negative(exponents._node, monoid.in_dtype)
    if target is None:
        return wrap(launchers.scan.scan(node, monoid, axis))
    place = evaluate(target._node)
    found = launchers.scan.scan(node, monoid, axis, place if place.dtype == monoid.out_dtype else None)
    if found is not place:
        ufunc_calls.assign(target, found)
    return target


def accumulated_dtype(ufunc: np.ufunc, array: DeviceArray, dtype: Any = None) -> np.dtype:
    """The dtype of ``ufunc.accumulate(array, dtype=dtype)``."""
    return _monoid(ufunc, "accumulate", array._node, dtype, None).out_dtype


# reduceat -----------------------------------------------------------------------------------------


@recorded(operands=2)
@one_hold("out")
def reduceat(
    ufunc: np.ufunc, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> DeviceArray:
    """The reductions of a binary ufunc over slices of an axis; see `numpy.ufunc.reduceat`.

    Parameters
    ----------
    ufunc : numpy.ufunc
        Of two operands and one result.
    array : array_like
    indices : array_like of int
        Result `i` is over the elements from ``indices[i]`` to before ``indices[i + 1]`` (the end,
        for the last), or ``indices[i]`` alone where there are none.
    axis, dtype, out
        As in `accumulate`.

    Returns
    -------
    DeviceArray
        `out` if given.
    """
    _check_binary(ufunc, "reduceat")
    target = _target(out)
    node = _operand("reduceat", array, target)
    device = ufunc_calls.device_of_operands((wrap(node), indices))
    positions = _positions(indices)
    axis = _axis(axis, len(node.shape), "reduceat")
    monoid = _monoid(ufunc, "reduceat", node, dtype, target)
    _check_positions(ufunc, positions, node.shape[axis])
    shape = (*node.shape[:axis], positions.size, *node.shape[axis + 1 :])
    if target is not None and target.shape != shape:
        raise ValueError(
            f"operands could not be broadcast together: out has the shape {target.shape}, and the result {shape}"
        )
    if ufunc is np.power and monoid.in_dtype.kind == "i" and node.size:
        exponents = _later_in_segment(positions, node.shape[axis]).reshape((-1,) + (1,) * (len(node.shape) - axis - 1))
        ufunc_calls.refuse_negative(node, monoid.in_dtype, creation.asarray(exponents, device=device)._node)
    place = creation.array(positions, dtype=_INT64, device=device)._node
    if not place.contiguous or place.offset:
        place = ufunc_calls.ascontiguous(place)
    found = launchers.scan.reduce_segments(node, monoid, axis, evaluate(place))
    if target is None:
        return wrap(found)
    ufunc_calls.assign(target, found)
    return target


def _positions(indices: Any) -> Any:
    """Indices as a one-dimensional array of integers, where they are: on the host or the device."""
    if not isinstance(indices, DeviceArray):
        # lists are converted whatever is in them, arrays are not
        indices = np.asarray(indices, np.intp if isinstance(indices, list | tuple) else None)
    if indices.ndim == 0:
        raise ValueError("object of too small depth for desired array")
    if indices.ndim > 1:
        raise ValueError("object too deep for desired array")
    if not np.can_cast(indices.dtype, _INT64, "safe"):
        raise TypeError(f"Cannot cast array data from {indices.dtype!r} to {_INT64!r} according to the rule 'safe'")
    return indices


def _check_positions(ufunc: np.ufunc, positions: Any, extent: int) -> None:
    wide = positions.astype(_INT64)
    wrong = (wide < 0) | (wide >= extent)
    if not positions.size or not bool(wrong.any()):
        return
    found = int(wide[wrong.argmax()])
    raise IndexError(f"index {found} out-of-bounds in {ufunc.__name__}.reduceat [0, {extent})")


def _later_in_segment(positions: Any, extent: int) -> np.ndarray:
    """Which elements are an operation's second operand; copies positions to the host."""
    host = np.asarray(positions.get() if isinstance(positions, DeviceArray) else positions)
    found = np.zeros(extent, bool)
    for start, stop in zip(host, [*host[1:], extent], strict=True):
        found[start + 1 : stop] = True
    return found


# at -----------------------------------------------------------------------------------------------


@recorded
@one_hold("a")
def at(ufunc: np.ufunc, a: Any, indices: Any, b: Any = _NONE) -> None:
    """Apply a ufunc in place to elements, once for each time an index names them.

    Updates are done in the order of the indices, and nothing is written if one is out of bounds.
    See `numpy.ufunc.at`.

    Parameters
    ----------
    ufunc : numpy.ufunc
        Of one or two operands and one result.
    a : DeviceArray
        Changed in place.
    indices : int, slice, array_like or tuple
        Any key that indexing takes.
    b : array_like, optional
        The second operand, broadcast to the shape of ``a[indices]``.
    """
    loop, value = _update_loop(ufunc, a, b)
    a.check_writeable()
    if is_basic(indices) or indices is True:
        view = view_of(a)
        found = view if indices is True else index(view, indices)
        assert found is not None
        _update_all(ufunc, make_view(a, found), value, True)
        return
    if _is_whole_mask(a, indices) and (value is None or not value.shape):
        _update_all(ufunc, a, value, indices)
        return
    targets = index_selection(a, indices)
    try:
        numbers = launchers.gather.resolved(targets)
    except OutOfBounds:
        out_of_bounds(a, indices)
    callers.warn_of_lost_parts(loop.out_dtype, a.dtype)
    if value is not None:
        _check_fits(value, targets.result_shape)
        value = _independent(value, a)
        _check_exponents(ufunc, loop, value)
    if prod(targets.result_shape):
        launchers.scatter.scatter_update(
            evaluate(a._node), targets._replace(numbers=numbers, mode="known"), loop, value
        )


def _update_loop(ufunc: np.ufunc, a: Any, b: Any) -> tuple[Loop, Node | None]:
    """The loop for a call, and its second operand; no scalar is weak here, as in NumPy."""
    if ufunc.signature is not None:
        raise TypeError(
            f"{ufunc.__name__}.at does not support ufunc with non-trivial signature: "
            f"{ufunc.__name__} has signature {ufunc.signature}."
        )
    if ufunc.nin > 2:
        raise ValueError("Only unary and binary ufuncs supported at this time")
    if ufunc.nout != 1:
        raise ValueError("Only single output ufuncs supported at this time")
    checked_target(a, "first operand must be array: a clarray array, not {}")
    if (b is _NONE) != (ufunc.nin == 1):
        raise ValueError(
            "second operand needed for ufunc" if b is _NONE else "second operand provided when ufunc is unary"
        )
    value = None if b is _NONE else _value(b, a)
    kinds = (a.dtype,) if value is None else (a.dtype, value.dtype)
    in_dtypes, out_dtypes = resolve(ufunc, kinds, None, None, "unsafe")
    for dtype in (*in_dtypes, *out_dtypes):
        device_dtype(dtype, a.device)
    return find_loop(ufunc, in_dtypes, out_dtypes), value


def _value(b: Any, a: DeviceArray) -> Node:
    if isinstance(b, DeviceArray):
        return b._node
    if not a.device.capabilities.fp64 and type(b) in (float, complex):
        b = np.asarray(b, np.result_type(a.dtype, b))  # NumPy computes these in float64
    return array_node(b, a.device)


def _update_all(ufunc: np.ufunc, view: DeviceArray, value: Node | None, where: Any) -> None:
    """Update every element once, or every one that a mask selects."""
    operands = [view]
    if value is not None:
        _check_fits(value, view.shape)
        operands.append(wrap(value))
    ufunc_calls.call(ufunc, tuple(operands), out=(view,), where=where, casting="unsafe")


def _is_whole_mask(a: DeviceArray, key: Any) -> bool:
    return isinstance(key, DeviceArray | np.ndarray) and key.dtype == bool and key.ndim > 0 and key.shape == a.shape


def _check_fits(value: Node, shape: tuple[int, ...]) -> None:
    try:
        fits = broadcast_shapes((value.shape, shape)) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError("array is not broadcastable to correct shape")


def _independent(value: Node, a: DeviceArray) -> Node:
    """Return the operand's values as they are before the update, if it reads bytes that the update writes."""
    target = evaluate(a._node)
    if any(overlaps(leaf, target, even_alike=True) for leaf in value.inputs or (value,)):
        value = ufunc_calls.ascontiguous(value) if value.memory is not None else evaluate(value)
    return value


def _check_exponents(ufunc: np.ufunc, loop: Loop, value: Node) -> None:
    if ufunc is np.power and loop.in_dtypes[1].kind == "i":
        ufunc_calls.refuse_negative(value, loop.in_dtypes[1])
