"""Transfers between host memory and the device: leaves of ndarrays, and ndarrays of leaves.

On a device that works in host memory, an ndarray is not copied: a leaf is a view of its bytes with any strides, and the
host reads an array through its pointer.
"""

from __future__ import annotations

import time
from math import prod
from typing import Any

import numpy as np

from clarray._core.device_array import DeviceArray, mark_0d_array, wrap
from clarray._engine import runtime
from clarray._engine.expr.host_value import elements_in
from clarray._engine.expr.node import Node, contiguous_leaf, leaf
from clarray._engine.expr.view import Shape, View, check_order, check_size, contiguous, memory_order, ordered_strides
from clarray._engine.ops.dtypes import DTYPES, dtype_row
from clarray._engine.runtime import Device, profiling
from clarray._engine.runtime.capture import abort_capture, current_capture, suspended
from clarray._engine.runtime.host_read_cache import CACHED_UPLOAD_BYTES
from clarray._engine.speedups import accelerated

SMALL = 1 << 16  # bytes that one thread copies at once


def device_dtype(dtype: Any, device: Device) -> np.dtype:
    """Return the dtype. TypeError if the device does not support it."""
    row = dtype_row(np.dtype(dtype))
    if row.compute == "double" and not device.capabilities.fp64:
        raise TypeError(
            f"{device.capabilities.name} has no {row.dtype.name}: it lacks cl_khr_fp64; "
            f"use {'complex64' if row.kind == 'c' else 'float32'} or another device"
        )
    return row.dtype


def data_dtype(dtype: np.dtype, device: Device) -> np.dtype:
    """Return the dtype of host data after its upload: its own, in the native byte order."""
    return device_dtype(dtype if dtype.isnative else dtype.newbyteorder("="), device)


# The layout of new arrays -------------------------------------------------------------------------


def axis_order(view: View, order: str) -> list[int]:
    """Return the axes of a new array like `view`, the axis of the largest stride first."""
    order = check_order(order)
    if order == "A":
        order = "F" if view.f_contiguous and not view.contiguous else "C"
    if order == "K" and not view.contiguous:
        return memory_order(view)
    axes = list(range(view.ndim))
    return axes[::-1] if order == "F" else axes


@accelerated
def new_leaf(
    device: Device,
    shape: Shape,
    dtype: np.dtype,
    order: str | None = "C",
    like: View | None = None,
    zero: bool = False,
) -> Node:
    """Allocate an array, with zeros if `zero`, else with arbitrary elements."""
    for extent in shape:
        if extent < 0:
            raise ValueError("negative dimensions are not allowed")
    if like is None or len(like.shape) != len(shape):
        like = View(shape, contiguous(shape))
    strides = ordered_strides(shape, axis_order(like, order or "C"))
    nbytes = prod(shape) * dtype.itemsize
    if not nbytes:
        check_size(shape, dtype.itemsize)
    memory = device.allocate(nbytes)
    if zero:
        device.fill_zero(memory)
    return leaf(memory, shape, strides, 0, dtype)


# From the host ------------------------------------------------------------------------------------


def share(array: np.ndarray, device: Device) -> Node | None:
    """Make a leaf of the ndarray's own memory, or return None if it must be copied."""
    itemsize = array.itemsize
    if (
        array.dtype not in DTYPES
        or not array.dtype.isnative
        or not array.size
        or array.__array_interface__["data"][0] % itemsize  # kernels need complex128 aligned to 16 bytes
        or any(stride % itemsize for stride in array.strides)
        or not device.capabilities.host_memory
    ):
        return None
    memory = device.wrap(array)
    first_byte = array.__array_interface__["data"][0] - memory.address
    strides = tuple(stride // itemsize for stride in array.strides)
    return leaf(memory, array.shape, strides, first_byte // itemsize, array.dtype)


def ndarray_layout(array: np.ndarray) -> View:
    """Return the shape and strides of an ndarray, in elements, rounded: callers use only the strides' order."""
    return View(array.shape, tuple(stride // (array.itemsize or 1) for stride in array.strides))


def _is_direct_copy(array: np.ndarray, dtype: np.dtype, device: Device) -> bool:
    """Return whether the upload is a plain copy of bytes to host memory that is not profiled."""
    flags = array.flags
    alike = array.dtype == dtype and flags.c_contiguous and array.size > 0
    return alike and device.capabilities.host_memory and profiling.state.recorder is None


@accelerated
def host_copy(source: np.ndarray, dtype: np.dtype, device: Device) -> DeviceArray:
    """Copy a C-contiguous ndarray of this dtype to a new array. The caller has waited for the device."""
    memory = device.pool.allocate(source.nbytes)
    elements = memory.elements(dtype)
    assert elements is not None
    if device.pending:  # a re-entrant call may have used the block
        device.finish()
    elements[: source.size] = source.reshape(-1)
    return mark_0d_array(wrap(contiguous_leaf(memory, source.shape, dtype)))


def small_copy(array: np.ndarray, dtype: np.dtype, device: Device) -> DeviceArray | None:
    """Copy a small C-contiguous ndarray to host memory of the device. None if it is large or of another dtype."""
    if array.nbytes > SMALL or not _is_direct_copy(array, dtype, device):
        return None
    abort_capture()
    with device.lock:
        if device.pending:
            device.finish()
        return host_copy(array, dtype, device)


def upload(array: np.ndarray, dtype: np.dtype, device: Device, order: str | None = "K") -> Node:
    """Copy an ndarray of any strides and byte order to a new leaf with the layout of `order`."""
    capture = current_capture()
    if capture is not None and array.nbytes <= SMALL:
        # The values follow from the arguments of the call: a look at elements would be a guard, or abort the capture.
        with suspended(capture):
            node = upload(array, dtype, device, order)
        assert node.memory is not None
        capture.uploaded(node.memory)
        return node
    if order in ("K", "C") and (direct_copy := small_copy(array, dtype, device)) is not None:
        return direct_copy._node
    if order == "K" and array.flags.c_contiguous:
        order = "C"
    axes = axis_order(ndarray_layout(array), order or "C")
    arranged = array.transpose(axes)
    memory = device.allocate(array.size * dtype.itemsize)
    host = memory.host
    if host is None or (arranged.dtype == dtype and arranged.flags.c_contiguous):
        packed = np.ascontiguousarray(arranged, dtype)
        device.write(memory, 0, packed)
        if host is None and packed.nbytes <= CACHED_UPLOAD_BYTES:
            memory.mirror = 0, packed.tobytes()
    else:
        # one pass converts byte order, dtype and layout
        device.synchronize()
        start = time.perf_counter()
        np.copyto(host.view(dtype).reshape(arranged.shape), arranged, casting="unsafe")
        profiling.record("transfer", "to device", host.nbytes, time.perf_counter() - start)
    return leaf(memory, array.shape, ordered_strides(array.shape, axes), 0, dtype)


def is_cl_array(candidate: Any) -> bool:
    """Return whether an object is a ``pyopencl.array.Array``, without an import of pyopencl."""
    return any(base.__name__ == "Array" and base.__module__.startswith("pyopencl.") for base in type(candidate).__mro__)


def adopt(array: Any) -> Node:
    """Make a leaf of a ``pyopencl.array.Array``'s own memory, on the device of its context."""
    memory = runtime.adopt(array.base_data, array.queue)
    dtype = device_dtype(array.dtype, memory.device)
    strides = tuple(stride // dtype.itemsize for stride in array.strides)
    first_byte = (
        array.offset + memory.nbytes - array.base_data.size
    )  # the memory of an unaligned buffer starts before it
    return leaf(memory, tuple(array.shape), strides, first_byte // dtype.itemsize, dtype)


# To the host --------------------------------------------------------------------------------------


def host_view(node: Node) -> np.ndarray | None:
    """Return a leaf's elements as an ndarray on the same host memory, or None for device memory.

    The caller has synchronized the device.
    """
    assert node.memory is not None
    host = node.memory.host
    return None if host is None else elements_in(host, node)
