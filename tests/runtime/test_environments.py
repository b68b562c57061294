"""Processes in unusual environments: each computes the right values or raises an exception that says what to do.

Each row of the table is a process of its own. None may crash, abort or hang.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from clarray._engine.runtime.backends.pocl import settings

from .conftest import ROOT

pytestmark = pytest.mark.skipif("sys.platform != 'linux'", reason="limits and folders of Linux")

_SECONDS = 120
_WORK = """
import os, sys
report = int(sys.argv[1])
{before}
import numpy as np
import clarray as cl
{after}
a = np.arange(50000.0)
def message():
    try:
        cl.ElementwiseKernel("float64 a", "float64 c", "c = a + not_there", "mine")(cl.array(a))
    except RuntimeError as error:
        return "not_there" in str(error)
def computes():
    x = cl.array(a)
    yield float((x * 2 + 1).sum()), float((a * 2 + 1).sum())
    yield float(cl.sort(x * -3)[0]), -3 * 49999.0
    yield float(cl.ElementwiseKernel("float64 a, float64 b", "float64 c", "c = a * b + 2", "mine")(x, x)[7]), 51.0
    yield message(), True
try:
    for computed, expected in computes():
        os.write(report, b"right\\n" if computed == expected else f"wrong: {{computed}}\\n".encode())
except (MemoryError, OSError, RuntimeError) as error:
    os.write(report, f"{{type(error).__name__}}: {{error}}\\n".encode(errors="replace"))
"""


class Environment(NamedTuple):
    """What is unusual about a process, and a word of its exception; none where it computes."""

    before: str = "pass"
    after: str = "pass"
    variables: Mapping[str, bytes | None] = MappingProxyType({})
    arguments: tuple[str, ...] = ()
    command: tuple[str, ...] = ()  # that starts Python
    refused: str = ""
    only: str = ""  # the runtime that always refuses; others compute, or refuse with the same word
    is_cold: bool = False  # nothing has been compiled before
    hides_devices: bool = False  # a GPU's driver may find nothing there, and PoCL computes


def limited(which: str, value: int) -> str:
    """Return the statement that sets a limit of the process."""
    return f"import resource; resource.setrlimit(resource.RLIMIT_{which}, ({value}, {value}))"


def left(which: str, field: int, mib: int) -> str:
    """Return the statements that leave so much of a limit, whatever the process has taken: see ``/proc/self/statm``."""
    return f"""
import resource
taken = int(open("/proc/self/statm").read().split()[{field}]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_{which}, (taken + ({mib} << 20),) * 2)
"""


_MAPPED = """
import mmap, tempfile
folder = os.fsencode(tempfile.mkdtemp())
with open(folder + b"/caf\\xe9.bin", "w+b") as file:
    file.truncate(4096)
    mapped = mmap.mmap(file.fileno(), 4096)
"""
_STREAMS_CLOSED = "[os.close(stream) for stream in range(3)]"
_CHILDREN_IGNORED = "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)"
_NO_THREAD = """
import threading
def refuse(*given, **named): raise RuntimeError("can't start new thread")
threading._start_new_thread = threading._start_joinable_thread = refuse
"""
_ISOLATED = ("-I", "-OO", "-X", "utf8=0")  # neither PYTHONPATH nor docstrings
_C_LOCALE = {"LC_ALL": b"C", "PYTHONCOERCECLOCALE": b"0", "PYTHONUTF8": b"0", "PYTHONIOENCODING": b"utf-16"}
_NO_CACHE = {"CLARRAY_CACHE_DIR": b"{folder}/" + b"x" * 5000, "TMPDIR": b"/nowhere"}
_NO_USER = {"HOME": None, "USER": None, "LOGNAME": None, "XDG_CACHE_HOME": None}
_NO_PROC = 'mount -t tmpfs none /proc && mount -o remount,bind,ro / && exec "$@"'
ENVIRONMENTS = {
    "usual": Environment(),
    "compiling": Environment(
        "\n".join([_MAPPED, _CHILDREN_IGNORED, _STREAMS_CLOSED]),
        variables={"POCL_CACHE_DIR": b"{folder}/caf\xe9", "PYTHONSAFEPATH": b"1"},
        is_cold=True,
    ),
    "names and encodings": Environment(
        variables=_C_LOCALE | {"CLARRAY_CACHE_DIR": b"{folder}/caf\xe9", "HOME": b""}, is_cold=True
    ),
    "isolated": Environment(f"sys.path.insert(0, {str(ROOT)!r})", arguments=_ISOLATED),
    "no folder for what is kept": Environment(variables=_NO_CACHE, is_cold=True),
    "no /proc, and a read-only file system": Environment(
        command=("unshare", "--map-root-user", "--mount", "sh", "-c", _NO_PROC, "sh"), is_cold=True, hides_devices=True
    ),
    "a user without a name or a home": Environment(variables=_NO_USER, command=("unshare", "--map-user=54321")),
    "12 file descriptors": Environment(
        limited("NOFILE", 12), refused="ulimit -n", only="pocl", is_cold=True, hides_devices=True
    ),
    "small files": Environment(limited("FSIZE", 100_000), refused="ulimit -f", only="pocl", is_cold=True),
    "no linker": Environment(variables={"PATH": b"/nowhere"}, refused="binutils", only="pocl", is_cold=True),
    "no further thread": Environment(after=_NO_THREAD, refused="ulimit -u"),
    "addresses for half the drivers": Environment(after=left("AS", 0, 300), refused="ulimit -v"),
    "data for half the drivers": Environment(after=left("DATA", 5, 60), refused="ulimit -d"),
    "16 MiB of addresses left": Environment(
        after="cl.array([1.0])" + left("AS", 0, 16), refused="ulimit -v", is_cold=True
    ),
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of compiled kernels, which the first process of these tests fills."""
    return tmp_path_factory.mktemp("kept")


def run(
    environment: Environment, folder: Path, kernels: Path, any_device: bool = False
) -> tuple[int, list[str], bytes]:
    """Return the status of a process in an environment, its report and its output."""
    variables: dict[bytes, bytes] = dict(os.environb)
    variables.pop(b"CLARRAY_TIER", None)
    if any_device:
        variables.pop(b"CLARRAY_DEVICE", None)
    variables[b"CLARRAY_CACHE_DIR"] = os.fsencode(kernels)
    for name, value in environment.variables.items():
        variables.pop(name.encode(), None)
        if value is not None:
            variables[name.encode()] = value.replace(b"{folder}", os.fsencode(folder))
    code = _WORK.format(before=environment.before, after=environment.after)
    with (folder / "report").open("w+b") as report:
        command = [*environment.command, sys.executable, *environment.arguments, "-c", code, str(report.fileno())]
        options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "timeout": _SECONDS}
        done = subprocess.run(command, env=variables, pass_fds=[report.fileno()], **options, check=False)
        report.seek(0)
        return done.returncode, report.read().decode(errors="replace").splitlines(), done.stdout


def is_startable(command: tuple[str, ...]) -> bool:
    """Return whether this user may start processes so: containers forbid namespaces."""
    if not command:
        return True
    try:
        return subprocess.run([*command, "true"], capture_output=True, timeout=_SECONDS, check=False).returncode == 0
    except FileNotFoundError:
        return False


@cache
def is_installed() -> bool:
    """Return whether Python finds what clarray imports without PYTHONPATH."""
    command = [sys.executable, "-I", "-c", "import mako, numpy, pyopencl"]
    return subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False).returncode == 0


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_it_computes_or_says_what_to_do(name: str, tmp_path: Path, kept: Path, device: Any) -> None:
    environment = ENVIRONMENTS[name]
    if not is_startable(environment.command):
        pytest.skip("namespaces are forbidden here")
    if "-I" in environment.arguments and not is_installed():
        pytest.skip("clarray's dependencies are found by PYTHONPATH alone")
    any_device = environment.hides_devices and device.backend.name != "pocl"
    status, lines, output = run(environment, tmp_path, tmp_path if environment.is_cold else kept, any_device)
    assert status == 0, (status, lines, output)
    always = device.backend.name == "pocl" or not environment.only
    if environment.refused and (always or len(lines) == 1):
        assert len(lines) == 1, lines
        assert environment.refused in lines[0]
    elif any_device and not settings.has_wheel() and len(lines) == 1:  # the only device is hidden
        assert "no OpenCL device found" in lines[0]
    else:
        assert lines == ["right"] * 4, (lines, output)


def test_a_binary_is_not_asked_for_where_it_does_not_fit(tmp_path: Path, device: Any) -> None:
    """PoCL 3.0 allocates 256 MiB for one, and crashes where it gets none."""
    if device.backend.name != "pocl":
        pytest.skip("others need little for it")
    environment = Environment(after="float((cl.arange(1000.0) + 1).sum())" + left("AS", 0, 240))
    status, lines, output = run(environment, tmp_path, tmp_path)
    assert (status, lines) == (0, ["right"] * 4), output
