"""``python -m clarray``: what it says of itself."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import clarray
from clarray.__main__ import COMMANDS

ROOT = Path(__file__).resolve().parents[3]


def clarray_command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "clarray", *words], capture_output=True, text=True)


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_help_names_every_command(word: str) -> None:
    done = clarray_command(word)
    assert done.returncode == 0
    for name, (_, text) in COMMANDS.items():
        assert f"  {name} " in done.stdout
        assert text in done.stdout


def test_every_command_has_help() -> None:
    for name in COMMANDS:
        done = clarray_command(name, "--help")
        assert done.returncode == 0
        assert f"python -m clarray {name}" in done.stdout


def test_the_version() -> None:
    assert clarray_command("--version").stdout == f"clarray {clarray.__version__}\n"


def test_an_unknown_word_gives_the_list() -> None:
    done = clarray_command("docter")
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert lines[0] == "clarray: there is no command and no file 'docter'; did you mean 'doctor'?"
    assert [line.split()[0] for line in lines[2:]] == list(COMMANDS)
    assert "no command and no file 'xyz'\n" in clarray_command("xyz").stderr
    assert "No such file" in clarray_command("xyz.npy").stderr


def test_the_script() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    module, _, function = scripts["clarray"].partition(":")
    assert callable(getattr(import_module(module), function))
