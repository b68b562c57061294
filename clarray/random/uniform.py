"""Uniform numbers: floats, integers, bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core import creation, ufunc_calls
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.operands import scalar_node
from clarray._core.own_frames import with_boundaries
from clarray._core.writes import one_hold
from clarray._engine.expr.axes import c_integer
from clarray._engine.expr.node import Node, Shape
from clarray._engine.ops.dtypes import DTYPES
from clarray.random import nodes
from clarray.random.draws import Source, _numpy, result_shape
from clarray.random.single_numbers import gives_numbers

__all__ = ["Uniform"]


@with_boundaries
class Uniform(Source):
    """Draw uniform numbers and bytes."""

    @gives_numbers
    @one_hold("out")
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

    @gives_numbers
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

    @gives_numbers
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
        wanted = _integer_dtype(dtype)
        bounds = [_bound(b) for b in (low, high)]
        _check_bounds(bounds, wanted, endpoint)
        wide = nodes.UINT32 if wanted.itemsize <= 4 else nodes.UINT64
        arrays = [b for b in bounds if not isinstance(b, int)]
        shape = result_shape(tuple(_placed(b, wide) for b in arrays), size)
        if arrays:
            start, last = (_placed(b, wide) for b in (bounds[0], _last(bounds[1], wide, endpoint)))
            return _drawn_between(self._bit_generator.take, shape, start, last, wanted)
        first, end = int(low), int(high)
        return _drawn_from(self._bit_generator.take, shape, first, end - first + endpoint, wanted)

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
        words = wrap(nodes.words(self._bit_generator.take, (-(-length // 4),), nodes.UINT32))
        return words.get().astype("<u4").tobytes()[:length]


# Integers -----------------------------------------------------------------------------------------

Bound = int | np.ndarray | DeviceArray


def _integer_dtype(dtype: Any) -> np.dtype:
    wanted = np.dtype(dtype)
    if not wanted.isnative:
        raise ValueError(
            "Providing a dtype with a non-native byteorder is not supported. If you require platform-independent "
            "byteorder, call byteswap when required."
        )
    if wanted not in DTYPES or wanted.kind not in "biu":
        raise TypeError(f"Unsupported dtype {wanted!r} for integers")
    return wanted


def _bound(value: Any) -> Bound:
    """A bound as an integer, or as an array of the host's or the device's."""
    if isinstance(value, DeviceArray):
        return value
    array = np.asarray(value)
    return array if array.ndim else int(array[()])


def _check_bounds(bounds: list[Bound], dtype: np.dtype, endpoint: bool) -> None:
    """Let NumPy judge the extremes, then compare element for element."""
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


def _last(high: Bound, wide: np.dtype, endpoint: bool) -> Bound:
    """The largest integer that may be drawn, modulo the range of `wide`."""
    if endpoint:
        return high
    if isinstance(high, int):
        return high - 1
    return _placed(high, wide) - 1


def _placed(bound: Bound, wide: np.dtype) -> DeviceArray:
    """A bound on the device, modulo the range of `wide`."""
    if isinstance(bound, DeviceArray):
        return wrap(ufunc_calls.cast(bound._node, wide))
    host = np.asarray(bound)
    if host.dtype.kind not in "biu":
        host = np.array([int(x) % 2**64 for x in host.ravel().tolist()], np.uint64).reshape(host.shape)
    if host.ndim:
        return creation.array(host.astype(wide))
    return wrap(scalar_node(int(host) % 2 ** (8 * wide.itemsize), wide))


def _drawn_from(take: nodes.Take, shape: Shape, first: int, count: int, dtype: np.dtype) -> DeviceArray:
    """Integers of ``first, first + 1, ...``, `count` of them."""
    word = nodes.UINT32 if count <= 2**32 else nodes.UINT64
    limit = 2 ** (8 * word.itemsize)
    bound, least = (scalar_node(x, word) for x in (count % limit, (limit - count) % count))
    drawn = nodes.words(take, shape, word) if count == limit else nodes.bounded(take, shape, bound, least)
    return _moved(drawn, first, dtype)


def _drawn_between(
    take: nodes.Take, shape: Shape, start: DeviceArray, last: DeviceArray, dtype: np.dtype
) -> DeviceArray:
    """Integers from `start` to `last`, both included and of the words' dtype."""
    count = last - start + 1
    least = (0 - count) % count
    return _moved(nodes.bounded(take, shape, count._node, least._node), start, dtype)


def _moved(drawn: Node, start: int | DeviceArray, dtype: np.dtype) -> DeviceArray:
    """``start + drawn`` in an integer dtype, modulo its range."""
    wide = nodes.UINT32 if dtype.itemsize <= 4 else nodes.UINT64
    moved = wrap(ufunc_calls.cast(drawn, wide))
    if isinstance(start, int):
        start %= 2 ** (8 * wide.itemsize)
    if not isinstance(start, int) or start:
        moved = moved + start
    made: DeviceArray = ufunc_calls.evaluate_if_eager(ufunc_calls.cast(moved._node, dtype))
    return made
