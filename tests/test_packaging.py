"""The listed packages are the folders, and a wheel works where the repository is not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
METADATA = tomllib.loads((ROOT / "pyproject.toml").read_text())

TRY_IT = """
import numpy as np, clarray
x = np.arange(1000, dtype=np.float32)
a = clarray.asarray(x)
assert float(a.sum()) == x.sum(dtype=np.float64), float(a.sum())
assert clarray.asnumpy((a - 1) ** 2).tolist() == ((x - 1) ** 2).tolist()
print(clarray.__file__)
"""


def folders_with_code(top: Path, name: str) -> set[str]:
    inits = top.rglob("__init__.py")
    return {".".join((name, *p.parent.relative_to(top).parts)) for p in inits}


def test_listed_packages_are_the_folders() -> None:
    listed = METADATA["tool"]["setuptools"]["packages"]
    code = folders_with_code(ROOT / "clarray", "clarray")
    templates = folders_with_code(ROOT / "templates", "clarray.templates")
    assert sorted(listed) == sorted(code | templates)


def test_every_template_folder_is_package_data() -> None:
    data = METADATA["tool"]["setuptools"]["package-data"]
    top = ROOT / "templates"
    for folder in {p.parent.relative_to(top) for p in top.rglob("*.mako")}:
        assert "*.mako" in data[".".join(("clarray.templates", *folder.parts))]


def run(*command: str | Path, cwd: Path, status: int = 0, **environment: str) -> str:
    """Run a command; skip the test where the package index cannot be reached."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "CLARRAY_DEVICE")}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=kept | environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    output = done.stdout + done.stderr
    if done.returncode and ("NewConnectionError" in output or "NameResolutionError" in output):
        pytest.skip("needs the package index, which cannot be reached")
    assert done.returncode == status, output
    return output


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # A copy, because a build leaves a folder behind whose stale files would go into the next wheel.
    source = folder / "source"
    for name in ("clarray", "templates"):
        shutil.copytree(ROOT / name, source / name)
    for name in ("pyproject.toml", "README.md", "LICENSE", "_clarray_sizeof.py"):
        shutil.copy(ROOT / name, source)
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, source, cwd=folder)
    (built,) = folder.glob("clarray-*.whl")
    return built


@pytest.mark.slow
def test_wheel_holds_every_template(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    templates = ROOT / "templates"
    expected = {f"clarray/templates/{p.relative_to(templates)}" for p in templates.rglob("*.mako")}
    assert expected <= inside
    assert "clarray/py.typed" in inside


@pytest.mark.slow
def test_wheel_works_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=True, symlinks=os.name != "nt")
    python = tmp_path / "env" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    cache = str(tmp_path / "cache")
    (tmp_path / "no_vendors").mkdir()
    pip = (python, "-m", "pip", "install", "-q", "--disable-pip-version-check")
    run(*pip, wheel, cwd=tmp_path)
    none = {"OCL_ICD_VENDORS": str(tmp_path / "no_vendors"), "CLARRAY_CACHE_DIR": cache}
    (line,) = run(python, "-m", "clarray", cwd=tmp_path, status=1, **none).splitlines()
    assert "pip install" in line
    run(*pip, f"{wheel}[pocl]", cwd=tmp_path)
    printed = run(python, "-c", TRY_IT, cwd=tmp_path, CLARRAY_CACHE_DIR=cache)
    assert str(tmp_path / "env") in printed
    table = run(python, "-m", "clarray", "--size", "100000", cwd=tmp_path, CLARRAY_CACHE_DIR=cache)
    assert "sum" in table


def test_lines_that_install_work_before_there_is_a_release() -> None:
    """The package index knows no clarray yet: what readers are told to type takes a clone, or other packages."""
    texts = [ROOT / "README.md", *(ROOT / "docs").glob("*.rst"), *(ROOT / "clarray").rglob("*.py")]
    told = [f"{file}: {line}" for file in texts for line in file.read_text().splitlines() if "clarray[" in line]
    assert not told
