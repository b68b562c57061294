"""The Python that pyopencl generates to set a kernel's arguments, kept in memory.

pyopencl keeps it in a database in the user's cache folder. Where that cannot be written (read-only, a full disk, a
damaged file) no kernel can be made at all; and opening it takes 15 ms, generating the code half of one.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pyopencl as cl

from clarray._engine.threads import import_whole


class _InMemory(dict[Any, Any]):
    store_if_not_present = dict.setdefault


@cache
def keep_in_memory() -> None:
    """See to it before the first kernel is made."""
    wanted = cl._PYOPENCL_NO_CACHE
    cl._PYOPENCL_NO_CACHE = True  # while it is imported, which opens the database
    try:
        invoker = import_whole("pyopencl.invoker")
    finally:
        cl._PYOPENCL_NO_CACHE = wanted
    invoker.invoker_cache = _InMemory()
