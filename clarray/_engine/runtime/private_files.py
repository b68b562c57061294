"""Folders and files that no other user of the machine can write to: everything that clarray keeps on disk is in one.

    path -> each part opened in the one before -> owner and mode of the open descriptor -> folder
    name -> opened in the folder, no link followed, never waiting -> owner, mode, kind and size -> bytes

A folder is private if it belongs to this user or root and nobody else can write to it, a group's members included. The
folders above it belong to this user or root, too, and so does a link on the way. Where others can write to one of
these, they can put another folder in the place of a private one, but not one that is this user's: whoever opens
files relative to the descriptor is safe from that. What is opened by its path, as an OpenCL runtime does, needs folders
above that nobody else can write to, or such as /tmp, where nobody can replace the files of others (the sticky bit).
Access control lists count as far as they show in the mode: they do on Linux, and not on macOS.

Windows opens no file relative to a folder, and its files have no owner here. A user's profile is private there by
default; folders elsewhere are not checked.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import shutil
import stat
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Literal

from clarray._engine.runtime.forking import after_fork_in_child

_CHECKED = os.open in os.supports_dir_fd and hasattr(os, "geteuid")
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)  # for a FIFO, for a terminal
_FILE = _NO_LINK | _NO_WAIT | getattr(os, "O_BINARY", 0)
_FOLDER = _NO_LINK | getattr(os, "O_DIRECTORY", 0)
_PASSED = _FOLDER | getattr(os, "O_PATH", 0)  # a folder on the way need not be readable
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_MOST_LINKS = 40
_USE_SECONDS = 600.0  # a file's last use is known as exactly as this
_MOST_ENTRIES = 1 << 14  # of a folder that everyone may fill
_PACKAGE = str(Path(__file__).absolute().parents[2]) + os.sep

Identity = tuple[int, int, int, int]
Others = Literal["read", "add", "replace"]


class NotPrivateError(PermissionError):
    """Another user can change what a path leads to; `mend` is the command that changes that, or ''."""

    def __init__(self, path: str, why: str, mend: str = "") -> None:
        super().__init__(errno.EACCES, why, path)
        self.mend = mend

    def advice(self, variable: str) -> str:
        """Give what to do about it; an environment variable names another folder."""
        other = f"set {variable} to a folder that only you can write to"
        return f"{self.mend}, or {other}" if self.mend else other

    def __str__(self) -> str:
        return f"{self.filename} {self.strerror}"


def _owner(info: os.stat_result) -> int:
    return info.st_uid


def check(info: os.stat_result, path: str, others: Others = "read") -> None:
    """Raise NotPrivateError unless a file or folder is this user's or root's, and others can do no more than this.

    Parameters
    ----------
    info : os.stat_result
        Of the open descriptor.
    path : str
        For the message.
    others : {'read', 'add', 'replace'}
        Read it at most; make files beside those of others in a folder, too; or replace them as well.
    """
    if not _CHECKED:
        return
    user = os.geteuid()
    if _owner(info) not in (0, user):
        raise NotPrivateError(path, f"belongs to user {_owner(info)}, and this process is user {user}'s")
    if others == "replace" or (others == "add" and info.st_mode & stat.S_ISVTX):
        return
    if info.st_mode & _OTHERS_WRITE:
        raise NotPrivateError(path, "can be written to by other users", f"chmod go-w {path}")


def open_folder(path: Path, make: bool = False, others: Others = "read", above: Others = "add") -> int | None:
    """Open a private folder.

    Parameters
    ----------
    make : bool
        Make what is missing, for this user alone whatever the umask.
    others, above : {'read', 'add', 'replace'}
        What other users may do in the folder, and in those above it; see `check`.

    Returns
    -------
    int or None
        A descriptor; None where the system opens nothing relative to one.

    Raises
    ------
    NotPrivateError
        Another user can change what the path leads to.
    OSError
        The folder cannot be opened.
    """
    path = Path.cwd() / path
    if not _CHECKED:
        if make:
            path.mkdir(0o700, parents=True, exist_ok=True)
        return None
    parts, links = [*reversed(path.parts[1:])], 0
    folder, at = os.open("/", _PASSED), "/"
    try:
        while parts:
            check(os.fstat(folder), at, above)
            name = parts.pop()
            try:
                below, at = _enter(name, folder, make), os.path.join(at, name)
            except OSError:
                target = _link(name, folder, os.path.join(at, name))
                if target is None:
                    raise
                links += 1
                if links > _MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from None
                parts += reversed([part for part in target.split("/") if part])
                if not target.startswith("/"):
                    continue
                below, at = os.open("/", _PASSED), "/"
            os.close(folder)
            folder = below
        check(os.fstat(folder), at, others)
        return os.open(".", _FOLDER, dir_fd=folder)
    finally:
        os.close(folder)


def _enter(name: str, folder: int, make: bool) -> int:
    try:
        return os.open(name, _PASSED, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            raise
        with contextlib.suppress(FileExistsError):  # made by another process meanwhile
            os.mkdir(name, 0o700, dir_fd=folder)
        return os.open(name, _PASSED, dir_fd=folder)


def _link(name: str, folder: int, path: str) -> str | None:
    """Return where a link leads that this user or root has made, or None if there is no link."""
    try:
        info = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
    if not stat.S_ISLNK(info.st_mode):
        return None
    if _owner(info) not in (0, os.geteuid()):
        raise NotPrivateError(path, f"is a link that user {_owner(info)} has made")
    return os.readlink(name, dir_fd=folder)


def refusal(path: Path, others: Others = "read", above: Others = "add") -> NotPrivateError | None:
    """Give why `open_folder` does not open a folder; None where it does, or there is none."""
    try:
        close(open_folder(path, others=others, above=above))
    except NotPrivateError as error:
        return error
    except OSError:
        pass
    return None


def close(folder: int | None) -> None:
    """Close what `open_folder` has opened."""
    if folder is not None:
        os.close(folder)


def is_own(path: Path) -> bool:
    """Whether a path is this user's or root's: `sudo -E` keeps another user's home."""
    with contextlib.suppress(OSError):
        return not _CHECKED or _owner(path.stat()) in (0, os.geteuid())
    return False


def _open_regular(name: str, folder: int | None, flags: int) -> tuple[int, os.stat_result]:
    """Open a regular file, without waiting for who may be at the other end of something else."""
    handle = os.open(name, flags | _FILE, 0o600, dir_fd=folder)
    try:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", name)
    except BaseException:
        os.close(handle)
        raise
    return handle, info


def _open_file(name: str, folder: int | None, flags: int) -> int:
    """Open a regular file that no other user can change; with O_CREAT a new one."""
    handle, info = _open_regular(name, folder, flags)
    try:
        check(info, name)
    except BaseException:
        os.close(handle)
        raise
    return handle


def read_regular(path: str, most: int) -> bytes:
    """Read a file of the user's choice, whoever owns it, of at most so many bytes."""
    handle, _ = _open_regular(os.path.realpath(path), None, os.O_RDONLY)
    try:
        return _read(handle, path, most)
    finally:
        os.close(handle)


def _read(handle: int, name: str, most: int) -> bytes:
    size = os.fstat(handle).st_size
    if size > most:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), name)
    data = os.read(handle, size + 1)
    while len(data) < size:
        more = os.read(handle, size - len(data))
        if not more:
            break
        data += more
    return data


def _note_use(handle: int) -> None:
    """Set a file's time of modification to now; file systems seldom keep the time of reading."""
    with contextlib.suppress(OSError):
        if os.utime in os.supports_fd and time.time() - os.fstat(handle).st_mtime > _USE_SECONDS:
            os.utime(handle)


def is_private_file(path: Path) -> bool:
    """Whether a path leads to a regular file that no other user can change or exchange."""
    try:
        folder = open_folder(path.parent)
        try:
            os.close(_open_file(path.name if folder is not None else str(path), folder, os.O_RDONLY))
        finally:
            close(folder)
    except OSError:
        return False
    return True


def is_private_below(path: Path) -> bool:
    """Whether all that is in a private folder is so: folders and regular files, not too many of them."""
    folders, entries = [str(path)], 0
    while folders:
        at = folders.pop()
        try:
            with os.scandir(at) as found:
                for entry in found:
                    info = entry.stat(follow_symlinks=False)
                    check(info, entry.path)
                    entries += 1
                    if entries > _MOST_ENTRIES or not (stat.S_ISDIR(info.st_mode) or stat.S_ISREG(info.st_mode)):
                        return False
                    if stat.S_ISDIR(info.st_mode):
                        folders.append(entry.path)
        except OSError:
            return False
    return True


class PrivateFolder:
    """A folder whose files no other user can write, exchange or make: each method raises OSError where one could.

    Parameters
    ----------
    path : Path
        Made when something is first written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._checked: Identity | None = None

    @contextlib.contextmanager
    def opened(self, make: bool = False) -> Iterator[int | None]:
        """Open the folder for a block; see `open_folder`."""
        folder = self._open(make)
        try:
            yield folder
        finally:
            close(folder)

    def _open(self, make: bool) -> int | None:
        """Open the folder by its path if that still leads to the one whose way has been checked."""
        if self._checked is not None:
            with contextlib.suppress(OSError):
                folder = os.open(self.path, _FOLDER)
                if _identity(os.fstat(folder)) == self._checked:
                    return folder
                os.close(folder)
        found = open_folder(self.path, make, above="replace")
        if found is not None:
            self._checked = _identity(os.fstat(found))
        return found

    def _name(self, name: str, folder: int | None) -> str:
        return name if folder is not None else str(self.path / name)

    def open(self, name: str, flags: int) -> int:
        """Open a file; its descriptor is the caller's to close."""
        with self.opened(bool(flags & os.O_CREAT)) as folder:
            return _open_file(self._name(name, folder), folder, flags)

    def read(self, name: str, most: int, used: bool = False) -> bytes:
        """Read a file of at most so many bytes; with `used` its time of modification becomes that of the last use."""
        handle = self.open(name, os.O_RDONLY)
        try:
            data = _read(handle, name, most)
            if used:
                _note_use(handle)
            return data
        finally:
            os.close(handle)

    def write(self, name: str, *data: bytes) -> None:
        """Write a file, in place of what has the name: readers see all of it or nothing."""
        temporary = f"{os.urandom(8).hex()}.tmp"
        with self.opened(make=True) as folder:
            written = self._name(temporary, folder)
            handle = _open_file(written, folder, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            try:
                with open(handle, "wb", buffering=0) as file:
                    for part in data:
                        _write_all(file.fileno(), part)
                self._rename(written, self._name(name, folder), folder)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(written, dir_fd=folder)
                raise

    def _rename(self, old: str, new: str, folder: int | None) -> None:
        try:
            os.replace(old, new, src_dir_fd=folder, dst_dir_fd=folder)
        except (IsADirectoryError, PermissionError):  # of Windows
            _remove_below(new, folder)
            os.replace(old, new, src_dir_fd=folder, dst_dir_fd=folder)

    def remove(self, name: str) -> None:
        """Remove a file."""
        with self.opened() as folder:
            os.unlink(self._name(name, folder), dir_fd=folder)

    def status(self, name: str) -> os.stat_result:
        """Give the status of what has a name."""
        with self.opened() as folder:
            return os.stat(self._name(name, folder), dir_fd=folder, follow_symlinks=False)

    def files(self) -> list[tuple[str, os.stat_result]]:
        """List the regular files."""
        found = []
        with self.opened() as folder, os.scandir(self.path if folder is None else folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    info = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(info.st_mode):
                        found.append((entry.name, info))
        return sorted(found)


def _identity(info: os.stat_result) -> Identity:
    return info.st_dev, info.st_ino, info.st_mode, _owner(info)


def _write_all(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _remove_below(name: str, folder: int | None) -> None:
    """Remove a folder and what is in it, or as much of it as can be: it may be deeper than calls may nest."""
    with contextlib.suppress(OSError, RecursionError):
        shutil.rmtree(name, ignore_errors=True, dir_fd=folder)


def remove_folder(path: Path) -> None:
    """Remove a folder in a private or sticky one, and what is in it; no error where that fails."""
    _remove_below(str(path), None)


def temporary_folder(prefix: str, *places: Path) -> Path:
    """Make a new private folder.

    Parameters
    ----------
    places : Path
        Where, the first that is private or sticky; when none is given the system's temporary folders.

    Raises
    ------
    OSError
        There is no such place.
    """
    failure: OSError = FileNotFoundError(errno.ENOENT, "no folder for temporary files")
    for place in places or temporary_places():
        try:
            close(open_folder(place, others="add"))
            return Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        except OSError as error:
            failure = error.with_traceback(None)  # its frames would keep the arrays of all callers
    raise failure


def temporary_places() -> Iterator[Path]:
    """Give the system's folders for temporary files."""
    with contextlib.suppress(OSError):
        yield Path(tempfile.gettempdir())
    yield Path("/tmp")


def own_folders(place: Path, prefix: str) -> list[tuple[Path, os.stat_result]]:
    """List this user's folders of a prefix in a place where others may make what they like."""
    found = []
    with contextlib.suppress(OSError), os.scandir(place) as entries:
        for entry in islice(entries, _MOST_ENTRIES):
            with contextlib.suppress(OSError):
                if entry.name.startswith(prefix):
                    info = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(info.st_mode) and not (_CHECKED and _owner(info) != os.geteuid()):
                        found.append((Path(entry.path), info))
    return found


_made: list[Path] = []  # folders that go with this process


def keep_until_exit(path: Path) -> Path:
    """Have a folder removed when the process that calls this ends."""
    _made.append(path)
    return path


@atexit.register
def _remove_made() -> None:
    while _made:
        remove_folder(_made.pop())


after_fork_in_child(_made.clear)  # the parent's


_warnings: list[str] = []


def warn_later(message: str) -> None:
    """Keep a warning until `warn` is called by something that holds no lock."""
    _warnings.append(message)


def warn() -> None:
    """Give the warnings that have been kept, at the line of the nearest caller outside clarray."""
    while _warnings:
        level, frame = 1, sys._getframe(0)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
            level, frame = level + 1, frame.f_back
        warnings.warn(_warnings.pop(0), UserWarning, stacklevel=level)
