"""Modules with NumPy's names that a program gets for ``numpy``, ``numpy.linalg`` and the like.

A name is looked up when it is first asked for: clarray's function where it has one, else NumPy's own object.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from clarray.run import classes
from clarray.run.differing import NUMPYS_OWN, Joining, differing
from clarray.run.functions import Function, UFunc, modules

__all__ = ["Namespace", "module_of", "start_namespace"]

# The modules that clarray has functions for, by NumPy's names. All others are NumPy's own.
_OURS = {
    "numpy": "clarray",
    "numpy.fft": "clarray.fft",
    "numpy.lib": "clarray.lib",
    "numpy.lib.scimath": "clarray.lib.scimath",
    "numpy.lib.stride_tricks": "clarray.lib.stride_tricks",
    "numpy.linalg": "clarray.linalg",
    "numpy.random": "clarray.random",
    "numpy.testing": "clarray.testing",
}

_COPIED = ("__doc__", "__file__", "__path__", "__spec__", "__loader__", "__package__", "__all__", "__version__")


class Namespace(ModuleType):
    """A module of NumPy's whose functions compute on device arrays.

    Parameters
    ----------
    theirs, ours : module
        NumPy's module and clarray's.
    """

    def __init__(self, theirs: ModuleType, ours: ModuleType) -> None:
        super().__init__(theirs.__name__)
        self.__dict__.update({name: value for name in _COPIED if (value := getattr(theirs, name, None)) is not None})
        self.__dict__["_theirs"] = theirs
        self.__dict__["_ours"] = ours

    def __getattr__(self, name: str) -> Any:
        names = self.__dict__
        theirs = getattr(names["_theirs"], name)
        value = module_of(theirs.__name__) or theirs if isinstance(theirs, ModuleType) else self._of(name, theirs)
        names[name] = value
        return value

    def _of(self, name: str, theirs: Any) -> Any:
        """Return what a name stands for in the program."""
        if theirs is np.ndarray or theirs is np.ufunc:
            return getattr(classes, name)
        keep = name.startswith("__") or (name in NUMPYS_OWN and self.__name__ == "numpy")
        ours = theirs if keep else getattr(self._ours, name, theirs)
        change = differing.get(f"{self.__name__}.{name}")
        if change is not None:
            return Function(self.__name__, name, change(ours, theirs), theirs)
        if name in ("c_", "r_"):
            return Joining(ours, theirs)
        if ours is theirs or not callable(ours):
            return ours
        if isinstance(theirs, np.ufunc):
            return UFunc(self.__name__, name, ours, theirs)
        if isinstance(theirs, type) or isinstance(ours, type):
            return ours
        return Function(self.__name__, name, ours, theirs)

    def __dir__(self) -> list[str]:
        return dir(self._theirs)


def module_of(name: str) -> ModuleType | None:
    """Return the program's module for a dotted name of NumPy's; None for one that stays NumPy's own."""
    known = modules.get(name)
    if known is None and name in _OURS and modules:
        known = modules[name] = Namespace(import_module(name), import_module(_OURS[name]))
    return known


def start_namespace(random: ModuleType | None = None) -> None:
    """Make the modules; `random` takes the place of ``numpy.random``, and is clarray's own if None."""
    if not modules:
        modules["numpy"] = Namespace(np, sys.modules["clarray"])
    if random is not None:
        modules["numpy.random"] = random
