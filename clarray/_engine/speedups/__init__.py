"""The compiled core: twins in C++ of the functions that every small statement passes through.

The Python functions are the reference (PEP 399): a twin does the common case as they do and hands them the rest, so
both give the same values, nodes and errors. Where there was no compiler, or with ``CLARRAY_PURE=1``, they do all of it.
"""

from __future__ import annotations

import ctypes
import os
import threading
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar, overload

Function = TypeVar("Function", bound=Callable[..., Any])

_OPENCL = ("clSetKernelArg", "clEnqueueNDRangeKernel")

_INTERFACE = 27  # between these modules and the core; a core of another one is left alone


_COPIED = 10  # seconds that copies of the files of one build may be apart


def _is_stale(built: Path) -> bool:
    """Whether a core is older than sources that lie beside it, as in a checkout that has been brought up to date."""
    since = built.stat().st_mtime + _COPIED
    return any(source.stat().st_mtime > since for source in built.parent.glob("*.?pp"))


_NOT_BUILT = "not built: there was no C++ compiler when clarray was installed; small statements take longer"


def _load() -> tuple[Any, str]:
    """Give the core, None where it is not used, and a line that says so."""
    if os.environ.get("CLARRAY_PURE", "0") not in ("", "0"):
        return None, "not in force: CLARRAY_PURE is set"
    try:
        found = import_module("._speedups", __name__)
    except ImportError as error:
        built = any(Path(__file__).parent.glob("_speedups.*"))
        return None, f"not in force, it does not load: {error}" if built else _NOT_BUILT
    old = ""
    if found.INTERFACE != _INTERFACE:
        old = "is of another version and is not used: install again"
    elif _is_stale(Path(str(found.__file__))):
        old = "is older than its sources and is not used: build it again"
    if old:
        warnings.warn(f"clarray's compiled core {old}", stacklevel=2)
        return None, f"not in force: it {old}"
    return (found, "in force") if found.claim() else (None, "not in force: another copy of clarray's modules has it")


core: Any
core, core_state = _load()
references: dict[str, Callable[..., Any]] = {}  # the Python functions that have twins


def reentrant_lock() -> Any:
    """Give a lock like `threading.RLock`: the core's own where there is one, which it takes without calling Python."""
    return threading.RLock() if core is None else core.Lock()


def accelerated(function: Function) -> Function:
    """Give a function's compiled twin; itself where there is none."""
    references[function.__name__] = function
    if core is None:
        return function
    twin: Function = core.native_function(function)
    return twin


@overload
def recorded(function: Function) -> Function: ...
@overload
def recorded(*, operands: int) -> Callable[[Function], Function]: ...
def recorded(function: Any = None, *, operands: int = 0) -> Any:
    """Decorator for a function whose calls with like operands make the same launches.

    The core then makes the launches again, see `clarray._engine.runtime.capture`. It finds out by itself which calls
    these are; a function for which it is never so only loses the time for looking.

    Parameters
    ----------
    operands : int
        How many of the first arguments are only read, by a function that returns new memory. Ndarrays among them become
        device arrays before the call is looked up, and if there are several operands, lists of numbers do so too.
    """
    decorate = partial(_standing_for, operands=operands)
    return decorate if function is None else decorate(function)


def recorded_writes(function: Function) -> Function:
    """The same of a function that only writes what it is given, so that it may be called twice in place of once."""
    return _standing_for(function, repeatable=True)


@overload
def recorded_growth(function: Function) -> Function: ...
@overload
def recorded_growth(*, operands: int) -> Callable[[Function], Function]: ...
def recorded_growth(function: Any = None, *, operands: int = 0) -> Any:
    """The same of a function that only grows expressions from its operands: pending ones stay as they are."""
    decorate = partial(_standing_for, grows=True, operands=operands)
    return decorate if function is None else decorate(function)


def _standing_for(function: Function, repeatable: bool = False, grows: bool = False, operands: int = 0) -> Function:
    if core is None:
        return function
    kind = repeatable, grows, operands
    found: Function = core.Captured(function, *kind)
    _kinds[id(found)] = found, kind
    return found


def around_recorded(function: Function, wrap: Callable[[Function], Function]) -> Function:
    """Wrap what is called where the core does not repeat the launches of a call; of any other function all calls."""
    if id(function) not in _kinds:
        return wrap(function)
    _, kind = _kinds[id(function)]
    return _standing_for(wrap(function.__wrapped__), *kind)  # type: ignore[attr-defined]


_kinds: dict[int, tuple[Any, tuple[bool, bool, int]]] = {}  # of what stands for functions; they live for good


def lend_opencl(library: str, profiling: Any) -> None:
    """Lend the core the functions of the OpenCL library that another library has loaded.

    Parameters
    ----------
    library : str
        File of the other library.
    profiling : object
        Whose attribute `recorder` is None while nothing is recorded.
    """
    if core is not None:
        try:
            loaded = ctypes.CDLL(library)
            found = [ctypes.cast(getattr(loaded, name), ctypes.c_void_p).value for name in _OPENCL]
        except (AttributeError, OSError):  # where a library does not show what it has loaded itself
            found = [0, 0]
        core.lend(*found, profiling)
