"""Packing of bits into bytes, eight elements at a time in one 64-bit integer."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.creation import ascontiguousarray, operand_array
from clarray._core.device_array import DeviceArray
from clarray._core.reinterpreting import view
from clarray._core.ufunc_calls import in_order
from clarray._engine.algorithms.index_map.plan import CONSTANT
from clarray._engine.expr.axes import c_integer, strict_axis
from clarray._engine.expr.result_layout import result_view
from clarray._engine.expr.view import as_count
from clarray._engine.speedups import captured
from clarray._numpy.manipulation.index_maps import AxisMap, read_through_maps
from clarray._numpy.manipulation.shapes import moveaxis, ravel

__all__ = ["packbits", "unpackbits"]

_UINT8, _UINT64 = np.dtype(np.uint8), np.dtype(np.uint64)
_LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)  # all bits of each byte but the highest
_LOWEST_BITS = np.uint64(0x0101010101010101)
# A word with one flag per byte, times such a factor, has all eight flags in its highest byte.
# A byte times _TO_BIG is eight copies of it, 9 bits apart: each of its bits is the highest bit of another byte.
_TO_BIG, _TO_LITTLE = np.uint64(0x8040201008040201), np.uint64(0x0102040810204080)


@captured(operands=1)
def packbits(a: Any, /, axis: int | None = None, bitorder: Any = "big") -> DeviceArray:
    """Pack bits into bytes: eight elements become one byte.

    An element other than zero is a set bit.

    Parameters
    ----------
    a : array_like of int or bool
        Any shape.
    axis : int, optional
        Axis along which eight neighbours become one byte. By default `a` is flattened in C order.
    bitorder : {'big', 'little'}
        Whether the first of eight elements is the highest or the lowest bit of the byte.

    Returns
    -------
    DeviceArray of uint8
        An eighth as long along the axis, rounded up. Missing bits of the last byte are zero.

    Raises
    ------
    TypeError
        The elements are neither integers nor bools.
    ValueError
        `bitorder` is neither 'big' nor 'little'.

    See Also
    --------
    unpackbits : The inverse.

    Examples
    --------
    >>> import clarray
    >>> clarray.packbits([1, 0, 0, 0, 0, 0, 1, 1]).tolist()
    [131]
    """
    source = array = operand_array(a)
    np.packbits(np.empty(0, array.dtype), bitorder=bitorder)  # raises
    array, axis = _move_axis_last(array, axis)
    extent = array.shape[-1]
    if array.dtype.itemsize > 1:
        array = array != 0
    if extent % 8:
        zero = array.dtype.type(0)
        padded_axis = AxisMap(extent + -extent % 8, CONSTANT, 0, (zero, zero))
        array = read_through_maps(array, [*(AxisMap(n) for n in array.shape[:-1]), padded_axis])
    words = _as_words(array)
    # set the highest bit of each nonzero byte: by the carry from its other bits, or by itself
    flags = ((((words & _LOW_BITS) + _LOW_BITS) | words) >> np.uint64(7)) & _LOWEST_BITS
    factor = _TO_BIG if bitorder[0] == "b" else _TO_LITTLE
    return _match_order(moveaxis(((flags * factor) >> np.uint64(56)).astype(_UINT8), -1, axis), source)


def _move_axis_last(array: DeviceArray, axis: int | None) -> tuple[DeviceArray, int]:
    """Move an axis to the end, or flatten the array if `axis` is None. Return the axis's position as well."""
    if axis is not None:
        axis = strict_axis(axis, max(array.ndim, 1))
    if axis is None or not array.ndim:
        return ravel(array), 0
    return moveaxis(array, axis, -1), axis


def _as_words(array: DeviceArray) -> DeviceArray:
    """View each eight bytes along the last axis as one integer."""
    aligned = ascontiguousarray(array)
    if not aligned.size:
        return aligned[..., ::8].astype(_UINT64)
    if aligned._node.offset % 8:
        aligned = aligned.copy()
    return view(aligned, _UINT64)


@captured(operands=1)
def unpackbits(a: Any, /, axis: int | None = None, count: int | None = None, bitorder: Any = "big") -> DeviceArray:
    """Unpack bytes into bits: each byte becomes eight elements.

    Parameters
    ----------
    a : array_like of uint8
        Any shape.
    axis : int, optional
        Axis along which each byte becomes eight elements. By default `a` is flattened in C order.
    count : int, optional
        Number of bits to return along the axis. Bits beyond those of `a` are zero. A negative number removes bits
        from the end.
    bitorder : {'big', 'little'}
        Whether the first of eight elements is the highest or the lowest bit of the byte.

    Returns
    -------
    DeviceArray of uint8
        Zeros and ones.

    Raises
    ------
    TypeError
        The dtype of `a` is not uint8.
    ValueError
        `bitorder` is neither 'big' nor 'little', or a negative `count` removes more bits than there are.

    See Also
    --------
    packbits : The inverse.

    Examples
    --------
    >>> import clarray
    >>> clarray.unpackbits(clarray.array([131], dtype="uint8")).tolist()
    [1, 0, 0, 0, 0, 0, 1, 1]
    """
    source = array = operand_array(a)
    np.unpackbits(np.empty(0, array.dtype), bitorder=bitorder)  # raises
    array, axis = _move_axis_last(array, axis)
    words = array.astype(_UINT64)
    if bitorder[0] == "b":  # NumPy compares only this letter
        words = (words * _TO_BIG) >> np.uint64(7)
    else:
        for shift, mask in ((28, 0x0000000F0000000F), (14, 0x0003000300030003), (7, 0x0101010101010101)):
            words = (words | (words << np.uint64(shift))) & np.uint64(mask)
    bits = view(ascontiguousarray(words & _LOWEST_BITS), _UINT8)
    return _match_order(moveaxis(_take_count(bits, count), -1, axis), source)


def _match_order(target: DeviceArray, source: DeviceArray) -> DeviceArray:
    """Return the result in Fortran order if its source is in Fortran order, else in C order."""
    if target.ndim != source.ndim:
        return target
    ordered: DeviceArray = in_order(target._node, "A", result_view(source._node))
    return ordered


def _take_count(bits: DeviceArray, count: int | None) -> DeviceArray:
    extent = bits.shape[-1]
    count = None if count is None else c_integer(as_count(count))
    if count is None or count == extent:
        return bits
    if count + extent < 0:
        np.unpackbits(np.empty(0, _UINT8), count=count)  # raises
    if count < extent:
        return bits[..., :count].copy()
    zero = _UINT8.type(0)
    return read_through_maps(bits, [*(AxisMap(n) for n in bits.shape[:-1]), AxisMap(count, CONSTANT, 0, (zero, zero))])
