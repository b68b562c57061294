"""Processes in unusual environments: each computes the right values or raises an exception that says what to do.

Each row of the table is a process of its own. None may crash, abort or hang.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

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
def computes():
    x = cl.array(a)
    yield float((x * 2 + 1).sum()), float((a * 2 + 1).sum())
    yield float(cl.sort(x * -3)[0]), -3 * 49999.0
    yield float(cl.ElementwiseKernel("float64 a, float64 b", "float64 c", "c = a * b + 2", "mine")(x, x)[7]), 51.0
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
    refused: str = ""
    only: str = ""  # the device whose exception it is; others compute


def limited(which: str, nbytes: int) -> str:
    """Return the statement that sets a limit of the process."""
    return f"import resource; resource.setrlimit(resource.RLIMIT_{which}, ({nbytes}, {nbytes}))"


_MIB = 1 << 20
_LITTLE_LEFT = """
import resource
cl.array([1.0])
limit = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + (16 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
"""
_MAPPED = """
import mmap, tempfile
folder = os.fsencode(tempfile.mkdtemp())
with open(folder + b"/caf\\xe9.bin", "w+b") as file:
    file.truncate(4096)
    mapped = mmap.mmap(file.fileno(), 4096)
"""
ENVIRONMENTS = {
    "usual": Environment(),
    "a mapped file whose name is not UTF-8": Environment(_MAPPED),
    "SIGCHLD ignored": Environment("import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)"),
    "standard streams closed": Environment("[os.close(stream) for stream in range(3)]"),
    "12 file descriptors": Environment(limited("NOFILE", 12), refused="ulimit -n", only="pocl"),
    "small files": Environment(limited("FSIZE", 100_000), refused="ulimit -f", only="pocl"),
    "500 MiB of addresses": Environment(limited("AS", 500 * _MIB), refused="ulimit -v"),
    "800 MiB of addresses": Environment(limited("AS", 800 * _MIB), refused="ulimit -v"),
    "200 MiB of data": Environment(limited("DATA", 200 * _MIB), refused="ulimit -d"),
    "16 MiB of addresses left": Environment(after=_LITTLE_LEFT, refused="ulimit -v"),
    "no linker": Environment(variables={"PATH": b"/nowhere"}, refused="binutils", only="pocl"),
    "locale C": Environment(variables={"LC_ALL": b"C", "PYTHONCOERCECLOCALE": b"0", "PYTHONUTF8": b"0"}),
    "odd encodings": Environment(arguments=("-X", "utf8=0"), variables={"PYTHONIOENCODING": b"utf-16"}),
    "no docstrings": Environment(arguments=("-OO",)),
    "safe path": Environment(variables={"PYTHONSAFEPATH": b"1"}),
    "no folder for temporary files": Environment(variables={"TMPDIR": b"/nowhere"}),
    "a cache whose name is not UTF-8": Environment(variables={"CLARRAY_CACHE_DIR": b"{folder}/caf\xe9"}),
    "a cache whose path is too long": Environment(variables={"CLARRAY_CACHE_DIR": b"{folder}/" + b"x" * 5000}),
    "no home": Environment(variables={"CLARRAY_CACHE_DIR": None, "HOME": b"", "XDG_CACHE_HOME": None}),
}


def run(environment: Environment, folder: Path) -> tuple[int, list[str], bytes]:
    """Return the status of a process in an environment, its report and its output."""
    variables: dict[bytes, bytes] = dict(os.environb)
    variables.pop(b"CLARRAY_TIER", None)
    variables[b"CLARRAY_CACHE_DIR"] = os.fsencode(folder)
    for name, value in environment.variables.items():
        variables.pop(name.encode(), None)
        if value is not None:
            variables[name.encode()] = value.replace(b"{folder}", os.fsencode(folder))
    code = _WORK.format(before=environment.before, after=environment.after)
    with (folder / "report").open("w+b") as report:
        command = [sys.executable, *environment.arguments, "-c", code, str(report.fileno())]
        options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "timeout": _SECONDS}
        found = subprocess.run(command, env=variables, pass_fds=[report.fileno()], **options, check=False)
        report.seek(0)
        return found.returncode, report.read().decode(errors="replace").splitlines(), found.stdout


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_it_computes_or_says_what_to_do(name: str, tmp_path: Path, device: Any) -> None:
    environment = ENVIRONMENTS[name]
    refused = environment.refused if not environment.only or device.is_pocl else ""
    status, lines, output = run(environment, tmp_path)
    assert status == 0, (status, lines, output)
    if refused:
        assert len(lines) == 1, lines
        assert refused in lines[0]
    else:
        assert lines == ["right"] * 3, (lines, output)
