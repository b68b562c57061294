"""The user's settings, `clarray.config`: policies, checks, displays, and the limit of memory."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from clarray._core import elements
from clarray._engine.expr import growth
from clarray._engine.runtime.memory_budget import memory_limit, set_memory_limit
from clarray._engine.threads import collector_off
from clarray._engine.weights import WEIGHT_LIMIT

__all__ = ["Config", "HostFallbackWarning", "config"]

POLICIES = ("raise", "warn", "allow")
SETTINGS: dict[str, tuple[Any, ...]] = {
    "host_fallback": POLICIES,
    "host_library": POLICIES,
    "check_finite": (False, True),
    "show_device": (False, True),
    "thumbnails": ("images", False, True),
    "elements": ("scalars", "arrays"),
    "evaluation": ("regions", "statements"),
}


class HostFallbackWarning(RuntimeWarning):
    """Warn that a function has run on the host, with copies of the arrays.

    `clarray.config.host_fallback` and `clarray.config.host_library` ask for this warning with the value ``'warn'``.

    Examples
    --------
    >>> import clarray, warnings
    >>> square = clarray.vectorize(lambda value: value * value)
    >>> with warnings.catch_warnings(record=True) as caught, clarray.config(host_library="warn"):
    ...     warnings.simplefilter("always")
    ...     result = square(clarray.arange(3))
    >>> caught[0].category.__name__
    'HostFallbackWarning'
    """


class Config:
    """Read and change the settings of this process: `clarray.config`.

    Assign to an attribute to change a setting for the whole process. Call ``clarray.config(...)`` in a ``with``
    statement to change settings for a block of code, in this thread or task only.

    Attributes
    ----------
    host_fallback : {'raise', 'warn', 'allow'}
        What happens if a NumPy function that clarray lacks is called with device arrays. 'raise' (the default) raises
        TypeError. 'warn' and 'allow' run the function on the host, with or without a `HostFallbackWarning`, and return
        its result on the device.
    host_library : {'allow', 'warn', 'raise'}
        What happens if a function of clarray computes on the host. Such functions are the factorizations of
        `clarray.linalg` that the device does not compute, `clarray.fft` if the host is faster, `multivariate_normal`,
        `vectorize`, `frompyfunc`, and calls with device arrays together with arrays that no device holds. 'allow' (the
        default) runs the function, 'warn' warns and runs it, and 'raise' raises TypeError.
    check_finite : bool
        Whether the first call that computes a NaN or an infinity from finite values raises FloatingPointError, because
        a device cannot emit NumPy's warnings. If True, each call is computed immediately and checked. False (the
        default) costs nothing. The environment variable CLARRAY_CHECK_FINITE (0 or 1) sets the initial value.
    show_device : bool
        Whether interactive prompts (Python, IPython, text in notebooks) name an array's device after its elements. True
        by default. `repr`, `str` and `print` always give NumPy's text. The environment variable CLARRAY_SHOW_DEVICE
        (0 or 1) sets the initial value.
    thumbnails : {'images', True, False}
        Which arrays notebooks show as a picture: colour images, in place of their elements ('images', the default), all
        arrays that may be images (True), or none (False). A colour image has the dtype uint8, three axes, and 3 or 4
        channels on the last axis.
    elements : {'scalars', 'arrays'}
        What an element of an array in host memory is: a NumPy scalar, or a 0-d device array that behaves as one, as on
        a GPU. The Array API standard requires arrays, and libraries that use it do not accept scalars together with
        arrays. The environment variable CLARRAY_ELEMENTS sets the initial value. Without it, the initial value is
        'arrays' if SCIPY_ARRAY_API is set, else 'scalars'. A block of code cannot change this setting.
    evaluation : {'regions', 'statements'}
        When values are computed. 'regions' (the default) computes many statements in one pass over memory, when a value
        is needed. 'statements' computes each statement by itself, which takes more memory and time. Both give the same
        bits. So 'statements' tells whether a wrong value comes from a statement or from a pass over several. A block of
        code cannot change this setting.
    memory_limit : int, str or None
        How much memory this process may allocate. All devices that work in host memory share one limit, and each other
        device has a separate limit. A number of bytes, a number with a unit (``"1.5GiB"``, ``"800MB"``) or a percentage
        (``"50%"``). None means no limit. The environment variable CLARRAY_MEMORY_LIMIT sets the initial value. A block
        of code cannot change this setting.

    Examples
    --------
    >>> import clarray
    >>> with clarray.config(host_fallback="allow"):
    ...     clarray.config.host_fallback
    'allow'
    >>> clarray.config.host_fallback
    'raise'
    """

    __slots__ = ("_checking", "_default", "_here", "_lock", "_on", "_switch")

    def __init__(self) -> None:
        checks = os.environ.get("CLARRAY_CHECK_FINITE", "0") not in ("", "0")
        self._default: dict[str, Any] = {
            "host_fallback": "raise",
            "host_library": "allow",
            "check_finite": checks,
            "show_device": os.environ.get("CLARRAY_SHOW_DEVICE", "1") not in ("", "0"),
            "thumbnails": "images",
        }
        self._here: ContextVar[dict[str, Any]] = ContextVar("clarray config")
        self._lock = threading.RLock()
        self._checking = 0  # blocks whose calls are checked
        self._on = False
        self._switch: Callable[[bool], None] | None = None

    def _get(self, name: str) -> Any:
        return self._here.get({}).get(name, self._default[name])

    @property
    def host_fallback(self) -> str:
        return str(self._get("host_fallback"))

    @host_fallback.setter
    def host_fallback(self, value: str) -> None:
        self._default["host_fallback"] = _check_setting("host_fallback", value)

    @property
    def host_library(self) -> str:
        return str(self._get("host_library"))

    @host_library.setter
    def host_library(self, value: str) -> None:
        self._default["host_library"] = _check_setting("host_library", value)

    @property
    def check_finite(self) -> bool:
        return bool(self._get("check_finite"))

    @check_finite.setter
    def check_finite(self, value: bool) -> None:
        self._default["check_finite"] = _check_setting("check_finite", value)
        self._count_checks(0)

    def watch(self, switch: Callable[[bool], None]) -> None:
        """Register a function that is called when the checks of calls are turned on or off for the process."""
        self._switch = switch
        self._count_checks(0)

    def _count_checks(self, blocks: int) -> None:
        """Add to the number of blocks whose calls are checked."""
        with self._lock:
            self._checking += blocks
            self._update_switch()

    def _update_switch(self) -> None:
        while self._switch is not None:
            on = self._default["check_finite"] or self._checking > 0
            if on == self._on:
                break
            self._on = on  # before the call, since a re-entrant call may turn it back
            self._switch(on)

    @property
    def show_device(self) -> bool:
        return bool(self._get("show_device"))

    @show_device.setter
    def show_device(self, value: bool) -> None:
        self._default["show_device"] = _check_setting("show_device", value)

    @property
    def thumbnails(self) -> bool | str:
        thumbnails_setting: bool | str = self._get("thumbnails")
        return thumbnails_setting

    @thumbnails.setter
    def thumbnails(self, value: bool | str) -> None:
        self._default["thumbnails"] = _check_setting("thumbnails", value)

    @property
    def elements(self) -> str:
        return "scalars" if elements.setting.at_hand else "arrays"

    @elements.setter
    def elements(self, value: str) -> None:
        elements.setting.set(_check_setting("elements", value) == "scalars")

    @property
    def evaluation(self) -> str:
        return "regions" if growth.limit.weight else "statements"

    @evaluation.setter
    def evaluation(self, value: str) -> None:
        growth.limit.set(WEIGHT_LIMIT if _check_setting("evaluation", value) == "regions" else 0)

    @property
    def memory_limit(self) -> int | str | None:
        limit = memory_limit()
        return None if limit is None else limit.setting

    @memory_limit.setter
    def memory_limit(self, value: Any) -> None:
        set_memory_limit(value)

    @contextmanager
    def __call__(
        self,
        *,
        host_fallback: str | None = None,
        host_library: str | None = None,
        check_finite: bool | None = None,
        show_device: bool | None = None,
        thumbnails: bool | str | None = None,
    ) -> Iterator[Config]:
        """Change settings for a block of code, in this thread or task only. None keeps a setting."""
        arguments = {
            "host_fallback": host_fallback,
            "host_library": host_library,
            "check_finite": check_finite,
            "show_device": show_device,
            "thumbnails": thumbnails,
        }
        changed = {name: _check_setting(name, value) for name, value in arguments.items() if value is not None}
        with collector_off:
            token = self._here.set({**self._here.get({}), **changed})
        checks = bool(changed.get("check_finite"))
        self._count_checks(checks)
        try:
            yield self
        finally:
            self._count_checks(-checks)
            with collector_off:
                self._here.reset(token)

    def __repr__(self) -> str:
        settings = " ".join(f"{name}={self._get(name)!r}" for name in self._default)
        return f"<config {settings} memory_limit={self.memory_limit!r}>"


def _check_setting(name: str, value: Any) -> Any:
    allowed = SETTINGS[name]
    if value not in allowed:
        choices = ", ".join(map(repr, allowed))
        raise ValueError(f"{name} must be one of {choices}, not {value!r}")
    return value


config = Config()
