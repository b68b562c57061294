"""Planning again what a re-entrant call has changed.

    a pass over pending nodes is planned  ->  a signal handler computes one of them  ->  Changed: plan again

Nobody else computes them meanwhile, as the device's lock is held; but code that Python runs between two bytecodes
(handlers, ``__del__``, callbacks of weak references) is of the thread that holds it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


class Changed(Exception):
    """A pending node has become a leaf while a kernel was rendered from it."""


def replanned(function: Function) -> Function:
    """Decorator of what plans a pass over pending operands and launches it: call it again where they have changed."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        while True:
            try:
                return function(*args, **kwargs)
            except Changed:  # raised before the launch
                continue

    return call  # type: ignore[return-value]
