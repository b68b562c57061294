"""Conversion of arrays to Python scalars, text, ndarrays and other dtypes."""

from __future__ import annotations

import sys
import time
from types import FrameType
from typing import Any

import numpy as np

from clarray._core import callers, creation, moving, ufunc_calls
from clarray._core.device_array import DeviceArray, is_scalar, is_writeable, mark_0d_array, wrap
from clarray._core.elements import element
from clarray._core.host_data import device_dtype, host_view
from clarray._engine.evaluate import evaluate
from clarray._engine.expr import view as views
from clarray._engine.expr.axes import c_integer
from clarray._engine.expr.host_value import elements_in
from clarray._engine.expr.indexing import index_plainly
from clarray._engine.expr.node import CONST, Node, leaf
from clarray._engine.expr.view import View, check_order, memory_order
from clarray._engine.ops.special import cast_loop
from clarray._engine.runtime import find_device, profiling
from clarray._engine.runtime.capture import current_capture
from clarray._engine.runtime.host_read_cache import read_element
from clarray._engine.speedups import accelerated
from clarray._engine.writing import share_with_host

# Scalars ------------------------------------------------------------------------------------------


def numpy_scalar(node: Node) -> Any:
    """Return the only element of a node as a NumPy scalar. Waits for the value."""
    if node.memory is None:
        if node.op is CONST:
            return node.dtype.type(node.value)
        source = _copied_element(node)
        if source is not None and source.memory is not None:
            with source.memory.device.lock:  # a writer evaluates the pending copy first
                if node.memory is None:
                    return read_element(source.memory, source.offset * source.dtype.itemsize, source.dtype)
        evaluate(node)
    memory = node.memory
    assert memory is not None
    return read_element(memory, node.offset * node.dtype.itemsize, node.dtype)


def _copied_element(node: Node) -> Node | None:
    """Return the leaf in device memory whose only element a pending value copies, or None for other expressions."""
    args = node.args  # empty if another thread has evaluated the node
    if node.op is not cast_loop(node.dtype) or not args:
        return None
    source = args[0]
    memory = source.memory
    if memory is None or source.dtype is not node.dtype or source.shape or memory.device.capabilities.host_memory:
        return None
    return source


@accelerated
def scalar(array: DeviceArray, kind: str) -> Any:
    """Return the value of a 0-d array as a Python number. NumPy's errors for other arrays."""
    node = array._node
    if node.dtype.kind == "c" and kind != "complex" and is_scalar(array):
        return callers.relay({"float": float, "int": int}[kind], numpy_scalar(node))  # with NumPy's ComplexWarning
    if node.shape:
        # NumPy raises an error or does a deprecated conversion
        return {"float": float, "int": int, "complex": complex}[kind](array.get())
    memory = node.memory
    if memory is None:
        if node.op is CONST:
            return node.value
        if _copied_element(node) is not None:
            return numpy_scalar(node).item()
        memory = evaluate(node).memory
        assert memory is not None
    if not memory.device.capabilities.host_memory:
        return numpy_scalar(node).item()
    dtype = node.dtype
    return memory.device.read_number(memory, node.offset * dtype.itemsize, dtype)


def item(array: DeviceArray, *args: Any) -> Any:
    """Return one element as a Python scalar. Computes the array and waits for the value.

    Parameters
    ----------
    *args : int or tuple of int
        Nothing for an array of one element. Else a position that counts the elements in C order, or one index per axis.

    Returns
    -------
    bool, int, float or complex

    Raises
    ------
    ValueError
        The array has several elements and no position is given, or the number of indices is not the number of axes.
    IndexError
        The position is out of bounds.

    Examples
    --------
    >>> import clarray
    >>> clarray.asarray([[1, 2], [3, 4]]).item(1, 0)
    3
    """
    node = array._node
    if node.memory is not None:
        indexed = index_plainly(node.shape, node.strides, node.offset, args)
        if indexed is not None and not indexed[0]:
            number = element(node, indexed[2])
            if number is not None:
                return number
    if len(args) == 1 and isinstance(args[0], tuple) and not args[0]:
        args = ()
    if not args and array.size == 1:
        return numpy_scalar(array._node).item() if not array.ndim else array.reshape(()).item()
    if not args:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    if len(args) == 1 and not isinstance(args[0], tuple):
        flat_index = c_integer(args[0])
        if not -array.size <= flat_index < array.size:
            raise IndexError(f"index {flat_index} is out of bounds for size {array.size}")
        position: Any = np.unravel_index(flat_index % array.size, array.shape) if array.ndim else ()
    else:
        position = args[0] if len(args) == 1 else args
        if len(position) != array.ndim:
            raise ValueError("incorrect number of indices for array")
    return array[tuple(int(p) for p in position)].item()


def truth(array: DeviceArray) -> bool:
    """Return the truth value of an array of one element."""
    if array._node.op is CONST:
        return bool(array._node.value)
    if array.size == 1:
        return bool(item(array))
    if array.size == 0:
        raise ValueError(
            "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an array is not empty."
        )
    raise ValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()")


def scalar_hash(array: DeviceArray) -> int:
    """Return the hash of a scalar's value. TypeError for other arrays. Waits for the value."""
    if not is_scalar(array):
        raise TypeError(f"unhashable type: {type(array).__name__!r}")
    number = item(array)
    return (
        hash(number) if number == number else object.__hash__(array)
    )  # no NaN equals another, so each has its own hash


def as_index(array: DeviceArray) -> int:
    """Return the value of a 0-d integer array, for use as an index."""
    if array.dtype.kind not in "iu" or array.ndim:
        raise TypeError("only integer scalar arrays can be converted to a scalar index")
    return int(numpy_scalar(array._node))


def round_scalar(array: DeviceArray, ndigits: int | None = None) -> Any:
    if array.ndim:
        raise TypeError("type DeviceArray doesn't define __round__ method for dimensions > 0")
    return round(numpy_scalar(array._node), ndigits) if ndigits is not None else round(numpy_scalar(array._node))


# Text ---------------------------------------------------------------------------------------------


def format_array(array: DeviceArray, spec: str) -> str:
    if array.ndim == 0:
        return format(numpy_scalar(array._node), spec)
    if spec:
        raise TypeError("unsupported format string passed to DeviceArray.__format__")
    return str(array)


# ndarrays -----------------------------------------------------------------------------------------


def pickled_array(array: DeviceArray) -> np.ndarray:
    """Copy an array to the host in the order of NumPy's pickles: Fortran order if it has that only, else C order."""
    node = evaluate(array._node)
    fortran = View(node.shape, node.strides, node.offset).f_contiguous and not node.contiguous
    return np.asarray(asnumpy(array), order="F" if fortran else "C")


def asnumpy(a: Any) -> np.ndarray:
    """Copy an array to the host as a NumPy array. Computes the array and waits for its value.

    Parameters
    ----------
    a : DeviceArray or array_like

    Returns
    -------
    ndarray
        A new array of the same shape, dtype and memory order.

    Examples
    --------
    >>> import clarray
    >>> clarray.asnumpy(clarray.asarray([1, 2]) + 1)
    array([2, 3])
    """
    if not isinstance(a, DeviceArray):
        return np.array(a)
    node = evaluate(a._node)
    memory = node.memory
    assert memory is not None
    if node.size == 0:
        return np.empty(node.shape, node.dtype)
    device = memory.device
    if current_capture() is not None and node.size <= MOST_GUARDS and node.contiguous and node.dtype.kind in "biu":
        return _read_guards(node)
    if device.capabilities.host_memory:
        with device.lock:  # an elementwise launch of another thread may write there without the GIL
            device.synchronize()
            start = time.perf_counter()
            window = host_view(node)
            assert window is not None
            host_copy = window.copy(order="K")
        profiling.record("transfer", "to host", host_copy.nbytes, time.perf_counter() - start)
        return host_copy
    if node.contiguous:
        return _fetch(node)
    axes = memory_order(View(node.shape, node.strides))
    view = views.transpose(View(node.shape, node.strides, node.offset), axes)
    arranged = leaf(memory, *view, node.dtype)
    return _fetch(arranged if arranged.contiguous else ufunc_calls.ascontiguous(arranged)).transpose(np.argsort(axes))


MOST_GUARDS = 8  # elements of an array that a program compares one by one


def _read_guards(node: Node) -> np.ndarray:
    """Copy the elements of a contiguous leaf one by one. They become guards of the program that is captured."""
    memory, dtype = node.memory, node.dtype
    assert memory is not None
    start = node.offset * dtype.itemsize
    elements = [
        memory.device.read_scalar(memory, start + position * dtype.itemsize, dtype) for position in range(node.size)
    ]
    return np.array(elements, dtype).reshape(node.shape)


def _fetch(node: Node) -> np.ndarray:
    """Copy a contiguous leaf from the device's own memory."""
    memory = node.memory
    assert memory is not None
    out = np.empty(node.shape, node.dtype)
    memory.device.read(memory, node.offset * node.dtype.itemsize, out)
    return out


def host_array(array: DeviceArray) -> np.ndarray:
    """Return an ndarray on an array's memory, which must be host memory. The memory counts as shared afterwards."""
    node = evaluate(array._node)
    if node.size == 0:
        return np.empty(node.shape, node.dtype)
    share_with_host(node, node if array._base is None else array._base._node)
    window = host_view(node)
    assert window is not None
    window.flags.writeable = is_writeable(array)
    return window


def to_ndarray(array: DeviceArray, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """Implement ``__array__``: return a copy on every device, or the memory itself with ``copy=False``."""
    if copy is not False:
        caller = sys._getframe(1)
        if caller.f_code is _AS_STRIDED:
            return _copy_with_surroundings(array)
        if caller.f_globals.get("__name__", "").startswith("scipy.ndimage"):
            _check_not_output(array, caller)
        host_copy = asnumpy(array)
        return host_copy if dtype is None else host_copy.astype(dtype, copy=False)
    if dtype is not None and np.dtype(dtype) != array.dtype:
        raise ValueError(f"Unable to avoid copy: the array is {array.dtype}, not {np.dtype(dtype)}")
    if not array.device.capabilities.host_memory:
        raise ValueError(f"Unable to avoid copy: the array is on {array.device}, not in host memory; use copy=None")
    return host_array(array)


def array_interface(array: DeviceArray) -> dict[str, Any]:
    """Return ``__array_interface__`` of a copy for Pillow, which has no other protocol.

    Other callers get AttributeError. NumPy would prefer it to ``__array__``, and use the memory.
    """
    if not sys._getframe(1).f_globals.get("__name__", "").startswith("PIL."):
        name = type(array).__name__
        raise AttributeError(f"{name!r} object has no attribute '__array_interface__': use x.get(), an ndarray")
    host = np.ascontiguousarray(asnumpy(array))
    buffer: Any = host.reshape(-1).view(np.uint8)  # before Python 3.12 no ndarray is a Buffer
    return {**host.__array_interface__, "strides": host.strides, "data": memoryview(buffer)}


_OUTPUTS = ("output", "distances", "indices")  # names of the output parameters of scipy.ndimage


def _check_not_output(array: DeviceArray, caller: FrameType) -> None:
    """Raise TypeError for an output of a scipy.ndimage function, which would write to a copy."""
    for name in _OUTPUTS:
        if caller.f_locals.get(name) is array:
            raise TypeError(
                "scipy.ndimage would write to a copy of this device array, and its result would be lost: leave "
                f"{name}= out and assign the result (x[...] = result), give ndarrays (x.get()), or use clarray.ndimage"
            )


# No protocol overrides this function of NumPy. It converts the array by `__array__` and then applies any strides, which
# may reach elements of the memory around the array. A copy of the array's elements alone would be too small.
_AS_STRIDED = getattr(np.lib.stride_tricks.as_strided, "__code__", None)


def _copy_with_surroundings(array: DeviceArray) -> np.ndarray:
    """Return a view of a copy of the array's whole memory. The view is read-only, since writes would be lost."""
    node = evaluate(array._node)
    memory = node.memory
    assert memory is not None
    itemsize = node.dtype.itemsize
    full_copy = asnumpy(wrap(leaf(memory, (memory.nbytes // itemsize,), (1,), 0, node.dtype)))
    view = elements_in(full_copy, node)
    view.flags.writeable = False
    return view


def astype(
    array: DeviceArray,
    dtype: Any,
    order: str = "K",
    casting: str = "unsafe",
    subok: bool = True,
    copy: bool = True,
    *,
    device: Any = None,
) -> DeviceArray:
    """Convert the elements to a dtype. See `numpy.ndarray.astype`.

    Parameters
    ----------
    dtype : dtype
        Type of the result's elements.
    order : {'C', 'F', 'A', 'K'}, optional
        Memory layout. 'K' keeps the array's.
    casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}, optional
        Which conversions are allowed. 'unsafe' (the default) allows all.
    subok : bool, optional
        Ignored. Accepted for compatibility with NumPy.
    copy : bool, optional
        False returns the array itself if nothing has to change.
    device : Device, str or int, optional
        Where to put the result. The array's device by default.

    Returns
    -------
    DeviceArray

    Raises
    ------
    TypeError
        `casting` does not allow the conversion, or the device does not support the dtype.

    Examples
    --------
    >>> import clarray
    >>> clarray.asarray([1.7, -2.3]).astype(int)
    array([ 1, -2])
    """
    target_dtype = np.dtype(dtype)
    if casting != "unsafe" or array.dtype.kind != "c":  # only complex casts warn
        np.empty(0, array.dtype).astype(target_dtype, casting=casting)  # type: ignore[call-overload] # errors
    order = "K" if order is None else check_order(order)
    device_target = device_dtype(target_dtype, array.device)
    if device is not None and find_device(device) is not array.device:
        return creation.asarray(array, device_target, order, device=device)
    if device_target == array.dtype:
        if is_scalar(array):
            return array
        copy = copy or (order == "A" and not array.flags.forc)  # unlike asarray, whose 'A' allows any order
        return array.copy(order) if copy else creation.asarray(array, order=order)
    node = array._node
    is_strided = node.memory is not None and not node.contiguous
    if is_strided and (order == "A" or 0 in node.strides):  # an elementwise pass would have another memory order
        return moving.convert_copy(array, device_target, order)
    cast_array = ufunc_calls.evaluate_if_eager(ufunc_calls.convert(node, device_target))
    if not is_scalar(array):
        mark_0d_array(cast_array)
    return cast_array if order == "K" else cast_array.copy(order)


__all__ = ["array_interface", "asnumpy", "astype", "pickled_array", "wrap"]
