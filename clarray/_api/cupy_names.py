"""What programs written for CuPy call, and clarray has under other names or does by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clarray._api.settings import free_memory, memory_info
from clarray._core.host_policy import config

__all__ = ["MemoryPool", "fuse", "get_default_memory_pool"]


def fuse(*args: Any, kernel_name: str | None = None) -> Any:
    """Give the function itself, by CuPy's name: expressions are fused without it.

    Parameters
    ----------
    *args : callable
        The function, where this decorates without brackets.
    kernel_name : str, optional
        Has no meaning here: a fused kernel is named by what it does.

    Returns
    -------
    callable
        The function; without one what gives it.

    Raises
    ------
    TypeError
        Something else than one function is given.

    Examples
    --------
    >>> import clarray
    >>> @clarray.fuse(kernel_name="squared_difference")
    ... def squared_difference(x, y):
    ...     return (x - y) * (x - y)
    >>> squared_difference(clarray.arange(3), 1).tolist()
    [1, 0, 1]
    """
    if not args:
        return fuse
    if len(args) > 1 or not callable(args[0]):
        raise TypeError("fuse takes one function, which it gives back")
    function: Callable[..., Any] = args[0]
    return function


class MemoryPool:
    """The memory of the current device, by the methods of CuPy's pool; see `clarray.memory_info`."""

    def used_bytes(self) -> int:
        """Bytes that arrays have."""
        return memory_info().used

    def free_bytes(self) -> int:
        """Bytes that wait for reuse."""
        return memory_info().pooled

    def total_bytes(self) -> int:
        """Bytes that arrays have, and that wait for reuse."""
        found = memory_info()
        return found.used + found.pooled

    def free_all_blocks(self) -> None:
        """Give memory that waits for reuse back to the system: `clarray.free_memory`."""
        free_memory()

    def get_limit(self) -> int:
        """Bytes that may be taken; 0 where there is no limit."""
        return 0 if config.memory_limit is None else memory_info().limit

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        """Set `clarray.config.memory_limit`, which is the whole process's.

        Parameters
        ----------
        size : int, optional
            Bytes; 0 for no limit.
        fraction : float, optional
            From 0 to 1, of the device's memory, in place of bytes.

        Raises
        ------
        ValueError
            Both are given, or neither, or there is no such amount.
        """
        if (size is None) == (fraction is None):
            raise ValueError("set_limit takes size or fraction")
        share = f"{100 * fraction!r}%" if fraction else None
        config.memory_limit = share if size is None else (size or None)


def get_default_memory_pool() -> MemoryPool:
    """Give the memory of the current device by the methods of CuPy's pool.

    Returns
    -------
    MemoryPool

    Examples
    --------
    >>> import clarray
    >>> pool = clarray.get_default_memory_pool()
    >>> pool.free_all_blocks()
    >>> pool.total_bytes() == pool.used_bytes()
    True
    """
    return MemoryPool()
