"""Launches of gathers and scatters by numbers, made and run at once."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from clarray.codegen.expression import distinct
from clarray.codegen.gather import gather_source
from clarray.evaluate import evaluate, flush_readers
from clarray.evaluate.compact import flat, flat_accesses, settle
from clarray.evaluate.state import DeviceState, Launch, bytes_of, data_arguments, device_of, state_of
from clarray.expr.node import EAGER, Node, contiguous_leaf, intern_structure
from clarray.expr.view import Shape, View
from clarray.ops.special import cast_loop
from clarray.plan.elementwise import ALIGNMENT, groups
from clarray.plan.gather import GatherSpace, gather_plan, gather_space, sizes, work
from clarray.plan.layout import STEPPED
from clarray.runtime import Memory

_INT64 = np.dtype(np.int64)
_MOST = 2**31 - 1  # numbers whose order fits the atomic operations every device has


class OutOfBounds(IndexError):
    """A number names no element: the caller finds out which, and says so."""


class Named(NamedTuple):
    """Elements of an array: of some axes those that a list of numbers names, of the rest all.

    Parameters
    ----------
    numbers : Node
        Integers, maybe pending: elements of the chosen axes, counted in C order.
    shape : tuple of int
        Of the list; the numbers are broadcast to it.
    extents, strides : tuple of int
        Of the chosen axes.
    rest : View
        The other axes; its offset is that of the first chosen element.
    place : int
        Where, among the axes of `rest`, those of the list stand in the result.
    mode : str
        For numbers out of bounds: ``'raise'``, ``'wrap'``, ``'clip'``; ``'known'``: there are none.
    """

    numbers: Node
    shape: Shape
    extents: Shape
    strides: Shape
    rest: View
    place: int
    mode: str = "known"

    @property
    def result_shape(self) -> Shape:
        """The shape of the elements named."""
        rest = self.rest.shape
        return rest[: self.place] + self.shape + rest[self.place :]

    @property
    def bound(self) -> int:
        """How many numbers there are."""
        return prod(self.extents)


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
        return gather_named(source, Named(numbers, numbers.shape, (source.size,), (1,), rest, 0))
    named = Named(numbers, numbers.shape, source.shape, source.strides, rest, 0)
    return gather_named(source, named)


def gather_named(source: Node, named: Named, target: Node | None = None) -> Node:
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
    device = device_of((source, *(named.numbers.inputs or (named.numbers,))))
    shape = named.result_shape
    with device.lock:
        settle((named.numbers,))
        state = state_of(device)
        if target is None:
            memory = device.allocate(prod(shape) * source.dtype.itemsize)
            target = contiguous_leaf(memory, shape, source.dtype)
        else:
            assert target.memory is not None
            flush_readers(target.memory)
        if target.size:
            _run(state, "gather", source, named, target)
        _finish(state, (source, target, *(named.numbers.inputs or (named.numbers,))))
    return target


def scatter_named(array: Node, named: Named, value: Node, once: bool = False) -> None:
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
        settle((named.numbers,))
        state = state_of(device)
        flush_readers(memory)
        if not prod(named.result_shape):
            return
        chunked = state.policies.elementwise.chunked
        listed = prod(named.shape)
        if once or value.size == 1:
            _run(state, "scatter", array, _checked(state, named), value)
        elif chunked:
            _run(state, "scatter", array, _checked(state, named), value, alone=True)
        elif listed > _MOST:
            raise NotImplementedError(
                f"a write through {listed:,} indices, which may repeat: at most {_MOST:,} at once"
            )
        else:
            winners = device.allocate(4 * named.bound)
            bare = named._replace(rest=View((), (), 0), place=0)
            _run(state, "mark", array, bare, None, winners)
            if named.mode == "raise":
                bare, named = bare._replace(mode="reversed"), named._replace(mode="reversed")
            _run(state, "claim", array, bare, None, winners)
            _run(state, "settle", array, named, value, winners)
        _finish(state, (array, value, *(named.numbers.inputs or (named.numbers,))))


def _checked(state: DeviceState, named: Named) -> Named:
    """The same, after all numbers were seen to be in bounds."""
    if named.mode != "raise":
        return named
    bare = named._replace(rest=View((), (), 0), place=0)
    _run(state, "check", None, bare, None)
    return named._replace(mode="reversed")


def _finish(state: DeviceState, nodes: tuple[Node, ...]) -> None:
    if any(n.flags & EAGER or (n.memory is not None and n.memory.shared) for n in nodes):
        state.device.synchronize()


def _space(named: Named) -> GatherSpace:
    rest, place = named.rest, named.place
    axes = list(zip(rest.shape, rest.strides, strict=True))
    chosen = list(zip(named.extents, named.strides, strict=True))
    return gather_space(axes[:place], chosen, axes[place:], prod(named.shape))


def _run(
    state: DeviceState, op: str, array: Node | None, named: Named, other: Node | None,
    winners: Memory | None = None, alone: bool = False,
) -> None:  # fmt: skip
    policy = state.policies.elementwise
    numbers = _integers(state, named.numbers, named.shape)
    pattern, nodes = distinct(numbers.inputs or (numbers,))
    accesses, steps = flat_accesses(nodes, named.shape)
    space = _space(named)
    aligned = other is not None and other.offset * other.dtype.itemsize % ALIGNMENT == 0
    single = op in ("scatter", "settle") and other is not None and other.size == 1
    itemsize = array.dtype.itemsize if array is not None else 1
    plan = gather_plan(op, named.mode, accesses, space, itemsize, aligned, single, policy)
    key = ("gather", numbers.sig, pattern, plan)
    kernel = state.prepared.get(key)
    if kernel is None:
        kernel = state.keep(
            key, state.kernel(gather_source(plan, numbers, nodes, state.capabilities))
        )
    args = data_arguments(nodes)
    args += [s for s, access in zip(steps, accesses, strict=True) if access in STEPPED]
    error = _error_cell(state) if named.mode == "raise" else None
    if error is not None:
        args.append(error.buffer)
    if named.mode != "known":
        args.append(named.bound)
    if winners is not None:
        args.append(winners.buffer)
    nbytes = bytes_of(nodes)
    if op in ("gather", "scatter", "settle"):
        assert array is not None
        assert other is not None
        assert array.memory is not None
        assert other.memory is not None
        args += [array.memory.buffer, named.rest.offset, other.memory.buffer, other.offset]
        nbytes += 2 * space.size * array.dtype.itemsize
    args += sizes(space, plan)
    count = 1 if alone else groups(work(space, plan), nbytes, state.units, policy)
    Launch(
        kernel, (count,), (policy.work_group,), args, nbytes <= policy.inline_bytes, nbytes
    ).run()  # fmt: skip
    if error is not None:
        _raise_if_set(state, error)


def _integers(state: DeviceState, numbers: Node, shape: Shape) -> Node:
    """The numbers as int64, in even steps through memory over the shape of the list."""
    if numbers.dtype != _INT64:
        loop = cast_loop(_INT64)
        sig = intern_structure((loop.code, numbers.sig))
        numbers = Node(
            loop, (numbers,), numbers.shape, _INT64, numbers.size, 0, 0, sig,
            numbers.inputs or (numbers,),
        )  # fmt: skip
    return flat(state, numbers, shape)


def _error_cell(state: DeviceState) -> Memory:
    """An integer that is 0 between launches."""
    found: Memory | None = state.prepared.get("gather error")
    if found is None:
        found = state.device.allocate(4)
        state.device.fill_zero(found)
        state.keep("gather error", found)
    return found


def _raise_if_set(state: DeviceState, error: Memory) -> None:
    if state.device.read_scalar(error, 0, np.dtype(np.int32)):
        state.device.fill_zero(error)
        raise OutOfBounds


__all__ = ["Named", "OutOfBounds", "gather", "gather_named", "scatter_named"]
