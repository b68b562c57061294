"""Region programs: functions of ordinary NumPy text, of which each could be one kernel or a few.

Each module has `inputs(n, rng)`, which returns ndarrays with about `n` elements, and `compute(np, *arrays)`, which
returns a tuple. `compute` takes its array module as `np` and writes to no array, so `jax.jit` and `torch.compile` can
trace the same text. A module whose program is one expression has it as `NUMEXPR` too.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import Any

import numpy as np

PROGRAMS: dict[str, ModuleType] = {
    info.name: importlib.import_module(f"{__name__}.{info.name}")
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda info: info.name)
}


def draw(name: str, n: int) -> tuple[np.ndarray, ...]:
    """Return the inputs of a program: the same ones in every process."""
    return PROGRAMS[name].inputs(n, np.random.default_rng(sum(map(ord, name))))


class Counted(np.ndarray):
    """An ndarray that counts the NumPy functions that compute something of it."""

    calls = 0

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        Counted.calls += 1
        if "out" in kwargs:
            kwargs["out"] = tuple(map(_plain, kwargs["out"]))
        return _counted(getattr(ufunc, method)(*map(_plain, inputs), **kwargs))

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        Counted.calls += func is np.where
        return _counted(super().__array_function__(func, types, args, kwargs))


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, Counted) else value


def _counted(value: Any) -> Any:
    return np.asarray(value).view(Counted) if isinstance(value, np.ndarray | np.generic) else value


def count_operations(name: str) -> int:
    """Return the number of NumPy's ufunc calls, reductions and selections in one run of a program."""
    Counted.calls = 0
    PROGRAMS[name].compute(np, *(x.view(Counted) for x in draw(name, 4096)))
    return Counted.calls
