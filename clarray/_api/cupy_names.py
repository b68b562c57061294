"""CuPy's names that clarray does not need itself: `fuse`, and the memory pool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clarray._api.settings import free_memory, memory_info
from clarray._core.host_policy import config

__all__ = ["MemoryPool", "fuse", "get_default_memory_pool"]


def fuse(*args: Any, kernel_name: str | None = None) -> Any:
    """Return the function unchanged. CuPy needs this decorator to fuse, and clarray fuses all expressions without it.

    Parameters
    ----------
    *args : callable
        The function, if the decorator is used without brackets.
    kernel_name : str, optional
        Ignored.

    Returns
    -------
    callable
        The function, or the decorator if there is none.

    Raises
    ------
    TypeError
        The argument is not exactly one function.

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
    """Measure and limit the current device's memory with the methods of CuPy's memory pool. See `clarray.memory_info`.

    Examples
    --------
    >>> import clarray
    >>> pool = clarray.get_default_memory_pool()
    >>> pool.total_bytes() == pool.used_bytes() + pool.free_bytes()
    True
    """

    def used_bytes(self) -> int:
        """Return the number of bytes that arrays use.

        Examples
        --------
        >>> import clarray
        >>> x = clarray.zeros(1000, clarray.int8)
        >>> clarray.get_default_memory_pool().used_bytes() >= 1000
        True
        """
        return memory_info().used

    def free_bytes(self) -> int:
        """Return the number of unused bytes that are kept for new arrays.

        Examples
        --------
        >>> import clarray
        >>> pool = clarray.get_default_memory_pool()
        >>> pool.free_all_blocks()
        >>> pool.free_bytes()
        0
        """
        return memory_info().pooled

    def total_bytes(self) -> int:
        """Return the number of bytes that arrays use or that are kept for new arrays.

        Examples
        --------
        >>> import clarray
        >>> pool = clarray.get_default_memory_pool()
        >>> pool.total_bytes() - pool.used_bytes() - pool.free_bytes()
        0
        """
        memory = memory_info()
        return memory.used + memory.pooled

    def free_all_blocks(self) -> None:
        """Return unused memory to the system: `clarray.free_memory`.

        Examples
        --------
        >>> import clarray
        >>> pool = clarray.get_default_memory_pool()
        >>> pool.free_all_blocks()
        >>> pool.free_bytes()
        0
        """
        free_memory()

    def get_limit(self) -> int:
        """Return how many bytes may be used, or 0 if there is no limit.

        Examples
        --------
        >>> import clarray
        >>> clarray.config.memory_limit = "1GiB"
        >>> clarray.get_default_memory_pool().get_limit()
        1073741824
        >>> clarray.config.memory_limit = None
        """
        return 0 if config.memory_limit is None else memory_info().limit

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        """Set `clarray.config.memory_limit`, the limit of the whole process.

        Parameters
        ----------
        size : int, optional
            Number of bytes. 0 is no limit.
        fraction : float, optional
            Part of the device's memory, from 0 to 1, instead of a number of bytes.

        Raises
        ------
        ValueError
            Both arguments are given, or neither, or the amount is impossible.

        Examples
        --------
        >>> import clarray
        >>> pool = clarray.get_default_memory_pool()
        >>> pool.set_limit(1 << 30)
        >>> clarray.config.memory_limit
        1073741824
        >>> pool.set_limit(0)
        """
        if (size is None) == (fraction is None):
            raise ValueError("set_limit takes size or fraction")
        share = f"{100 * fraction!r}%" if fraction else None
        config.memory_limit = share if size is None else (size or None)


def get_default_memory_pool() -> MemoryPool:
    """Return an object that measures and limits the current device's memory with the methods of CuPy's memory pool.

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
