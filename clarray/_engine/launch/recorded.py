"""Calls recorded for the compiled core, which makes their launches again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import NotImplementedType
from typing import Any

from clarray._engine.launch.core_launch import use_launches
from clarray._engine.launch.kernel_cache import kernel_cache_of
from clarray._engine.runtime import Device, Memory
from clarray._engine.runtime.recording import Recording, record
from clarray._engine.speedups import called_by_core

__all__ = ["has_inline", "record_call"]


@called_by_core
def has_inline(device: Device) -> bool:
    """Whether small launches run on the calling thread."""
    return device.inline is not None


@called_by_core
def record_call(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None,
    device: Device,
    inputs: Sequence[Memory],
    seen: int,
) -> tuple[Any, Recording | NotImplementedType | None]:
    """Call a function, and say what the device was given to do.

    Parameters
    ----------
    function, args, kwargs
        What is called.
    device : Device
        Of all operands.
    inputs : sequence of Memory
        Each memory of the operands once.
    seen : int
        How often such a call has been made.

    Returns
    -------
    tuple
        The result, and the recording; None where that does not hold all that the call did; NotImplemented where it
        could not be recorded, and the next one may.
    """
    cache = kernel_cache_of(device)
    use_launches(cache)
    return record(Recording(inputs, cache.kept, seen), partial(function, *args, **(kwargs or {})))
