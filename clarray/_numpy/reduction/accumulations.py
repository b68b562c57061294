"""``ufunc.outer``, ``ufunc.accumulate``, ``ufunc.reduceat`` and ``ufunc.at``.

They work for any ufunc. A ufunc that is not associative is applied in the order of the elements.
Float sums along an axis are compensated, as in a reduction.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from clarray._core import callers, creation, ufunc_calls
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, check_target, wrap
from clarray._core.host_data import device_dtype
from clarray._core.keys import BASIC, MASK, classify
from clarray._core.operands import array_node
from clarray._core.views import make_view, view_of
from clarray._core.writes import with_device_lock
from clarray._engine.algorithms import launchers
from clarray._engine.algorithms.gather.selection import OutOfBounds
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.axes import strict_axis
from clarray._engine.expr.graph import inputs_of
from clarray._engine.expr.indexing import index
from clarray._engine.expr.node import Node
from clarray._engine.expr.view import broadcast_shapes
from clarray._engine.ops.monoids import Monoid, fold_monoid
from clarray._engine.ops.promotion import resolve
from clarray._engine.ops.ufuncs import Loop, find_loop
from clarray._engine.speedups import captured
from clarray._engine.writing import overlaps
from clarray._numpy.indexing.index_arrays import index_selection, raise_out_of_bounds

_INT64 = np.dtype(np.int64)
_NO_VALUE = np._NoValue


def outer(ufunc: np.ufunc, a: Any, b: Any, **kwargs: Any) -> Any:
    """Apply a ufunc to all pairs of elements of `a` and `b`, as `numpy.ufunc.outer` does."""
    device = ufunc_calls.device_of_operands((a, b))
    a_array, b_array = (as_array(x, device) for x in (a, b))
    return ufunc_calls.call(ufunc, (a_array.reshape(a_array.shape + (1,) * b_array.ndim), b_array), **kwargs)


# Checks of all methods ----------------------------------------------------------------------------


def _check_binary(ufunc: np.ufunc, method: str) -> None:
    if ufunc.signature is not None:
        raise RuntimeError("Reduction not defined on ufunc with signature")
    if ufunc.nin != 2:
        raise ValueError(f"{method} only supported for binary functions")
    if ufunc.nout != 1:
        raise ValueError(f"{method} only supported for functions returning a single value")


def _operand_node(method: str, array: Any, out: Any) -> Node:
    device = ufunc_calls.device_of_operands((array, out))
    node = as_array(array, device)._node
    if not node.shape:
        raise TypeError(f"cannot {method} on a scalar")
    return node


def _single_axis(axis: Any, ndim: int, method: str) -> int:
    if axis is None:
        axis = tuple(range(ndim))
    if isinstance(axis, tuple):
        axis = tuple(strict_axis(entry, ndim) for entry in axis)
        if len(axis) != 1:
            raise ValueError(f"{method} does not allow multiple axes")
        axis = axis[0]
    return strict_axis(axis, ndim)


def _output_array(out: Any) -> DeviceArray | None:
    if isinstance(out, tuple):
        if len(out) != 1:
            raise ValueError("The 'out' tuple must have exactly one entry")
        out = out[0]
    if out is None:
        return None
    target = check_target(out, "return arrays must be of DeviceArray type, not {}")
    target.check_writeable()
    return target


def _resolve_monoid(ufunc: np.ufunc, method: str, node: Node, dtype: Any, out: Any) -> Monoid:
    """Return the ufunc's monoid in the dtype that NumPy chooses. The dtype of `out` takes part in the choice."""
    dtype = None if dtype is None else np.dtype(dtype)
    dtypes = (None if out is None else out.dtype, node.dtype, None)
    ins, outs = resolve(ufunc, dtypes, dtype, None, "unsafe", reduction=True)  # type: ignore[arg-type]
    if not ins[0] == ins[1] == outs[0]:
        raise TypeError(
            f"the resolved dtypes are not compatible with {ufunc.__name__}.{method}. Resolved {(*ins, *outs)}"
        )
    fold_dtype = device_dtype(ins[0], wrap(node).device)
    callers.warn_complex_cast(node.dtype, fold_dtype)
    return fold_monoid(ufunc, fold_dtype)


# accumulate ---------------------------------------------------------------------------------------


@captured(operands=2)
@with_device_lock("out")
def accumulate(ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> DeviceArray:
    """Apply a binary ufunc cumulatively along an axis. See `numpy.ufunc.accumulate`.

    Parameters
    ----------
    ufunc : numpy.ufunc
        A ufunc of two operands and one result.
    array : array_like
    axis : int
    dtype : dtype, optional
        Dtype of the computation. By default NumPy's choice, which is 64-bit for sums and products of smaller integers.
    out : DeviceArray, optional
        Output array. The result is cast to its dtype.

    Returns
    -------
    DeviceArray
        `out` if given. Sums and products of float16 are accumulated in float32.
    """
    _check_binary(ufunc, "accumulate")
    target = _output_array(out)
    node = _operand_node("accumulate", array, target)
    axis = _single_axis(axis, len(node.shape), "accumulate")
    monoid = _resolve_monoid(ufunc, "accumulate", node, dtype, target)
    if target is not None and target.shape != node.shape:
        raise ValueError("provided out is the wrong size for the accumulation.")
    if ufunc is np.power and monoid.in_dtype.kind == "i":
        exponents = wrap(node)[(slice(None),) * axis + (slice(1, None),)]
        ufunc_calls.check_no_negative_powers(exponents._node, monoid.in_dtype)
    if target is None:
        return wrap(launchers.scan.scan(node, monoid, axis))
    leaf = evaluate(target._node)
    scanned = launchers.scan.scan(node, monoid, axis, leaf if leaf.dtype == monoid.out_dtype else None)
    if scanned is not leaf:
        ufunc_calls.assign(target, scanned)
    return target


def accumulated_dtype(ufunc: np.ufunc, array: DeviceArray, dtype: Any = None) -> np.dtype:
    """Return the dtype of ``ufunc.accumulate(array, dtype=dtype)``."""
    return _resolve_monoid(ufunc, "accumulate", array._node, dtype, None).out_dtype


# reduceat -----------------------------------------------------------------------------------------


@captured(operands=2)
@with_device_lock("out")
def reduceat(
    ufunc: np.ufunc, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> DeviceArray:
    """Reduce slices of an axis by a binary ufunc. See `numpy.ufunc.reduceat`.

    Parameters
    ----------
    ufunc : numpy.ufunc
        A ufunc of two operands and one result.
    array : array_like
    indices : array_like of int
        Result `i` is over the elements from ``indices[i]`` to before ``indices[i + 1]`` (the end,
        for the last), or ``indices[i]`` alone if this slice is empty.
    axis, dtype, out
        As in `accumulate`.

    Returns
    -------
    DeviceArray
        `out` if given.
    """
    _check_binary(ufunc, "reduceat")
    target = _output_array(out)
    node = _operand_node("reduceat", array, target)
    device = ufunc_calls.device_of_operands((wrap(node), indices))
    positions = _as_indices(indices)
    axis = _single_axis(axis, len(node.shape), "reduceat")
    monoid = _resolve_monoid(ufunc, "reduceat", node, dtype, target)
    _check_indices(ufunc, positions, node.shape[axis])
    shape = (*node.shape[:axis], positions.size, *node.shape[axis + 1 :])
    if target is not None and target.shape != shape:
        raise ValueError(
            f"operands could not be broadcast together: out has the shape {target.shape}, and the result {shape}"
        )
    if ufunc is np.power and monoid.in_dtype.kind == "i" and node.size:
        exponents = _exponent_mask(positions, node.shape[axis]).reshape((-1,) + (1,) * (len(node.shape) - axis - 1))
        ufunc_calls.check_no_negative_powers(node, monoid.in_dtype, creation.asarray(exponents, device=device)._node)
    starts = creation.array(positions, dtype=_INT64, device=device)._node
    if not starts.contiguous or starts.offset:
        starts = ufunc_calls.ascontiguous(starts)
    segments = launchers.scan.reduce_segments(node, monoid, axis, evaluate(starts))
    if target is None:
        return wrap(segments)
    ufunc_calls.assign(target, segments)
    return target


def _as_indices(indices: Any) -> Any:
    """Return indices as a 1-d array of integers, on the host or on the device as the caller passed them."""
    if not isinstance(indices, DeviceArray):
        # NumPy casts lists of any dtype, but no arrays
        indices = np.asarray(indices, np.intp if isinstance(indices, list | tuple) else None)
    if indices.ndim == 0:
        raise ValueError("object of too small depth for desired array")
    if indices.ndim > 1:
        raise ValueError("object too deep for desired array")
    if not np.can_cast(indices.dtype, _INT64, "safe"):
        raise TypeError(f"Cannot cast array data from {indices.dtype!r} to {_INT64!r} according to the rule 'safe'")
    return indices


def _check_indices(ufunc: np.ufunc, positions: Any, extent: int) -> None:
    converted = positions.astype(_INT64)
    out_of_bounds = (converted < 0) | (converted >= extent)
    if not positions.size or not bool(out_of_bounds.any()):
        return
    first = int(converted[out_of_bounds.argmax()])
    raise IndexError(f"index {first} out-of-bounds in {ufunc.__name__}.reduceat [0, {extent})")


def _exponent_mask(positions: Any, extent: int) -> np.ndarray:
    """Return a mask of the elements that are a second operand, the exponents of a power. Copies indices to the host."""
    starts = np.asarray(positions.get() if isinstance(positions, DeviceArray) else positions)
    mask = np.zeros(extent, bool)
    for start, stop in zip(starts, [*starts[1:], extent], strict=True):
        mask[start + 1 : stop] = True
    return mask


# at -----------------------------------------------------------------------------------------------


@captured
@with_device_lock("a")
def at(ufunc: np.ufunc, a: Any, indices: Any, b: Any = _NO_VALUE) -> None:
    """Apply a ufunc in place to elements, once per index.

    Updates run in the order of the indices. If an index is out of bounds, nothing is written.
    See `numpy.ufunc.at`.

    Parameters
    ----------
    ufunc : numpy.ufunc
        A ufunc of one or two operands and one result.
    a : DeviceArray
        The array to update in place.
    indices : int, slice, array_like or tuple
        Any key of indexing.
    b : array_like, optional
        The second operand, broadcast to the shape of ``a[indices]``.
    """
    loop, second = _update_loop(ufunc, a, b)
    a.check_writeable()
    key = classify(indices, a.shape)
    if key.kind is BASIC or indices is True:
        view = view_of(a)
        selected = view if indices is True else index(view, key.items)
        _update_all(ufunc, make_view(a, selected), second, True)
        return
    if key.kind is MASK and (second is None or not second.shape):
        _update_all(ufunc, a, second, key.items[0])
        return
    targets = index_selection(a, key)
    try:
        resolved = launchers.gather.resolve_indices(targets)
    except OutOfBounds:
        raise_out_of_bounds(*key.integer_arrays)
    callers.warn_complex_cast(loop.out_dtype, a.dtype)
    if second is not None:
        _check_broadcast(second, targets.result_shape)
        second = _copy_if_overlapping(second, a)
        _check_exponents(ufunc, loop, second)
    if prod(targets.result_shape):
        launchers.scatter.scatter_update(
            evaluate(a._node), targets._replace(numbers=resolved, mode="known"), loop, second
        )


def _update_loop(ufunc: np.ufunc, a: Any, b: Any) -> tuple[Loop, Node | None]:
    """Return the loop of a call and its second operand. As in NumPy, no scalar is weak here."""
    if ufunc.signature is not None:
        raise TypeError(
            f"{ufunc.__name__}.at does not support ufunc with non-trivial signature: "
            f"{ufunc.__name__} has signature {ufunc.signature}."
        )
    if ufunc.nin > 2:
        raise ValueError("Only unary and binary ufuncs supported at this time")
    if ufunc.nout != 1:
        raise ValueError("Only single output ufuncs supported at this time")
    check_target(a, "first operand must be array: a clarray array, not {}")
    if (b is _NO_VALUE) != (ufunc.nin == 1):
        raise ValueError(
            "second operand needed for ufunc" if b is _NO_VALUE else "second operand provided when ufunc is unary"
        )
    second = None if b is _NO_VALUE else _second_operand(b, a)
    dtypes = (a.dtype,) if second is None else (a.dtype, second.dtype)
    in_dtypes, out_dtypes = resolve(ufunc, dtypes, None, None, "unsafe")
    for dtype in (*in_dtypes, *out_dtypes):
        device_dtype(dtype, a.device)
    return find_loop(ufunc, in_dtypes, out_dtypes), second


def _second_operand(b: Any, a: DeviceArray) -> Node:
    if isinstance(b, DeviceArray):
        return b._node
    if not a.device.capabilities.fp64 and type(b) in (float, complex):
        b = np.asarray(b, np.result_type(a.dtype, b))  # NumPy computes these in float64
    return array_node(b, a.device)


def _update_all(ufunc: np.ufunc, view: DeviceArray, second: Node | None, where: Any) -> None:
    """Update each element once, or each element that a mask selects."""
    operands = [view]
    if second is not None:
        _check_broadcast(second, view.shape)
        operands.append(wrap(second))
    ufunc_calls.call(ufunc, tuple(operands), out=(view,), where=where, casting="unsafe")


def _check_broadcast(node: Node, shape: tuple[int, ...]) -> None:
    try:
        fits = broadcast_shapes((node.shape, shape)) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError("array is not broadcastable to correct shape")


def _copy_if_overlapping(second: Node, a: DeviceArray) -> Node:
    """Copy the second operand if the update writes to memory that it reads."""
    target = evaluate(a._node)
    if any(overlaps(leaf, target, count_identical=True) for leaf in inputs_of(second)):
        second = ufunc_calls.ascontiguous(second) if second.memory is not None else evaluate(second)
    return second


def _check_exponents(ufunc: np.ufunc, loop: Loop, exponents: Node) -> None:
    if ufunc is np.power and loop.in_dtypes[1].kind == "i":
        ufunc_calls.check_no_negative_powers(exponents, loop.in_dtypes[1])
