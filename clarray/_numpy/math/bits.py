"""Bits packed into bytes, eight at a time in one 64-bit integer."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.creation import ascontiguousarray, operand_array
from clarray._core.device_array import DeviceArray
from clarray._core.reinterpreting import view
from clarray._core.ufunc_calls import in_order
from clarray._engine.algorithms.index_map.plan import CONSTANT
from clarray._engine.expr.axes import c_integer, strict_axis
from clarray._engine.expr.result_layout import layout_of
from clarray._engine.expr.view import as_count
from clarray._numpy.manipulation.index_maps import Map, remapped
from clarray._numpy.manipulation.shapes import moveaxis, ravel

__all__ = ["packbits", "unpackbits"]

_UINT8, _UINT64 = np.dtype(np.uint8), np.dtype(np.uint64)
_LOW = np.uint64(0x7F7F7F7F7F7F7F7F)  # all bits of each byte but the highest
_ONES = np.uint64(0x0101010101010101)
# One bit in every byte, times this: all of them in the highest byte. Eight copies of a byte, 9 bits apart, are this
# times the byte, and have each of its bits at the top of a byte of their own.
_TO_BIG, _TO_LITTLE = np.uint64(0x8040201008040201), np.uint64(0x0102040810204080)


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
    given = array = operand_array(a)
    np.packbits(np.empty(0, array.dtype), bitorder=bitorder)  # raises
    array, axis = _lines(array, axis)
    extent = array.shape[-1]
    if array.dtype.itemsize > 1:
        array = array != 0
    if extent % 8:
        zero = array.dtype.type(0)
        longer = Map(extent + -extent % 8, CONSTANT, 0, (zero, zero))
        array = remapped(array, [*(Map(n) for n in array.shape[:-1]), longer])
    words = _words(array)
    # the highest bit of each byte that is not zero: what overflows from its others, or its own
    flags = ((((words & _LOW) + _LOW) | words) >> np.uint64(7)) & _ONES
    factor = _TO_BIG if bitorder[0] == "b" else _TO_LITTLE
    return _in_order(moveaxis(((flags * factor) >> np.uint64(56)).astype(_UINT8), -1, axis), given)


def _lines(array: DeviceArray, axis: int | None) -> tuple[DeviceArray, int]:
    """The array with an axis last, or flattened."""
    if axis is not None:
        axis = strict_axis(axis, max(array.ndim, 1))
    if axis is None or not array.ndim:
        return ravel(array), 0
    return moveaxis(array, axis, -1), axis


def _words(array: DeviceArray) -> DeviceArray:
    """Eight bytes each along the last axis as one integer."""
    packed = ascontiguousarray(array)
    if not packed.size:
        return packed[..., ::8].astype(_UINT64)
    if packed._node.offset % 8:
        packed = packed.copy()
    return view(packed, _UINT64)


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
    given = array = operand_array(a)
    np.unpackbits(np.empty(0, array.dtype), bitorder=bitorder)  # raises
    array, axis = _lines(array, axis)
    words = array.astype(_UINT64)
    if bitorder[0] == "b":  # all that NumPy looks at
        words = (words * _TO_BIG) >> np.uint64(7)
    else:
        for by, mask in ((28, 0x0000000F0000000F), (14, 0x0003000300030003), (7, 0x0101010101010101)):
            words = (words | (words << np.uint64(by))) & np.uint64(mask)
    bits = view(ascontiguousarray(words & _ONES), _UINT8)
    return _in_order(moveaxis(_counted(bits, count), -1, axis), given)


def _in_order(made: DeviceArray, given: DeviceArray) -> DeviceArray:
    """In Fortran order what is made of an array in that order, in C order anything else."""
    if made.ndim != given.ndim:
        return made
    found: DeviceArray = in_order(made._node, "A", layout_of(given._node))
    return found


def _counted(bits: DeviceArray, count: int | None) -> DeviceArray:
    extent = bits.shape[-1]
    count = None if count is None else c_integer(as_count(count))
    if count is None or count == extent:
        return bits
    if count + extent < 0:
        np.unpackbits(np.empty(0, _UINT8), count=count)  # raises
    if count < extent:
        return bits[..., :count].copy()
    zero = _UINT8.type(0)
    return remapped(bits, [*(Map(n) for n in bits.shape[:-1]), Map(count, CONSTANT, 0, (zero, zero))])
