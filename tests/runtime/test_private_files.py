"""What other users of the machine can do to what is kept on disk: nothing. Root is not needed: owners are made up."""

from __future__ import annotations

import ast
import hashlib
import marshal
import os
import socket
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clarray._engine.runtime import cache as caches
from clarray._engine.runtime import pool_trimmer, private_files
from clarray._engine.runtime.backends.pocl import scratch_folder
from clarray._engine.runtime.cache import CACHES, DiskCache, cache_folder, disk_cache
from clarray._engine.runtime.private_files import NotPrivateError, PrivateFolder
from clarray._engine.runtime.quarantine import Quarantine

from ..caches import copy_device_record
from .conftest import ROOT

pytestmark = pytest.mark.skipif(os.name != "posix", reason="owners and modes of Unix")

PAYLOAD = b"payload" * 1000
KEY, OTHER = "a" * 64, "b" * 64
Give = Callable[[Path], None]
Plant = Callable[[Path, Give], None]


@pytest.fixture
def give(monkeypatch: pytest.MonkeyPatch) -> Give:
    """Make a path another user's, for this process."""
    given: set[tuple[int, int]] = set()
    owner = private_files._owner

    def owner_of(info: os.stat_result) -> int:
        return 54321 if (info.st_dev, info.st_ino) in given else owner(info)

    def give_away(path: Path) -> None:
        info = path.lstat()
        given.add((info.st_dev, info.st_ino))

    monkeypatch.setattr(private_files, "_owner", owner_of)
    return give_away


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A cache with a sound file under two keys."""
    path = tmp_path / "public" / "cache"
    for key in (KEY, OTHER):
        DiskCache(path).store(key, PAYLOAD + key.encode())
    yield path
    _flatten(path / KEY)


def _file(folder: Path) -> Path:
    return folder / KEY


def _replaced_by(make: Callable[[Path, Path], Any]) -> Plant:
    """Something else under the key: made of the path, and of where the sound file is then."""

    def plant(folder: Path, give: Give) -> None:
        sound = folder.parent / "sound"
        _file(folder).rename(sound)
        make(_file(folder), sound)

    return plant


def _linked_folder(folder: Path, give: Give) -> None:
    folder.rename(folder.parent / "real")
    folder.symlink_to(folder.parent / "real")
    give(folder)


def _hard_link(path: Path, sound: Path) -> None:
    os.link(sound, path)


def _socket(path: Path, sound: Path) -> None:
    before = os.getcwd()
    os.chdir(path.parent)  # a socket's path may have a hundred characters
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(before)


def _sparse(path: Path, sound: Path) -> None:
    path.write_bytes(sound.read_bytes())
    os.truncate(path, 1 << 40)


def _exchanged(folder: Path, give: Give) -> None:
    _file(folder).write_bytes((folder / OTHER).read_bytes())


def _deep(path: Path, depth: int = 1500) -> None:
    """Make a folder that is deeper than calls may nest."""
    path.mkdir()
    at = os.open(path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=at)
        at, above = os.open("d", os.O_RDONLY, dir_fd=at), at
        os.close(above)
    os.close(at)


def _flatten(path: Path) -> None:
    """Remove what is left of it, for pytest's sake."""
    while (path / "d" / "d").exists():
        (path / "d" / "d").rename(path / "next")
        (path / "d").rmdir()
        (path / "next").rename(path / "d")


MISSES: dict[str, Plant] = {
    "a file of another user's": lambda folder, give: give(_file(folder)),
    "a file that a group can write to": lambda folder, give: _file(folder).chmod(0o620),
    "a file that everyone can write to": lambda folder, give: _file(folder).chmod(0o602),
    "a link to a sound file": _replaced_by(lambda path, sound: path.symlink_to(sound)),
    "a link that leads nowhere": _replaced_by(lambda path, sound: path.symlink_to("nowhere")),
    "a FIFO": _replaced_by(lambda path, sound: os.mkfifo(path)),
    "a socket": _replaced_by(_socket),
    "a folder": _replaced_by(lambda path, sound: path.mkdir()),
    "a deep folder": _replaced_by(lambda path, sound: _deep(path)),
    "a sparse file": _replaced_by(_sparse),
    "another key's file": _exchanged,
}
REFUSED: dict[str, Plant] = {
    "a folder of another user's": lambda folder, give: give(folder),
    "a folder that a group can write to": lambda folder, give: folder.chmod(0o770),
    "a folder that everyone can write to": lambda folder, give: folder.chmod(0o777),
    "a sticky folder that everyone can write to": lambda folder, give: folder.chmod(0o1777),
    "a folder below one of another user's": lambda folder, give: give(folder.parent),
    "a link of another user's on the way": _linked_folder,
}


@pytest.mark.parametrize("plant", MISSES)
def test_what_is_planted_under_a_key_is_a_miss(folder: Path, give: Give, plant: str) -> None:
    if plant == "a file of another user's":
        os.link(_file(folder), folder.parent / "the owner's own name of it")
    MISSES[plant](folder, give)
    cache = DiskCache(folder)
    assert cache.load(KEY) is None
    assert not cache.is_intact(KEY)
    assert cache.load(OTHER) == PAYLOAD + OTHER.encode()
    cache.store(KEY, b"new")
    if plant != "a deep folder":
        assert cache.load(KEY) == b"new"
    assert cache.load(OTHER) == PAYLOAD + OTHER.encode()


@pytest.mark.parametrize("plant", REFUSED)
def test_nothing_is_read_or_written_where_others_can_write(folder: Path, give: Give, plant: str) -> None:
    seen = DiskCache(folder)
    assert seen.load(KEY) is not None
    REFUSED[plant](folder, give)
    before = sorted(folder.iterdir())
    folder_itself = not plant.startswith(("a folder below", "a link"))
    for cache in (seen, DiskCache(folder)) if folder_itself else (DiskCache(folder),):
        assert cache.load(KEY) is None
        cache.store(KEY, b"new")
        cache.store("new", b"new")
        cache.discard(OTHER)
        assert not cache.files()
    assert sorted(folder.iterdir()) == before
    with pytest.raises(NotPrivateError):
        PrivateFolder(folder).read(KEY, 1 << 20)


def test_where_others_can_exchange_the_folder_it_counts_only_if_it_is_ones_own(folder: Path, give: Give) -> None:
    folder.parent.chmod(0o777)
    cache = DiskCache(folder)
    assert cache.load(KEY) is not None
    assert private_files.refusal(folder) is not None  # by its path it is not to be used
    assert not private_files.is_private_file(_file(folder))
    folder.rename(folder.parent / "moved")
    folder.mkdir()
    (folder / KEY).write_bytes((folder.parent / "moved" / KEY).read_bytes())
    give(folder)
    assert cache.load(KEY) is None
    assert DiskCache(folder).load(KEY) is None


def test_a_link_of_ones_own_is_followed(folder: Path) -> None:
    for target in (folder, "public/cache", "public/../public/./cache"):
        link = folder.parents[1] / "link"
        link.symlink_to(target)
        assert DiskCache(link).load(KEY) is not None
        link.unlink()
    link.symlink_to(link)
    assert DiskCache(link).load(KEY) is None


def test_folders_are_made_for_this_user_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        DiskCache(tmp_path / "new" / "below" / "cache").store("a", b"x")
        made = private_files.temporary_folder("made-", tmp_path)
    finally:
        os.umask(before)
    for path in ("new", "new/below", "new/below/cache", made):
        assert stat.S_IMODE((tmp_path / path).stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "new/below/cache/a").stat().st_mode) == 0o600


def test_temporary_folders_are_made_where_nobody_can_exchange_them(tmp_path: Path, give: Give) -> None:
    places = {name: tmp_path / name for name in ("another's", "everyone's", "sticky")}
    for place in places.values():
        place.mkdir()
    give(places["another's"])
    places["everyone's"].chmod(0o777)
    places["sticky"].chmod(0o1777)
    assert private_files.temporary_folder("x", *places.values()).parent == places["sticky"]
    with pytest.raises(NotPrivateError):
        private_files.temporary_folder("x", places["another's"], places["everyone's"])


def test_what_others_make_beside_pocls_folders_stays(tmp_path: Path, give: Give) -> None:
    """Everyone can make files in shared memory: a FIFO made the process hang, and folders of others were emptied."""
    prefix = tmp_path / scratch_folder._PREFIX
    paths = {name: Path(f"{prefix}{name}") for name in ("fifo", "file", "link", "another's", "deep", "mine")}
    os.mkfifo(paths["fifo"])
    paths["file"].touch()
    for name in ("another's", "mine"):
        (paths[name] / "pocl").mkdir(parents=True)
    target = tmp_path / "target"
    (target / "below").mkdir(parents=True)
    paths["link"].symlink_to(target)
    _deep(paths["deep"])
    give(paths["another's"])
    for path in paths.values():
        os.utime(path, (0, 0), follow_symlinks=False)
    scratch_folder._remove_stale(tmp_path)
    _flatten(paths["deep"])
    stay = {"fifo", "file", "link", "another's"}
    assert {name for name, path in paths.items() if os.path.lexists(path)} - {"deep"} == stay
    assert (paths["another's"] / "pocl").exists()
    assert (target / "below").exists()


@pytest.mark.parametrize("plant", ["a FIFO", "a link", "another's"])
def test_notes_that_are_planted_hold_nothing_up(tmp_path: Path, give: Give, plant: str) -> None:
    cache = DiskCache(tmp_path / "programs")
    cache.store(KEY, PAYLOAD)
    note = tmp_path / "trials" / "note"
    note.parent.mkdir(0o700)
    if plant == "a FIFO":
        os.mkfifo(note)
    elif plant == "a link":
        (tmp_path / "target").write_text(KEY)
        note.symlink_to(tmp_path / "target")
    else:
        note.write_text(KEY)
        give(note)
    Quarantine(cache).close()
    assert cache.load(KEY) == PAYLOAD


def test_other_processes_are_asked_without_following_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_trimmer, "_request_folder", lambda: PrivateFolder(tmp_path))
    target = tmp_path / "target"
    target.touch()
    os.utime(target, (0, 0))
    sign = tmp_path / pool_trimmer._REQUEST_FILES[True]
    sign.symlink_to(target)
    os.utime(sign, (0, 0), follow_symlinks=False)

    class Asking:
        in_host_memory = True

    before = pool_trimmer._last_request(True)
    pool_trimmer.request_memory(Asking())  # type: ignore[arg-type]
    assert pool_trimmer._last_request(True) != before
    assert target.stat().st_mtime == 0


@pytest.mark.parametrize("below", ["", *CACHES, "trials"])
@pytest.mark.parametrize("mode", [0o777, 0o720])
def test_a_cache_that_others_can_write_to_has_another_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str, mode: int
) -> None:
    monkeypatch.setattr(caches, "_in_force", {})
    monkeypatch.setattr(private_files, "_warnings", [])
    monkeypatch.setenv("CLARRAY_CACHE_DIR", str(tmp_path / "cache"))
    planted = tmp_path / "cache" / below
    planted.mkdir(parents=True, mode=0o700)
    planted.chmod(mode)
    cache = disk_cache("programs")
    cache.store(KEY, PAYLOAD)
    assert cache.load(KEY) == PAYLOAD
    assert not cache.folder.is_relative_to(tmp_path)
    assert stat.S_IMODE(cache_folder().stat().st_mode) == 0o700
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert len(private_files._warnings) == 1
    assert cache_folder() == cache.folder.parent
    with pytest.warns(UserWarning, match=f"chmod go-w {planted}, or set CLARRAY_CACHE_DIR") as warned:
        private_files.warn()
    assert [each.filename for each in warned] == [__file__]
    private_files._remove_exit_folders()
    assert not cache.folder.exists()


USE = """
import warnings, clarray
with warnings.catch_warnings(record=True) as given:
    warnings.simplefilter("always")
    for _ in range(3):
        print(float((clarray.arange(100000.) * 2).sum()))
    clarray.devices()
print(*[each.category.__name__ for each in given])
"""
FILTERED = """
import warnings, clarray
warnings.simplefilter("error")
try:
    clarray.devices()
except UserWarning:
    print("warned")
print(float((clarray.arange(100000.) * 2).sum()))
"""


@pytest.mark.parametrize("where", ["CLARRAY_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "a file's mode"])
def test_planted_code_does_not_run(fresh: Any, tmp_path: Path, where: str) -> None:
    """As another user would plant it: with the checksum that belongs to it."""
    base = tmp_path / "base"
    folder = {"XDG_CACHE_HOME": base / "clarray", "HOME": base / ".cache" / "clarray"}.get(where, base)
    base.mkdir(0o700)
    chosen: dict[str, str | None] = {"CLARRAY_CACHE_DIR": None, "XDG_CACHE_HOME": None, "CLARRAY_TIER": "0"}
    chosen |= {"TMPDIR": str(tmp_path), where: str(base)}
    if where == "a file's mode":
        chosen = {**chosen, "CLARRAY_CACHE_DIR": str(base)}
        del chosen[where]
    copy_device_record(folder)
    assert fresh(USE, **chosen).stdout == "9999900000.0\n" * 3 + "\n"
    witness = tmp_path / "witness"
    planted = list((folder / "templates").iterdir())
    assert planted
    for file in planted:
        source, code = marshal.loads(file.read_bytes()[48:])
        evil = compile(f"open({str(witness)!r}, 'w')\n{source}", code.co_filename, "exec")
        payload = marshal.dumps((source, evil))
        file.write_bytes(caches._head(file.name, payload) + payload)
        assert file.read_bytes()[16:48] == hashlib.sha256(file.name.encode() + payload).digest()
        file.chmod(0o646 if where == "a file's mode" else 0o600)
    if where != "a file's mode":
        folder.chmod(0o777)
    attacked = fresh(USE, **chosen)
    assert (attacked.returncode, attacked.stderr) == (0, "")
    *answers, warned = attacked.stdout.split("\n")[:-1]
    assert answers == ["9999900000.0"] * 3
    assert warned == ("" if where == "a file's mode" else "UserWarning")
    assert not witness.exists()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("clarray")]
    if where != "a file's mode":
        filtered = fresh(FILTERED, **chosen)
        assert (filtered.stdout, filtered.stderr) == ("warned\n9999900000.0\n", "")


def _as_user(user: int, action: Callable[[], bool]) -> bool:
    """Whether something is so for another user, in a forked process."""
    child = os.fork()
    if child == 0:
        good = False
        try:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            good = action()
        finally:
            os._exit(0 if good else 1)
    return os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root becomes other users")
@pytest.mark.parametrize("victim", [0, 2345])
@pytest.mark.parametrize("mode", [0o1777, 0o777])
def test_between_users(victim: int, mode: int) -> None:
    base = private_files.temporary_folder("clarray-test-")
    try:
        base.chmod(mode)
        cache = DiskCache(base / "cache")

        def plant() -> bool:
            cache.store(KEY, PAYLOAD)
            cache.folder.chmod(0o777)
            (cache.folder / KEY).chmod(0o666)
            return (cache.folder / KEY).exists()

        def is_refused() -> bool:
            refused = private_files.refusal(cache.folder, above="replace")
            return DiskCache(cache.folder).load(KEY) is None and refused is not None

        def is_left_alone() -> bool:
            made = Path(f"{base}/{scratch_folder._PREFIX}x")
            made.mkdir(0o777)
            made.chmod(0o777)
            (made / "file").touch()
            os.utime(made, (0, 0))
            return True

        assert _as_user(1234, plant)
        assert _as_user(victim, is_refused)
        assert _as_user(1234, is_left_alone)
        assert _as_user(victim, lambda: scratch_folder._remove_stale(base) is None)
        assert (base / f"{scratch_folder._PREFIX}x" / "file").exists()
    finally:
        private_files.remove_folder(base)


ONLY_THERE = {"mkdtemp", "mkstemp", "rmtree", "makedirs", "read_bytes", "write_bytes", "write_text", "touch", "scandir"}


def test_only_one_module_makes_and_removes_what_is_kept() -> None:
    for path in sorted((ROOT / "clarray" / "_engine").rglob("*.py")):
        names = {node.attr for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)}
        assert path.name == "private_files.py" or not names & ONLY_THERE, path


def test_a_load_takes_less_than_a_tenth_of_a_millisecond(folder: Path) -> None:
    cache = DiskCache(folder)
    times = []
    for _ in range(200):
        start = time.perf_counter()
        assert cache.load(KEY) is not None
        times.append(time.perf_counter() - start)
    assert min(times) < 1e-4
