"""Bytes kept on disk between processes: compiled programs, and what was learnt about a device.

    file = magic | sha256 of key and payload | payload

Writers rename a finished file into place, so readers see all of it or nothing; a file that was cut
short, overwritten, made by something else or stored under another key fails its checksum and counts
as absent. A cache that cannot be used (read-only home, full disk) is no error: everything is compiled
again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
from pathlib import Path

from clarray._engine.version import __version__

CACHES = ("programs", "devices", "templates", "tuning")  # folders in `cache_folder`
_MAGIC = b"clarray cache 2\n"
_CHECKSUM = 32
_LIMIT_BYTES = 512 << 20
_STALE_SECONDS = 3600.0


def cache_folder() -> Path:
    """Give the folder of all of clarray's caches: CLARRAY_CACHE_DIR, or the user's cache folder."""
    chosen = os.environ.get("CLARRAY_CACHE_DIR")
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_dir  # here, since most runs of a test set the variable

    folder = Path(user_cache_dir("clarray", appauthor=False))
    return folder if folder.is_absolute() else Path(os.devnull, "clarray")  # a user without a home keeps nothing


def cache_of(name: str) -> DiskCache:
    """Give one of CACHES."""
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
        self._pruned = False

    def load(self, key: str) -> bytes | None:
        """Read what was stored under a key; None where there is nothing, or nothing sound."""
        try:
            data = (self.folder / key).read_bytes()
        except OSError:
            return None
        payload = _payload(key, data)
        if payload is None:
            self.discard(key)
        return payload

    def store(self, key: str, payload: bytes) -> None:
        """Write a payload under a key, replacing what was there."""
        temporary = None
        target = self.folder / key
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(".tmp", dir=self.folder)
            with os.fdopen(handle, "wb") as file:
                file.write(_head(key, payload) + payload)
            if target.is_dir():
                shutil.rmtree(target, ignore_errors=True)
            os.replace(temporary, target)
        except OSError:
            if temporary is not None:
                _unlink(Path(temporary))
        if not self._pruned:
            self._pruned = True
            self._prune()

    def files(self) -> list[Path]:
        """List what is stored, and what killed processes left."""
        with contextlib.suppress(OSError):
            return sorted(file for file in self.folder.iterdir() if file.is_file())
        return []

    def is_sound(self, key: str) -> bool:
        """Whether what is stored under a key is what was stored; it is left where it is."""
        try:
            return _payload(key, (self.folder / key).read_bytes()) is not None
        except OSError:
            return False

    def has(self, key: str) -> bool:
        """Whether there is anything under a key, sound or not."""
        return (self.folder / key).exists()

    def discard(self, key: str) -> None:
        """Forget what was stored under a key."""
        _unlink(self.folder / key)

    def load_json(self, key: str) -> dict[str, object] | None:
        """Read a dictionary stored with `store_json`."""
        payload = self.load(key)
        if payload is None:
            return None
        try:
            found = json.loads(payload)
        except ValueError:  # sound bytes that are no JSON
            return None
        return found if isinstance(found, dict) else None

    def store_json(self, key: str, value: dict[str, object]) -> None:
        """Write a dictionary of plain values."""
        self.store(key, json.dumps(value).encode())

    def _prune(self) -> None:
        """Drop what killed processes left, and the oldest files beyond the limit."""
        files = []
        with contextlib.suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    info = entry.stat()
                    if entry.is_file():
                        files.append((info.st_mtime, info.st_size, Path(entry.path)))
        now = time.time()
        total = 0
        for modified, size, path in sorted(files, reverse=True):
            total += size
            left_over = path.suffix == ".tmp" and now - modified > _STALE_SECONDS
            if left_over or total > _LIMIT_BYTES:
                _unlink(path)


def _payload(key: str, data: bytes) -> bytes | None:
    """Give what a file holds; None if it is not what was stored under this key."""
    start = len(_MAGIC) + _CHECKSUM
    payload = data[start:]
    return payload if data[:start] == _head(key, payload) else None


def _head(key: str, payload: bytes) -> bytes:
    digest = hashlib.sha256(key.encode())
    digest.update(payload)
    return _MAGIC + digest.digest()


def _unlink(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
