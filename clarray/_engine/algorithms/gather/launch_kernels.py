"""Launch the kernels of gathers and scatters."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clarray._engine.algorithms.gather.plan import (
    WORD,
    GatherSpace,
    gather_plan,
    gather_space,
    in_words,
    loop_arguments,
    word_elements,
    work_units,
)
from clarray._engine.algorithms.gather.selection import IndexSelection, OutOfBounds
from clarray._engine.algorithms.gather.source import gather_source
from clarray._engine.expr.graph import graph_of
from clarray._engine.expr.node import Node, memory_of
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.fused.compact.launch import flat
from clarray._engine.fused.elementwise.plan import groups
from clarray._engine.launch.kernel_cache import KernelCache
from clarray._engine.launch.operands import COSTLY, Operands, append_inputs, collect_operands
from clarray._engine.ops.special import cast_loop
from clarray._engine.runtime import Kernel, Memory

_INT64 = np.dtype(np.int64)


class Buffers(NamedTuple):
    """The arrays of a launch.

    Parameters
    ----------
    array : Node, optional
        The leaf that is read or written through the indices.
    other : Node, optional
        The leaf on the other side: the output of a gather, or the values of a scatter.
    notes : Memory, optional
        The memory in which a pass records the last writer of each element, or counts descents.
    """

    array: Node | None = None
    other: Node | None = None
    notes: Memory | None = None


class _Operation(NamedTuple):
    """The kernel of a launch, its mode, its element size, and whether it scatters a single element."""

    op: str
    mode: str
    itemsize: int
    single: bool


def _space(selection: IndexSelection, operands: Operands) -> GatherSpace:
    rest, place = selection.rest, selection.place
    axes = list(zip(rest.shape, rest.strides, strict=True))
    ndim = len(selection.shape)
    placed = operands.strides(ndim)
    listed = [(n, tuple(s[a] for s in placed)) for a, n in enumerate(selection.shape)]
    chosen = list(zip(selection.extents, selection.strides, strict=True))
    return gather_space(axes[:place], listed, chosen, axes[place:])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    """A kernel with all its arguments that depend only on shapes and strides.

    Parameters
    ----------
    kernel : Kernel
    words : int
        Elements per word that is moved.
    sizes : dict
        The arguments for the loops and the bound of the indices, by name.
    groups, nbytes : int
    inline : bool
    """

    kernel: Kernel
    words: int
    sizes: dict[str, Any]
    groups: int
    nbytes: int
    inline: bool


def _prepare(
    cache: KernelCache, operation: _Operation, selection: IndexSelection, numbers: Node, starts: list[int]
) -> _Prepared:
    """Plan a launch.

    Parameters
    ----------
    starts : list of int
        The offset of each array whose elements are moved.
    """
    policy = cache.policies.elementwise
    op, mode, itemsize, single = operation
    numbers = _as_int64(numbers)
    operands = collect_operands(numbers)
    space = _space(selection, operands)
    joins = len(starts) == 2 and not single and not policy.chunked  # CPU compilers vectorize rows themselves
    words = word_elements(space, itemsize, starts) if joins else 1
    space = in_words(space, words)
    plan = gather_plan(op, mode, operands.kinds(), space, itemsize * words, single, cache.policies)
    nbytes = operands.nbytes + len(starts) * space.size * itemsize * words
    units = work_units(space, plan) if policy.chunked else -(-work_units(space, plan) // plan.vector)
    max_groups = min(cache.units, cache.policies.gather.owners) if op == "own" else units
    key = ("gather", operands.signature, plan)
    return _Prepared(
        kernel=cache.kernel_for(key, gather_source, plan, numbers, operands.nodes, cache.capabilities),
        words=words,
        sizes=loop_arguments(space, plan) | ({"bound": selection.bound} if mode != "known" or op == "own" else {}),
        groups=min(groups(units, nbytes, cache.units, policy), max_groups),
        nbytes=nbytes,
        inline=COSTLY * nbytes <= policy.inline_bytes,
    )


_ERROR = "gather error"  # the flag that a kernel sets for an index out of bounds
_NO_BUFFERS = Buffers()


def run_kernel(
    cache: KernelCache,
    op: str,
    selection: IndexSelection,
    mode: str,
    buffers: Buffers = _NO_BUFFERS,
    limit: int | None = None,
) -> None:
    """Launch a gather or a scatter through an index selection.

    Parameters
    ----------
    op : str
        The kernel: ``'gather'``, ``'scatter'``, a check of the indices, or a pass of a scatter with repeated indices.
    selection : IndexSelection
    mode : {'raise', 'seen', 'known', 'wrap', 'clip'}
        The treatment of indices out of bounds. With 'raise' the flag of the kernel is read, and IndexError follows.
    buffers : Buffers
    limit : int, optional
        The largest number of work units.
    """
    policy = cache.policies.elementwise
    numbers, shape, extents, strides, rest, axis, _, _ = selection
    array, other, notes = buffers
    if policy.chunked:  # on a CPU, several loops over the indices would cost a division per index
        numbers = flat(cache, numbers, shape)
    checked = mode == "raise"
    if mode == "seen":  # the same kernel, but nobody waits for its flag
        mode = "raise"
    single = op in ("scatter", "own", "settle") and other is not None and other.size == 1
    moved = [("z", array, rest.offset)] if array is not None else []
    if other is not None:
        moved.append(("y", other, other.offset))
    itemsize = moved[0][1].dtype.itemsize if moved else 1
    starts = [x for _, _, x in moved]
    key: list[Any] = ["gather", op, mode, single, itemsize, shape, extents, strides, rest.shape, rest.strides, axis]
    key += [x % WORD for x in starts]
    graph = graph_of(numbers)
    key.append(graph.signature)
    inputs: list[Any] = []
    append_inputs(graph.inputs, key, inputs, False)
    operation = _Operation(op, mode, itemsize, single)
    prepared = cache.value_for(tuple(key), _prepare, cache, operation, selection, numbers, starts)
    values = prepared.sizes.copy()
    error = None
    if mode == "raise":
        error = cache.take_zeros(_ERROR, 4)
        values["error"] = error.buffer
    if notes is not None:
        values["notes"] = notes.buffer
    for name, node, start in moved:
        values[f"{name}p"] = memory_of(node).buffer
        values[f"{name}o"] = start // prepared.words
    if limit is not None:
        values["units"] = min(values["units"], limit)
    args = prepared.kernel.arguments(inputs=inputs, **values)
    try:
        prepared.kernel.launch((prepared.groups,), (policy.work_group,), args, prepared.inline, prepared.nbytes)
        outside = checked and error is not None and _was_set(cache, error)
    except BaseException:  # an interrupt before the flag is read must not leave it set for the next launch
        if cache.prepared.get(_ERROR) is error:
            cache.prepared.pop(_ERROR, None)
        raise
    if error is not None:
        cache.give_zeros(_ERROR, error)
    if outside:
        raise OutOfBounds


def _as_int64(numbers: Node) -> Node:
    """Return the indices as int64. The kernel converts them while it loads them."""
    if numbers.dtype == _INT64:
        return numbers
    loop = cast_loop(_INT64)
    return Node(loop, (numbers,), numbers.shape, _INT64, numbers.size)


def _was_set(cache: KernelCache, error: Memory) -> bool:
    """Return whether a flag is set, and reset it."""
    if not cache.device.read_scalar(error, 0, np.dtype(np.int32)):
        return False
    cache.device.fill_zero(error)
    return True


__all__ = ["Buffers", "run_kernel"]
