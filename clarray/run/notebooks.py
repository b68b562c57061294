"""The notebooks' extension: after ``%load_ext clarray``, ``import numpy`` in a cell means clarray."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from clarray.run.forks import keep_arrays_in_forks
from clarray.run.functions import modules
from clarray.run.installation import install, uninstall
from clarray.run.namespace import module_of

__all__ = ["load_ipython_extension", "unload_ipython_extension"]


def load_ipython_extension(shell: Any) -> None:
    """Let ``import numpy`` in cells, and in the user's modules, mean clarray.

    Names of a notebook that are NumPy's modules already become clarray's.
    """
    install()
    keep_arrays_in_forks()
    for name, value in list(shell.user_ns.items()):
        if isinstance(value, ModuleType) and sys.modules.get(value.__name__) is value:
            shell.user_ns[name] = module_of(value.__name__) or value


def unload_ipython_extension(shell: Any) -> None:
    """Let ``import numpy`` mean NumPy again, and give the notebook's names NumPy's modules."""
    redirected = {id(module): sys.modules.get(name) for name, module in modules.items()}
    for name, value in list(shell.user_ns.items()):
        shell.user_ns[name] = redirected.get(id(value)) or value
    uninstall()
