"""Uniform numbers: floats, integers, bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core import creation, ufunc_calls
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.operands import scalar_node
from clarray._core.own_frames import with_boundaries
from clarray._core.writes import with_device_lock
from clarray._engine.expr.axes import c_integer
from clarray._engine.expr.node import Node, Shape
from clarray._engine.ops.dtypes import DTYPES
from clarray.random import nodes
from clarray.random.draws import Source, _numpy, result_shape
from clarray.random.single_numbers import with_prefetched_scalars

__all__ = ["Uniform"]


@with_boundaries
class Uniform(Source):
    """Draw uniform numbers and bytes."""

    @with_prefetched_scalars
    @with_device_lock("out")
    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> DeviceArray:
        """Draw floats from the uniform distribution over [0, 1).

        Parameters
        ----------
        size : int or tuple of int, optional
            Shape of the result. None draws a single number.
        dtype : dtype, optional
            float64 or float32.
        out : DeviceArray, optional
            Array of that dtype that receives the numbers. Its shape is the shape of the result.

        Returns
        -------
        float or DeviceArray
            A float if neither `size` nor `out` is given. Numbers are multiples of 2**-53 (float64) or 2**-24 (float32).

        Raises
        ------
        ValueError
            `size` is not the shape of `out`.
        TypeError
            `dtype` is another dtype, or not the dtype of `out`, or the device lacks float64.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.random((2, 3))
        >>> x.shape, bool(x.min() >= 0), bool(x.max() < 1)
        ((2, 3), True, True)
        """
        draw = self._draw("random", (), size, dtype, out)
        return draw.result(draw.unit())

    @with_prefetched_scalars
    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None, *, dtype: Any = np.float64) -> DeviceArray:
        """Draw floats from the uniform distribution over [low, high).

        Parameters
        ----------
        low, high : float or array_like
            Bounds. `high` is not below `low`.
        size : int or tuple of int, optional
            Shape of the result. None takes the broadcast shape of the bounds.
        dtype : dtype, optional
            float64 or float32.

        Returns
        -------
        float or DeviceArray
            A float if `size` is None and the bounds are scalars.

        Raises
        ------
        ValueError
            A bound `high` is below its `low`, or a bound does not broadcast to `size`.
        OverflowError
            A difference ``high - low`` is not finite.
        TypeError
            `dtype` is another dtype, or the device lacks float64.

        Notes
        -----
        Bounds that are arrays are checked first, which waits for the device.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> x = rng.uniform(1.0, 5.0, size=10000)
        >>> bool(x.min() >= 1), bool(x.max() < 5), bool(abs(x.mean() - 3) < 0.1)
        (True, True, True)
        """
        draw = self._draw("uniform", (low, high), size, dtype)
        start, end = draw.parameters
        width = end - start
        if isinstance(width, DeviceArray) and width.size:
            if not bool(np.isfinite(width).all()):
                raise OverflowError("Range exceeds valid bounds")
            if bool((width < 0).any()):
                raise ValueError("high - low < 0")
        return draw.result(draw.unit() * width + start)

    @with_prefetched_scalars
    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> DeviceArray:
        """Draw integers from [low, high), or from [low, high] with `endpoint`, all with the same probability.

        Parameters
        ----------
        low, high : int or array_like of int
            Bounds. If only one is given, it is the end, and 0 is the start.
        size : int or tuple of int, optional
            Shape of the result. None takes the broadcast shape of the bounds.
        dtype : dtype, optional
            Any integer dtype, or bool.
        endpoint : bool, optional
            Whether `high` itself may be drawn.

        Returns
        -------
        int or DeviceArray
            A single number if `size` is None and the bounds are scalars.

        Raises
        ------
        ValueError
            A range is empty, a bound does not fit the dtype, or a bound does not broadcast to `size`.
        TypeError
            `dtype` is neither an integer dtype nor bool.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> dice = rng.integers(1, 6, size=10, endpoint=True)
        >>> set(dice.tolist()) <= {1, 2, 3, 4, 5, 6}
        True
        """
        if high is None:
            low, high = 0, low
        integer_kind = _integer_dtype(dtype)
        bounds = [_bound(b) for b in (low, high)]
        _check_bounds(bounds, integer_kind, endpoint)
        wide = nodes.UINT32 if integer_kind.itemsize <= 4 else nodes.UINT64
        arrays = [b for b in bounds if not isinstance(b, int)]
        shape = result_shape(tuple(_bound_on_device(b, wide) for b in arrays), size)
        if arrays:
            start, last = (_bound_on_device(b, wide) for b in (bounds[0], _inclusive_bound(bounds[1], wide, endpoint)))
            return _draw_between(self._bit_generator.take, shape, start, last, integer_kind)
        first, end = int(low), int(high)
        return _draw_range(self._bit_generator.take, shape, first, end - first + endpoint, integer_kind)

    def bytes(self, length: Any) -> bytes:
        """Draw random bytes.

        Parameters
        ----------
        length : int
            Number of bytes.

        Returns
        -------
        bytes
            Python's ``bytes``, on the host.

        Raises
        ------
        ValueError
            `length` is negative.

        Examples
        --------
        >>> import clarray
        >>> rng = clarray.random.default_rng(1)
        >>> len(rng.bytes(4))
        4
        """
        length = c_integer(length)
        if length < 0:
            raise ValueError("negative dimensions are not allowed")
        words = wrap(nodes.draw_words(self._bit_generator.take, (-(-length // 4),), nodes.UINT32))
        return words.get().astype("<u4").tobytes()[:length]


# Integers -----------------------------------------------------------------------------------------

Bound = int | np.ndarray | DeviceArray


def _integer_dtype(dtype: Any) -> np.dtype:
    resolved = np.dtype(dtype)
    if not resolved.isnative:
        raise ValueError(
            "Providing a dtype with a non-native byteorder is not supported. If you require platform-independent "
            "byteorder, call byteswap when required."
        )
    if resolved not in DTYPES or resolved.kind not in "biu":
        raise TypeError(f"Unsupported dtype {resolved!r} for integers")
    return resolved


def _bound(value: Any) -> Bound:
    """Convert a bound to an integer, a device array or an ndarray."""
    if isinstance(value, DeviceArray):
        return value
    array = np.asarray(value)
    return array if array.ndim else int(array[()])


def _check_bounds(bounds: list[Bound], dtype: np.dtype, endpoint: bool) -> None:
    """Raise NumPy's error for invalid bounds: NumPy checks the extremes, then each pair of elements is compared."""
    if any(b.size == 0 for b in bounds if not isinstance(b, int)):
        return
    for extreme in ("min", "max"):
        low, high = (b if isinstance(b, int) else int(getattr(b, extreme)()) for b in bounds)
        _numpy.integers(low, high, dtype=dtype, endpoint=endpoint)
    if not all(isinstance(b, int) for b in bounds):
        first, last = bounds
        empty: Any = first > last if endpoint else first >= last
        if bool(empty.any()):
            raise ValueError("low > high" if endpoint else "low >= high")


def _inclusive_bound(high: Bound, wide: np.dtype, endpoint: bool) -> Bound:
    """Return the largest integer that may be drawn, modulo the range of `wide`."""
    if endpoint:
        return high
    if isinstance(high, int):
        return high - 1
    return _bound_on_device(high, wide) - 1


def _bound_on_device(bound: Bound, wide: np.dtype) -> DeviceArray:
    """Upload a bound to the device, modulo the range of `wide`."""
    if isinstance(bound, DeviceArray):
        return wrap(ufunc_calls.cast(bound._node, wide))
    host = np.asarray(bound)
    if host.dtype.kind not in "biu":
        host = np.array([int(x) % 2**64 for x in host.ravel().tolist()], np.uint64).reshape(host.shape)
    if host.ndim:
        return creation.array(host.astype(wide))
    return wrap(scalar_node(int(host) % 2 ** (8 * wide.itemsize), wide))


def _draw_range(take: nodes.Take, shape: Shape, first: int, count: int, dtype: np.dtype) -> DeviceArray:
    """Draw integers from the range of `count` integers that starts with `first`."""
    word = nodes.UINT32 if count <= 2**32 else nodes.UINT64
    limit = 2 ** (8 * word.itemsize)
    bound, threshold = (scalar_node(x, word) for x in (count % limit, (limit - count) % count))
    offsets = (
        nodes.draw_words(take, shape, word) if count == limit else nodes.draw_bounded(take, shape, bound, threshold)
    )
    return _shift_offsets(offsets, first, dtype)


def _draw_between(
    take: nodes.Take, shape: Shape, start: DeviceArray, last: DeviceArray, dtype: np.dtype
) -> DeviceArray:
    """Draw integers from `start` to `last` inclusive, two arrays in the dtype of the random words."""
    count = last - start + 1
    threshold = (0 - count) % count
    return _shift_offsets(nodes.draw_bounded(take, shape, count._node, threshold._node), start, dtype)


def _shift_offsets(offsets: Node, start: int | DeviceArray, dtype: np.dtype) -> DeviceArray:
    """Return ``start + offsets`` in an integer dtype, modulo its range."""
    wide = nodes.UINT32 if dtype.itemsize <= 4 else nodes.UINT64
    shifted = wrap(ufunc_calls.cast(offsets, wide))
    if isinstance(start, int):
        start %= 2 ** (8 * wide.itemsize)
    if not isinstance(start, int) or start:
        shifted = shifted + start
    integers: DeviceArray = ufunc_calls.evaluate_if_eager(ufunc_calls.cast(shifted._node, dtype))
    return integers
