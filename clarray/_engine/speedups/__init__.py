"""The compiled core: native implementations in C++ of the functions that every small statement calls.

The Python functions are the reference (PEP 399). A native function does the common case and calls its reference for
the rest, so both have the same values, nodes and errors. If there was no compiler, or with ``CLARRAY_PURE=1``, the
references do all the work. `clarray._api.native_interface` has what the core takes from Python.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar, overload

Function = TypeVar("Function", bound=Callable[..., Any])

_OPENCL = ("clSetKernelArg", "clEnqueueNDRangeKernel", "clFinish")

_INTERFACE = 44  # between these modules and the core; a core of another one is left alone


_COPIED = 10  # seconds that copies of the files of one build may be apart


def _is_stale(built: Path) -> bool:
    """Whether a core is older than sources that lie beside it, as in a checkout that has been brought up to date."""
    since = built.stat().st_mtime + _COPIED
    return any(source.stat().st_mtime > since for source in built.parent.glob("*.?pp"))


_NOT_BUILT = "not built: there was no C++ compiler when clarray was installed; small statements take longer"
_FREE_THREADED = "not built: this Python is free-threaded, and the core needs the GIL; small statements take longer"


def _why_absent(error: ImportError) -> str:
    """Return why there is no core to import."""
    if "free-threading build" in sys.version:
        return _FREE_THREADED
    built = any(Path(__file__).parent.glob("_speedups.*"))
    return f"not in force, it does not load: {error}" if built else _NOT_BUILT


def _load() -> tuple[Any, str]:
    """Give the core, None where it is not used, and a line that says so."""
    if os.environ.get("CLARRAY_PURE", "0") not in ("", "0"):
        return None, "not in force: CLARRAY_PURE is set"
    try:
        found = import_module("._speedups", __name__)
    except ImportError as error:
        return None, _why_absent(error)
    old = ""
    if found.INTERFACE != _INTERFACE:
        old = "is of another version and is not used: install again"
    elif _is_stale(Path(str(found.__file__))):
        old = "is older than its sources and is not used: build it again"
    if old:
        warnings.warn(f"clarray's compiled core {old}", stacklevel=2)
        return None, f"not in force: it {old}"
    return (found, "in force") if found.claim() else (None, "not in force: another copy of clarray's modules has it")


native: Any
native, core_state = _load()
references: dict[str, Callable[..., Any]] = {}  # the Python functions that have native implementations


def reentrant_lock() -> Any:
    """Return a lock like `threading.RLock`. The core acquires its own locks without calling Python."""
    return threading.RLock() if native is None else native.Lock()


def accelerated(function: Function) -> Function:
    """Return the native implementation of a function, or the function itself without the core."""
    references[function.__name__] = function
    if native is None:
        return function
    native_function: Function = native.native_function(function)
    return native_function


@overload
def captured(function: Function) -> Function: ...
@overload
def captured(*, operands: int) -> Callable[[Function], Function]: ...
def captured(function: Any = None, *, operands: int = 0) -> Any:
    """Decorator: capture the launches of a call, and run them for later calls with the same signature.

    See `clarray._engine.runtime.capture`. A function whose calls cannot be captured only loses the time for the lookup.

    Parameters
    ----------
    operands : int
        How many of the first arguments are only read, by a function that returns new memory. Ndarrays among them become
        device arrays before the call is looked up, and if there are several operands, lists of numbers do so too.
    """
    decorate = partial(_captured, operands=operands)
    return decorate if function is None else decorate(function)


def captured_writes(function: Function) -> Function:
    """Decorator: the same for a function that only writes its arguments, so that a second call changes nothing."""
    return _captured(function, repeatable=True)


@overload
def captured_growth(function: Function) -> Function: ...
@overload
def captured_growth(*, operands: int) -> Callable[[Function], Function]: ...
def captured_growth(function: Any = None, *, operands: int = 0) -> Any:
    """Decorator: the same for a function that only grows expressions, so that pending operands stay pending."""
    decorate = partial(_captured, grows=True, operands=operands)
    return decorate if function is None else decorate(function)


def _captured(function: Function, repeatable: bool = False, grows: bool = False, operands: int = 0) -> Function:
    if native is None:
        return function
    kind = repeatable, grows, operands
    captured_function: Function = native.Captured(function, *kind)
    _kinds[id(captured_function)] = captured_function, kind
    return captured_function


def around_captured(function: Function, wrap: Callable[[Function], Function]) -> Function:
    """Wrap the Python function of a captured function, which is called if no program runs. Wrap any other function."""
    if id(function) not in _kinds:
        return wrap(function)
    _, kind = _kinds[id(function)]
    return _captured(wrap(function.__wrapped__), *kind)  # type: ignore[attr-defined]


_kinds: dict[
    int, tuple[Any, tuple[bool, bool, int]]
] = {}  # by the id of a captured function, which lives as long as the process


def lend_opencl(library: str, profiling: Any) -> None:
    """Give the core the functions of the OpenCL library that another library has loaded.

    Parameters
    ----------
    library : str
        Path of the other library.
    profiling : object
        The state of profiles and captures, whose slots the core reads.
    """
    if native is not None:
        try:
            loaded = ctypes.CDLL(library)
            addresses = [ctypes.cast(getattr(loaded, name), ctypes.c_void_p).value for name in _OPENCL]
        except (AttributeError, OSError):  # the library does not show what it has loaded itself
            addresses = [0] * len(_OPENCL)
        native.lend(*addresses, profiling)
