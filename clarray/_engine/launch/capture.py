"""Calls captured for the compiled core, which then runs their programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import NotImplementedType
from typing import Any

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
) -> tuple[Any, Capture | NotImplementedType | None]:
    """Call a function, and return its result with the capture of the call.

    Parameters
    ----------
    function, args, kwargs
        The call.
    device : Device
        Device of all operands.
    inputs : sequence of Memory
        Each memory of the operands once.
    seen : int
        How often such a call has been made.

    Returns
    -------
    tuple
        The result, and the capture. None in its place if it does not hold all that the call did; NotImplemented if the
        call could not be captured, though the next one may.
    """
    cache = kernel_cache_of(device)
    use_programs(cache)
    return run_captured(Capture(inputs, cache.kept, seen), partial(function, *args, **(kwargs or {})))
