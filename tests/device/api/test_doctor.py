"""`python -m clarray doctor`: what it finds, and that it finds what is put before it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._api.doctor import children, command, hardware, system
from clarray._api.doctor.examination import EXCLUDED_READ
from clarray._api.doctor.families import FAMILIES, agrees, compute
from clarray._api.doctor.findings import NOTE, OK, PROBLEM, Finding
from clarray._engine.runtime import current_device, devices
from clarray._engine.runtime.cache import disk_cache
from clarray._engine.runtime.install_lines import DRIVERS


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
    (line,) = (each["what"] for each in told["findings"]["Devices"] if each["what"].startswith(f"{chosen['number']}*"))
    assert f"limit {chosen['limit'] / (1 << 30):.1f}, largest allocation {chosen['largest'] / (1 << 30):.1f};" in line
    found = told["findings"][f"Device {chosen['number']}"]
    assert not problems(found)
    assert f"{len(FAMILIES)} of {len(FAMILIES)}" in found[-1]["what"]


# What may be wrong --------------------------------------------------------------------------------


def test_a_device_that_is_not_there(tmp_path: Path) -> None:
    status, told = doctor(CLARRAY_DEVICE="no such device", CLARRAY_CACHE_DIR=str(tmp_path))
    assert status == 1
    assert told["devices"] == []
    assert "unset CLARRAY_DEVICE" in problems(told["findings"]["Devices"])[0]


@pytest.mark.parametrize("chosen", ["", "gone.icd"], ids=["folder", "file"])
def test_a_driver_that_does_not_load(chosen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone.icd").write_text("libthatisnotthere.so.1\n")
    monkeypatch.setenv("OCL_ICD_VENDORS", str(tmp_path / chosen))
    found = list(system.drivers())
    (only,) = problems(found)
    assert "gone.icd: libthatisnotthere.so.1 does not load" in only
    assert any(each.state == NOTE and "OCL_ICD_VENDORS" in each.what for each in found)


def test_no_file_names_a_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "vendor_files", dict)
    monkeypatch.delenv("OCL_ICD_VENDORS", raising=False)
    (only,) = system.drivers()
    assert only.state == NOTE
    assert "no file names an OpenCL driver" in only.what


NODES = {
    "NVIDIA": ("nvidiactl", "nvidia0"),
    "AMD": ("dri/renderD128", "kfd"),
    "Intel": ("dri/renderD129",),
}
PCI = {"NVIDIA": ("0x10de", "0x030200"), "AMD": ("0x1002", "0x120000"), "Intel": ("0x8086", "0x030000")}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Finding]]:
    """A machine with GPUs of these makers on its bus, drivers' libraries and device nodes; what is found of it."""
    folders = {name: tmp_path / name.strip("_") for name in ("_PCI", "_DRM", "_DEV")}
    for name, folder in folders.items():
        folder.mkdir()
        monkeypatch.setattr(hardware, name, folder)

    def write(file: Path, text: str) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")

    def found(
        *makers: str, nodes: Iterable[str] = (), libraries: Iterable[str] = (), listed: str = ""
    ) -> list[Finding]:
        for maker in makers:
            vendor, kind = PCI[maker]
            write(folders["_PCI"] / maker / "vendor", vendor)
            write(folders["_PCI"] / maker / "class", kind)
            for node in NODES[maker]:
                if node.startswith("dri/"):
                    write(folders["_DRM"] / Path(node).name / "device" / "vendor", vendor)
        for node in nodes:
            write(folders["_DEV"] / node, "")
        monkeypatch.setattr(hardware, "vendor_files", lambda: {f"{each}.icd": each for each in libraries})
        return list(hardware.hardware(listed))

    return found


ALL_NODES = [node for nodes in NODES.values() for node in nodes]


def test_a_gpu_without_a_driver(machine: Callable[..., list[Finding]]) -> None:
    found = machine("NVIDIA", "AMD", "Intel", nodes=ALL_NODES, libraries=["/intel/libpocl.so", "libintelocl.so"])
    for maker, text in zip(("NVIDIA", "AMD", "Intel"), problems(found), strict=True):
        assert text == f"{maker}'s display adapter is on the bus, and no OpenCL driver for it -> {DRIVERS[maker]}"


def test_a_gpu_that_is_listed_lacks_nothing(machine: Callable[..., list[Finding]]) -> None:
    assert not machine("NVIDIA", "AMD", listed="NVIDIA CUDA NVIDIA H200 rusticl AMD Radeon (radeonsi)")


def test_other_adapters_compute_nothing(machine: Callable[..., list[Finding]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PCI, "Intel", ("0x8086", "0x020000"))  # of a network
    assert not machine("Intel")


@pytest.mark.skipif(sys.platform != "linux", reason="device nodes are Linux's")
@pytest.mark.parametrize(
    ("maker", "library", "mend"),
    [
        ("NVIDIA", "libnvidia-opencl.so.1", "docker run --gpus all"),
        ("AMD", "libamdocl64.so", "modprobe amdgpu"),
        ("AMD", "libRusticlOpenCL.so.1", "--device /dev/kfd"),
        ("Intel", "/usr/lib/intel-opencl/libigdrcl.so", "modprobe i915"),
    ],
)
def test_device_nodes_that_are_not_there(
    machine: Callable[..., list[Finding]], maker: str, library: str, mend: str
) -> None:
    others = [node for name, nodes in NODES.items() if name != maker for node in nodes]
    (only,) = problems(machine(maker, *NODES, nodes=others, libraries=["nvidia", "amdocl", "igdrcl", library]))
    assert only.startswith(f"{maker}'s GPU has no device node")
    assert mend in only


@pytest.mark.skipif(sys.platform != "linux", reason="device nodes are Linux's")
@pytest.mark.parametrize(
    ("maker", "mend"),
    [
        ("NVIDIA", "chmod a+rw /dev/nvidia*"),
        ("AMD", "usermod -aG render,video"),
        ("Intel", "usermod -aG render,video"),
    ],
)
def test_device_nodes_that_may_not_be_opened(
    machine: Callable[..., list[Finding]], monkeypatch: pytest.MonkeyPatch, maker: str, mend: str
) -> None:
    refused: list[str] = []
    opened = os.open

    def opening(path: Any, *rest: Any, **named: Any) -> int:
        if any(str(path).endswith(node) for node in NODES[maker]):
            refused.append(str(path))
            raise PermissionError(13, "Permission denied", str(path))  # which root is never told of a file
        return opened(path, *rest, **named)

    monkeypatch.setattr(hardware.os, "open", opening)
    found = problems(machine(*NODES, nodes=ALL_NODES, libraries=["nvidia", "amdocl", "igdrcl"]))
    assert len(refused) == len(found) == len(NODES[maker])
    for text in found:
        assert f"of {maker}'s GPU" in text
        assert mend in text


def test_a_cache_that_cannot_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CLARRAY_CACHE_DIR", str(tmp_path / "file" / "below"))
    (only,) = problems(list(system.caches()))
    assert "CLARRAY_CACHE_DIR=" in only


@pytest.mark.skipif(os.name != "posix", reason="modes of Unix")
def test_a_cache_that_others_can_write_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "public" / "cache"
    monkeypatch.setenv("CLARRAY_CACHE_DIR", str(folder))
    folder.mkdir(parents=True, mode=0o700)
    folder.chmod(0o775)
    (only,) = problems(list(system.caches()))
    assert f"{folder} is not used" in only
    assert f"chmod go-w {folder}, or set CLARRAY_CACHE_DIR" in only
    folder.chmod(0o700)
    folder.parent.chmod(0o777)
    note, sound = system.caches()
    assert (note.state, sound.state) == (NOTE, OK)
    assert f"chmod go-w {folder.parent}," in note.mend


def test_a_cache_that_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLARRAY_CACHE_DIR", str(tmp_path))
    for name in ("programs", "tuning"):
        disk_cache(name).store("sound", b"bytes")
    assert [each.state for each in system.caches()] == [OK]
    disk_cache("programs").store("spoilt", b"other bytes")
    with (tmp_path / "programs" / "spoilt").open("ab") as file:
        file.write(b"!")
    (only,) = problems(list(system.caches()))
    assert "1 of 3 files" in only
    assert "--clear-cache" in only
    assert (tmp_path / "programs" / "spoilt").exists()  # looking changes nothing
    assert system.clear_caches() == 2
    assert [each.state for each in system.caches()] == [OK]
    assert disk_cache("tuning").load("sound") == b"bytes"


def test_clear_cache_is_a_flag(tmp_path: Path) -> None:
    """It goes first: what is damaged is gone before anything is looked at, and tuning results stay."""
    folder = {"CLARRAY_CACHE_DIR": str(tmp_path)}
    _, told = doctor(CLARRAY_DEVICE="no such device", **folder)
    assert len(problems(told["findings"]["Cache"])) == 0
    for name in ("programs", "tuning"):
        (tmp_path / name).mkdir(exist_ok=True)
    (tmp_path / "programs" / "spoilt").write_bytes(b"no checksum")
    (tmp_path / "tuning" / "kept").write_bytes(b"no checksum either")
    _, told = doctor(CLARRAY_DEVICE="no such device", **folder)
    (only,) = problems(told["findings"]["Cache"])
    assert "2 of 2 files" in only
    _, told = doctor("--clear-cache", CLARRAY_DEVICE="no such device", **folder)
    (only,) = problems(told["findings"]["Cache"])
    assert "1 of 1 files" in only
    assert not (tmp_path / "programs" / "spoilt").exists()
    assert (tmp_path / "tuning" / "kept").exists()


def test_a_device_without_float64_fma_and_subnormal_numbers() -> None:
    """Each is a note with what to do, and every family of kernels is right all the same."""
    number = str(devices().index(current_device()))
    lacking = {f"CLARRAY_SIMULATE_NO_{what}": "1" for what in ("FP64", "FMA", "SUBNORMALS", "BUILTINS")}
    _, told = doctor(CLARRAY_DEVICE=number, **lacking)
    notes = [each for each in told["findings"]["Devices"] if each["state"] == NOTE]
    for what, mend in (
        ("no float64", "float32"),
        ("fma of", "numbers need fma"),
        ("float32 below 1.2e-38", "scale the data"),
    ):
        assert any(each["what"].startswith(f"{number}: {what}") and mend in each["mend"] for each in notes)
    assert not problems(told["findings"][f"Device {number}"])
    assert not any(each["fp64"] for each in told["devices"])


def listed(number: int, version: str, chosen: bool, trusted: bool = True) -> dict[str, Any]:
    """What the subprocess prints about a CPU with a PoCL of this version."""
    sizes = dict.fromkeys(("units", "memory", "largest", "left", "limit"), 1 << 30)
    lacks_nothing = {"fp64": True, "fma": True, "subnormals": True, "trusted": trusted}
    platform = f"Portable Computing Language, OpenCL 3.0 PoCL {version}  Linux"
    names = {"number": number, "name": "cpu", "kind": "cpu", "driver": version, "platform": platform}
    return {**names, **sizes, **lacks_nothing, "chosen": chosen}


@pytest.mark.parametrize("chosen", [0, 1])
def test_several_pocls(monkeypatch: pytest.MonkeyPatch, chosen: int) -> None:
    records = [listed(0, "3.0-rc2", chosen == 0), listed(1, "7.1+debian", chosen == 1, trusted=False)]
    monkeypatch.setattr(command, "from_subprocess", lambda words: (records, None))
    _, found = command._list_devices()
    notes = [f"{each.what} -> {each.mend}" for each in found if each.state == NOTE]
    used, other = ("3.0", "7.1") if chosen == 0 else ("7.1", "3.0")
    assert notes == [
        "1: its compiler crashes or never finishes for some kernels: NumPy computes these -> "
        "`pip install pocl-binary-distribution` compiles all kernels",
        f"{chosen} is PoCL {used}; PoCL {other} runs on the same processor -> "
        f"to use another one, set CLARRAY_DEVICE={other}",
    ]


def child_that(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "_EXAMINATION", [sys.executable, "-c", code])


def test_a_driver_that_brings_the_process_down(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import os; print('{\"begun\": \"sort\"}', flush=True); print('a driver says this'); os.abort()"
    child_that(code, monkeypatch)
    (only,) = problems(list(command._examine_device({"number": 0}, lambda family: None)))
    assert "sort: the process ended by signal 6" in only


def test_a_driver_that_reads_what_a_condition_excludes(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Mesa 26 does: only memory that is not there shows it."""
    code = f'import os; print(\'{{"begun": "{EXCLUDED_READ}"}}\', flush=True); os.kill(os.getpid(), 11)'
    child_that(code, monkeypatch)
    (only,) = problems(list(command._examine_device({"number": 0}, lambda family: None)))
    assert only.startswith(f"{EXCLUDED_READ}: the process ended by signal 11 -> the compiler reads memory")


def test_a_driver_that_exits(monkeypatch: pytest.MonkeyPatch) -> None:
    """As rusticl's compiler does, which prints the reason."""
    code = """import os, sys
print('{"begun": "product"}', flush=True)
print("Unexpected llvm intrinsic:", file=sys.stderr)
print(" llvm.prefetch.p1 [Src: ./lib/SPIRV/SPIRVWriter.cpp:5065 false ]", file=sys.stderr, flush=True)
os._exit(8)"""
    child_that(code, monkeypatch)
    (only,) = problems(list(command._examine_device({"number": 0}, lambda family: None)))
    assert only.startswith("product: the process failed: llvm.prefetch.p1")
    assert "use another driver" in only


def test_a_driver_that_never_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    child_that("import time; time.sleep(600)", monkeypatch)
    monkeypatch.setattr(children, "_PATIENCE_SECONDS", 0.5)
    devices, (only,) = command._list_devices()
    assert devices == []
    assert "nothing came back within 0 s" in only.what


@pytest.mark.parametrize(
    ("said", "mend"),
    [
        ("BuildError: unknown target CPU 'generic'", "does not know this processor"),
        ("no OpenCL device found: and so on", "pocl-binary-distribution"),
        ("MemoryError: clarray needs 3 GiB", "end what else uses"),
        ("clBuildProgram failed: BUILD_PROGRAM_FAILURE", "update the device's driver"),
        ("some device cannot compile this program", "update the device's driver"),
        ("cannot compile this program: nir_shader not fully linked", "put libclc 21's library in the place"),
        ("the process failed: llvm.prefetch [Src: lib/SPIRV/SPIRVWriter.cpp:5065]", "use another driver"),
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
    monkeypatch.setattr(command, "hardware", lambda listed: iter(()))
    assert command.main([]) == 1
    text = capsys.readouterr().out
    assert "  problem  no OpenCL device found\n           -> `pip install" in text
    assert text.endswith("1 problem found: each has a line above that says what mends it\n")
    assert "Hardware" not in text
