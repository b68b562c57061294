"""After README's ``pip install -e .`` type checkers see the package: mypy and pyright check a user's file."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("clarray", "templates", "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in", "_clarray_sizeof.py")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd")

PROGRAM = """\
import clarray
from clarray import fft, linalg, ndimage, special

x = clarray.arange(12.0).reshape(3, 4)
reveal_type(x)
reveal_type(x + 1)
reveal_type(x.sum(axis=0))
reveal_type(clarray.exp(x))
reveal_type(clarray.concatenate([x, x]))
reveal_type(clarray.median(x))
reveal_type(fft.rfft(x))
reveal_type(linalg.norm(x))
reveal_type(ndimage.gaussian_filter(x, 1.0))
reveal_type(special.erf(x))
with clarray.device(None) as device:
    reveal_type(device)
x.nosuch
clarray.nosuch
clarray.zeros(3, shape=4)
"""
REVEALED = ["DeviceArray"] * 10 + ["Device"]
WRONG_LINES = [n for n, line in enumerate(PROGRAM.splitlines(), 1) if "nosuch" in line or "shape=" in line]

# The build of the package as `pip install -e .` does it, without a compiler: the core is of no concern here.
BUILD = "from setuptools import build_meta; print(build_meta.build_editable({!r}))"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment with a copy of the checkout installed as it is."""
    folder = tmp_path_factory.mktemp("installed")
    source, wheels = folder / "source", folder / "wheels"
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=LEFT_OUT)
        else:
            shutil.copy(ROOT / name, source)
    wheels.mkdir()
    environment = {**os.environ, "CC": "false", "CXX": "false"}
    command = [sys.executable, "-c", BUILD.format(str(wheels))]
    subprocess.run(command, cwd=source, env=environment, check=True, capture_output=True)
    venv.create(folder / "environment", with_pip=False, symlinks=os.name != "nt")
    found = folder / "environment" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    asked = [found, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip())
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))  # NumPy and the rest
    return found


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    return file


def told_by(command: list[str | Path], folder: Path) -> list[str]:
    environment = {name: value for name, value in os.environ.items() if name not in ("MYPYPATH", "VIRTUAL_ENV")}
    environment["PYTHONPATH"] = os.pathsep.join(
        part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part and Path(part).resolve() != ROOT
    )
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).splitlines()


def test_the_package_is_found_and_runs(python: Path, tmp_path: Path) -> None:
    code = "import clarray; print(float((clarray.arange(3.0) + 1).sum()), clarray.__file__)"
    number, file = told_by([python, "-c", code], tmp_path)[-1].split()
    assert number == "6.0"
    assert Path(file).is_relative_to(python.parents[2] / "source")


def test_mypy_sees_the_types(python: Path, program: Path, tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--cache-dir", tmp_path / "cache", "--python-executable", python, program]
    lines = told_by(command, tmp_path)
    revealed = [line.split('"')[1].rpartition(".")[2] for line in lines if "Revealed type" in line]
    assert revealed == REVEALED, lines
    assert [int(line.split(":")[1]) for line in lines if "error:" in line] == WRONG_LINES, lines


@pytest.mark.skipif(importlib.util.find_spec("pyright") is None, reason="pyright is not installed: the extra `test`")
def test_pyright_sees_the_types(python: Path, program: Path, tmp_path: Path) -> None:
    pyright = [sys.executable, "-m", "pyright"]
    if not any(line.startswith("pyright ") for line in told_by([*pyright, "--version"], tmp_path)):
        pytest.skip("pyright's npm package cannot be had here")
    lines = told_by([*pyright, "--pythonpath", python, program], tmp_path)
    revealed = [line.split('" is "')[1].rstrip('"') for line in lines if "information: Type of" in line]
    assert revealed == REVEALED, lines
    assert [int(line.split(":")[1]) for line in lines if " - error: " in line] == WRONG_LINES, lines
