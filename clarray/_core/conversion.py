"""Between arrays and Python: scalars, text, ndarrays, other dtypes."""

from __future__ import annotations

import sys
import time
from types import FrameType
from typing import Any

import numpy as np

from clarray._core import callers, creation, moving, ufunc_calls
from clarray._core.device_array import DeviceArray, is_number, is_writeable, no_number, wrap
from clarray._core.elements import element
from clarray._core.host_data import device_dtype, host_window
from clarray._engine.evaluate import evaluate
from clarray._engine.expr import view as views
from clarray._engine.expr.axes import c_integer
from clarray._engine.expr.host_value import elements_in
from clarray._engine.expr.indexing import index_plainly
from clarray._engine.expr.node import CONST, Node, leaf
from clarray._engine.expr.view import View, check_order, memory_order
from clarray._engine.ops.special import cast_loop
from clarray._engine.runtime import find_device, profiling
from clarray._engine.runtime.mirrors import read_element
from clarray._engine.speedups import accelerated
from clarray._engine.writing import share_with_host

# Scalars ------------------------------------------------------------------------------------------


def numpy_scalar(node: Node) -> Any:
    """The one element of a node as a NumPy scalar; waits for it."""
    if node.memory is None:
        if node.op is CONST:
            return node.dtype.type(node.value)
        of = _copied(node)
        if of is not None and of.memory is not None:
            with of.memory.device.lock:  # whoever writes there computes the copy before
                if node.memory is None:
                    return read_element(of.memory, of.offset * of.dtype.itemsize, of.dtype)
        evaluate(node)
    memory = node.memory
    assert memory is not None
    return read_element(memory, node.offset * node.dtype.itemsize, node.dtype)


def _copied(node: Node) -> Node | None:
    """The element of memory of a device's own that a pending value is no more than a copy of; None where it is more."""
    args = node.args  # none where another thread has computed it meanwhile
    if node.op is not cast_loop(node.dtype) or not args:
        return None
    of = args[0]
    memory = of.memory
    if memory is None or of.dtype is not node.dtype or of.shape or memory.device.capabilities.host_memory:
        return None
    return of


@accelerated
def scalar(array: DeviceArray, kind: str) -> Any:
    """The value of a 0-d array as a Python number; NumPy's errors for any other."""
    node = array._node
    if node.dtype.kind == "c" and kind != "complex" and is_number(array):
        return callers.relay({"float": float, "int": int}[kind], numpy_scalar(node))  # with NumPy's ComplexWarning
    if node.shape:
        # NumPy's own answer: an error, or a deprecated conversion
        return {"float": float, "int": int, "complex": complex}[kind](array.get())
    memory = node.memory
    if memory is None:
        if node.op is CONST:
            return node.value
        if _copied(node) is not None:
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
        found = index_plainly(node.shape, node.strides, node.offset, args)
        if found is not None and not found[0]:
            value = element(node, found[2])
            if value is not None:
                return value
    if len(args) == 1 and isinstance(args[0], tuple) and not args[0]:
        args = ()
    if not args and array.size == 1:
        return numpy_scalar(array._node).item() if not array.ndim else array.reshape(()).item()
    if not args:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    if len(args) == 1 and not isinstance(args[0], tuple):
        flat = c_integer(args[0])
        if not -array.size <= flat < array.size:
            raise IndexError(f"index {flat} is out of bounds for size {array.size}")
        position: Any = np.unravel_index(flat % array.size, array.shape) if array.ndim else ()
    else:
        position = args[0] if len(args) == 1 else args
        if len(position) != array.ndim:
            raise ValueError("incorrect number of indices for array")
    return array[tuple(int(p) for p in position)].item()


def truth(array: DeviceArray) -> bool:
    """The truth value of an array of one element."""
    if array._node.op is CONST:
        return bool(array._node.value)
    if array.size == 1:
        return bool(item(array))
    if array.size == 0:
        raise ValueError(
            "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an array is not empty."
        )
    raise ValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()")


def number_hash(array: DeviceArray) -> int:
    """The hash of what NumPy has as a number, which is that of its value; waits for it."""
    if not is_number(array):
        raise TypeError(f"unhashable type: {type(array).__name__!r}")
    value = item(array)
    return hash(value) if value == value else object.__hash__(array)  # a NaN is equal to none, itself neither


def as_index(array: DeviceArray) -> int:
    """The value of a 0-d integer array, for use as an index."""
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


def portable(array: DeviceArray) -> np.ndarray:
    """The array on the host as NumPy pickles one: in Fortran order if it is that, else in C order."""
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
    if device.capabilities.host_memory:
        with device.lock:  # an elementwise launch of another thread may write there without the GIL
            device.synchronize()
            start = time.perf_counter()
            found = host_window(node)
            assert found is not None
            copied = found.copy(order="K")
        profiling.record("transfer", "to host", copied.nbytes, time.perf_counter() - start)
        return copied
    if node.contiguous:
        return _fetch(node)
    axes = memory_order(View(node.shape, node.strides))
    view = views.transpose(View(node.shape, node.strides, node.offset), axes)
    arranged = leaf(memory, *view, node.dtype)
    return _fetch(arranged if arranged.contiguous else ufunc_calls.ascontiguous(arranged)).transpose(np.argsort(axes))


def _fetch(node: Node) -> np.ndarray:
    """Copy a contiguous leaf from the device's own memory."""
    memory = node.memory
    assert memory is not None
    out = np.empty(node.shape, node.dtype)
    memory.device.read(memory, node.offset * node.dtype.itemsize, out)
    return out


def host_array(array: DeviceArray) -> np.ndarray:
    """Give an ndarray on an array's own memory, which must be host memory; it is shared from now on."""
    node = evaluate(array._node)
    if node.size == 0:
        return np.empty(node.shape, node.dtype)
    share_with_host(node, node if array._base is None else array._base._node)
    found = host_window(node)
    assert found is not None
    found.flags.writeable = is_writeable(array)
    return found


def to_ndarray(array: DeviceArray, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """``__array__``: an explicit request for host memory, so it is granted.

    It is a copy, the same on every device, unless ``copy=False`` asks for the memory itself.
    """
    if copy is not False:
        caller = sys._getframe(1)
        if caller.f_code is _AS_STRIDED:
            return _surrounded(array)
        if caller.f_globals.get("__name__", "").startswith("scipy.ndimage"):
            _refuse_as_output(array, caller)
        found = asnumpy(array)
        return found if dtype is None else found.astype(dtype, copy=False)
    if dtype is not None and np.dtype(dtype) != array.dtype:
        raise ValueError(f"Unable to avoid copy: the array is {array.dtype}, not {np.dtype(dtype)}")
    if not array.device.capabilities.host_memory:
        raise ValueError(f"Unable to avoid copy: the array is on {array.device}, not in host memory; use copy=None")
    return host_array(array)


def array_interface(array: DeviceArray) -> dict[str, Any]:
    """``__array_interface__`` of a copy, for Pillow alone, which knows no other protocol.

    NumPy asks for it before it asks for ``__array__``, and would take the memory.
    """
    if not sys._getframe(1).f_globals.get("__name__", "").startswith("PIL."):
        name = type(array).__name__
        raise AttributeError(f"{name!r} object has no attribute '__array_interface__': use x.get(), an ndarray")
    host = np.ascontiguousarray(asnumpy(array))
    buffer: Any = host.reshape(-1).view(np.uint8)  # before Python 3.12 no ndarray is a Buffer
    return {**host.__array_interface__, "strides": host.strides, "data": memoryview(buffer)}


_OUTPUTS = ("output", "distances", "indices")  # the names of what functions of scipy.ndimage write to


def _refuse_as_output(array: DeviceArray, caller: FrameType) -> None:
    """Raise TypeError for an array that a function of scipy.ndimage converts to write to: it would write to a copy."""
    for name in _OUTPUTS:
        if caller.f_locals.get(name) is array:
            raise TypeError(
                "scipy.ndimage would write to a copy of this device array, and its result would be lost: leave "
                f"{name}= out and assign the result (x[...] = result), give ndarrays (x.get()), or use clarray.ndimage"
            )


# NumPy leaves this one function to no other library. It takes the array with `__array__`, and then goes by strides
# to wherever they lead: outside a copy of the elements alone, where those of the memory around them are meant.
_AS_STRIDED = getattr(np.lib.stride_tricks.as_strided, "__code__", None)


def _surrounded(array: DeviceArray) -> np.ndarray:
    """A read-only view of a copy of all the memory that an array lies in: what is written would be lost."""
    node = evaluate(array._node)
    memory = node.memory
    assert memory is not None
    itemsize = node.dtype.itemsize
    whole = asnumpy(wrap(leaf(memory, (memory.nbytes // itemsize,), (1,), 0, node.dtype)))
    found = elements_in(whole, node)
    found.flags.writeable = False
    return found


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
    wanted = np.dtype(dtype)
    if casting != "unsafe" or array.dtype.kind != "c":  # which is all that could warn
        np.empty(0, array.dtype).astype(wanted, casting=casting)  # type: ignore[call-overload] # errors
    order = "K" if order is None else check_order(order)
    target = device_dtype(wanted, array.device)
    if device is not None and find_device(device) is not array.device:
        return creation.asarray(array, target, order, device=device)
    if target == array.dtype:
        if is_number(array):
            return array
        copy = copy or (order == "A" and not array.flags.forc)  # unlike asarray, which takes any order for 'A'
        return array.copy(order) if copy else creation.asarray(array, order=order)
    node = array._node
    known = node.memory is not None and not node.contiguous
    if known and (order == "A" or 0 in node.strides):  # what a pass over the elements would lay out otherwise
        return moving.converted(array, target, order)
    converted = ufunc_calls.evaluate_if_eager(ufunc_calls.convert(node, target))
    if not is_number(array):
        no_number(converted)
    return converted if order == "K" else converted.copy(order)


__all__ = ["array_interface", "asnumpy", "astype", "portable", "wrap"]
