"""Capture calls for the native implementation, which then runs their programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import NotImplementedType
from typing import Any

from clarray._engine.expr.graph import constant_key
from clarray._engine.expr.node import Node
from clarray._engine.launch.kernel_cache import kernel_cache_of
from clarray._engine.launch.program import use_programs
from clarray._engine.runtime import Device, Memory
from clarray._engine.runtime.capture import Capture, run_captured

__all__ = ["capture_call"]


def capture_call(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None,
    device: Device,
    inputs: Sequence[Memory],
    seen: int,
    constants: Sequence[Node] = (),
) -> tuple[Any, Capture | NotImplementedType | None]:
    """Call a function, and return its result with the capture of the call.

    Parameters
    ----------
    function, args, kwargs
        The call.
    device : Device
        Device of all operands.
    inputs : sequence of Memory
        The distinct memories of the operands.
    seen : int
        Number of earlier calls of this kind.
    constants : sequence of Node
        The constants of a region, if the function evaluates one.

    Returns
    -------
    tuple
        The result and the capture. The capture is None if it is incomplete. It is NotImplemented if this call could
        not be captured but a later one may.
    """
    cache = kernel_cache_of(device)
    use_programs(cache)
    numbers = {constant_key(node): number for number, node in enumerate(constants)}
    return run_captured(
        Capture(device, inputs, cache.persistent, seen, numbers), partial(function, *args, **(kwargs or {}))
    )
