"""Bytes kept on disk between processes: compiled programs, and what was learnt about a device.

    file = magic | sha256 of key and payload | payload

Writers rename a finished file into place, so readers see all of it or nothing; a file that was cut
short, overwritten, made by something else or stored under another key fails its checksum and counts
as absent. A cache that cannot be used (read-only home, full disk) is no error: everything is compiled
again. In a folder that another user can change nothing is read or written: see `private_files`. A private folder in
the place for temporary files stands in for it, until the process ends.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from pathlib import Path

from clarray._engine.runtime import private_files
from clarray._engine.runtime.forking import after_fork_in_child
from clarray._engine.runtime.private_files import NotPrivateError, PrivateFolder
from clarray._engine.version import __version__

CACHES = ("programs", "devices", "templates", "tuning")  # folders in `cache_folder`
_MAGIC = b"clarray cache 2\n"
_CHECKSUM = 32
_LIMIT_BYTES = 1 << 30
_LARGEST = 64 << 20  # bytes of a file: programs take up to 3 MB
_STALE_SECONDS = 3600.0


def chosen_folder() -> Path:
    """Give the folder that is asked for: CLARRAY_CACHE_DIR, or the user's cache folder."""
    chosen = os.environ.get("CLARRAY_CACHE_DIR")
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_dir  # here, since most runs of a test set the variable

    try:
        folder = Path(user_cache_dir("clarray", appauthor=False))
    except RuntimeError:  # HOME is not set and the user database has no entry
        return _NOWHERE
    return folder if folder.is_absolute() else _NOWHERE  # a user without a home keeps nothing


def cache_folder() -> Path:
    """Give the folder of all of clarray's caches: the chosen one, or a temporary one if others can change that."""
    chosen = chosen_folder()
    found = _in_force.get(chosen)
    return found if found is not None else _in_force.setdefault(chosen, _private(chosen))


def cache_refusal() -> NotPrivateError | None:
    """Give why the chosen folder is not used; None where it is."""
    folder = chosen_folder()
    for each in (folder, *(folder / name for name in (*CACHES, "trials"))):
        refused = private_files.refusal(each, above="replace")
        if refused is not None:
            return refused
    return None


_NOWHERE = Path(os.devnull, "clarray")
_in_force: dict[Path, Path] = {}  # by the folder that is chosen
after_fork_in_child(_in_force.clear)  # a temporary folder goes with the process that has made it


def _private(chosen: Path) -> Path:
    refused = cache_refusal()
    if refused is None:
        return chosen
    try:
        folder = private_files.keep_until_exit(private_files.temporary_folder("clarray-cache-"))
    except OSError:
        folder = _NOWHERE
    private_files.warn_later(
        f"clarray keeps nothing in {chosen}, so that each process compiles anew: {refused}. To mend it, "
        f"{refused.advice('CLARRAY_CACHE_DIR')}"
    )
    return folder


def cache_of(name: str) -> DiskCache:
    """Return the cache of this name, one of CACHES."""
    assert name in CACHES
    return DiskCache(cache_folder() / name)


def key_of(*parts: str) -> str:
    """Give a file name for these texts and this version of clarray."""
    digest = hashlib.sha256()
    for part in (__version__, *parts):
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


class DiskCache:
    """A folder of checksummed files.

    Parameters
    ----------
    folder : Path
        Made when something is first stored.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._private = PrivateFolder(folder)
        self._pruned = False

    def load(self, key: str) -> bytes | None:
        """Read what was stored under a key; None where there is nothing, or nothing sound."""
        data = self._read(key, used=True)
        payload = None if data is None else _payload(key, data)
        if data is not None and payload is None:
            self.discard(key)
        return payload

    def _read(self, key: str, used: bool = False) -> bytes | None:
        try:
            return self._private.read(key, _LARGEST, used)
        except (OSError, MemoryError):
            return None

    def store(self, key: str, payload: bytes) -> None:
        """Write a payload under a key, replacing what was there; one that is too large to be read is not written."""
        if len(payload) < _LARGEST - len(_MAGIC) - _CHECKSUM:
            with contextlib.suppress(OSError):
                self._private.write(key, _head(key, payload), payload)
        if not self._pruned:
            self._pruned = True
            self._prune()

    def files(self) -> list[tuple[str, os.stat_result]]:
        """List what is stored, and what killed processes left."""
        with contextlib.suppress(OSError):
            return self._private.files()
        return []

    def is_sound(self, key: str) -> bool:
        """Whether what is stored under a key is what was stored; it is left where it is."""
        data = self._read(key)
        return data is not None and _payload(key, data) is not None

    def has(self, key: str) -> bool:
        """Whether there is anything under a key, sound or not."""
        with contextlib.suppress(OSError):
            self._private.status(key)
            return True
        return False

    def discard(self, key: str) -> None:
        """Forget what was stored under a key."""
        with contextlib.suppress(OSError):
            self._private.remove(key)

    def load_json(self, key: str) -> dict[str, object] | None:
        """Read a dictionary stored with `store_json`."""
        payload = self.load(key)
        if payload is None:
            return None
        try:
            found = json.loads(payload)
        except (ValueError, RecursionError):  # sound bytes that are no JSON
            return None
        return found if isinstance(found, dict) else None

    def store_json(self, key: str, value: dict[str, object]) -> None:
        """Write a dictionary of plain values."""
        self.store(key, json.dumps(value).encode())

    def _prune(self) -> None:
        """Drop what killed processes left, and beyond the limit the files that have not been used for longest."""
        now = time.time()
        total = 0
        for name, info in sorted(self.files(), key=lambda file: file[1].st_mtime, reverse=True):
            total += info.st_size
            left_over = name.endswith(".tmp") and now - info.st_mtime > _STALE_SECONDS
            if left_over or total > _LIMIT_BYTES:
                self.discard(name)


def _payload(key: str, data: bytes) -> bytes | None:
    """Give what a file holds; None if it is not what was stored under this key."""
    start = len(_MAGIC) + _CHECKSUM
    payload = data[start:]
    return payload if data[:start] == _head(key, payload) else None


def _head(key: str, payload: bytes) -> bytes:
    digest = hashlib.sha256(key.encode())
    digest.update(payload)
    return _MAGIC + digest.digest()
