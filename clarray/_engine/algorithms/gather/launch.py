"""Run gathers and scatters through index arrays eagerly."""

from __future__ import annotations

from math import prod

import numpy as np

from clarray._engine.algorithms.gather.launch_kernels import Buffers, run_kernel
from clarray._engine.algorithms.gather.plan import (
    MAX_UINT_POSITION,
)
from clarray._engine.algorithms.gather.selection import IndexSelection, OutOfBounds
from clarray._engine.evaluate import evaluate, materialize_shared
from clarray._engine.expr.bounds import (
    are_distinct,
    is_recorded_out_of_bounds,
    record_out_of_bounds,
    record_range,
    record_subset_range,
    value_bounds,
)
from clarray._engine.expr.graph import inputs_of
from clarray._engine.expr.node import EAGER, Node, contiguous_leaf, index, replanned
from clarray._engine.expr.view import View
from clarray._engine.launch.kernel_cache import KernelCache, device_of, kernel_cache_of
from clarray._engine.runtime.capture import abort_capture
from clarray._engine.writing import flush_readers

_INT64 = np.dtype(np.int64)
_MAX_TABLE_BYTES = 1 << 26  # of a table of indices that is checked when a part of it is used
_MAX_TABLE_PARTS = 1 << 12


@replanned
def gather(source: Node, numbers: Node) -> Node:
    """Gather the elements of a leaf at flat positions.

    Parameters
    ----------
    source : Node
        A leaf. Positions count its elements in C order.
    numbers : Node
        The positions: int64, of any shape, pending or materialized, all in bounds.

    Returns
    -------
    Node
        A new leaf of the shape of `numbers`.
    """
    source = evaluate(source)
    rest = View((), (), source.offset)
    if source.contiguous:
        return gather_selection(source, IndexSelection(numbers, numbers.shape, (source.size,), (1,), rest, 0))
    selection = IndexSelection(numbers, numbers.shape, source.shape, source.strides, rest, 0)
    return gather_selection(source, selection)


@replanned
def gather_selection(source: Node, selection: IndexSelection, target: Node | None = None) -> Node:
    """Gather the selected elements of a leaf.

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
        If an index is out of bounds in mode ``'raise'``. This waits for the device.
    """
    numbers = selection.numbers
    device = device_of(source, numbers)
    shape = selection.result_shape
    with device.lock:
        cache = kernel_cache_of(device)
        mode = _effective_mode(cache, selection)
        if target is None:
            memory = device.allocate(prod(shape) * source.dtype.itemsize)
            target = contiguous_leaf(memory, shape, source.dtype)
        else:
            assert target.memory is not None
            flush_readers(target.memory)
        if target.size:
            run_kernel(cache, "gather", selection, mode, Buffers(source, target))
            _record_checked(selection, mode)
            record_subset_range(target, source)
        else:
            _check_bounds(cache, selection, mode)
        _synchronize_shared(cache, source, target, *inputs_of(numbers))
    return target


@replanned
def scatter_selection(array: Node, selection: IndexSelection, value: Node, once: bool = False) -> None:
    """Write to the selected elements of a leaf. If an index repeats, its last value stays.

    Parameters
    ----------
    array : Node
        A leaf.
    value : Node
        A leaf of the array's dtype in other memory. It has a single element, or is contiguous and has the shape of the
        selection.
    once : bool
        Whether no index repeats.

    Raises
    ------
    OutOfBounds
        If an index is out of bounds in mode ``'raise'``. Then nothing is written.
    """
    memory = array.memory
    assert memory is not None
    device = memory.device
    with device.lock:
        cache = kernel_cache_of(device)
        mode = _effective_mode(cache, selection)
        flush_readers(memory)
        if not prod(selection.result_shape):
            _check_bounds(cache, selection, mode)
            return
        if once or value.size == 1 or _are_distinct(selection):
            run_kernel(cache, "scatter", selection, _check_bounds(cache, selection, mode), Buffers(array, value))
        elif cache.policies.elementwise.chunked:
            run_kernel(cache, "own", selection, _check_bounds(cache, selection, mode), Buffers(array, value))
        elif _is_increasing(cache, selection, mode):
            run_kernel(cache, "scatter", selection, _checked_mode(mode), Buffers(array, value))
        elif _fits_offers(cache, selection, value.dtype.itemsize):
            _scatter_by_offers(cache, array, selection, value, mode)
        else:
            _scatter_by_claims(cache, array, selection, value, mode)
        memory.forget()  # the indices may be in this memory, with ranges recorded before the write
        _synchronize_shared(cache, array, value, *inputs_of(selection.numbers))


def _is_increasing(cache: KernelCache, selection: IndexSelection, mode: str) -> bool:
    """Return whether the indices are strictly increasing, as the indices of masks are, so that none repeats.

    This checks only long lists: first the beginning, then all indices, and at most once per list.
    """
    long = cache.policies.gather.long
    if prod(selection.shape) < long or _are_distinct(selection) is False:
        return False
    for limit in (long, None):
        falls = cache.device.allocate(4)
        cache.device.fill_zero(falls)
        run_kernel(cache, "rise", _without_rest(selection), mode, Buffers(notes=falls), limit)
        if cache.device.read_scalar(falls, 0, np.dtype(np.int32)):
            return False
    _record_checked(selection, mode, selection.bound)
    return True


def _effective_mode(cache: KernelCache, selection: IndexSelection) -> str:
    """Return the mode of a selection, or ``'seen'`` if its indices are known to be in bounds.

    This materializes pending indices with several users.

    Raises
    ------
    OutOfBounds
        If the selection has elements but an indexed axis is empty.
    """
    if not selection.bound and prod(selection.result_shape) > 0:
        raise OutOfBounds  # a kernel would divide by the extent, and access memory out of bounds
    numbers, mode = selection.numbers, selection.mode
    if mode == "raise":
        for indices, extent in _checked_arrays(selection):
            if not _is_inside(indices, extent) and not _is_table_inside(cache, indices, extent):
                break
        else:
            mode = "seen"
    if numbers.memory is None and (numbers.flags or numbers.readers):
        bounds = value_bounds(numbers)  # the ranges of its inputs may be forgotten later
        materialize_shared(numbers)
        if bounds is not None and numbers.memory is not None:
            record_range(numbers, *bounds)
    return mode


def _checked_arrays(selection: IndexSelection) -> tuple[tuple[Node, int], ...]:
    """Return the index arrays that must be in bounds, with the extents of the axes that they index."""
    return selection.checked or ((selection.numbers, selection.bound),)


def _is_inside(numbers: Node, extent: int) -> bool:
    """Return whether indices are known to be in bounds of an axis."""
    bounds = value_bounds(numbers)
    return bounds is not None and -extent <= bounds[0] and bounds[1] < extent


def _is_table_inside(cache: KernelCache, part: Node, extent: int) -> bool:
    """Return whether indices are part of a table of indices that is in bounds as a whole.

    A program that loops over the rows of a table then waits for the device only once. On a CPU the wait is short, so
    this checks nothing there.
    """
    memory = part.memory
    if memory is None or memory.shared or cache.policies.elementwise.chunked:
        return False
    itemsize = part.dtype.itemsize
    nbytes = part.size * itemsize
    if not nbytes < memory.nbytes <= min(_MAX_TABLE_BYTES, _MAX_TABLE_PARTS * nbytes) or memory.nbytes % itemsize:
        return False
    whole = contiguous_leaf(memory, (memory.nbytes // itemsize,), part.dtype)
    abort_capture()  # the check reads memory beyond the operands of the call
    if is_recorded_out_of_bounds(whole, extent):
        return False
    try:
        _check_bounds(cache, IndexSelection(whole, whole.shape, (extent,), (1,), View((), (), 0), 0), "raise")
    except OutOfBounds:
        record_out_of_bounds(whole, extent)
        return False
    record_range(whole, -extent, extent - 1)
    return True


def _record_checked(selection: IndexSelection, mode: str, distinct: int | None = None) -> None:
    """Record that the indices are in bounds, which a launch in this mode has checked, and whether they are distinct."""
    if mode == "raise" or (mode == "seen" and distinct is not None):
        for numbers, extent in _checked_arrays(selection):
            record_range(numbers, -extent, extent - 1, None if selection.checked else distinct)


def _are_distinct(selection: IndexSelection) -> bool | None:
    """Return whether no index repeats, or None if that is unknown."""
    return are_distinct(selection.numbers, selection.bound) if selection.numbers.shape == selection.shape else None


def _checked_mode(mode: str) -> str:
    """Return the mode for indices that have passed a check of their bounds."""
    return "reversed" if mode in ("raise", "seen") else mode


def _fits_offers(cache: KernelCache, selection: IndexSelection, itemsize: int) -> bool:
    """Return whether 64-bit words hold a position and an element, and the array is small enough for one per element."""
    count = prod(selection.shape)
    small = itemsize <= 4 and selection.rest.size == 1 and count <= MAX_UINT_POSITION
    return small and cache.capabilities.int64_atomics and selection.bound <= cache.policies.gather.spread * count


def _scatter_by_offers(cache: KernelCache, array: Node, selection: IndexSelection, value: Node, mode: str) -> None:
    """Scatter in two passes: offer each value with its list position, then store the offer of the largest position."""
    notes = cache.device.allocate(8 * selection.bound)
    cache.device.fill_zero(notes)
    run_kernel(cache, "offer", selection, mode, Buffers(other=value, notes=notes))
    _record_checked(selection, mode, 0)
    everywhere = index((selection.bound,), (1,), _INT64)
    every = selection._replace(numbers=everywhere, shape=(selection.bound,))
    run_kernel(cache, "collect", every, "known", Buffers(array, notes=notes))


def _scatter_by_claims(cache: KernelCache, array: Node, selection: IndexSelection, value: Node, mode: str) -> None:
    """Scatter in three passes: mark elements, claim each for its largest list position, then store claimed values."""
    wide = prod(selection.shape) > MAX_UINT_POSITION
    if wide and not cache.capabilities.int64_atomics:
        raise NotImplementedError(
            f"a write through {prod(selection.shape):,} indices, which may repeat: {cache.capabilities.name} has "
            f"no 64-bit atomic operations, and {MAX_UINT_POSITION:,} at once are the most without"
        )
    notes = cache.device.allocate((8 if wide else 4) * selection.bound)
    bare = _without_rest(selection)
    run_kernel(cache, "mark", bare, mode, Buffers(notes=notes))
    _record_checked(selection, mode, 0)
    mode = _checked_mode(mode)
    run_kernel(cache, "claim", bare, mode, Buffers(notes=notes))
    run_kernel(cache, "settle", selection, mode, Buffers(array, value, notes))


def resolve_indices(selection: IndexSelection) -> Node:
    """Return the flat indices of a selection, with its mode applied, as a new contiguous int64 leaf.

    Raises
    ------
    OutOfBounds
        If an index is out of bounds in mode ``'raise'``. This waits for the device.
    """
    inputs = inputs_of(selection.numbers)
    device = device_of(selection.numbers)
    with device.lock:
        cache = kernel_cache_of(device)
        mode = _effective_mode(cache, selection)
        indices = contiguous_leaf(device.allocate(8 * prod(selection.shape)), selection.shape, _INT64)
        if indices.size:
            run_kernel(cache, "resolve", _without_rest(selection), mode, Buffers(other=indices))
            _record_checked(selection, mode)
        _synchronize_shared(cache, *inputs)
    return indices


def _check_bounds(cache: KernelCache, selection: IndexSelection, mode: str) -> str:
    """Check the indices if the mode requires it, and return the mode for checked indices."""
    if prod(selection.shape) and mode == "raise":
        run_kernel(cache, "check", _without_rest(selection), mode)
        _record_checked(selection, mode)
    return _checked_mode(mode)


def _without_rest(selection: IndexSelection) -> IndexSelection:
    """Return the selection without the axes that are not indexed."""
    return selection._replace(rest=View((), (), 0), place=0)


def _synchronize_shared(cache: KernelCache, *nodes: Node) -> None:
    for n in nodes:
        if n.flags & EAGER or (n.memory is not None and n.memory.shared):
            cache.device.synchronize()
            return


__all__ = ["gather", "gather_selection", "resolve_indices", "scatter_selection"]
