"""What clarray may do on its own, decided by the user: `clarray.config`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Config", "HostFallbackWarning", "config"]

HOST_FALLBACK = ("raise", "warn", "allow")


class HostFallbackWarning(RuntimeWarning):
    """A function without a device implementation has run on the host."""


class Config:
    """Settings of the process; call it for other ones within a block.

    Attributes
    ----------
    host_fallback : {'raise', 'warn', 'allow'}
        What a NumPy function that clarray has no device implementation of does when it is given
        device arrays: raise TypeError (the default), or run on the host, with a
        `HostFallbackWarning` or without, and give its result back on the device.

    Examples
    --------
    >>> from clarray.config import Config
    >>> config = Config()
    >>> with config(host_fallback="allow"):
    ...     config.host_fallback
    'allow'
    >>> config.host_fallback
    'raise'
    """

    __slots__ = ("_default", "_here")

    def __init__(self) -> None:
        self._default = "raise"
        self._here: ContextVar[str] = ContextVar("clarray host_fallback")

    @property
    def host_fallback(self) -> str:
        return self._here.get(self._default)

    @host_fallback.setter
    def host_fallback(self, value: str) -> None:
        self._default = _checked(value)

    @contextmanager
    def __call__(self, *, host_fallback: str) -> Iterator[Config]:
        """Settings for a block of code, in this thread or task only."""
        token = self._here.set(_checked(host_fallback))
        try:
            yield self
        finally:
            self._here.reset(token)

    def __repr__(self) -> str:
        return f"<config host_fallback={self.host_fallback!r}>"


def _checked(value: str) -> str:
    if value not in HOST_FALLBACK:
        wanted = ", ".join(map(repr, HOST_FALLBACK))
        raise ValueError(f"host_fallback must be one of {wanted}, not {value!r}")
    return value


config = Config()
