"""`python -m clarray doctor`: what it finds, and that it finds what is put before it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._api.doctor import children, command, system
from clarray._api.doctor.families import FAMILIES, agrees, compute
from clarray._api.doctor.findings import NOTE, OK, PROBLEM, Finding
from clarray._engine.runtime import current_device, devices
from clarray._engine.runtime.cache import cache_of


def doctor(*words: str, **environment: str) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "clarray", "doctor", "--json", *words],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


def problems(found: list[dict[str, str]] | list[Finding]) -> list[str]:
    return [f"{each[1]} -> {each[2]}" for each in map(_plain, found) if each[0] == PROBLEM]


def _plain(found: Any) -> tuple[str, str, str]:
    return tuple(found.values()) if isinstance(found, dict) else tuple(found)


# Families of kernels ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAMILIES)
def test_families(name: str) -> None:
    """The device agrees with NumPy, and one value that does not would be seen, as a missing one."""
    expected = compute(name, np.array)
    assert agrees(compute(name, clarray.array), expected)
    spoilt = np.array(expected)
    spoilt.reshape(-1)[spoilt.size // 2] += 1 if spoilt.dtype.kind in "iu" else np.abs(spoilt).max() / 50
    assert not agrees(spoilt, expected)
    assert not agrees(expected.reshape(-1)[1:], expected)


def test_the_whole_command(tmp_path: Path) -> None:
    _, told = doctor(CLARRAY_DEVICE=str(devices().index(current_device())), CLARRAY_CACHE_DIR=str(tmp_path))
    assert told["versions"]["numpy"] == np.__version__
    (chosen,) = (each for each in told["devices"] if each["chosen"])
    assert chosen["name"] == current_device().capabilities.name
    found = told["findings"][f"Device {chosen['number']}"]
    assert not problems(found)
    assert f"{len(FAMILIES)} of {len(FAMILIES)}" in found[-1]["what"]


# What may be wrong --------------------------------------------------------------------------------


def test_a_device_that_is_not_there(tmp_path: Path) -> None:
    status, told = doctor(CLARRAY_DEVICE="no such device", CLARRAY_CACHE_DIR=str(tmp_path))
    assert status == 1
    assert told["devices"] == []
    assert "unset CLARRAY_DEVICE" in problems(told["findings"]["Devices"])[0]


def test_a_driver_that_does_not_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone.icd").write_text("libthatisnotthere.so.1\n")
    monkeypatch.setenv("OCL_ICD_VENDORS", str(tmp_path))
    found = list(system.drivers())
    (only,) = problems(found)
    assert "gone.icd: libthatisnotthere.so.1 does not load" in only
    assert any(each.state == NOTE and "OCL_ICD_VENDORS" in each.what for each in found)


def test_a_gpu_without_a_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, (kind, maker) in enumerate([("0x030200", "0x10de"), ("0x020000", "0x8086"), ("0x030000", "0x1002")]):
        folder = tmp_path / f"0000:0{number}:00.0"
        folder.mkdir()
        (folder / "class").write_text(f"{kind}\n")
        (folder / "vendor").write_text(f"{maker}\n")
    monkeypatch.setattr(system, "_PCI", tmp_path)
    monkeypatch.setattr(system, "vendor_files", dict)
    texts = "\n".join(problems(list(system.hardware(""))))
    assert "NVIDIA's display adapter" in texts
    assert "AMD's display adapter" in texts
    assert "Intel's" not in texts  # its network adapter computes nothing
    assert "display adapter" not in "\n".join(problems(list(system.hardware("NVIDIA CUDA, AMD APP"))))


def test_a_cache_that_cannot_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CLARRAY_CACHE_DIR", str(tmp_path / "file" / "below"))
    (only,) = problems(list(system.caches()))
    assert "CLARRAY_CACHE_DIR=" in only


def test_a_cache_that_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLARRAY_CACHE_DIR", str(tmp_path))
    for name in ("programs", "tuning"):
        cache_of(name).store("sound", b"bytes")
    assert [each.state for each in system.caches()] == [OK]
    cache_of("programs").store("spoilt", b"other bytes")
    with (tmp_path / "programs" / "spoilt").open("ab") as file:
        file.write(b"!")
    (only,) = problems(list(system.caches()))
    assert "1 of 3 files" in only
    assert "--clear-cache" in only
    assert (tmp_path / "programs" / "spoilt").exists()  # looking changes nothing
    assert system.clear_caches() == 2
    assert [each.state for each in system.caches()] == [OK]
    assert cache_of("tuning").load("sound") == b"bytes"


def child_that(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "_EXAMINATION", [sys.executable, "-c", code])


def test_a_driver_that_brings_the_process_down(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import os; print('{\"begun\": \"sort\"}', flush=True); print('a driver says this'); os.abort()"
    child_that(code, monkeypatch)
    (only,) = problems(list(command._examined({"number": 0}, lambda family: None)))
    assert "sort: the process ended by signal 6" in only


def test_a_driver_that_never_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    child_that("import time; time.sleep(600)", monkeypatch)
    monkeypatch.setattr(children, "_PATIENCE_SECONDS", 0.5)
    devices, (only,) = command._listed()
    assert devices == []
    assert "nothing came back within 0 s" in only.what


@pytest.mark.parametrize(
    ("said", "mend"),
    [
        ("BuildError: unknown target CPU 'generic'", "does not know this processor"),
        ("no OpenCL device found: and so on", "pocl-binary-distribution"),
        ("MemoryError: clarray needs 3 GiB", "end what else uses"),
        ("clBuildProgram failed: BUILD_PROGRAM_FAILURE", "update the device's driver"),
        ("the answer is not NumPy's", "report"),
    ],
)
def test_what_mends_it(said: str, mend: str) -> None:
    assert mend in command._problem(said, said).mend


def test_the_report_on_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLARRAY_CACHE_DIR", str(tmp_path))
    child_that('print(\'{"error": "no OpenCL device found"}\')', monkeypatch)
    monkeypatch.setattr(system, "drivers", lambda: iter([Finding(OK, "fine")]))
    monkeypatch.setattr(system, "hardware", lambda platforms: iter(()))
    assert command.main([]) == 1
    text = capsys.readouterr().out
    assert "  problem  no OpenCL device found\n           -> `pip install" in text
    assert text.endswith("1 problem found: each has a line above that says what mends it\n")
    assert "Hardware" not in text
