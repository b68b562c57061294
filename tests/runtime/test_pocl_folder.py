"""PoCL's folder: in a place where it can be, this process's own, and gone afterwards."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from clarray._engine.runtime import environment
from clarray._engine.runtime.backends.pocl import scratch_folder, settings

needs_pocl_wheel = pytest.mark.skipif(
    os.name != "posix" or not settings.has_wheel() or environment._has_driver("pocl"),
    reason="PoCL is not there as the wheel",
)

SUM = """
import clarray
from clarray._engine.runtime.backends.pocl import scratch_folder
assert float(clarray.arange(10).sum()) == 45
print(scratch_folder._current.path)
"""
WARNING = 'import warnings; warnings.simplefilter("default")\n' + SUM  # other tests run with warnings as errors
UNSET: dict[str, str | None] = dict.fromkeys(("XDG_CACHE_HOME", "POCL_CACHE_DIR", "POCL_KERNEL_CACHE", "POCL_DEVICES"))
PROBLEMS = ("no home", "a home that is no folder", "a cache that is no folder", "a folder of PoCL's that is none")


@pytest.fixture
def on_pocl(fresh_cold: Any, tmp_path: Path) -> Any:
    """Run code on PoCL, everything but what is given as in a new account whose home is a folder below."""
    (tmp_path / "home").mkdir()
    (tmp_path / "tmp").mkdir()
    own = {"HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "tmp"), "CLARRAY_DEVICE": "pocl"}
    return lambda code, **environment: fresh_cold(code, **UNSET | own | environment)


@needs_pocl_wheel
@pytest.mark.parametrize("problem", ["none", *PROBLEMS])
def test_it_works_wherever_nothing_can_be_kept(on_pocl: Any, tmp_path: Path, problem: str) -> None:
    (tmp_path / "file").write_text("in the way")
    below = str(tmp_path / "file" / "below")
    changes: dict[str, dict[str, str | None]] = {
        "none": {},
        "no home": {"HOME": None, "CLARRAY_CACHE_DIR": None},
        "a home that is no folder": {"HOME": below, "CLARRAY_CACHE_DIR": None},
        "a cache that is no folder": {"XDG_CACHE_HOME": below, "CLARRAY_CACHE_DIR": None},
        "a folder of PoCL's that is none": {"POCL_CACHE_DIR": below, "CLARRAY_CACHE_DIR": below},
    }
    result = on_pocl(SUM, **changes[problem])
    assert (result.returncode, result.stderr) == (0, "")
    assert not Path(result.stdout.strip()).exists()
    assert not list((tmp_path / "tmp").iterdir())
    assert {file.name for file in (tmp_path / "home").rglob("*")} <= {".cache"}


@needs_pocl_wheel
def test_the_users_folder_is_taken(on_pocl: Any, tmp_path: Path) -> None:
    chosen = tmp_path / "chosen" / "by the user"
    for code in (SUM, SUM + "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"):
        result = on_pocl(code.replace(".path)", ".path, flush=True)"), POCL_CACHE_DIR=str(chosen))
        assert result.stderr == ""
        assert Path(result.stdout.strip()).parent == chosen
    (left,) = chosen.iterdir()  # of the one that was killed
    os.utime(left, (0, 0))
    assert on_pocl(SUM, POCL_CACHE_DIR=str(chosen)).stderr == ""
    assert not list(chosen.iterdir())


@needs_pocl_wheel
def test_a_cache_that_the_user_wants_of_pocl_is_left_to_it(on_pocl: Any, tmp_path: Path) -> None:
    code = SUM.replace("print(scratch_folder._current.path)", "assert scratch_folder._current is None")
    result = on_pocl(code, POCL_CACHE_DIR=str(tmp_path / "chosen"), POCL_KERNEL_CACHE="1")
    assert (result.returncode, result.stderr) == (0, "")
    assert list((tmp_path / "chosen").iterdir())


@needs_pocl_wheel
def test_a_folder_that_others_can_write_to_is_not_taken(on_pocl: Any, tmp_path: Path) -> None:
    chosen = tmp_path / "chosen"
    chosen.mkdir()
    for mode in (0o777, 0o770):
        chosen.chmod(mode)
        result = on_pocl(WARNING, POCL_CACHE_DIR=str(chosen))
        assert result.stderr.count("Warning") == result.stderr.count(f"chmod go-w {chosen}, or set POCL_CACHE_DIR") == 1
        assert not Path(result.stdout.strip()).is_relative_to(chosen)
    chosen.chmod(0o1777)
    result = on_pocl(SUM, POCL_CACHE_DIR=str(chosen))
    assert result.stderr == ""
    assert Path(result.stdout.strip()).parent == chosen


@needs_pocl_wheel
@pytest.mark.parametrize("plant", ["writable", "writable below", "a link"])
def test_a_cache_of_pocls_that_others_have_written_to_is_not_left_to_it(
    on_pocl: Any, tmp_path: Path, plant: str
) -> None:
    chosen = tmp_path / "chosen"
    below = chosen / "AB" / "CDEF"
    below.mkdir(parents=True)
    if plant == "a link":
        (below / "program.bc").symlink_to(tmp_path)
    else:
        (below if plant == "writable below" else chosen).chmod(0o777)
    result = on_pocl(WARNING, POCL_CACHE_DIR=str(chosen), POCL_KERNEL_CACHE="1")
    assert result.returncode == 0
    found = Path(result.stdout.strip())
    assert not found.is_relative_to(chosen) or plant != "writable"
    assert {path.name for path in chosen.rglob("*")} <= {"AB", "CDEF", "program.bc"}


@needs_pocl_wheel
def test_with_no_room_left_it_says_so(on_pocl: Any) -> None:
    code = """
import clarray, errno
from clarray._engine.runtime.backends.pocl import scratch_folder
x = (clarray.arange(10) + 1).evaluate()  # so that no other kernel is needed later
assert int(x.sum()) == 55
scratch_folder._MIN_FREE_BYTES = 1 << 60
try:
    int((x * 3).sum())
except OSError as error:
    assert error.errno == errno.ENOSPC and "POCL_CACHE_DIR" in str(error), error
    print("no room")
assert int(x.sum()) == 55
scratch_folder._MIN_FREE_BYTES = 0
assert int((x * 3).sum()) == 165
"""
    result = on_pocl(code, CLARRAY_TIER="0")  # NumPy would need no kernel
    assert (result.stdout, result.stderr) == ("no room\n", "")


@needs_pocl_wheel
def test_with_no_place_at_all_it_says_so(on_pocl: Any, tmp_path: Path) -> None:
    code = """
from clarray._engine.runtime import devices
from clarray._engine.runtime.backends.pocl import scratch_folder
scratch_folder._create = lambda place: False
devices()
"""
    nowhere = str(tmp_path / "nowhere")  # no runtime but PoCL, which brings its own loader
    result = on_pocl(code, OCL_ICD_VENDORS=nowhere)
    assert "no OpenCL device found" in result.stderr
    assert result.stderr.strip().endswith("POCL_CACHE_DIR names one")


@needs_pocl_wheel
def test_a_pocl_that_was_asked_before_is_left_where_it_is(on_pocl: Any, tmp_path: Path) -> None:
    code = """
import pyopencl
for platform in pyopencl.get_platforms():
    platform.get_devices()
""" + SUM.replace("print(scratch_folder._current.path)", "assert scratch_folder._current is None")
    for _ in range(2):
        result = on_pocl(code, POCL_CACHE_DIR=str(tmp_path / "chosen"))
        assert (result.returncode, result.stderr) == (0, "")
    assert not [file for file in (tmp_path / "chosen").iterdir() if file.name.startswith("clarray")]


def test_the_place_with_most_room_is_taken_where_none_has_enough(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rooms = {"read-only": -1, "full": 0, "tight": 5, "wider": 7}
    for name in rooms:
        (tmp_path / name).mkdir()
    monkeypatch.setattr(scratch_folder, "_current", None)
    monkeypatch.setattr(scratch_folder, "_candidate_folders", lambda: [(tmp_path / name, 100) for name in rooms])
    monkeypatch.setattr(scratch_folder, "_available_bytes", lambda place: rooms[place.name])
    for expected in ("wider", "tight", "full", None):
        made = scratch_folder.make()
        assert made == (None if expected is None else scratch_folder._current and scratch_folder._current.inside)
        if made is not None and expected is not None:
            assert scratch_folder._current is not None
            assert scratch_folder._current.path.parent.name == expected
            scratch_folder.remove_unless_shared()
            assert not list((tmp_path / expected).iterdir())
            scratch_folder.leave_to_later_process()
            rooms[expected] = -1
    assert scratch_folder.is_missing()
