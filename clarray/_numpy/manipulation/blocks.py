"""Assembly of arrays from nested lists of blocks."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any, NoReturn

import numpy as np

from clarray._core.device_array import DeviceArray, mark_0d_array
from clarray._engine.expr.overlap import joined_strides
from clarray._engine.expr.view import View, contiguous
from clarray._engine.speedups import captured
from clarray._numpy.manipulation.joining import Part, as_arrays, empty_strided

__all__ = ["block"]

BlockOffsets = list[tuple[Part, tuple[int, ...]]]  # blocks, each with its start in the result


@captured
def block(arrays: Any) -> DeviceArray:
    """Assemble an array from nested lists of blocks.

    Parameters
    ----------
    arrays : nested list of array_like
        The blocks of the innermost lists are joined along the last axis, those of the lists around them along the axis
        before, and so on. Blocks of fewer axes get axes in front.

    Returns
    -------
    DeviceArray
        A new array. Each block is written to its place in one pass.

    Raises
    ------
    ValueError
        Lists are empty or of different depths, or the shapes do not fit.
    TypeError
        There is a tuple among the lists.

    Examples
    --------
    >>> import clarray
    >>> clarray.block([[clarray.zeros((2, 1), int), clarray.identity(2, int)]]).tolist()
    [[0, 1, 0], [0, 0, 1]]
    """
    depth = _depth(arrays)
    if depth is None:
        _raise_numpy_error(arrays)
    leaves = list(_leaves(arrays))
    blocks = iter(as_arrays(leaves))
    nested = _replace_leaves(arrays, blocks)
    ndim = max(depth, *(leaf.ndim for leaf in _leaves(nested)))
    arrangement = _arrange(nested, ndim - depth, ndim)
    if arrangement is None:
        _raise_numpy_error(arrays)
    layout, offsets = arrangement
    parts = [part for part, _ in offsets]
    by_lists = depth and depth * prod(layout.shape) <= _LIST_BY_LIST_LIMIT
    strides = layout.strides if by_lists else _block_strides(layout.shape, parts)
    dtype = np.result_type(*(part.array.dtype for part in parts))
    assembled = empty_strided(layout.shape, dtype, strides, parts[0].array.device)
    for part, start in offsets:
        part.write(assembled[(*(slice(s, s + n) for s, n in zip(start, part.shape, strict=True)), ...)])
    return mark_0d_array(assembled)


_LIST_BY_LIST_LIMIT = 2 * 512 * 512  # elements, times the lists' depth, up to which NumPy joins blocks list by list


def _block_strides(shape: tuple[int, ...], parts: list[Part]) -> tuple[int, ...]:
    """Return the strides of a large result or of a single block: Fortran order if only that is the order of all."""
    layouts = [part.layout for part in parts]
    fortran = all(v.f_contiguous for v in layouts) and not all(v.contiguous for v in layouts)
    return contiguous(shape[::-1])[::-1] if fortran and len(parts) > 1 else contiguous(shape)


def _depth(nested: Any) -> int | None:
    """Return the depth of the lists; None if depths differ, a list is empty, or there is a tuple."""
    if isinstance(nested, tuple):
        return None
    if not isinstance(nested, list):
        return 0
    depths = {_depth(member) for member in nested}
    depth = depths.pop() if len(depths) == 1 else None
    return None if depth is None else depth + 1


def _leaves(nested: Any) -> Iterator[Any]:
    if isinstance(nested, list):
        for member in nested:
            yield from _leaves(member)
    else:
        yield nested


def _replace_leaves(nested: Any, leaves: Iterator[Any]) -> Any:
    """Copy nested lists and replace the leaves in order."""
    return [_replace_leaves(member, leaves) for member in nested] if isinstance(nested, list) else next(leaves)


def _arrange(nested: Any, axis: int, ndim: int) -> tuple[View, BlockOffsets] | None:
    """Return the layout of nested blocks and the start of each, or None if they do not fit together."""
    if not isinstance(nested, list):
        part = Part(nested, (1,) * (ndim - nested.ndim) + nested.shape)
        return part.layout, [(part, (0,) * ndim)]
    extent = 0
    layouts = []
    offsets: BlockOffsets = []
    for member in nested:
        arrangement = _arrange(member, axis + 1, ndim)
        if arrangement is None:
            return None
        layout, inner_offsets = arrangement
        offsets += [(part, (*start[:axis], start[axis] + extent, *start[axis + 1 :])) for part, start in inner_offsets]
        extent += layout.shape[axis]
        layouts.append(layout)
    if len({layout.shape[:axis] + layout.shape[axis + 1 :] for layout in layouts}) > 1:
        return None
    shape = (*layout.shape[:axis], extent, *layout.shape[axis + 1 :])
    return View(shape, joined_strides(layouts, shape)), offsets


def _raise_numpy_error(nested: Any) -> NoReturn:
    """Raise NumPy's error for blocks of these shapes."""

    def stand_ins(member: Any) -> Any:
        if isinstance(member, list | tuple):
            return type(member)(map(stand_ins, member))
        return np.broadcast_to(np.uint8(0), member.shape if isinstance(member, DeviceArray) else np.shape(member))

    np.block(stand_ins(nested))
    raise AssertionError("NumPy accepts blocks that clarray refused: please report it")
