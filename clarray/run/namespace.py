"""The program's modules ``numpy``, ``numpy.linalg`` and others.

The first access of a name resolves it: to clarray's function, or to NumPy's own object if clarray lacks it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from clarray.run import classes
from clarray.run.differing import ADAPTERS, NUMPYS_OWN, AxisConcatenator
from clarray.run.functions import Function, UFunc, program_modules

__all__ = ["Namespace", "program_module", "start_namespace"]

# clarray's modules by NumPy's names. All other modules are NumPy's own.
_REDIRECTED = {
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
        value = (
            program_module(theirs.__name__) or theirs if isinstance(theirs, ModuleType) else self._resolve(name, theirs)
        )
        names[name] = value
        return value

    def _resolve(self, name: str, theirs: Any) -> Any:
        """Return the program's object for a name."""
        if theirs is np.ndarray or theirs is np.ufunc:
            return getattr(classes, name)
        keep = name.startswith("__") or (name in NUMPYS_OWN and self.__name__ == "numpy")
        ours = theirs if keep else getattr(self._ours, name, theirs)
        change = ADAPTERS.get(f"{self.__name__}.{name}")
        if change is not None:
            return Function(self.__name__, name, change(ours, theirs), theirs)
        if name in ("c_", "r_"):
            return AxisConcatenator(ours, theirs)
        if ours is theirs or not callable(ours):
            return ours
        if isinstance(theirs, np.ufunc):
            return UFunc(self.__name__, name, ours, theirs)
        if isinstance(theirs, type) or isinstance(ours, type):
            return ours
        return Function(self.__name__, name, ours, theirs)

    def __dir__(self) -> list[str]:
        return dir(self._theirs)


def program_module(name: str) -> ModuleType | None:
    """Return the program's module for a dotted name of NumPy's, or None if the module stays NumPy's own."""
    module = program_modules.get(name)
    if module is None and name in _REDIRECTED and program_modules:
        module = program_modules[name] = Namespace(import_module(name), import_module(_REDIRECTED[name]))
    return module


def start_namespace(random: ModuleType | None = None) -> None:
    """Make the program's modules. `random` replaces ``numpy.random``, with clarray's module as default."""
    if not program_modules:
        program_modules["numpy"] = Namespace(np, sys.modules["clarray"])
    if random is not None:
        program_modules["numpy.random"] = random
