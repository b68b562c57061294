"""Let ``import numpy`` mean clarray in the user's modules, and NumPy everywhere else.

    import statement  ->  builtins.__import__  =  _import
                                                    |  the name is numpy's, and the importing code the user's
                                                    v
                                              a `Namespace` with NumPy's names, on device arrays

`sys.modules` is left as it is, so that libraries, pickles and C code find NumPy.
"""

from __future__ import annotations

import builtins
import importlib
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from clarray.run.libraries import ADAPTED, adapt, not_counted
from clarray.run.owners import runs_for_user

__all__ = ["redirect_imports", "restore_imports"]

Lookup = Callable[[str], "ModuleType | None"]

_import_statement: Callable[..., Any] = builtins.__import__
_import_module = importlib.import_module
_lookup: Lookup | None = None


@not_counted
def _import(
    name: str, globals: Any = None, locals: Any = None, fromlist: Sequence[str] | None = (), level: int = 0
) -> Any:
    if _lookup is not None and level == 0 and name.startswith("numpy"):
        found = _redirected(name, globals, fromlist)
        if found is not None:
            return found
    module = _import_statement(name, globals, locals, fromlist, level)
    if _lookup is not None and not level:
        for library in ADAPTED.keys() & {name, *(f"{name}.{part}" for part in fromlist or ())}:
            adapt(sys.modules[library])
    return module


def _redirected(name: str, namespace: Any, fromlist: Sequence[str] | None) -> ModuleType | None:
    """Return what the import statement of the calling frame's caller binds; None if that is NumPy's own."""
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
        found = _lookup(name)
        if found is not None:
            return found
    return _import_module(name, package)


_import_by_name.__name__ = _import_by_name.__qualname__ = "import_module"
_import_by_name.__module__ = "importlib"
_import_by_name.__doc__ = _import_module.__doc__


def redirect_imports(lookup: Lookup) -> None:
    """Ask `lookup` for the modules that the user's code imports by a name of NumPy's.

    Parameters
    ----------
    lookup : callable
        It returns the module of a dotted name, or None for one that stays NumPy's.
    """
    global _lookup, _import_statement
    _lookup = lookup
    if builtins.__import__ is not _import:
        _import_statement = builtins.__import__
        builtins.__import__ = _import
    importlib.import_module = _import_by_name


def restore_imports() -> None:
    """Let ``import numpy`` mean NumPy again; modules that are imported already keep what they have."""
    global _lookup
    _lookup = None
    if builtins.__import__ is _import:
        builtins.__import__ = _import_statement
    if importlib.import_module is _import_by_name:
        importlib.import_module = _import_module
