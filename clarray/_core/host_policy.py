"""What clarray may do on its own and how much it may take, decided by the user: `clarray.config`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from clarray._engine.runtime.accounts import memory_limit, set_memory_limit

__all__ = ["Config", "HostFallbackWarning", "config"]

POLICIES = ("raise", "warn", "allow")
SETTINGS: dict[str, tuple[Any, ...]] = {
    "host_fallback": POLICIES,
    "host_library": POLICIES,
    "thumbnails": (False, True),
}


class HostFallbackWarning(RuntimeWarning):
    """A function has run on the host."""


class Config:
    """Settings of the process; call it for other ones within a block.

    Attributes
    ----------
    host_fallback : {'raise', 'warn', 'allow'}
        What a NumPy function that clarray does not have does when it is given device arrays: raise
        TypeError (the default), or run on the host, with a `HostFallbackWarning` or without, and
        give its result back on the device.
    host_library : {'allow', 'warn', 'raise'}
        What a function of clarray's does that is documented to work through a library on the host:
        the factorizations of `clarray.linalg` that the device does not do, `clarray.fft` where the host is quicker
        (:doc:`fft`), and `multivariate_normal`, which factorizes the covariances.
        It runs (the default), warns and runs, or raises TypeError.
    thumbnails : bool
        Whether notebooks show a picture of arrays that may be images beside what they are; not unless it is set.
    memory_limit : int, str or None
        How much this process may take of each memory: of the host's, for all devices that work in it together, and of
        each other device's own. Bytes, a number with a unit (``"1.5GiB"``, ``"800MB"``) or a percentage (``"50%"``);
        None for all there is. It begins as CLARRAY_MEMORY_LIMIT says. It is the whole process's, and so no block
        has another one.

    Examples
    --------
    >>> from clarray._core.host_policy import Config
    >>> config = Config()
    >>> with config(host_fallback="allow"):
    ...     config.host_fallback
    'allow'
    >>> config.memory_limit = "16 GiB"
    >>> config
    <config host_fallback='raise' host_library='allow' thumbnails=False memory_limit=17179869184>
    >>> config.memory_limit = None
    """

    __slots__ = ("_default", "_here")

    def __init__(self) -> None:
        self._default: dict[str, Any] = {"host_fallback": "raise", "host_library": "allow", "thumbnails": False}
        self._here: ContextVar[dict[str, Any]] = ContextVar("clarray config")

    def _get(self, name: str) -> Any:
        return self._here.get({}).get(name, self._default[name])

    @property
    def host_fallback(self) -> str:
        return str(self._get("host_fallback"))

    @host_fallback.setter
    def host_fallback(self, value: str) -> None:
        self._default["host_fallback"] = _checked("host_fallback", value)

    @property
    def host_library(self) -> str:
        return str(self._get("host_library"))

    @host_library.setter
    def host_library(self, value: str) -> None:
        self._default["host_library"] = _checked("host_library", value)

    @property
    def thumbnails(self) -> bool:
        return bool(self._get("thumbnails"))

    @thumbnails.setter
    def thumbnails(self, value: bool) -> None:
        self._default["thumbnails"] = _checked("thumbnails", value)

    @property
    def memory_limit(self) -> int | str | None:
        limit = memory_limit()
        return None if limit is None else limit.value

    @memory_limit.setter
    def memory_limit(self, value: Any) -> None:
        set_memory_limit(value)

    @contextmanager
    def __call__(
        self,
        *,
        host_fallback: str | None = None,
        host_library: str | None = None,
        thumbnails: bool | None = None,
    ) -> Iterator[Config]:
        """Settings for a block of code, in this thread or task only; None leaves one as it is."""
        given = {"host_fallback": host_fallback, "host_library": host_library, "thumbnails": thumbnails}
        changed = {name: _checked(name, value) for name, value in given.items() if value is not None}
        token = self._here.set({**self._here.get({}), **changed})
        try:
            yield self
        finally:
            self._here.reset(token)

    def __repr__(self) -> str:
        settings = " ".join(f"{name}={self._get(name)!r}" for name in self._default)
        return f"<config {settings} memory_limit={self.memory_limit!r}>"


def _checked(name: str, value: Any) -> Any:
    allowed = SETTINGS[name]
    if value not in allowed:
        wanted = ", ".join(map(repr, allowed))
        raise ValueError(f"{name} must be one of {wanted}, not {value!r}")
    return value


config = Config()
