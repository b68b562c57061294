"""Redirect ``import numpy`` to clarray in the user's modules. It stays NumPy everywhere else.

    import statement  ->  builtins.__import__  =  _import
                                                    |  the name is numpy's, and the user's code imports it
                                                    v
                                              a `Namespace` with NumPy's names, on device arrays

`sys.modules` is unchanged, so that libraries, pickles and C code find NumPy.
"""

from __future__ import annotations

import builtins
import importlib
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from clarray.run.libraries import ADAPTED_METHODS, adapt, skipped_by_warnings
from clarray.run.owners import runs_for_user

__all__ = ["redirect_imports", "restore_imports"]

Lookup = Callable[[str], "ModuleType | None"]

_import_statement: Callable[..., Any] = builtins.__import__
_import_module = importlib.import_module
_lookup: Lookup | None = None


@skipped_by_warnings
def _import(
    name: str, globals: Any = None, locals: Any = None, fromlist: Sequence[str] | None = (), level: int = 0
) -> Any:
    if _lookup is not None and level == 0 and name.startswith("numpy"):
        redirected = _redirected(name, globals, fromlist)
        if redirected is not None:
            return redirected
    module = _import_statement(name, globals, locals, fromlist, level)
    if _lookup is not None and not level:
        for library in ADAPTED_METHODS.keys() & {name, *(f"{name}.{part}" for part in fromlist or ())}:
            adapt(sys.modules[library])
    return module


def _redirected(name: str, namespace: Any, fromlist: Sequence[str] | None) -> ModuleType | None:
    """Return the module that an import statement binds, two frames above. Return None for NumPy's own."""
    if name != "numpy" and not name.startswith("numpy."):
        return None
    if not runs_for_user(sys._getframe(2), namespace if isinstance(namespace, dict) else None):
        return None
    assert _lookup is not None
    module = _lookup(name)
    if module is None or fromlist:
        return module
    return _lookup("numpy")


def _import_by_name(name: str, package: str | None = None) -> ModuleType:
    if _lookup is not None and name.startswith("numpy") and runs_for_user(sys._getframe(1)):
        redirected = _lookup(name)
        if redirected is not None:
            return redirected
    return _import_module(name, package)


_import_by_name.__name__ = _import_by_name.__qualname__ = "import_module"
_import_by_name.__module__ = "importlib"
_import_by_name.__doc__ = _import_module.__doc__


def redirect_imports(lookup: Lookup) -> None:
    """Call `lookup` for the modules that the user's code imports by a name of NumPy's.

    Parameters
    ----------
    lookup : callable
        Returns the module of a dotted name, or None if the name stays NumPy's.
    """
    global _lookup, _import_statement
    _lookup = lookup
    if builtins.__import__ is not _import:
        _import_statement = builtins.__import__
        builtins.__import__ = _import
    importlib.import_module = _import_by_name


def restore_imports() -> None:
    """Restore ``import numpy`` to NumPy. Modules that are already imported keep clarray."""
    global _lookup
    _lookup = None
    if builtins.__import__ is _import:
        builtins.__import__ = _import_statement
    if importlib.import_module is _import_by_name:
        importlib.import_module = _import_module
