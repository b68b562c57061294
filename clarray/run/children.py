"""Install clarray in the processes that multiprocessing spawns, so that their modules import clarray for NumPy, too.

A spawned child first unpickles its parent's preparation data, and then imports the program. The preparation data has an
object whose unpickling installs the redirection.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from clarray.run.installation import install

__all__ = ["install_in_children"]


class _Installed:
    """Install clarray in the process that unpickles this."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings

    def __reduce__(self) -> Any:
        return _install, (self._settings,)


def _install(settings: dict[str, Any]) -> None:
    install(**settings)
    install_in_children(settings)


def install_in_children(settings: dict[str, Any]) -> None:
    """Make processes that multiprocessing spawns from now on call `install` with these settings."""
    spawn: Any = import_module("multiprocessing.spawn")
    original = getattr(spawn.get_preparation_data, "given", spawn.get_preparation_data)

    def get_preparation_data(name: str) -> dict[str, Any]:
        return {**original(name), "clarray": _Installed(settings)}

    get_preparation_data.given = original  # type: ignore[attr-defined]
    spawn.get_preparation_data = get_preparation_data
