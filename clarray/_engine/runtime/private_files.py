"""Folders and files that no other user of the machine can write to. All files of clarray are in private folders.

    path -> open each part relative to the one before -> check owner and mode of the descriptor -> folder
    name -> open in the folder without links and without waiting -> check owner, mode, kind and size -> bytes

A folder is private if it belongs to this user or root and no other user can write to it, including members of a group.
The folders above it must belong to this user or root, and so must links on the way. If other users can write to a
folder above, they can replace the private folder by another one, but not by one that belongs to this user. Opening
files relative to the descriptor is safe from that. Files that are opened by their path, as an OpenCL runtime does,
need folders above that no other user can write to, or sticky ones such as /tmp, where users cannot replace each
other's files. Access control lists count if the mode shows them, which is so on Linux and not on macOS.

Windows cannot open files relative to a folder, and has no owners of files in Python. A user's profile is private there
by default. Other folders are not checked.
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
_PASSED = _FOLDER | getattr(os, "O_PATH", 0)  # folders on the way need not be readable
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_MAX_LINKS = 40
_USE_SECONDS = 600.0  # the precision of the recorded last use of a file
_MAX_ENTRIES = 1 << 14  # of a folder that every user may fill
_PACKAGE = str(Path(__file__).absolute().parents[2]) + os.sep

Identity = tuple[int, int, int, int]
Others = Literal["read", "add", "replace"]


class NotPrivateError(PermissionError):
    """Another user can change the target of a path. `fix_command` is the command that prevents it, or ''."""

    def __init__(self, path: str, why: str, fix_command: str = "") -> None:
        super().__init__(errno.EACCES, why, path)
        self.fix_command = fix_command

    def advice(self, variable: str) -> str:
        """Return advice for the user. `variable` is the environment variable that names another folder."""
        other = f"set {variable} to a folder that only you can write to"
        return f"{self.fix_command}, or {other}" if self.fix_command else other

    def __str__(self) -> str:
        return f"{self.filename} {self.strerror}"


def _owner(info: os.stat_result) -> int:
    return info.st_uid


def check(info: os.stat_result, path: str, others: Others = "read") -> None:
    """Raise NotPrivateError if a file or folder belongs to another user, or others have more than the given rights.

    Parameters
    ----------
    info : os.stat_result
        The status of the open descriptor.
    path : str
        The path for the message.
    others : {'read', 'add', 'replace'}
        The rights of other users: read; or also add files to a folder; or also replace the files of others.
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
        Create missing folders, for this user only whatever the umask.
    others, above : {'read', 'add', 'replace'}
        The rights of other users in the folder, and in the folders above it, as in `check`.

    Returns
    -------
    int or None
        A descriptor, or None if the system cannot open files relative to a folder.

    Raises
    ------
    NotPrivateError
        Another user can change the target of the path.
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
                if links > _MAX_LINKS:
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
    """Return the target of a link, or None if there is no link. The link must belong to this user or root."""
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
    """Return the reason why `open_folder` refuses a folder, or None if it opens the folder or there is none."""
    try:
        close(open_folder(path, others=others, above=above))
    except NotPrivateError as error:
        return error
    except OSError:
        pass
    return None


def close(folder: int | None) -> None:
    """Close the result of `open_folder`."""
    if folder is not None:
        os.close(folder)


def _open_regular(name: str, folder: int | None, flags: int) -> tuple[int, os.stat_result]:
    """Open a regular file, and never wait for the other end of a FIFO."""
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
    """Open a regular file that no other user can change. O_CREAT creates a new file."""
    handle, info = _open_regular(name, folder, flags)
    try:
        check(info, name)
    except BaseException:
        os.close(handle)
        raise
    return handle


def read_regular(path: str, max_bytes: int) -> bytes:
    """Read a file of any owner. Raise OSError if it has more than `max_bytes`."""
    handle, _ = _open_regular(os.path.realpath(path), None, os.O_RDONLY)
    try:
        return _read(handle, path, max_bytes)
    finally:
        os.close(handle)


def _read(handle: int, name: str, max_bytes: int) -> bytes:
    size = os.fstat(handle).st_size
    if size > max_bytes:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), name)
    data = os.read(handle, size + 1)
    while len(data) < size:
        more = os.read(handle, size - len(data))
        if not more:
            break
        data += more
    return data


def _note_use(handle: int) -> None:
    """Set a file's time of modification to now, since file systems seldom record the time of reading."""
    with contextlib.suppress(OSError):
        if os.utime in os.supports_fd and time.time() - os.fstat(handle).st_mtime > _USE_SECONDS:
            os.utime(handle)


def is_private_file(path: Path) -> bool:
    """Return whether a path leads to a regular file that no other user can change or replace."""
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
    """Return whether a folder contains only private folders and files, and not too many of them."""
    folders, entries = [str(path)], 0
    while folders:
        at = folders.pop()
        try:
            with os.scandir(at) as entries_at:
                for entry in entries_at:
                    info = entry.stat(follow_symlinks=False)
                    check(info, entry.path)
                    entries += 1
                    if entries > _MAX_ENTRIES or not (stat.S_ISDIR(info.st_mode) or stat.S_ISREG(info.st_mode)):
                        return False
                    if stat.S_ISDIR(info.st_mode):
                        folders.append(entry.path)
        except OSError:
            return False
    return True


class PrivateFolder:
    """A folder in which no other user can write, replace or create files. Each method raises OSError if one can.

    Parameters
    ----------
    path : Path
        The folder. The first `write` creates it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._checked: Identity | None = None

    @contextlib.contextmanager
    def opened(self, make: bool = False) -> Iterator[int | None]:
        """Open the folder during a block, as `open_folder` does."""
        folder = self._open(make)
        try:
            yield folder
        finally:
            close(folder)

    def _open(self, make: bool) -> int | None:
        """Open the folder by its path if that still leads to the folder that was checked, else check it again."""
        if self._checked is not None:
            with contextlib.suppress(OSError):
                folder = os.open(self.path, _FOLDER)
                if _identity(os.fstat(folder)) == self._checked:
                    return folder
                os.close(folder)
        checked = open_folder(self.path, make, above="replace")
        if checked is not None:
            self._checked = _identity(os.fstat(checked))
        return checked

    def _name(self, name: str, folder: int | None) -> str:
        return name if folder is not None else str(self.path / name)

    def open(self, name: str, flags: int) -> int:
        """Open a file and return its descriptor, which the caller closes."""
        with self.opened(bool(flags & os.O_CREAT)) as folder:
            return _open_file(self._name(name, folder), folder, flags)

    def read(self, name: str, max_bytes: int, used: bool = False) -> bytes:
        """Read a file of at most `max_bytes`. If `used`, its time of modification becomes the time of the last use."""
        handle = self.open(name, os.O_RDONLY)
        try:
            data = _read(handle, name, max_bytes)
            if used:
                _note_use(handle)
            return data
        finally:
            os.close(handle)

    def write(self, name: str, *data: bytes) -> None:
        """Write a file and replace an older one. Readers see all of it or nothing."""
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
        """Return the status of a file."""
        with self.opened() as folder:
            return os.stat(self._name(name, folder), dir_fd=folder, follow_symlinks=False)

    def files(self) -> list[tuple[str, os.stat_result]]:
        """List the regular files."""
        files = []
        with self.opened() as folder, os.scandir(self.path if folder is None else folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    info = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(info.st_mode):
                        files.append((entry.name, info))
        return sorted(files)


def _identity(info: os.stat_result) -> Identity:
    return info.st_dev, info.st_ino, info.st_mode, _owner(info)


def _write_all(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _remove_below(name: str, folder: int | None) -> None:
    """Remove a folder and its contents as far as possible. It may be deeper than the limit of recursion."""
    with contextlib.suppress(OSError, RecursionError):
        shutil.rmtree(name, ignore_errors=True, dir_fd=folder)


def remove_folder(path: Path) -> None:
    """Remove a folder, which is in a private or sticky one, and its contents. Failures are no errors."""
    _remove_below(str(path), None)


def temporary_folder(prefix: str, *parents: Path) -> Path:
    """Make a new private folder.

    Parameters
    ----------
    parents : Path
        Candidates for the parent: the first private or sticky one counts. By default the system's temporary folders.

    Raises
    ------
    OSError
        No candidate is private or sticky.
    """
    failure: OSError = FileNotFoundError(errno.ENOENT, "no folder for temporary files")
    for parent in parents or temporary_folders():
        try:
            close(open_folder(parent, others="add"))
            return Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        except OSError as error:
            failure = error.with_traceback(None)  # its frames would keep the arrays of all callers
    raise failure


def temporary_folders() -> Iterator[Path]:
    """Yield the system's folders for temporary files."""
    with contextlib.suppress(OSError):
        yield Path(tempfile.gettempdir())
    yield Path("/tmp")


def own_folders(parent: Path, prefix: str) -> list[tuple[Path, os.stat_result]]:
    """List this user's folders with a prefix in a parent folder where other users may create files."""
    folders = []
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in islice(entries, _MAX_ENTRIES):
            with contextlib.suppress(OSError):
                if entry.name.startswith(prefix):
                    info = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(info.st_mode) and not (_CHECKED and _owner(info) != os.geteuid()):
                        folders.append((Path(entry.path), info))
    return folders


_exit_folders: list[Path] = []  # folders to remove at the end of this process


def remove_at_exit(path: Path) -> Path:
    """Remove a folder at the end of the calling process."""
    _exit_folders.append(path)
    return path


@atexit.register
def _remove_exit_folders() -> None:
    while _exit_folders:
        remove_folder(_exit_folders.pop())


after_fork_in_child(_exit_folders.clear)  # the parent removes its folders


_warnings: list[str] = []


def warn_later(message: str) -> None:
    """Queue a warning for the next call of `warn` by code that holds no lock."""
    _warnings.append(message)


def warn() -> None:
    """Emit the queued warnings, at the line of the nearest caller outside clarray."""
    while _warnings:
        level, frame = 1, sys._getframe(0)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
            level, frame = level + 1, frame.f_back
        warnings.warn(_warnings.pop(0), UserWarning, stacklevel=level)
