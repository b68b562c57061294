"""What a process is trying out of the cache, told to those that come after it if that brings it down.

A binary can be sound and complete and yet crash the process that loads it or first launches it: a driver that has
changed and not its version, a compiler's fault. So its key stands in a file of the process's own for as long as that
takes. The file is locked, and removed at exit: one that nobody has locked names what has crashed its process, and the
next process drops that from the cache before it loads anything.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import time
from pathlib import Path

from clarray._engine.runtime.cache import DiskCache
from clarray._engine.runtime.forking import after_fork_in_child
from clarray._engine.runtime.private_files import PrivateFolder

try:
    import fcntl
except ImportError:  # Windows: nothing is noted
    fcntl = None  # type: ignore[assignment]

_KEY = r"[0-9a-f]{64}"
_STALE_SECONDS = 60.0


class Trials:
    """What this process tries out of one cache.

    Parameters
    ----------
    cache : DiskCache
        What crashed an earlier process is dropped from it when this is made.
    """

    def __init__(self, cache: DiskCache) -> None:
        self._folder = PrivateFolder(cache.folder.with_name("trials"))
        self._keys: set[str] = set()
        self._name = ""
        self._handle = -1
        if fcntl is not None:
            with contextlib.suppress(OSError):
                self._drop_crashed(cache)
            with contextlib.suppress(OSError):
                self._open()

    def begin(self, key: str) -> None:
        """Note that what is stored under this key is about to be tried."""
        self._keys.add(key)
        self._write()

    def end(self, key: str) -> None:
        """Note that it has gone well."""
        self._keys.discard(key)
        self._write()

    def _open(self) -> None:
        self._name = os.urandom(8).hex()
        self._handle = self._folder.open(self._name, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _write(self) -> None:
        if self._handle >= 0:
            text = "\n".join(tuple(self._keys)).encode()
            with contextlib.suppress(OSError):  # a full disk
                os.pwrite(self._handle, text, 0)
                os.ftruncate(self._handle, len(text))

    def _drop_crashed(self, cache: DiskCache) -> None:
        for name, _ in self._folder.files():
            with contextlib.suppress(OSError):
                self._drop_one(cache, name)

    def _drop_one(self, cache: DiskCache, name: str) -> None:
        handle = self._folder.open(name, os.O_RDWR)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # an error: its process lives
            keys = re.findall(_KEY, os.read(handle, 1 << 16).decode("ascii", "replace"))
            for key in keys:
                cache.discard(key)
            if keys or time.time() - os.fstat(handle).st_mtime > _STALE_SECONDS:  # the youngest: not locked yet
                self._folder.remove(name)
        finally:
            os.close(handle)

    def close(self, gone: bool = False) -> None:
        """Take the file away; in a process forked from its owner (`gone`), only let it go."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            if not gone:
                with contextlib.suppress(OSError):
                    self._folder.remove(self._name)
            os.close(handle)


_trials: dict[Path, Trials] = {}


def trials_of(cache: DiskCache) -> Trials:
    """Give this process's trials of a cache."""
    found = _trials.get(cache.folder)
    return found if found is not None else _trials.setdefault(cache.folder, Trials(cache))


@atexit.register
def _close(gone: bool = False) -> None:
    while _trials:
        _trials.popitem()[1].close(gone)


after_fork_in_child(lambda: _close(gone=True))
