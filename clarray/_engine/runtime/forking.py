"""What a forked process does first."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

Action = TypeVar("Action", bound=Callable[[], object])


def after_fork_in_child(action: Action) -> Action:
    """Have a function called in every process that is forked from this one; where none can be, nothing happens."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=action)
    return action
