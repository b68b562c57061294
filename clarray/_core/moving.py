"""Copies of arrays: with another dtype or layout, or on another device."""

from __future__ import annotations

import numpy as np

from clarray._core import ufunc_calls
from clarray._core.device_array import DeviceArray, mark_0d_array, wrap
from clarray._core.host_data import device_dtype, new_leaf
from clarray._core.views import view_of
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.node import Node, leaf
from clarray._engine.expr.view import View, memory_order, ordered_strides, strides_descend
from clarray._engine.runtime import Device
from clarray._engine.runtime.host_read_cache import CACHED_UPLOAD_BYTES


def copy_order(order: str, source: np.dtype, target: np.dtype) -> str:
    """Return NumPy's order of a copy: 'A' keeps the operand's order in a conversion, else it is C or Fortran order."""
    return "K" if order == "A" and source != target else order


def has_order(view: View, order: str) -> bool:
    if order == "C":
        return view.contiguous
    if order == "F":
        return view.f_contiguous
    return True  # without a copy, NumPy's 'A' is any order


def convert_copy(a: DeviceArray, dtype: np.dtype, order: str) -> DeviceArray:
    """Copy an array to new memory with a dtype and an order."""
    node = a._node
    like = View(node.shape, node.strides, node.offset) if node.memory is not None else None
    if like is None and order == "K":
        like = view_of(a)
    target = wrap(new_leaf(a.device, a.shape, dtype, "C" if order == "K" and like is None else order, like))
    # a new node, because a write consumes its node
    ufunc_calls.assign(target, ufunc_calls.broadcast(ufunc_calls.convert(a._node, dtype), target.shape))
    return mark_0d_array(target)


def computed_copy(a: DeviceArray) -> DeviceArray | None:
    """Copy an array in memory by an elementwise expression, in C order. None if the array has another order.

    Expressions have one launch for all shapes, so a loop that copies another slice in each step needs no new plans.
    """
    node = a._node
    memory = node.memory
    if memory is None or memory.shared or 0 in node.strides:
        return None
    if len(node.shape) != 1 and not strides_descend(node.strides):
        return None
    copy_node = ufunc_calls.copied_value(node)
    evaluate(copy_node)
    return mark_0d_array(wrap(copy_node))


def copy_to_device(a: DeviceArray, dtype: np.dtype, order: str, device: Device) -> DeviceArray:
    """Copy an array to another device that supports the dtype."""
    order = copy_order(order, a.dtype, dtype)
    if dtype.itemsize < a.dtype.itemsize or not _is_supported(a.dtype, device):
        a = convert_copy(a, dtype, "K")
    sent = mark_0d_array(wrap(_send(evaluate(_as_dense(a)._node), device)))
    fits = sent.dtype == dtype and any(has_order(view_of(sent), letter) for letter in ("CF" if order == "A" else order))
    return sent if fits else convert_copy(sent, dtype, order)


def _is_supported(dtype: np.dtype, device: Device) -> bool:
    try:
        device_dtype(dtype, device)
    except TypeError:
        return False
    return True


def _as_dense(a: DeviceArray) -> DeviceArray:
    """Return the array, or a copy of it, with elements without gaps, in any order of the axes."""
    view = view_of(a)
    dense_strides = ordered_strides(view.shape, memory_order(view))
    axes = zip(view.shape, view.strides, dense_strides, strict=True)
    return a if all(stride == dense for extent, stride, dense in axes if extent > 1) else convert_copy(a, a.dtype, "K")


def _send(node: Node, device: Device) -> Node:
    """Copy a leaf without gaps to another device, with its layout."""
    source, itemsize = node.memory, node.dtype.itemsize
    assert source is not None
    first_byte, nbytes = node.offset * itemsize, node.size * itemsize
    memory = device.receive(source, first_byte, nbytes)
    host = source.host if source.device.capabilities.host_memory else None
    if host is not None and nbytes <= CACHED_UPLOAD_BYTES and not device.capabilities.host_memory:
        memory.mirror = 0, host[first_byte : first_byte + nbytes].tobytes()
    strides = ordered_strides(node.shape, memory_order(View(node.shape, node.strides)))
    return leaf(memory, node.shape, strides, 0, node.dtype)
