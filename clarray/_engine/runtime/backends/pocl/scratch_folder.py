"""A folder for PoCL's files, this process's own: in memory where it can be, and gone when the process is.

    first query of OpenCL -> made and locked -> PoCL compiles and unpacks in it -> removed by the last that uses it

PoCL 3.0 writes every program to files and reads them back when it is asked for a binary. It names those of a
program made from a binary as the process did that compiled it, and removes them with the program: processes that
share its folder take each other's files away. It stops the process where a file cannot be written, finds no device
where the folder cannot be made, and waits for the disk after each file, which costs 5 ms and in memory nothing.

A shared lock on the folder says that it is used. It outlives a fork, and no process, so what killed processes leave
is known by the lock that nobody holds.
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
_NAMED = "program-"
_INSIDE = "pocl/uncached"  # as PoCL itself calls it
_IN_MEMORY = Path("/dev/shm")
_ROOM = 1 << 30  # a place with less is taken where there is none with more
_LEAST = 16 << 20  # with less left nothing is compiled: PoCL would stop the process
_STALE_SECONDS = 60.0


class _Held(NamedTuple):
    """The folder in use, and the open file that holds its lock."""

    path: Path
    lock: int | None

    @property
    def inside(self) -> Path:
        return self.path / _INSIDE


_held: _Held | None = None
_missing = False
_numbers = itertools.count()


def make() -> Path | None:
    """Make the folder and give what to tell PoCL; None where there is no place for it."""
    global _missing
    tight: list[tuple[int, Path]] = []
    for place, wanted in _places():
        room = _room(place)
        if room >= wanted and _take(place):
            break
        tight.append((room, place))
    else:
        any(room >= 0 and _take(place) for room, place in sorted(tight, reverse=True))
    _missing = _held is None
    return None if _held is None else _held.inside


def is_missing() -> bool:
    """Whether a folder was wanted and there was no place for it."""
    return _missing


def confirm() -> None:
    """Give the folder up if PoCL does not use it, since it had been asked for its devices before."""
    global _held
    if _held is not None and not _held.inside.is_dir():
        leave()
        _held = None


def usable(place: Path) -> bool:
    """Make a folder if need be, and return whether PoCL may keep its cache in it: it has room and is only this user's.

    PoCL runs what it finds there, so whatever is in the folder must be this user's as well.
    """
    try:
        private_files.close(private_files.open_folder(place, make=True))
    except OSError:
        return False
    return os.access(place, os.W_OK | os.X_OK) and _room(place) >= _LEAST and private_files.is_private_below(place)


def holds(file: Path) -> bool:
    """Whether a file is in the folder, which nobody else can enter."""
    return _held is not None and file.is_relative_to(_held.path)


def new_name() -> str | None:
    """Give a name that no program in the folder has; None where PoCL works in a folder of its own choice."""
    return None if _held is None else f"{_NAMED}{os.getpid()}-{next(_numbers)}"


def path_of(name: str) -> Path | None:
    """Return the folder of a program that has a name of `new_name`; None if PoCL works elsewhere."""
    return None if _held is None else _held.inside / name


def require() -> None:
    """See that the folder is there and has room: where a file cannot be written, PoCL stops the process.

    Raises
    ------
    OSError
        It says where there is no room.
    """
    if _held is None:
        return
    try:
        room = _free(os.statvfs(f"{_held.inside}/."))
    except OSError:  # removed by someone, or given up by a process that is ending
        _make_again()
        return
    if room < _LEAST:
        raise OSError(
            errno.ENOSPC,
            f"PoCL needs {_LEAST >> 20} MiB for the programs it compiles; POCL_CACHE_DIR names another folder for them",
            str(_held.path),
        )


@atexit.register
def leave() -> None:
    """Remove the folder, unless a process forked from this one, or the one it was forked from, still uses it."""
    global _held
    held = _held
    if held is None:
        return
    if held.lock is not None:
        os.close(held.lock)
    _remove(held.path)
    _remove_stale(held.path.parent)
    _held = _Held(held.path, None)  # for what is compiled at exit even later


def abandon() -> None:
    """Leave the folder to a later process to remove, since something in this one still needs it."""
    global _held
    _held = None


def _places() -> Iterator[tuple[Path, int]]:
    """Give folders, the best first, and the room with which one is taken without looking at the others."""
    chosen = os.environ.get("POCL_CACHE_DIR")
    if chosen and _is_safe(Path(chosen), make=True):
        yield Path(chosen), _LEAST
    elif chosen and (refused := private_files.refusal(Path(chosen), others="add")) is not None:
        mend = refused.advice("POCL_CACHE_DIR")
        private_files.warn_later(f"PoCL's files do not go to POCL_CACHE_DIR={chosen}: {refused}. To mend it, {mend}")
    for place in (_IN_MEMORY, *private_files.temporary_places()):
        if _is_safe(place):
            yield place, _ROOM
    if _is_safe(cache_folder(), make=True):
        yield cache_folder(), _ROOM


def _is_safe(place: Path, make: bool = False) -> bool:
    """Whether nobody else can change what this process makes in a place; it may be one such as /tmp."""
    try:
        private_files.close(private_files.open_folder(place, make, others="add"))
    except OSError:
        return False
    return True


def _room(place: Path) -> int:
    """Bytes for programs in an existing folder; -1 where nothing can be written or run."""
    try:
        found = os.statvfs(place)
    except OSError:
        return -1
    forbidden = os.ST_RDONLY | getattr(os, "ST_NOEXEC", 0)
    return -1 if found.f_flag & forbidden or (found.f_files and not found.f_favail) else _free(found)


def _free(found: os.statvfs_result) -> int:
    return found.f_bavail * found.f_frsize


def _take(place: Path) -> bool:
    """Make the folder in this place and lock it; whether that went well."""
    global _held
    with contextlib.suppress(OSError):
        path = private_files.temporary_folder(_PREFIX, place)
        lock = _lock(path, exclusively=False)
        if lock is not None:
            _held = _Held(path, lock)
            return True
        path.rmdir()
    return False


def _make_again() -> None:
    """Make the folder where it was, which PoCL cannot be told to change."""
    global _held
    assert _held is not None
    path, lock = _held
    for part in (path, *reversed(_held.inside.parents[: len(Path(_INSIDE).parts) - 1]), _held.inside):
        with contextlib.suppress(FileNotFoundError):
            found = part.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid():
                continue
            part.unlink()  # an error where it is another user's
        part.mkdir(0o700)
    if lock is not None:
        os.close(lock)
    _held = _Held(path, _lock(path, exclusively=False))


def _lock(path: Path, exclusively: bool) -> int | None:
    """Open a folder and lock it, without waiting; None where it is another's."""
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
    """Remove a folder that nobody uses."""
    with contextlib.suppress(OSError):
        lock = _lock(path, exclusively=True)
        if lock is not None:
            private_files.remove_folder(path)
            os.close(lock)


def _remove_stale(place: Path) -> None:
    """Remove what killed processes of this user have left: others make what they like beside it."""
    for path, info in private_files.own_folders(place, _PREFIX):
        if time.time() - info.st_mtime > _STALE_SECONDS:  # the youngest may not be locked yet
            _remove(path)


@after_fork_in_child
def _after_fork_in_child() -> None:
    """Hold the folder by a lock of this process's own, since the parent may leave first."""
    global _held
    if _held is None:
        return
    inherited = _held.lock
    own = None
    with contextlib.suppress(OSError):
        own = _lock(_held.path, exclusively=False)
    if inherited is not None:
        os.close(inherited)
    _held = _Held(_held.path, own)
