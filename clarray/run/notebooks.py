"""The notebooks' extension: after ``%load_ext clarray``, ``import numpy`` in a cell means clarray."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from clarray.run.forks import keep_arrays_in_forks
from clarray.run.functions import program_modules
from clarray.run.installation import install, uninstall
from clarray.run.namespace import program_module

__all__ = ["load_ipython_extension", "unload_ipython_extension"]


def load_ipython_extension(shell: Any) -> None:
    """Make ``import numpy`` mean clarray in a notebook: in its cells, and in the user's modules.

    IPython calls this for ``%load_ext clarray``. Names in the notebook that are NumPy's modules become clarray's.

    Parameters
    ----------
    shell : IPython.core.interactiveshell.InteractiveShell
        The notebook. Its attribute ``user_ns`` is the dictionary of its names.

    Examples
    --------
    >>> import clarray.run
    >>> import numpy
    >>> from types import SimpleNamespace
    >>> notebook = SimpleNamespace(user_ns={"np": numpy})
    >>> clarray.run.load_ipython_extension(notebook)
    >>> isinstance(notebook.user_ns["np"].ones(3), clarray.DeviceArray)
    True
    >>> clarray.run.unload_ipython_extension(notebook)
    """
    install()
    keep_arrays_in_forks()
    for name, value in list(shell.user_ns.items()):
        if isinstance(value, ModuleType) and sys.modules.get(value.__name__) is value:
            shell.user_ns[name] = program_module(value.__name__) or value


def unload_ipython_extension(shell: Any) -> None:
    """Make ``import numpy`` mean NumPy again in a notebook, and give its names NumPy's modules.

    IPython calls this for ``%unload_ext clarray``.

    Parameters
    ----------
    shell : IPython.core.interactiveshell.InteractiveShell
        The notebook. Its attribute ``user_ns`` is the dictionary of its names.

    Examples
    --------
    >>> import clarray.run
    >>> import numpy
    >>> from types import SimpleNamespace
    >>> notebook = SimpleNamespace(user_ns={"np": numpy})
    >>> clarray.run.load_ipython_extension(notebook)
    >>> clarray.run.unload_ipython_extension(notebook)
    >>> notebook.user_ns["np"] is numpy
    True
    """
    redirected = {id(module): sys.modules.get(name) for name, module in program_modules.items()}
    for name, value in list(shell.user_ns.items()):
        shell.user_ns[name] = redirected.get(id(value)) or value
    uninstall()
