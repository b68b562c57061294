"""Launches of gathers and scatters by numbers, made and run at once."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from clarray._engine.algorithms.gather.plan import (
    MOST,
    WORD,
    GatherSpace,
    gather_plan,
    gather_space,
    sizes,
    widened,
    widening,
    work,
)
from clarray._engine.algorithms.gather.selection import IndexSelection, OutOfBounds
from clarray._engine.algorithms.gather.source import gather_source
from clarray._engine.evaluate import evaluate, materialize_shared
from clarray._engine.expr.bounds import (
    are_distinct,
    is_recorded_out_of_bounds,
    record_out_of_bounds,
    record_range,
    record_subset_range,
    value_bounds,
)
from clarray._engine.expr.node import EAGER, Node, contiguous_leaf, index, intern_structure, memory_of, replanned
from clarray._engine.expr.view import View
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.fused.compact.launch import flat
from clarray._engine.fused.elementwise.plan import groups
from clarray._engine.launch.kernel_cache import KernelCache, device_of, kernel_cache_of
from clarray._engine.launch.operands import COSTLY, Operands, append_inputs, collect_operands
from clarray._engine.ops.special import cast_loop
from clarray._engine.runtime import Kernel, Memory
from clarray._engine.runtime.capture import abort_capture
from clarray._engine.writing import flush_readers

_INT64 = np.dtype(np.int64)
_TABLE = 1 << 26  # bytes, at most, that are looked at where a part of them is asked for
_PARTS = 1 << 12  # and parts


@replanned
def gather(source: Node, numbers: Node) -> Node:
    """The elements of a leaf at flat positions.

    Parameters
    ----------
    source : Node
        Its elements are counted in C order.
    numbers : Node
        int64, of any shape, maybe pending; all in bounds.

    Returns
    -------
    Node
        A new leaf of the shape of `numbers`.
    """
    source = evaluate(source)
    rest = View((), (), source.offset)
    if source.contiguous:
        return gather_selection(source, IndexSelection(numbers, numbers.shape, (source.size,), (1,), rest, 0))
    named = IndexSelection(numbers, numbers.shape, source.shape, source.strides, rest, 0)
    return gather_selection(source, named)


@replanned
def gather_selection(source: Node, named: IndexSelection, target: Node | None = None) -> Node:
    """The elements of a leaf that are named.

    Parameters
    ----------
    target : Node, optional
        A contiguous leaf of the result's shape and the source's dtype, in other memory.

    Returns
    -------
    Node
        `target`, or a new leaf.

    Raises
    ------
    OutOfBounds
        With the mode ``'raise'``; waits for the answer.
    """
    numbers = named.numbers
    device = device_of((source, *(numbers.inputs or (numbers,))))
    shape = named.result_shape
    with device.lock:
        cache = kernel_cache_of(device)
        mode = _judged(cache, named)
        if target is None:
            memory = device.allocate(prod(shape) * source.dtype.itemsize)
            target = contiguous_leaf(memory, shape, source.dtype)
        else:
            assert target.memory is not None
            flush_readers(target.memory)
        if target.size:
            _run(cache, "gather", source, named, target, mode)
            _note(named, mode)
            record_subset_range(target, source)
        else:
            _checked(cache, named, mode)
        _finish(cache, source, target, *(numbers.inputs or (numbers,)))
    return target


@replanned
def scatter_selection(array: Node, named: IndexSelection, value: Node, once: bool = False) -> None:
    """Write to the elements of a leaf that are named; where a number repeats, the last one stays.

    Parameters
    ----------
    array : Node
        A leaf.
    value : Node
        A leaf of the array's dtype in other memory: contiguous, of the shape of the elements named,
        or of one element for them all.
    once : bool
        No number repeats.

    Raises
    ------
    OutOfBounds
        With the mode ``'raise'``, before anything is written.
    """
    memory = array.memory
    assert memory is not None
    device = memory.device
    with device.lock:
        cache = kernel_cache_of(device)
        mode = _judged(cache, named)
        flush_readers(memory)
        if not prod(named.result_shape):
            _checked(cache, named, mode)
            return
        if once or value.size == 1 or _are_apart(named):
            _run(cache, "scatter", array, named, value, _checked(cache, named, mode))
        elif cache.policies.elementwise.chunked:
            _run(cache, "own", array, named, value, _checked(cache, named, mode))
        elif _rises(cache, named, mode):
            _run(cache, "scatter", array, named, value, _seen(mode))
        elif _fits_notes(cache, named, value.dtype.itemsize):
            _scatter_by_offers(cache, array, named, value, mode)
        else:
            _scatter_by_claims(cache, array, named, value, mode)
        memory.forget()  # the numbers may be of this memory, and have been looked at before it was written
        _finish(cache, array, value, *(named.numbers.inputs or (named.numbers,)))


def _rises(cache: KernelCache, named: IndexSelection, mode: str) -> bool:
    """Whether each number is larger than the one before, as those of masks are: then none repeats.

    Only asked of long lists, first of their beginning, and once.
    """
    long = cache.policies.gather.long
    if prod(named.shape) < long or _are_apart(named) is False:
        return False
    for limit in (long, None):
        falls = cache.device.allocate(4)
        cache.device.fill_zero(falls)
        _run(cache, "rise", None, _bare(named), None, mode, falls, limit)
        if cache.device.read_scalar(falls, 0, np.dtype(np.int32)):
            return False
    _note(named, mode, named.bound)
    return True


def _judged(cache: KernelCache, named: IndexSelection) -> str:
    """The mode for numbers that may be computed while they are read: ``'seen'`` for those known to be in bounds.

    Raises
    ------
    OutOfBounds
        There are elements to be moved, and axes that have none.
    """
    if not named.bound and prod(named.result_shape) > 0:
        raise OutOfBounds  # a kernel would divide by the extent, and look where nothing is
    numbers, mode = named.numbers, named.mode
    if mode == "raise":
        for one, extent in _looked_at(named):
            if not _is_inside(one, extent) and not _is_part_inside(cache, one, extent):
                break
        else:
            mode = "seen"
    if numbers.memory is None and (numbers.flags or numbers.readers):
        bounds = value_bounds(numbers)  # what it is made of may not be known later
        materialize_shared(numbers)
        if bounds is not None and numbers.memory is not None:
            record_range(numbers, *bounds)
    return mode


def _looked_at(named: IndexSelection) -> tuple[tuple[Node, int], ...]:
    """Index arrays with the extents of what they name: all numbers are in bounds where these are."""
    return named.checked or ((named.numbers, named.bound),)


def _is_inside(numbers: Node, extent: int) -> bool:
    """Whether numbers are known to be in bounds of an axis."""
    bounds = value_bounds(numbers)
    return bounds is not None and -extent <= bounds[0] and bounds[1] < extent


def _is_part_inside(cache: KernelCache, part: Node, extent: int) -> bool:
    """Whether numbers are part of a memory all of which is in bounds: then no other part of it has to be waited for.

    As where a table of indices is gone through row by row. It is looked at once; on a device that works in the calling
    thread, or close to it, there is nothing to be gained.
    """
    memory = part.memory
    if memory is None or memory.shared or cache.policies.elementwise.chunked:
        return False
    itemsize = part.dtype.itemsize
    nbytes = part.size * itemsize
    if not nbytes < memory.nbytes <= min(_TABLE, _PARTS * nbytes) or memory.nbytes % itemsize:
        return False
    whole = contiguous_leaf(memory, (memory.nbytes // itemsize,), part.dtype)
    abort_capture()  # what follows goes by more than the call's operands tell
    if is_recorded_out_of_bounds(whole, extent):
        return False
    try:
        _checked(cache, IndexSelection(whole, whole.shape, (extent,), (1,), View((), (), 0), 0), "raise")
    except OutOfBounds:
        record_out_of_bounds(whole, extent)
        return False
    record_range(whole, -extent, extent - 1)
    return True


def _note(named: IndexSelection, mode: str, apart: int | None = None) -> None:
    """Remember that numbers are in bounds, which has been seen with this mode, and whether they are `apart`."""
    if mode == "raise" or (mode == "seen" and apart is not None):
        for numbers, extent in _looked_at(named):
            record_range(numbers, -extent, extent - 1, None if named.checked else apart)


def _are_apart(named: IndexSelection) -> bool | None:
    """Whether no number repeats; None where that is not known."""
    return are_distinct(named.numbers, named.bound) if named.numbers.shape == named.shape else None


def _seen(mode: str) -> str:
    """The mode for numbers that have been seen to be in bounds."""
    return "reversed" if mode in ("raise", "seen") else mode


def _fits_notes(cache: KernelCache, named: IndexSelection, itemsize: int) -> bool:
    """Whether numbers and elements are noted together, in words of 64 bits for all elements of the array."""
    listed = prod(named.shape)
    small = itemsize <= 4 and named.rest.size == 1 and listed <= MOST
    return small and cache.capabilities.int64_atomics and named.bound <= cache.policies.gather.spread * listed


def _scatter_by_offers(cache: KernelCache, array: Node, named: IndexSelection, value: Node, mode: str) -> None:
    """Let every element that is written keep the offer of the largest position in the list."""
    notes = cache.device.allocate(8 * named.bound)
    cache.device.fill_zero(notes)
    _run(cache, "offer", None, named, value, mode, notes)
    _note(named, mode, 0)
    everywhere = index((named.bound,), (1,), _INT64)
    every = named._replace(numbers=everywhere, shape=(named.bound,))
    _run(cache, "collect", array, every, None, "known", notes)


def _scatter_by_claims(cache: KernelCache, array: Node, named: IndexSelection, value: Node, mode: str) -> None:
    """Let every element that is written be claimed by the largest position in the list."""
    wide = prod(named.shape) > MOST
    if wide and not cache.capabilities.int64_atomics:
        raise NotImplementedError(
            f"a write through {prod(named.shape):,} indices, which may repeat: {cache.capabilities.name} has "
            f"no 64-bit atomic operations, and {MOST:,} at once are the most without"
        )
    notes = cache.device.allocate((8 if wide else 4) * named.bound)
    bare = _bare(named)
    _run(cache, "mark", None, bare, None, mode, notes)
    _note(named, mode, 0)
    mode = _seen(mode)
    _run(cache, "claim", None, bare, None, mode, notes)
    _run(cache, "settle", array, named, value, mode, notes)


def resolved(named: IndexSelection) -> Node:
    """The numbers themselves, in bounds: a new contiguous leaf of int64.

    Raises
    ------
    OutOfBounds
        With the mode ``'raise'``; waits for the answer.
    """
    inputs = named.numbers.inputs or (named.numbers,)
    device = device_of(inputs)
    with device.lock:
        cache = kernel_cache_of(device)
        mode = _judged(cache, named)
        found = contiguous_leaf(device.allocate(8 * prod(named.shape)), named.shape, _INT64)
        if found.size:
            _run(cache, "resolve", None, _bare(named), found, mode)
            _note(named, mode)
        _finish(cache, *inputs)
    return found


def _checked(cache: KernelCache, named: IndexSelection, mode: str) -> str:
    """The mode for the numbers, after all were seen to be in bounds."""
    listed = prod(named.shape)
    if listed and mode == "raise":
        _run(cache, "check", None, _bare(named), None, mode)
        _note(named, mode)
    return _seen(mode)


def _bare(named: IndexSelection) -> IndexSelection:
    """The same without the axes that are not chosen."""
    return named._replace(rest=View((), (), 0), place=0)


def _finish(cache: KernelCache, *nodes: Node) -> None:
    for n in nodes:
        if n.flags & EAGER or (n.memory is not None and n.memory.shared):
            cache.device.synchronize()
            return


def _space(named: IndexSelection, operands: Operands) -> GatherSpace:
    rest, place = named.rest, named.place
    axes = list(zip(rest.shape, rest.strides, strict=True))
    ndim = len(named.shape)
    placed = operands.strides(ndim)
    listed = [(n, tuple(s[a] for s in placed)) for a, n in enumerate(named.shape)]
    chosen = list(zip(named.extents, named.strides, strict=True))
    return gather_space(axes[:place], listed, chosen, axes[place:])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    """A kernel with what follows from shapes and strides.

    Parameters
    ----------
    kernel : Kernel
    words : int
        Elements that are moved as one word.
    sizes : dict
        The arguments that follow from the loops, and the bound of the indices, by name.
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
    cache: KernelCache,
    op: str,
    mode: str,
    named: IndexSelection,
    numbers: Node,
    itemsize: int,
    starts: list[int],
    single: bool,
) -> _Prepared:
    """Plan a launch that moves elements between arrays, `starts` of them, or from one into all places (`single`)."""
    policy = cache.policies.elementwise
    numbers = _as_int64(numbers)
    operands = collect_operands(numbers)
    space = _space(named, operands)
    joins = len(starts) == 2 and not single and not policy.chunked  # a CPU's compiler makes vectors of a row's loop
    words = widening(space, itemsize, starts) if joins else 1
    space = widened(space, words)
    plan = gather_plan(op, mode, operands.kinds(), space, itemsize * words, single, cache.policies)
    nbytes = operands.nbytes + len(starts) * space.size * itemsize * words
    units = work(space, plan) if policy.chunked else -(-work(space, plan) // plan.vector)
    most = min(cache.units, cache.policies.gather.owners) if op == "own" else units
    key = ("gather", numbers.sig, operands.pattern, plan)
    return _Prepared(
        kernel=cache.kernel_for(key, gather_source, plan, numbers, operands.nodes, cache.capabilities),
        words=words,
        sizes=sizes(space, plan) | ({"bound": named.bound} if mode != "known" or op == "own" else {}),
        groups=min(groups(units, nbytes, cache.units, policy), most),
        nbytes=nbytes,
        inline=COSTLY * nbytes <= policy.inline_bytes,
    )


_ERROR = "gather error"  # the flag that a kernel sets for an index out of bounds


def _run(
    cache: KernelCache,
    op: str,
    array: Node | None,
    named: IndexSelection,
    other: Node | None,
    mode: str,
    notes: Memory | None = None,
    limit: int | None = None,
) -> None:
    """Launch a gather or a scatter through an index selection.

    Parameters
    ----------
    op : str
        The kernel: ``'gather'``, ``'scatter'``, a check of the indices, or a pass of a scatter with repeated indices.
    array : Node, optional
        The leaf that is read or written through the indices.
    named : IndexSelection
    other : Node, optional
        The leaf on the other side: the output of a gather, the values of a scatter.
    mode : {'raise', 'seen', 'known', 'wrap', 'clip'}
        The treatment of indices out of bounds. With 'raise' the flag of the kernel is read, and IndexError follows.
    notes : Memory, optional
        The memory in which a pass notes the last writer of each element, or counts descents.
    limit : int, optional
        The largest number of work units.
    """
    policy = cache.policies.elementwise
    numbers, shape, extents, strides, rest, at, _, _ = named
    if policy.chunked:  # a list in several loops costs a CPU a division per number
        numbers = flat(cache, numbers, shape)
    awaited = mode == "raise"
    if mode == "seen":  # by the same kernel
        mode = "raise"
    single = op in ("scatter", "own", "settle") and other is not None and other.size == 1
    moved = [("z", array, rest.offset)] if array is not None else []
    if other is not None:
        moved.append(("y", other, other.offset))
    itemsize = moved[0][1].dtype.itemsize if moved else 1
    starts = [x for _, _, x in moved]
    key: list[Any] = ["gather", op, mode, single, itemsize, shape, extents, strides, rest.shape, rest.strides, at]
    key += [x % WORD for x in starts]
    key.append(numbers.sig)
    inputs: list[Any] = []
    append_inputs(numbers.inputs or (numbers,), key, inputs, False)
    found = cache.value_for(tuple(key), _prepare, cache, op, mode, named, numbers, itemsize, starts, single)
    values = found.sizes.copy()
    error = None
    if mode == "raise":
        error = cache.take_zeros(_ERROR, 4)
        values["error"] = error.buffer
    if notes is not None:
        values["notes"] = notes.buffer
    for name, node, start in moved:
        values[f"{name}p"] = memory_of(node).buffer
        values[f"{name}o"] = start // found.words
    if limit is not None:
        values["units"] = min(values["units"], limit)
    args = found.kernel.arguments(inputs=inputs, **values)
    try:
        found.kernel.launch((found.groups,), (policy.work_group,), args, found.inline, found.nbytes)
        outside = awaited and error is not None and _was_set(cache, error)
    except BaseException:  # an interrupt between the two must not leave a flag for the next launch to find
        if cache.prepared.get(_ERROR) is error:
            cache.prepared.pop(_ERROR, None)
        raise
    if error is not None:
        cache.give_zeros(_ERROR, error)
    if outside:
        raise OutOfBounds


def _as_int64(numbers: Node) -> Node:
    """The numbers converted as part of the kernel."""
    if numbers.dtype == _INT64:
        return numbers
    loop = cast_loop(_INT64)
    return Node(
        loop,
        (numbers,),
        numbers.shape,
        _INT64,
        numbers.size,
        intern_structure((loop.code, numbers.sig)),
        numbers.inputs or (numbers,),
    )


def _was_set(cache: KernelCache, error: Memory) -> bool:
    """Whether a flag is set; it is not any more."""
    if not cache.device.read_scalar(error, 0, np.dtype(np.int32)):
        return False
    cache.device.fill_zero(error)
    return True


__all__ = ["gather", "gather_selection", "resolved", "scatter_selection"]
