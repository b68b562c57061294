"""Keys of cached binaries that this process uses for the first time, noted on disk in case one crashes the process.

A binary can be intact and complete and yet crash the process that loads or first launches it, for example after a
change of the driver without a new version, or by a fault of a compiler. So the key of the binary stands in a file of
this process until the first launch has succeeded. The file is locked while the process lives, and removed at exit. A
file that no process has locked names binaries that have crashed their process. The next process removes these from the
cache before it loads any.
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
except ImportError:  # Windows: there is no quarantine
    fcntl = None  # type: ignore[assignment]

_KEY = r"[0-9a-f]{64}"
_STALE_SECONDS = 60.0


class Quarantine:
    """The keys of one cache whose binaries this process has not seen to work.

    Parameters
    ----------
    cache : DiskCache
        The constructor removes the binaries that have crashed earlier processes.
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

    def add(self, key: str) -> None:
        """Note that the binary of a key is about to be used."""
        self._keys.add(key)
        self._write()

    def remove(self, key: str) -> None:
        """Note that the binary of a key works."""
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
                self._discard_crashed(cache, name)

    def _discard_crashed(self, cache: DiskCache, name: str) -> None:
        handle = self._folder.open(name, os.O_RDWR)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # an error if its process lives
            keys = re.findall(_KEY, os.read(handle, 1 << 16).decode("ascii", "replace"))
            for key in keys:
                cache.discard(key)
            if keys or time.time() - os.fstat(handle).st_mtime > _STALE_SECONDS:  # a new file may not be locked yet
                self._folder.remove(name)
        finally:
            os.close(handle)

    def close(self, inherited: bool = False) -> None:
        """Remove the file, or only close its descriptor if a forked process has inherited it."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            if not inherited:
                with contextlib.suppress(OSError):
                    self._folder.remove(self._name)
            os.close(handle)


_quarantines: dict[Path, Quarantine] = {}  # by the cache's folder


def find_quarantine(cache: DiskCache) -> Quarantine:
    """Return this process's quarantine of a cache."""
    quarantine = _quarantines.get(cache.folder)
    return quarantine if quarantine is not None else _quarantines.setdefault(cache.folder, Quarantine(cache))


@atexit.register
def _close_all(inherited: bool = False) -> None:
    while _quarantines:
        _quarantines.popitem()[1].close(inherited)


after_fork_in_child(lambda: _close_all(inherited=True))
