"""The queue of the compiled core, under GCC's sanitizers: launches in order, each by all threads, however many come."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from .conftest import ROOT

SOURCES = (ROOT / "clarray/_engine/speedups/queue.cpp", Path(__file__).with_name("queue_stress.cpp"))


@pytest.mark.parametrize("checked", ["thread", "address,undefined"])
def test_launches_are_done_in_order(checked: str, tmp_path: Path) -> None:
    compiler = shutil.which("g++")
    program = tmp_path / "stress"
    if compiler is None:
        pytest.skip("no C++ compiler")
    flags = ["-std=c++17", "-O1", f"-fsanitize={checked}", "-fno-sanitize-recover=all", "-pthread"]
    command = [compiler, *flags, f"-I{SOURCES[0].parent}", *map(str, SOURCES), "-o", str(program)]
    built = subprocess.run(command, capture_output=True, text=True)
    if "cannot find" in built.stderr:
        pytest.skip("the compiler has no such sanitizer")
    assert built.returncode == 0, built.stderr
    for threads in ("1", "2", "7"):
        run = subprocess.run([str(program), threads, "300"], capture_output=True, text=True, timeout=100)
        if "unexpected memory mapping" in run.stderr:
            pytest.skip("the sanitizer does not work on this system")
        assert run.returncode == 0, f"{threads} threads: {run.stdout}{run.stderr}"
