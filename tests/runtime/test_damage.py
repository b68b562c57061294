"""Whatever becomes of the programs on disk, the next process gives the right answer and heals them."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clarray._engine.runtime import current_device
from clarray._engine.runtime.backends.pocl import binary_format
from clarray._engine.runtime.backends.pocl.cpu_name import is_patchable
from clarray._engine.runtime.cache import DiskCache
from clarray._engine.runtime.quarantine import Quarantine

from .once import ONCE


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory, fresh_in: Any) -> Path:
    """A cache folder with one program of two launches, as a process has left it."""
    folder = tmp_path_factory.mktemp("kept")
    fresh_in(folder, ONCE)
    return folder


def _cut(at: float) -> Callable[[bytes], bytes]:
    return lambda data: data[: int(at * len(data)) if at < 1 else int(at)]


def _flipped(at: float) -> Callable[[bytes], bytes]:
    def flip(data: bytes) -> bytes:
        where = int(at * len(data)) if at < 1 else int(at)
        return data[:where] + bytes([data[where] ^ 0x10]) + data[where + 1 :]

    return flip


# What may become of a file; the head is 16 bytes of magic and 32 of checksum.
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    **{f"cut at {at}": _cut(at) for at in (0, 7, 16, 48, 49, 100, 0.5, 0.9999)},
    **{f"flipped at {at}": _flipped(at) for at in (3, 20, 48, 60, 90, 0.3, 0.9999)},
    "foreign": lambda data: b"\x7fELF" * 99,
    "zeros": lambda data: bytes(len(data)),
    "longer": lambda data: data + b"more",
    "the format before": lambda data: data.replace(b"cache 2", b"cache 1", 1),
}


def _of_pocl(change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """What PoCL's parser would stumble over; of other runtimes' binaries a piece is cut off."""
    return lambda data: change(data) if data.startswith(b"poclbin") else data[:40]


# What was stored so, with a checksum of its own.
UNSOUND: dict[str, Callable[[bytes], bytes]] = {
    "no program": lambda data: b"sound, but no program",
    "nothing": lambda data: b"",
    "a header": _of_pocl(lambda data: data[:73]),
    "no kernels": _of_pocl(lambda data: data[:20] + bytes(4) + data[24:]),
    "half": _of_pocl(_cut(0.5)),
    "all but the end": _of_pocl(_cut(0.9999)),
    "no code": _of_pocl(lambda data: _without_files(data)),
}


def _without_files(data: bytes) -> bytes:
    """What PoCL makes of a program of one kernel whose files are gone."""
    path, program = struct.unpack_from("<I", data, 73)[0], 77 + 11
    length = struct.unpack_from("<I", data, program)[0]
    at = program + 4 + length
    size, of_files = struct.unpack_from("<QQ", data, at)
    assert path == 11
    kernel = struct.pack("<QQ", size - of_files, 0) + data[at + 16 : at + size - of_files]
    return data[:program] + bytes(4) + kernel


def _is_known(binary: bytes) -> bool:
    """Return whether a binary is another runtime's than PoCL's, or has the layout of PoCL 3.0."""
    return current_device().backend.name != "pocl" or binary_format.has_supported_layout(binary)


def _programs(folder: Path) -> dict[str, bytes]:
    cache = DiskCache(folder / "programs")
    return {file.name: cache.load(file.name) or b"" for file in cache.folder.iterdir()}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_absent_and_makes_room_for_the_next(tmp_path: Path, damage: str) -> None:
    cache = DiskCache(tmp_path)
    payload = bytes(range(256)) * 40
    cache.store("key", payload)
    file = tmp_path / "key"
    file.write_bytes(DAMAGES[damage](file.read_bytes()))
    assert cache.load("key") is None
    assert not file.exists()
    cache.store("key", payload)
    assert cache.load("key") == payload


@pytest.mark.parametrize("damage", ["cut at 0.5", "flipped at 0.3", "a folder", "another's", *UNSOUND])
def test_whatever_becomes_of_a_program_the_next_process_is_right_and_heals_it(
    fresh_in: Any, kept: Path, tmp_path: Path, damage: str
) -> None:
    folder = tmp_path / "cache"
    shutil.copytree(kept, folder)
    cache = DiskCache(folder / "programs")
    sound = _programs(folder)
    assert all(map(binary_format.is_complete, sound.values()))
    if damage in UNSOUND and not all(map(_is_known, sound.values())):
        pytest.skip("the layout of these binaries is not known")
    for file in list(cache.folder.iterdir()):
        if damage in DAMAGES:
            file.write_bytes(DAMAGES[damage](file.read_bytes()))
        elif damage in UNSOUND:
            cache.store(file.name, UNSOUND[damage](sound[file.name]))
        elif damage == "another's":
            other = "0" * 64
            cache.store(other, sound[file.name])
            os.replace(cache.folder / other, file)
        else:
            file.unlink()
            (file / "below").mkdir(parents=True)
    result = fresh_in(folder, ONCE)
    assert (result.returncode, result.stdout, result.stderr) == (0, "1\n", "")
    healed = _programs(folder)
    assert healed.keys() == sound.keys()
    assert all(map(binary_format.is_complete, healed.values()))


def test_every_piece_of_a_binary_is_seen_to_be_one(kept: Path) -> None:
    for binary in _programs(kept).values():
        assert binary_format.is_complete(binary)
        if not binary_format.has_supported_layout(binary):
            continue
        assert not any(binary_format.is_complete(binary[:at]) for at in range(73, len(binary), 41))
        assert not binary_format.is_complete(_without_files(binary))
        moved = binary_format.with_folder_name(binary, "elsewhere")
        assert binary_format.is_complete(moved)
        assert len(moved) == len(binary)
        assert b"elsewhere\0" in moved[:73]


CRASH = """
from clarray._engine.runtime import current_device
from clarray._engine.runtime.quarantine import find_quarantine
import os, signal
find_quarantine(current_device().program_cache).add(KEY)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name != "posix", reason="file locks of Unix")
def test_what_crashed_a_process_is_not_tried_by_the_next(fresh_in: Any, kept: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    shutil.copytree(kept, folder)
    for key in _programs(folder):
        assert fresh_in(folder, CRASH.replace("KEY", repr(key))).returncode < 0
    assert fresh_in(folder, ONCE).stdout == "1\n"
    assert fresh_in(folder, ONCE).stdout == "0\n"
    assert not list((folder / "trials").iterdir())


@pytest.mark.skipif(os.name != "posix", reason="file locks of Unix")
def test_quarantine(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "programs")
    keys = [format(number, "064x") for number in range(3)]
    for key in keys:
        cache.store(key, b"x")
    first, second = Quarantine(cache), Quarantine(cache)  # of two processes at once
    first.add(keys[0])
    first.add(keys[1])
    first.remove(keys[0])
    Quarantine(cache).close()
    assert cache.load(keys[1]) == b"x"  # its process lives
    first.close(inherited=True)
    Quarantine(cache).close()
    assert [cache.load(key) for key in keys] == [b"x", None, b"x"]
    second.close()
    assert not list((tmp_path / "trials").iterdir())
    (tmp_path / "trials" / "odd").write_bytes(b"../../programs/" + keys[2].encode()[:20] + b"\xff\n")
    os.utime(tmp_path / "trials" / "odd", (0, 0))
    Quarantine(cache).close()
    assert cache.load(keys[2]) == b"x"
    nowhere = Quarantine(DiskCache(tmp_path / "programs" / keys[2] / "below"))
    nowhere.add(keys[0])
    nowhere.remove(keys[0])


@pytest.mark.skipif(not is_patchable(current_device().cl_device), reason="another runtime than PoCL's wheel")
def test_code_that_crashes_does_so_once(fresh_in: Any, kept: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    shutil.copytree(kept, folder)
    cache = DiskCache(folder / "programs")
    for key, binary in _programs(folder).items():
        broken = _with_code(binary, b"\x0f\x0b")  # an instruction that is none
        assert broken != binary
        assert binary_format.is_complete(broken)
        cache.store(key, broken)
    assert fresh_in(folder, ONCE).returncode < 0
    again = fresh_in(folder, ONCE)
    assert (again.stdout, again.stderr) == ("1\n", "")
    assert fresh_in(folder, ONCE).stdout == "0\n"


def _with_code(binary: bytes, code: bytes) -> bytes:
    """Overwrite the executable segments of every shared library in a binary."""
    changed = bytearray(binary)
    start = binary.find(b"\x7fELF")
    while start >= 0:
        first, size, number = struct.unpack_from("<32xQ14xHH", binary, start)
        for at in range(start + first, start + first + size * number, size):
            kind_, flags, offset, _, _, length = struct.unpack_from("<IIQQQQ", binary, at)
            if kind_ == 1 and flags & 1:
                inside = slice(start + offset, start + offset + length)
                changed[inside] = (code * length)[:length]
        start = binary.find(b"\x7fELF", start + 1)
    return bytes(changed)


REMOVED = """
import shutil
from pathlib import Path
from clarray._engine.runtime.backends.pocl import scratch_folder
from clarray._engine.runtime.cache import cache_folder
def away(path):
    shutil.rmtree(path)
    if FILE:
        Path(path).write_text("in the way")
kernel.launch((1,), (8,), (memory.buffer,), True)
if scratch_folder._current is not None:
    away(scratch_folder._current.inside)
away(cache_folder())
for local in (2, 4):
    kernel.launch((8 // local,), (local,), (memory.buffer,), False)
device.read(memory, 0, out)
assert (out == 32 * np.arange(8)).all(), out
other = device.program(source.replace("2", "3"), {"twice": ("buffer",)}).kernel("twice")
for _ in range(4):
    other.launch((8,), (1,), (memory.buffer,))
device.read(memory, 0, out)
assert (out == 81 * 32 * np.arange(8)).all(), out
"""


@pytest.mark.parametrize("by_a_file", [False, True])
@pytest.mark.parametrize("warm", [False, True])
def test_folders_may_go_while_a_process_runs(fresh_in: Any, tmp_path: Path, warm: bool, by_a_file: bool) -> None:
    folder = tmp_path / "cache"
    if warm:
        assert fresh_in(folder, ONCE).stdout == "1\n"
    result = fresh_in(folder, ONCE + REMOVED.replace("FILE", repr(by_a_file)))
    assert (result.returncode, result.stderr) == (0, "")
    if by_a_file:
        folder.unlink()
    again = fresh_in(folder, ONCE)
    assert (again.returncode, again.stderr) == (0, "")
    assert all(map(binary_format.is_complete, _programs(folder).values()))
    assert fresh_in(folder, ONCE).stdout == "0\n"


TWO = """
from clarray._engine.runtime import current_device
device = current_device()
memory = device.allocate(64)
for name, parameters in (("one", "global int *x"), ("two", "global int *x"), ("three", "global int *x, int y")):
    source = f"kernel void {name}({parameters}) {{ x[0] += 1; }}"
    types = ("buffer", "int32")[: parameters.count(",") + 1]
    kernel = device.program(source, {name: types}).kernel(name)
    for inline in (False, True):
        kernel.launch((1,), (1,), (memory.buffer, 1)[: len(types)], inline)
device.finish()
"""


def test_programs_under_each_others_keys_are_compiled_anew(fresh_in: Any, tmp_path: Path) -> None:
    """With the checksums that belong there: it was LogicError, since the program has no such kernel."""
    assert fresh_in(tmp_path, TWO).stderr == ""
    cache = DiskCache(tmp_path / "programs")
    programs = _programs(tmp_path)
    queues = 1 if current_device().inline is None or current_device().probed.binary_ids else 2
    assert len(programs) == 3 * queues
    for key, binary in zip(programs, (*list(programs.values())[1:], *programs.values()), strict=False):
        cache.store(key, binary)
    again = fresh_in(tmp_path, TWO)
    assert (again.returncode, again.stderr) == (0, "")
