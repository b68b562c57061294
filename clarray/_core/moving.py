"""Arrays into memory of their own: in another dtype or layout, or on another device."""

from __future__ import annotations

import numpy as np

from clarray._core import ufunc_calls
from clarray._core.device_array import DeviceArray, no_number, wrap
from clarray._core.host_data import device_dtype, new_leaf
from clarray._core.views import view_of
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.node import Node, leaf
from clarray._engine.expr.view import View, memory_order, ordered_strides, steps_fall
from clarray._engine.runtime import Device
from clarray._engine.runtime.mirrors import UPLOADED


def order_of_copy(order: str, given: np.dtype, wanted: np.dtype) -> str:
    """The order in which NumPy converts: 'A' is that of the operand there, and of a mere copy C or Fortran's."""
    return "K" if order == "A" and given != wanted else order


def in_order(view: View, order: str) -> bool:
    if order == "C":
        return view.contiguous
    if order == "F":
        return view.f_contiguous
    return True  # NumPy's 'A' is any order where nothing has to be copied


def converted(a: DeviceArray, dtype: np.dtype, order: str) -> DeviceArray:
    """Compute an array into memory of its own."""
    node = a._node
    like = View(node.shape, node.strides, node.offset) if node.memory is not None else None
    if like is None and order == "K":
        like = view_of(a)
    made = wrap(new_leaf(a.device, a.shape, dtype, "C" if order == "K" and like is None else order, like))
    # a node of its own, as the one that is written is used up
    ufunc_calls.assign(made, ufunc_calls.broadcast(ufunc_calls.convert(a._node, dtype), made.shape))
    return no_number(made)


def computed_copy(a: DeviceArray) -> DeviceArray | None:
    """A copy of what lies in memory, in C order, as the value of an expression; None where that is another order's.

    No shape is new to an expression: a loop that copies another slice at each step is as quick as any.
    """
    node = a._node
    memory = node.memory
    if memory is None or memory.shared or 0 in node.strides or not (len(node.shape) == 1 or steps_fall(node.strides)):
        return None
    value = ufunc_calls.own_value(node)
    evaluate(value)
    return no_number(wrap(value))


def moved(a: DeviceArray, dtype: np.dtype, order: str, device: Device) -> DeviceArray:
    """Compute an array into memory of another device, where the dtype is known to be had."""
    order = order_of_copy(order, a.dtype, dtype)
    if dtype.itemsize < a.dtype.itemsize or not _is_had(a.dtype, device):
        a = converted(a, dtype, "K")
    there = no_number(wrap(_sent(evaluate(_packed(a)._node), device)))
    fits = there.dtype == dtype and any(in_order(view_of(there), each) for each in ("CF" if order == "A" else order))
    return there if fits else converted(there, dtype, order)


def _is_had(dtype: np.dtype, device: Device) -> bool:
    try:
        device_dtype(dtype, device)
    except TypeError:
        return False
    return True


def _packed(a: DeviceArray) -> DeviceArray:
    """An array whose elements lie side by side, in whatever order of the axes."""
    view = view_of(a)
    packed = ordered_strides(view.shape, memory_order(view))
    steps = zip(view.shape, view.strides, packed, strict=True)
    return a if all(stride == plain for extent, stride, plain in steps if extent > 1) else converted(a, a.dtype, "K")


def _sent(node: Node, device: Device) -> Node:
    """Copy a leaf whose elements lie side by side, layout and all."""
    source, itemsize = node.memory, node.dtype.itemsize
    assert source is not None
    at, nbytes = node.offset * itemsize, node.size * itemsize
    memory = device.receive(source, at, nbytes)
    host = source.host if source.device.capabilities.host_memory else None
    if host is not None and nbytes <= UPLOADED and not device.capabilities.host_memory:
        memory.mirror = 0, host[at : at + nbytes].tobytes()
    strides = ordered_strides(node.shape, memory_order(View(node.shape, node.strides)))
    return leaf(memory, node.shape, strides, 0, node.dtype)
