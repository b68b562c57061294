"""What the compiled core is told of a launch, so that it can make the next one like it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from clarray._engine.expr.node import Changed, Node
from clarray._engine.expr.view import Shape
from clarray._engine.launch.kernel_cache import KernelCache
from clarray._engine.runtime import Device, Kernel, Memory
from clarray._engine.speedups import core
from clarray._engine.values import dataclass

Prepare = TypeVar("Prepare", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class CoreLaunch:
    """A launch by structure and layout; speedups/prepared.cpp reads it.

    Parameters
    ----------
    kernel : Kernel
    device : Device
        Whose pool the memory is from.
    work_group : int
        Work-items per group.
    strides : tuple of int
        Of the result, where it is memory of its own, in elements.
    contiguous : bool
        Whether that is C order.
    inline_bytes : int
        Launches that move fewer bytes run on the calling thread, where the device can.
    most_size : int
        Elements of the largest result that this kernel is for.
    vector, element_bytes, most_groups, chunked, chunk_bytes : int
        What groups follow from, of a flat kernel and of one for loops of all extents; `vector`, the elements of a work
        unit, is 0 for any other.
    groups, nbytes : int
        Of any other kernel, which its layout says all of.
    shifts, out_shift, sizes : tuple of int, int, tuple of int
        Added to where the inputs and the output begin; the arguments after the output.
    steps_at : tuple of int
        From which of the sizes on they are the steps of each input in memory and of the output, without that of an
        innermost loop whose steps are 1.
    lengths : tuple of int
        Which of the sizes are the length of what is reduced: a launch for every length.
    states, counters : tuple of int, and 0 or Memory
        Bytes of the memory that a reduction's groups leave their parts in, and their counters; of a
        selection the bytes that it leaves the number of its elements in.
    """

    kernel: Kernel
    device: Device
    work_group: int
    strides: Shape
    contiguous: bool
    inline_bytes: int
    most_size: int
    vector: int = 0
    element_bytes: int = 0
    most_groups: int = 1
    chunked: bool = False
    chunk_bytes: int = 1
    groups: int = 1
    nbytes: int = 0
    shifts: Shape = ()
    out_shift: int = 0
    sizes: Shape = ()
    steps_at: Shape = ()
    lengths: Shape = ()
    states: Shape = ()
    counters: int | Memory = 0

    @property
    def local(self) -> tuple[int]:
        return (self.work_group,)

    @property
    def bins(self) -> Any:
        return self.device.pool._bins

    @property
    def has_inline(self) -> bool:
        return self.device.inline is not None

    @property
    def global_bytes(self) -> int:
        return self.device.pool._global_bytes


def planned_at_once(function: Prepare) -> Prepare:
    """Decorator: give None where a re-entrant call has computed a node of the call's while it was planned."""

    @wraps(function)
    def call(*args: Any) -> CoreLaunch | None:
        nodes = [arg for arg in args if isinstance(arg, Node)]
        before = [node.inputs for node in nodes]
        try:
            made = function(*args)
        except Changed:
            return None
        return made if all(node.inputs is inputs for node, inputs in zip(nodes, before, strict=True)) else None

    return call  # type: ignore[return-value]


def use_launches(cache: KernelCache) -> Any:
    """Have the core look for the launches that go with what is prepared in a cache; give them."""
    found = cache.value_for("the core's launches", core.Launches, cache.device)
    found.use()
    return found
