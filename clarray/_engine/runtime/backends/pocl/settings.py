"""Set the environment in which PoCL is first asked for its devices.

POCL_DEVICES makes PoCL list the device that runs in the calling thread and the one with a thread pool. PoCL 4 and
later call them `cpu-minimal` and `cpu`, and take the older names too.
POCL_KERNEL_CACHE is off, since PoCL's cache detects neither damaged files nor another CPU, and clarray's does.
POCL_CACHE_DIR is the scratch folder of this process, unless PoCL keeps a cache and can write to its folder.
POCL_PREGION_VALUE_REMAT is off, because of wrong code: since version 5, PoCL computes a work-item's value again after a
barrier instead of storing it, also if it has read the value from an array that changes in between (PoCL 7.1).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pyopencl

from clarray._engine.runtime.backends.pocl import scratch_folder


def settings(has_driver: Callable[[str], bool]) -> dict[str, str]:
    """Return the variables to set, of those that the user has not set. With one of them the scratch folder is made.

    Parameters
    ----------
    has_driver : callable
        Return whether the system has a driver with a word in its name.
    """
    if not (has_wheel() or has_driver("pocl")):
        return {}
    defaults = {"POCL_DEVICES": "basic pthread", "POCL_KERNEL_CACHE": "0"}
    changes = {name: value for name, value in defaults.items() if name not in os.environ}
    return changes | _folder(changes)


def compiler_settings(has_driver: Callable[[str], bool]) -> dict[str, str]:
    """Return the variables to set for good. PoCL 3.0, the version of the wheel, does not read them."""
    return {"POCL_PREGION_VALUE_REMAT": "0"} if has_driver("pocl") else {}


def _folder(changes: dict[str, str]) -> dict[str, str]:
    """Return the setting of PoCL's folder, or nothing if PoCL keeps a cache of its own and can write to it.

    If no folder can be created, the setting is a path with which PoCL finds no device. Without it, PoCL would
    abort the process.
    """
    if os.name != "posix":
        return {}
    has_cache = changes.get("POCL_KERNEL_CACHE", os.environ.get("POCL_KERNEL_CACHE")) != "0"
    if has_cache and scratch_folder.is_usable(_own_choice()):
        return {}
    return {"POCL_CACHE_DIR": str(scratch_folder.make() or Path(os.devnull, "pocl"))}


def _own_choice() -> Path:
    """Return the folder of PoCL's cache if no setting names one."""
    for name, below in (("POCL_CACHE_DIR", ""), ("XDG_CACHE_HOME", "pocl/kcache"), ("HOME", ".cache/pocl/kcache")):
        if os.environ.get(name):
            return Path(os.environ[name], below)
    return Path("/tmp/pocl/kcache")


def has_wheel() -> bool:
    """Return whether the wheel of PoCL 3 is installed. Later versions give their devices other names."""
    packages = Path(pyopencl.__file__).parents[1]
    return bool(list(packages.glob("pocl_binary_distribution-3.*.dist-info")))
