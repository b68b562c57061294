"""Padding of arrays with borders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from clarray._core.callers import drop_imaginary
from clarray._core.creation import operand_array
from clarray._core.device_array import DeviceArray, mark_0d_array, wrap
from clarray._core.ufunc_calls import device_of_operands
from clarray._core.views import view_of
from clarray._engine.algorithms.index_map.plan import CONSTANT, EDGE, REFLECT, SAME, SYMMETRIC, WRAP
from clarray._engine.expr import node as nodes
from clarray._engine.speedups import captured
from clarray._numpy.indexing.selecting import round, where
from clarray._numpy.manipulation.index_maps import AxisMap, read_through_maps
from clarray._numpy.manipulation.repeating import flip
from clarray._numpy.manipulation.shapes import moveaxis
from clarray._numpy.reduction import moments, reductions
from clarray._numpy.statistics.quantiles import median

__all__ = ["pad"]

Pair = tuple[Any, Any]
_INT64 = np.dtype(np.int64)

_MAPS = {"constant": CONSTANT, "edge": EDGE, "reflect": REFLECT, "symmetric": SYMMETRIC, "wrap": WRAP}
_STATISTICS: dict[str, Callable[..., Any]] = {
    "maximum": reductions.max,
    "minimum": reductions.min,
    "mean": moments.mean,
    "median": median,
}
_KEYWORDS: dict[str, tuple[str, ...]] = {
    "constant": ("constant_values",),
    "linear_ramp": ("end_values",),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
    **dict.fromkeys(_STATISTICS, ("stat_length",)),
    "edge": (),
    "empty": (),
    "wrap": (),
}


@captured(operands=1)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> DeviceArray:
    """Surround an array with a border.

    Parameters
    ----------
    array : array_like
    pad_width : int, pair, sequence of pairs, or dict of int to int or pair
        Number of elements before and after: one number or pair for all axes, one pair per axis, or a dict from axes to
        numbers or pairs.
    mode : str or callable
        ``'constant'``, ``'edge'``, ``'linear_ramp'``, ``'maximum'``, ``'mean'``, ``'median'``, ``'minimum'``,
        ``'reflect'``, ``'symmetric'``, ``'wrap'``, ``'empty'``; or ``function(vector, (before, after), axis, kwargs)``,
        which fills the ends of each line of the padded array in place.
    constant_values, end_values : scalar or pairs, optional
        Values of the border for ``'constant'`` and ends of the ramp for ``'linear_ramp'``.
    stat_length : int or pairs, optional
        Number of elements at each end from which a statistic is computed. All by default.
    reflect_type : {'even', 'odd'}, optional
        ``'odd'`` subtracts the reflected values from two times the edge value.

    Returns
    -------
    DeviceArray
        A new array.

    Raises
    ------
    ValueError
        The mode is unknown or does not have this argument, a width is negative, or an empty axis cannot be extended.
    TypeError
        The widths are not integers.

    Notes
    -----
    The modes ``'constant'``, ``'edge'``, ``'reflect'``, ``'symmetric'``, ``'wrap'`` and ``'empty'`` are one pass over
    memory for any number of axes. The other modes then write their border in two launches per axis.

    Examples
    --------
    >>> import clarray
    >>> clarray.pad([1, 2, 3], 2, "reflect").tolist()
    [3, 2, 1, 2, 3, 2, 1]
    """
    source = operand_array(array)
    device_of_operands((source, pad_width, *kwargs.values()))
    widths = _parse_widths(pad_width, source.ndim)
    if callable(mode):
        return _pad_by_function(source, widths, mode, kwargs)
    _check_arguments(mode, kwargs)
    if mode == "constant":
        return _pad_constant(source, widths, _pairs_per_axis(kwargs.get("constant_values", 0), source.ndim))
    if mode == "empty":
        return _pad_by_map(source, widths, CONSTANT)
    for axis, width in enumerate(widths):
        if not source.shape[axis] and any(width):
            raise ValueError(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
    if not source.size:
        return _pad_by_map(source, widths, CONSTANT)
    if mode in _MAPS and kwargs.get("reflect_type") != "odd":
        return _pad_by_map(source, widths, _MAPS[mode])
    border = _Border(_pad_by_map(source, widths, CONSTANT), source.shape, widths)
    if mode == "linear_ramp":
        _fill_ramps(border, _pairs_per_axis(kwargs.get("end_values", 0), source.ndim))
    elif mode in _STATISTICS:
        _fill_statistics(
            border, _STATISTICS[mode], _pairs_per_axis(kwargs.get("stat_length"), source.ndim, integer=True)
        )
    else:
        _fill_odd_reflections(border, include_edge=mode == "symmetric")
    return border.padded


# Arguments ----------------------------------------------------------------------------------------


def _parse_widths(pad_width: Any, ndim: int) -> list[Pair]:
    if isinstance(pad_width, dict):
        pairs: list[Any] = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            pairs[axis] = (width, width) if isinstance(width, int) else width
        pad_width = pairs
    widths = np.asarray(pad_width)
    if widths.dtype.kind != "i":
        raise TypeError("`pad_width` must be of integral type.")
    return [(int(before), int(after)) for before, after in _pairs_per_axis(widths, ndim, integer=True)]


def _pairs_per_axis(argument: Any, ndim: int, integer: bool = False) -> list[Any]:
    """Return one pair ``(before, after)`` per axis."""
    if argument is None:
        return [(None, None)] * ndim
    values = argument.get() if isinstance(argument, DeviceArray) else np.array(argument)
    if integer:
        values = np.round(values).astype(np.intp, copy=False)
        if values.size and values.min() < 0:
            raise ValueError("index can't contain negative values")
    if values.ndim < 3 and (values.size == 1 or (values.size == 2 and values.shape != (2, 1))):
        first, *rest = values.ravel()  # NumPy scalars, which keep NumPy's conversions
        return [(first, *(rest or [first]))] * ndim
    return [tuple(pair) for pair in np.broadcast_to(values, (ndim, 2)).tolist()]


def _check_arguments(mode: Any, kwargs: dict[str, Any]) -> None:
    allowed = _KEYWORDS.get(mode) if isinstance(mode, str) else None
    if allowed is None:
        raise ValueError(f"mode '{mode}' is not supported")
    unsupported = set(kwargs) - set(allowed)
    if unsupported:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unsupported}")


# One pass -----------------------------------------------------------------------------------------


def _pad_by_map(source: DeviceArray, widths: list[Pair], map: str) -> DeviceArray:
    zero = source.dtype.type(0)
    fill = (zero, zero) if map == CONSTANT else ()
    return _read_with_border(source, widths, map, [fill] * source.ndim, _result_order(source))


def _pad_constant(source: DeviceArray, widths: list[Pair], pairs: list[Pair]) -> DeviceArray:
    constants = np.zeros((source.ndim, 2), source.dtype)
    for axis, pair in enumerate(pairs):
        if any(widths[axis]):
            constants[axis] = drop_imaginary(pair, constants.dtype)  # NumPy converts as in an assignment
    fill_values = [tuple(pair) for pair in constants]
    order = _result_order(source)
    if order == "F" and len({value.tobytes() for value in constants.flat}) > 1:
        # corners take the last axis's value, and the kernel gives them the innermost axis's
        return _read_with_border(source, widths, CONSTANT, fill_values, "C").copy("F")
    return _read_with_border(source, widths, CONSTANT, fill_values, order)


def _result_order(source: DeviceArray) -> str:
    layout = view_of(source)
    return "F" if layout.f_contiguous and not layout.contiguous else "C"


def _read_with_border(
    source: DeviceArray, widths: list[Pair], map: str, fill_values: list[tuple], order: str
) -> DeviceArray:
    maps = [
        AxisMap(before + extent + after, map if before or after else SAME, before, fill)
        for extent, (before, after), fill in zip(source.shape, widths, fill_values, strict=True)
    ]
    return mark_0d_array(read_through_maps(source, maps, order))


# Axis after axis ----------------------------------------------------------------------------------


class _Border(NamedTuple):
    """A padded array whose border is filled axis by axis. Each axis reads the border of the axes before it."""

    padded: DeviceArray
    shape: tuple[int, ...]
    widths: list[Pair]

    def part(self, axis: int, start: int, stop: int) -> DeviceArray:
        """Return the slice ``start:stop`` along an axis of the region that is filled along the earlier axes."""
        after = zip(self.shape[axis + 1 :], self.widths[axis + 1 :], strict=True)
        inner = tuple(slice(before, before + extent) for extent, (before, _) in after)
        return self.padded[(*(slice(None),) * axis, slice(start, stop), *inner)]

    def sides(self, axis: int) -> list[tuple[DeviceArray, DeviceArray]]:
        """Return ``(border, edge)`` before and after the source: the part to fill and the slice next to it."""
        before, after = self.widths[axis]
        end = before + self.shape[axis]
        return [
            (self.part(axis, 0, before), self.part(axis, before, before + 1)),
            (self.part(axis, end, end + after), self.part(axis, end - 1, end)),
        ]


def _fill_ramps(border: _Border, ends: list[Pair]) -> None:
    for axis, pair in enumerate(ends):
        for side, (part, edge) in enumerate(border.sides(axis)):
            if part.size:
                part[...] = _ramp(part, edge, pair[side], axis, backwards=side == 0)


def _ramp(part: DeviceArray, edge: DeviceArray, end: Any, axis: int, backwards: bool) -> DeviceArray:
    """Return the ramp from an end value to an edge, without the edge, with the rounding of NumPy's linspace."""
    dtype, count = part.dtype, part.shape[axis]
    work_dtype = np.result_type(end, edge.dtype, 0.0)
    if not part.device.capabilities.fp64:
        work_dtype = np.dtype(np.complex64 if work_dtype.kind == "c" else np.float32)
    sign = 1 if backwards else -1
    steps = tuple(sign if a == axis else 0 for a in range(part.ndim))
    index = wrap(nodes.index(part.shape, steps, _INT64, 0 if backwards else count - 1)).astype(work_dtype)
    start = work_dtype.type(end)
    delta = edge.astype(work_dtype) - start
    step = (delta / count).evaluate()
    ramp = where((step == 0).any(), index / count * delta, index * step) + start
    return (np.floor(ramp) if dtype.kind in "iu" else ramp).astype(dtype)


def _fill_statistics(border: _Border, statistic: Callable[..., Any], lengths: list[Pair]) -> None:
    dtype = border.padded.dtype
    for axis, pair in enumerate(lengths):
        before, _ = border.widths[axis]
        extent = border.shape[axis]
        first, last = (extent if length is None else min(int(length), extent) for length in pair)
        if not (first and last) and statistic in (reductions.max, reductions.min):
            raise ValueError("stat_length of 0 yields no value for padding")
        if not any(border.widths[axis]):
            continue
        spans = [(before, before + first), (before + extent - last, before + extent)]
        parts = [border.part(axis, *span) for span in dict.fromkeys(spans)]
        statistics = [statistic(part, axis=axis, keepdims=True).evaluate() for part in parts]
        for (part, _), value in zip(border.sides(axis), (statistics[0], statistics[-1]), strict=True):
            if part.size:
                part[...] = (round(value) if dtype.kind in "iu" else value).astype(dtype)


def _fill_odd_reflections(border: _Border, include_edge: bool) -> None:
    for axis, widths in enumerate(border.widths):
        if border.shape[axis] == 1:  # NumPy repeats a single element
            for part, edge in border.sides(axis):
                part[...] = edge
            continue
        before, after = widths
        while before or after:
            before, after = _reflect_once(border, axis, before, after, include_edge)


def _reflect_once(border: _Border, axis: int, before: int, after: int, include_edge: bool) -> tuple[int, int]:
    """Reflect the filled part at both ends and return the widths that are still to fill."""
    skipped = 0 if include_edge else 1
    total = border.padded.shape[axis]
    period = border.shape[axis] - skipped
    available = (total - before - after - skipped) // period * period
    count = min(available, before)
    if count:
        edge = border.part(axis, before, before + 1)
        mirrored = flip(border.part(axis, before + skipped, before + skipped + count), axis)
        border.part(axis, before - count, before)[...] = 2 * edge - mirrored
    before -= count
    count = min(available, after)
    if count:
        end = total - after
        edge = border.part(axis, end - 1, end)
        mirrored = flip(border.part(axis, end - skipped - count, end - skipped), axis)
        border.part(axis, end, end + count)[...] = 2 * edge - mirrored
    return before, after - count


# User functions -----------------------------------------------------------------------------------


def _pad_by_function(
    source: DeviceArray, widths: list[Pair], function: Callable[..., Any], kwargs: dict[str, Any]
) -> DeviceArray:
    padded = _pad_by_map(source, widths, CONSTANT)
    for axis in range(padded.ndim):
        lines = moveaxis(padded, axis, -1)
        for position in np.ndindex(lines.shape[:-1]):
            function(lines[position], widths[axis], axis, kwargs)
    return padded
