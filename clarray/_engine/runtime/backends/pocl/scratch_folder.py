"""The folder of this process for PoCL's files, if possible in memory. It is removed at the end of the process.

    first query of OpenCL -> create and lock -> PoCL compiles and unpacks in the folder -> the last process removes it

PoCL 3.0 writes every program to files, and reads them for a binary. The files of a program made from a binary have the
names that the compiling process chose, and PoCL removes them with the program. So processes that share a folder would
remove each other's files. PoCL aborts the process if a file cannot be written, and has no device if the folder cannot
be created. After each file it waits for the disk, which takes 5 ms on a disk and no time in memory.

A shared lock marks the folder as used. It survives a fork and ends with the last process. A folder without a lock was
left by a killed process.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import itertools
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from clarray._engine.runtime import private_files
from clarray._engine.runtime.cache import cache_folder
from clarray._engine.runtime.forking import after_fork_in_child

try:
    import fcntl
except ImportError:  # Windows, for which there is no wheel of PoCL
    fcntl = None  # type: ignore[assignment]

_PREFIX = "clarray-pocl-"
_PROGRAM_PREFIX = "program-"
_INSIDE = "pocl/uncached"  # PoCL's name for the subfolder
_SHARED_MEMORY = Path("/dev/shm")
_AMPLE_BYTES = 1 << 30  # free bytes with which a folder is chosen without a check of the others
_MIN_FREE_BYTES = 16 << 20  # free bytes that a compilation needs: with less PoCL may abort the process
_STALE_SECONDS = 60.0


class _LockedFolder(NamedTuple):
    """The folder in use, and the descriptor that holds its lock."""

    path: Path
    lock: int | None

    @property
    def inside(self) -> Path:
        return self.path / _INSIDE


_current: _LockedFolder | None = None
_is_missing = False
_numbers = itertools.count()


def make() -> Path | None:
    """Create the folder and return the subfolder for PoCL, or None if no candidate is usable."""
    global _is_missing
    rejected: list[tuple[int, Path]] = []
    for parent, enough in _candidate_folders():
        available = _available_bytes(parent)
        if available >= enough and _create(parent):
            break
        rejected.append((available, parent))
    else:
        any(available >= 0 and _create(parent) for available, parent in sorted(rejected, reverse=True))
    _is_missing = _current is None
    return None if _current is None else _current.inside


def is_missing() -> bool:
    """Return whether no folder could be created."""
    return _is_missing


def remove_if_unused() -> None:
    """Remove the folder if PoCL does not use it, because it was initialized before."""
    global _current
    if _current is not None and not _current.inside.is_dir():
        remove_unless_shared()
        _current = None


def is_usable(folder: Path) -> bool:
    """Create a folder if necessary, and return whether PoCL may keep its cache there: it has space and is private.

    PoCL runs the files of its cache, so they must be private too.
    """
    try:
        private_files.close(private_files.open_folder(folder, make=True))
    except OSError:
        return False
    has_space = os.access(folder, os.W_OK | os.X_OK) and _available_bytes(folder) >= _MIN_FREE_BYTES
    return has_space and private_files.is_private_below(folder)


def contains(file: Path) -> bool:
    """Return whether a file is in the folder, which no other user can enter."""
    return _current is not None and file.is_relative_to(_current.path)


def new_program_name() -> str | None:
    """Return a new name for a program in the folder, or None if PoCL uses another folder."""
    return None if _current is None else f"{_PROGRAM_PREFIX}{os.getpid()}-{next(_numbers)}"


def program_path(name: str) -> Path | None:
    """Return the folder of a program with a name of `new_program_name`, or None if PoCL uses another folder."""
    return None if _current is None else _current.inside / name


def require() -> None:
    """Create the folder again if it is gone, and check its free space. PoCL aborts if it cannot write a file.

    Raises
    ------
    OSError
        The folder has too little free space.
    """
    if _current is None:
        return
    try:
        available = _free(os.statvfs(f"{_current.inside}/."))
    except OSError:  # removed by another program, or by this process at its end
        _recreate()
        return
    if available < _MIN_FREE_BYTES:
        raise OSError(
            errno.ENOSPC,
            f"PoCL needs {_MIN_FREE_BYTES >> 20} MiB for the programs it compiles; "
            "POCL_CACHE_DIR names another folder for them",
            str(_current.path),
        )


@atexit.register
def remove_unless_shared() -> None:
    """Remove the folder, unless a parent or child of this process still uses it."""
    global _current
    current = _current
    if current is None:
        return
    if current.lock is not None:
        os.close(current.lock)
    _remove(current.path)
    _remove_stale(current.path.parent)
    _current = _LockedFolder(current.path, None)  # for compilations even later at exit


def leave_to_later_process() -> None:
    """Leave the removal of the folder to a later process, since a thread of this one still uses it."""
    global _current
    _current = None


def _candidate_folders() -> Iterator[tuple[Path, int]]:
    """Yield parent folders in order of preference, each with the free bytes that make it the choice."""
    chosen = os.environ.get("POCL_CACHE_DIR")
    if chosen and _is_safe(Path(chosen), make=True):
        yield Path(chosen), _MIN_FREE_BYTES
    elif chosen and (refused := private_files.refusal(Path(chosen), others="add")) is not None:
        advice = refused.advice("POCL_CACHE_DIR")
        private_files.warn_later(f"PoCL's files do not go to POCL_CACHE_DIR={chosen}: {refused}. To mend it, {advice}")
    for parent in (_SHARED_MEMORY, *private_files.temporary_folders()):
        if _is_safe(parent):
            yield parent, _AMPLE_BYTES
    if _is_safe(cache_folder(), make=True):
        yield cache_folder(), _AMPLE_BYTES


def _is_safe(parent: Path, make: bool = False) -> bool:
    """Return whether no other user can change new folders of this process in a parent, which may be like /tmp."""
    try:
        private_files.close(private_files.open_folder(parent, make, others="add"))
    except OSError:
        return False
    return True


def _available_bytes(folder: Path) -> int:
    """Return the free bytes of a folder, or -1 if files there cannot be written or run."""
    try:
        status = os.statvfs(folder)
    except OSError:
        return -1
    forbidden = os.ST_RDONLY | getattr(os, "ST_NOEXEC", 0)
    return -1 if status.f_flag & forbidden or (status.f_files and not status.f_favail) else _free(status)


def _free(status: os.statvfs_result) -> int:
    return status.f_bavail * status.f_frsize


def _create(parent: Path) -> bool:
    """Create and lock the folder in a parent folder, and return whether that succeeded."""
    global _current
    with contextlib.suppress(OSError):
        path = private_files.temporary_folder(_PREFIX, parent)
        lock = _lock(path, exclusively=False)
        if lock is not None:
            _current = _LockedFolder(path, lock)
            return True
        path.rmdir()
    return False


def _recreate() -> None:
    """Create the folder again at the same path, since PoCL's path cannot be changed."""
    global _current
    assert _current is not None
    path, lock = _current
    for part in (path, *reversed(_current.inside.parents[: len(Path(_INSIDE).parts) - 1]), _current.inside):
        with contextlib.suppress(FileNotFoundError):
            status = part.lstat()
            if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
                continue
            part.unlink()  # an error if it belongs to another user
        part.mkdir(0o700)
    if lock is not None:
        os.close(lock)
    _current = _LockedFolder(path, _lock(path, exclusively=False))


def _lock(path: Path, exclusively: bool) -> int | None:
    """Open and lock a folder without waiting, or return None if another process has locked it."""
    handle = private_files.open_folder(path)
    if handle is None:
        return None
    try:
        fcntl.flock(handle, (fcntl.LOCK_EX if exclusively else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def _remove(path: Path) -> None:
    """Remove a folder if no process uses it."""
    with contextlib.suppress(OSError):
        lock = _lock(path, exclusively=True)
        if lock is not None:
            private_files.remove_folder(path)
            os.close(lock)


def _remove_stale(parent: Path) -> None:
    """Remove the folders of this user's killed processes. Other users may have files in the parent folder."""
    for path, info in private_files.own_folders(parent, _PREFIX):
        if time.time() - info.st_mtime > _STALE_SECONDS:  # a new folder may not be locked yet
            _remove(path)


@after_fork_in_child
def _after_fork_in_child() -> None:
    """Lock the folder for this process, since the parent may end first."""
    global _current
    if _current is None:
        return
    inherited = _current.lock
    own = None
    with contextlib.suppress(OSError):
        own = _lock(_current.path, exclusively=False)
    if inherited is not None:
        os.close(inherited)
    _current = _LockedFolder(_current.path, own)
