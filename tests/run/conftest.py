"""Run a program with ``python`` and with ``python -m clarray run``, and compare what they leave."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from clarray._engine.runtime import current_device

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = ("SCIPY_ARRAY_API", "CLARRAY_ELEMENTS", "CLARRAY_TIER", "PYTHONWARNINGS")

needs_host_memory = pytest.mark.skipif(
    not current_device().capabilities.host_memory, reason="the device does not work in host memory"
)


class Outcome(NamedTuple):
    status: int
    output: str
    errors: str


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in LEFT_OUT}
    return kept | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])}


def run(folder: Path, *command: str, given: str = "", flags: tuple[str, ...] = ()) -> Outcome:
    """Run Python in a folder."""
    done = subprocess.run(
        [sys.executable, *flags, *command],
        cwd=folder,
        env=environment(),
        input=given,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def plain(errors: str) -> str:
    """Leave out what may differ: the marks below a line, and addresses."""
    lines = [line for line in errors.splitlines() if line.strip(" ~^")]
    return re.sub(r"0x[0-9a-fA-F]+", "0x", "\n".join(lines))


Run = Callable[..., Outcome]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    """Write a file of the program."""

    def put(name: str, source: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
        return path

    return put


@pytest.fixture
def ours(tmp_path: Path) -> Run:
    """Run a program with ``python -m clarray run``."""

    def call(*command: str, options: tuple[str, ...] = (), **others: object) -> Outcome:
        return run(tmp_path, "-m", "clarray", "run", *options, *command, **others)  # type: ignore[arg-type]

    return call


@pytest.fixture
def same(tmp_path: Path, ours: Run) -> Run:
    """Run a program both ways; the outcomes must be equal."""

    def call(*command: str, **others: object) -> Outcome:
        theirs = run(tmp_path, *command, **others)  # type: ignore[arg-type]
        mine = ours(*command, **others)
        assert mine.output == theirs.output, mine.errors
        assert plain(mine.errors) == plain(theirs.errors)
        assert mine.status == theirs.status
        return mine

    return call
