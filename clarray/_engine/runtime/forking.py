"""Register functions that a forked process calls first."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

Action = TypeVar("Action", bound=Callable[[], object])


def after_fork_in_child(action: Action) -> Action:
    """Call a function in every process that is forked from this one. Systems without fork ignore it."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=action)
    return action
