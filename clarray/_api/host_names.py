"""Names that are NumPy's own: strings, dates, records, masked arrays, and functions of host memory.

`clarray` has no version of them, because no device supports such elements. So ``clarray.datetime64`` is
``numpy.datetime64``, and ``import clarray.polynomial`` gives ``numpy.polynomial``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import numpy as np

from clarray._core.absent_names import LEFT_OUT, absent, has_advice

__all__ = ["host_names", "numpy_attribute", "redirect_host_imports"]

HOST_MODULES = frozenset(
    {"_typing", "char", "ctypeslib", "dtypes", "exceptions", "f2py", "ma", "polynomial", "rec", "strings", "typing"}
)
# Modules of ``numpy.lib`` without a module of clarray's.
HOST_LIBRARIES = frozenset({"array_utils", "format", "introspect", "mixins", "npyio", "recfunctions", "user_array"})


def numpy_attribute(name: str) -> Any:
    """Return NumPy's object for a public name.

    Raises
    ------
    AttributeError
        NumPy lacks the name, or clarray excludes it.
    """
    is_left_out = name in LEFT_OUT or (has_advice(name) and name not in vars(np))
    if is_left_out or (name.startswith("_") and name not in HOST_MODULES):
        raise absent(name)
    try:
        return getattr(np, name)
    except AttributeError as error:
        advice = str(error).replace("\n", " ")  # for a removed name NumPy names the replacement
        raise absent(name, "" if advice.startswith("module 'numpy' has no attribute") else advice) from None


def host_names(own: set[str]) -> set[str]:
    """Return NumPy's public names, except clarray's own and the unsupported ones."""
    return {name for name in dir(np) if not name.startswith("_")} - own - LEFT_OUT.keys()


class _Alias(Loader):
    """Load a module of NumPy's under clarray's name."""

    def create_module(self, spec: ModuleSpec) -> None:
        """Return None: the import system makes a module, which `exec_module` replaces."""

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        sys.modules[name] = import_module("numpy" + name.removeprefix("clarray"))


class _Finder(MetaPathFinder):
    """Find ``clarray.polynomial`` and its submodules, before the usual finder loads the submodules a second time."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, *names = fullname.split(".")
        if package != "clarray" or not names:
            return None
        in_lib = names[0] == "lib" and len(names) > 1 and names[1] in HOST_LIBRARIES
        if names[0] not in HOST_MODULES and not in_lib:
            return None
        return ModuleSpec(fullname, _Alias(), is_package=True)


def redirect_host_imports() -> None:
    """Redirect ``import clarray.polynomial`` and similar imports to NumPy's modules."""
    sys.meta_path.insert(0, _Finder())
