"""Discovery and choice of devices, each time in a new process."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from clarray._engine.runtime import discovery, environment
from clarray._engine.runtime.backends.pocl import cpu_name, settings
from clarray._engine.runtime.backends.pocl.backend import Pocl

LIST = """
from clarray._engine.runtime import devices
for device in devices():
    print(device)
"""
CHOSEN = "from clarray._engine.runtime import current_device; print(current_device())"
OPENCL_SETTINGS = ("OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "POCL_DEVICES", "CLARRAY_DEVICE")
UNSET = dict.fromkeys(OPENCL_SETTINGS)

needs_pocl_wheel = pytest.mark.skipif(
    not settings.has_wheel() or environment._has_driver("pocl"),
    reason="PoCL is not there as the wheel",
)
needs_intel_wheel = pytest.mark.skipif(
    environment._intel_library() is None, reason="Intel's runtime is not installed by pip"
)


def test_importing_does_not_touch_opencl(fresh: Any) -> None:
    code = """
import pyopencl
def touched(*args):
    raise AssertionError("OpenCL was asked for its platforms")
pyopencl.get_platforms = touched
import clarray, clarray._engine.runtime
"""
    assert fresh(code).stderr == ""


@pytest.mark.skipif(os.name != "posix", reason="the loader's variable")
def test_without_a_platform_it_says_what_to_install(fresh: Any, tmp_path: Path) -> None:
    nowhere = str(tmp_path / "nowhere")
    result = fresh(CHOSEN, OCL_ICD_VENDORS=nowhere, OCL_ICD_FILENAMES=nowhere)
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("RuntimeError: no OpenCL device found: `pip install ")
    assert "pip install pocl-binary-distribution" in last
    assert "python -m clarray doctor" in last


@needs_pocl_wheel
def test_pocls_two_devices_are_one(fresh: Any) -> None:
    lines = fresh(LIST, **UNSET).stdout.splitlines()
    assert sum("Portable" in line for line in lines) == 1
    assert not any(line.startswith("<basic") for line in lines)


@needs_pocl_wheel
def test_the_users_pocl_devices_stay(fresh: Any) -> None:
    code = """
from clarray._engine.runtime import devices
ours = [d for d in devices() if "Portable" in d.capabilities.platform]
print([(d.capabilities.name.partition("-")[0], d.inline is None) for d in ours])
"""
    for name in ("basic", "pthread"):
        result = fresh(code, **UNSET | {"POCL_DEVICES": name})
        assert result.stdout == f"[('{name}', True)]\n"


@needs_intel_wheel
def test_intels_runtime_is_found(fresh_cold: Any, tmp_path: Path) -> None:
    for _ in range(2):  # the second time with the vendors folder made before
        result = fresh_cold(CHOSEN, **UNSET | {"CLARRAY_DEVICE": "intel(r) opencl"})
        assert result.stderr == ""
        assert "Intel" in result.stdout
    unwritable = tmp_path / "file"
    unwritable.write_text("in the way")
    result = fresh_cold(
        CHOSEN,
        **UNSET | {"CLARRAY_DEVICE": "intel", "CLARRAY_CACHE_DIR": str(unwritable / "below")},
    )
    assert "Intel" in result.stdout


@pytest.mark.parametrize("parts", [("lib", "python3.11", "site-packages"), ("lib", "python3", "dist-packages")])
def test_intels_runtime_is_found_beside_the_packages(
    parts: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python may import packages of other prefixes, as with `--system-site-packages`."""
    library = tmp_path / environment._INTEL_LIBRARIES[os.name == "nt"]
    library.parent.mkdir(parents=True)
    library.touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "nowhere"))
    monkeypatch.setattr(sys, "path", ["", "site-packages", str(tmp_path.joinpath(*parts[os.name == "nt" :]))])
    assert environment._intel_library() == library.resolve()


def test_the_environment_is_left_as_it_was(fresh_cold: Any) -> None:
    code = """
import os
before = dict(os.environ)
from clarray._engine.runtime import devices
devices()
assert dict(os.environ) == before
"""
    assert fresh_cold(code, **UNSET).stderr == ""


def test_choosing_by_the_variable(fresh: Any) -> None:
    lines = fresh(LIST).stdout.splitlines()
    for index, line in enumerate(lines):
        assert fresh(CHOSEN, CLARRAY_DEVICE=str(index)).stdout.strip() == line
    result = fresh(CHOSEN, CLARRAY_DEVICE="no such device")
    assert "ValueError: CLARRAY_DEVICE=no such device: no device is called 'no such device'" in result.stderr
    assert [line.split()[0] for line in result.stderr.partition("The devices are:\n")[2].splitlines()] == [
        str(index) for index in range(len(lines))
    ]


def test_choosing_by_kind(fresh: Any) -> None:
    code = """
import clarray
from clarray._engine.runtime import current_device, find_device
cpus = [d for d in clarray.devices() if d.capabilities.kind == "cpu"]
with clarray.device(cpus[-1]):
    assert find_device("CPU") is cpus[-1]
    assert clarray.zeros(1, "f4").to_device("cpu").device is cpus[-1]
assert find_device("cpu") is (current_device() if current_device() in cpus else cpus[0])
print(current_device().capabilities.kind)
"""
    assert fresh(code, CLARRAY_DEVICE="cpu").stdout == "cpu\n"


def test_double_precision_can_be_switched_off(fresh: Any) -> None:
    code = "from clarray._engine.runtime import current_device as c; print(c().capabilities.fp64)"
    assert fresh(code, CLARRAY_SIMULATE_NO_FP64="1").stdout == "False\n"


def test_vendor_files_of_removed_drivers_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_SYSTEM_VENDORS", tmp_path)
    (tmp_path / "pocl.icd").write_text("libpocl-that-is-not-there.so.9\n")
    (tmp_path / "other.icd").write_text(str(tmp_path / "libpocl.so"))
    assert not environment._has_driver("pocl")
    (tmp_path / "libpocl.so").touch()
    assert environment._has_driver("pocl")


@pytest.mark.skipif(importlib.util.find_spec("resource") is None, reason="only on Unix")
def test_listing_opens_no_context(fresh: Any) -> None:
    code = """
import pyopencl
def opened(*args, **more):
    raise AssertionError("a context was opened")
pyopencl.Context = opened
from clarray._engine.runtime import devices
print(devices())
"""
    assert fresh(code).stderr == ""


TWICE = {**UNSET, "POCL_DEVICES": "pthread pthread"}
NUMBERED = """
import sys, clarray
listed = clarray.devices()
for name in sys.argv[1:]:
    try:
        print(listed.index(clarray.set_device(name)))
    except ValueError as error:
        print(error)
"""


@needs_pocl_wheel
def test_one_of_several_of_a_name(fresh: Any) -> None:
    names = ("portable", "portable:0", "Portable : 1", "pthread:1", "cpu:1", "1", "portable:2", "nothing:0")
    code = NUMBERED.replace("sys.argv[1:]", repr(names))
    lines = fresh(code, **TWICE | {"OCL_ICD_VENDORS": None}).stdout.splitlines()
    assert lines[:6] == ["0", "0", "1", "1", "1", "1"]
    middle = lines.index("no device is called 'nothing:0'.")
    for error, listed in ((lines[6:8], lines[8:middle]), (lines[middle : middle + 2], lines[middle + 2 :])):
        assert error == [error[0], "The devices are:"]
        assert [line.split()[0] for line in listed] == [str(number) for number in range(len(listed))]
        assert all("compute units" in line for line in listed)
        assert "Portable" in listed[1]
    assert lines[6] == "no device 2 is called 'portable'."


@needs_pocl_wheel
def test_the_nearest_name_of_a_device(fresh: Any) -> None:
    code = NUMBERED.replace("sys.argv[1:]", "('portble', 'gpus', 'zzz', '7')")
    lines = fresh(code, **UNSET | {"OCL_ICD_VENDORS": None}).stdout.splitlines()
    errors = [line for line in lines if line.startswith("no device")]
    assert errors == [
        "no device is called 'portble'; the nearest name is 'portable'.",
        "no device is called 'gpus'; the nearest name is 'gpu'.",
        "no device is called 'zzz'.",
        "no device 7.",
    ]


@needs_pocl_wheel
def test_a_kind_that_no_device_is_of(fresh: Any) -> None:
    code = "import clarray\ntry:\n    clarray.device('GPU')\nexcept ValueError as error:\n    print(error)"
    lines = fresh(code, **UNSET | {"OCL_ICD_VENDORS": None}).stdout.splitlines()
    assert lines[:2] == ["there is no device of the kind 'gpu'.", "The devices are:"]
    assert lines[-1] == "To see why, run `python -m clarray doctor`"


@needs_pocl_wheel
def test_a_capability_of_one_of_several(fresh: Any) -> None:
    code = "import clarray; print([d.capabilities.host_memory for d in clarray.devices()[:2]])"
    for value, expected in (("portable:1", "[True, False]"), ("portable:0", "[False, True]"), ("1", "[False, False]")):
        assert fresh(code, **TWICE, CLARRAY_SIMULATE_OWN_MEMORY=value).stdout.strip() == expected


@pytest.mark.parametrize(
    "names", [("basic-x", "pthread-x"), ("cpu-minimal-x", "cpu-x"), ("cpu-x", "gpu-x", "cpu-minimal-x")]
)
def test_the_two_devices_of_pocl_are_paired(names: tuple[str, ...]) -> None:
    """Version 4 has given them other names."""
    platform = SimpleNamespace(version="OpenCL 3.0 PoCL 6.0")
    listed = [SimpleNamespace(name=name, platform=platform) for name in names]
    (pool, in_line), *others = Pocl().pair_devices(listed)
    assert pool.name.startswith(("pthread", "cpu-x"))
    assert in_line.name.startswith(("basic", "cpu-minimal"))
    assert [device.name for device, _ in others] == [name for name in names if name.startswith("gpu")]


def test_a_device_without_its_pair() -> None:
    device = SimpleNamespace(name="cpu-x", platform=SimpleNamespace(version="OpenCL 3.0 PoCL 6.0"))
    assert Pocl().pair_devices([device]) == [(device, None)]


def test_the_quicker_pocl_is_listed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices of other runtimes stay where they are."""
    versions = ["PoCL 6.0", "Another", "PoCL 3.0-rc2", "PoCL 3.1"]
    cl_devices = [SimpleNamespace(platform=SimpleNamespace(version=version)) for version in versions]
    monkeypatch.setattr(cpu_name, "is_patchable", lambda device: "3.0" in device.platform.version)
    listed: Any = [SimpleNamespace(cl_device=cl_device) for cl_device in cl_devices]
    discovery._rank(listed)
    assert [device.cl_device.platform.version for device in listed] == [
        "PoCL 3.0-rc2",
        "Another",
        "PoCL 6.0",
        "PoCL 3.1",
    ]


@pytest.mark.parametrize("has_wheel", [False, True])
@pytest.mark.parametrize("has_driver", [False, True])
def test_settings_of_pocl(has_wheel: bool, has_driver: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wheel's and the system's PoCL have the same ones, and what the user has set stays."""
    monkeypatch.setattr(settings, "has_wheel", lambda: has_wheel)
    monkeypatch.setenv("POCL_DEVICES", "basic")
    monkeypatch.delenv("POCL_KERNEL_CACHE", raising=False)
    changes = settings.settings(lambda word: has_driver and word == "pocl")
    assert set(changes) == ({"POCL_KERNEL_CACHE", "POCL_CACHE_DIR"} if has_wheel or has_driver else set())
