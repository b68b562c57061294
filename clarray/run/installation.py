"""Redirect ``import numpy`` to clarray in a process's user modules, and restore it."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from clarray._core.device_array import DeviceArray
from clarray._core.host_policy import config
from clarray._engine.runtime import current_device, set_device
from clarray.run.functions import program_modules
from clarray.run.imports import redirect_imports, restore_imports
from clarray.run.methods import changed_methods, element_methods
from clarray.run.namespace import program_module, start_namespace
from clarray.run.streams import numpy_random_module

__all__ = ["install", "options", "uninstall"]

options: dict[str, Any] = {}  # arguments of `install`, for child processes

_original: dict[str, Any] = {}  # original attributes of DeviceArray, or None for attributes that it lacks
_settings: dict[str, Any] = {}  # original settings of `clarray.config`


def install(*, device: Any = None, strict: bool = False, random: str = "numpy") -> None:
    """Make ``import numpy`` mean clarray in the user's modules that are imported from now on.

    Parameters
    ----------
    device : Device, str or int, optional
        Device of the program, as in `clarray.set_device`. None keeps the device of the process.
    strict : bool, default False
        Whether to raise an error where NumPy would compute on the host what clarray lacks.
    random : {'numpy', 'device'}
        Source of the numbers of ``np.random``: NumPy, whose numbers are moved to the device, or `clarray.random`.

    Raises
    ------
    ValueError
        `random` is another word.

    See Also
    --------
    uninstall : Undo this.

    Examples
    --------
    >>> import clarray.run
    >>> clarray.run.install()
    >>> clarray.run.uninstall()
    """
    if random not in ("numpy", "device"):
        raise ValueError(f"random must be 'numpy' or 'device', not {random!r}")
    if device is not None:
        set_device(device)
    options.update(device=device, strict=strict, random=random)
    if not _original:
        _settings.update(host_fallback=config.host_fallback, elements=config.elements)
        names = {"__name__": "ndarray", "__qualname__": "ndarray", "__module__": "numpy"}
        _change_arrays({**changed_methods(), **names})
    config.host_fallback = "raise" if strict else "allow"
    config.elements = "scalars"
    start_namespace(numpy_random_module() if random == "numpy" else None)
    redirect_imports(_lookup_module)


def uninstall() -> None:
    """Make ``import numpy`` mean NumPy again. Modules that are imported already keep clarray.

    See Also
    --------
    install : Make it mean clarray.

    Examples
    --------
    >>> import clarray.run
    >>> clarray.run.install()
    >>> clarray.run.uninstall()
    >>> import numpy
    >>> numpy.ones(3).__class__.__module__
    'numpy'
    """
    restore_imports()
    program_modules.clear()
    options.clear()
    if _original:
        for name, value in _settings.items():
            setattr(config, name, value)
        for name, value in _original.items():
            if value is None:
                delattr(DeviceArray, name)
            else:
                setattr(DeviceArray, name, value)
        _original.clear()


def _change_arrays(changes: dict[str, Any]) -> None:
    """Replace attributes of DeviceArray, so that arrays print, pickle and reduce to scalars as NumPy's do."""
    for name, value in changes.items():
        is_name = name in ("__name__", "__qualname__", "__module__")
        _original[name] = getattr(DeviceArray, name) if is_name else vars(DeviceArray).get(name)
        setattr(DeviceArray, name, value)


def _lookup_module(name: str) -> ModuleType | None:
    """Return the program's module. On a device with its own memory, make elements NumPy's scalars first."""
    if "__getitem__" not in _original and not current_device().capabilities.host_memory:
        _change_arrays(element_methods())
    return program_module(name)
