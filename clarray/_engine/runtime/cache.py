"""Cache bytes on disk for later processes: compiled programs, and measurements of devices.

    file = magic | sha256 of key and payload | payload

Writers rename a complete file to its name, so readers see all of it or nothing. A file that was truncated,
overwritten, made by another program or stored under another key fails its checksum, and counts as absent. If the cache
cannot be used (read-only home, full disk), everything is compiled again without an error. A folder that another user
can change is not used: see `private_files`. A private temporary folder replaces it until the process ends.
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
_MAX_FILE_BYTES = 64 << 20  # bytes of a file: programs have up to 3 MB
_STALE_SECONDS = 3600.0


def chosen_folder() -> Path:
    """Return the configured folder: CLARRAY_CACHE_DIR, or the user's cache folder."""
    chosen = os.environ.get("CLARRAY_CACHE_DIR")
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_dir  # imported late, since most tests set the variable

    try:
        folder = Path(user_cache_dir("clarray", appauthor=False))
    except RuntimeError:  # HOME is not set and the user database has no entry
        return _NOWHERE
    return folder if folder.is_absolute() else _NOWHERE  # a user without a home has no cache


def cache_folder() -> Path:
    """Return the folder of all caches: the configured one, or a temporary one if other users can change that."""
    chosen = chosen_folder()
    folder = _in_force.get(chosen)
    return folder if folder is not None else _in_force.setdefault(chosen, _private(chosen))


def cache_refusal() -> NotPrivateError | None:
    """Return the reason why the configured folder is not used, or None if it is used."""
    folder = chosen_folder()
    for path in (folder, *(folder / name for name in (*CACHES, "trials"))):
        refused = private_files.refusal(path, above="replace")
        if refused is not None:
            return refused
    return None


_NOWHERE = Path(os.devnull, "clarray")
_in_force: dict[Path, Path] = {}  # the folder of the caches by the configured folder
after_fork_in_child(_in_force.clear)  # the parent removes its temporary folder


def _private(chosen: Path) -> Path:
    refused = cache_refusal()
    if refused is None:
        return chosen
    try:
        folder = private_files.remove_at_exit(private_files.temporary_folder("clarray-cache-"))
    except OSError:
        folder = _NOWHERE
    private_files.warn_later(
        f"clarray keeps nothing in {chosen}, so that each process compiles anew: {refused}. To mend it, "
        f"{refused.advice('CLARRAY_CACHE_DIR')}"
    )
    return folder


def disk_cache(name: str) -> DiskCache:
    """Return the cache with a name of `CACHES`."""
    assert name in CACHES
    return DiskCache(cache_folder() / name)


def cache_key(*parts: str) -> str:
    """Return a file name for the given texts and this version of clarray."""
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
        The folder. The first `store` creates it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._private = PrivateFolder(folder)
        self._pruned = False

    def load(self, key: str) -> bytes | None:
        """Return the payload of a key, or None if there is no intact file."""
        data = self._read(key, used=True)
        payload = None if data is None else _payload(key, data)
        if data is not None and payload is None:
            self.discard(key)
        return payload

    def _read(self, key: str, used: bool = False) -> bytes | None:
        try:
            return self._private.read(key, _MAX_FILE_BYTES, used)
        except (OSError, MemoryError):
            return None

    def store(self, key: str, payload: bytes) -> None:
        """Store a payload under a key and replace an older one. A payload too large to be read is not stored."""
        if len(payload) < _MAX_FILE_BYTES - len(_MAGIC) - _CHECKSUM:
            with contextlib.suppress(OSError):
                self._private.write(key, _head(key, payload), payload)
        if not self._pruned:
            self._pruned = True
            self._prune()

    def files(self) -> list[tuple[str, os.stat_result]]:
        """List the stored files, and temporary files of killed processes."""
        with contextlib.suppress(OSError):
            return self._private.files()
        return []

    def is_intact(self, key: str) -> bool:
        """Return whether the file of a key is intact. A damaged file is not removed."""
        data = self._read(key)
        return data is not None and _payload(key, data) is not None

    def has(self, key: str) -> bool:
        """Return whether there is a file for a key, intact or not."""
        with contextlib.suppress(OSError):
            self._private.status(key)
            return True
        return False

    def discard(self, key: str) -> None:
        """Remove the file of a key."""
        with contextlib.suppress(OSError):
            self._private.remove(key)

    def load_json(self, key: str) -> dict[str, object] | None:
        """Return a dictionary that `store_json` has stored, or None if there is none."""
        payload = self.load(key)
        if payload is None:
            return None
        try:
            fields = json.loads(payload)
        except (ValueError, RecursionError):  # an intact file that is not JSON
            return None
        return fields if isinstance(fields, dict) else None

    def store_json(self, key: str, value: dict[str, object]) -> None:
        """Store a dictionary of plain values."""
        self.store(key, json.dumps(value).encode())

    def _prune(self) -> None:
        """Remove temporary files of killed processes, and the least recently used files beyond the limit."""
        now = time.time()
        total = 0
        for name, info in sorted(self.files(), key=lambda file: file[1].st_mtime, reverse=True):
            total += info.st_size
            is_leftover = name.endswith(".tmp") and now - info.st_mtime > _STALE_SECONDS
            if is_leftover or total > _LIMIT_BYTES:
                self.discard(name)


def _payload(key: str, data: bytes) -> bytes | None:
    """Return the payload of a file, or None if its checksum does not fit the key and the payload."""
    start = len(_MAGIC) + _CHECKSUM
    payload = data[start:]
    return payload if data[:start] == _head(key, payload) else None


def _head(key: str, payload: bytes) -> bytes:
    digest = hashlib.sha256(key.encode())
    digest.update(payload)
    return _MAGIC + digest.digest()
