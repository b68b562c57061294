"""Run multiprocessing's children as the program itself: their modules get clarray for NumPy too.

A child that is spawned first unpickles what its parent tells it, and then imports the program. Among what it is told
stands an object whose unpickling installs the redirection.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from clarray.run.installation import install

__all__ = ["tell_children"]


class _Installed:
    """Install clarray in the process that unpickles this."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings

    def __reduce__(self) -> Any:
        return _install, (self._settings,)


def _install(settings: dict[str, Any]) -> None:
    install(**settings)
    tell_children(settings)


def tell_children(settings: dict[str, Any]) -> None:
    """Have the processes that multiprocessing spawns from now on call `install` with these settings."""
    spawn: Any = import_module("multiprocessing.spawn")
    given = getattr(spawn.get_preparation_data, "given", spawn.get_preparation_data)

    def get_preparation_data(name: str) -> dict[str, Any]:
        return {**given(name), "clarray": _Installed(settings)}

    get_preparation_data.given = given  # type: ignore[attr-defined]
    spawn.get_preparation_data = get_preparation_data
