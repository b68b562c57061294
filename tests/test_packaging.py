"""The listed packages are the folders; a wheel and a source distribution work where the repository is not."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from clarray._engine.runtime import install_lines
from clarray._engine.version import __version__

ROOT = Path(__file__).resolve().parents[1]
METADATA = tomllib.loads((ROOT / "pyproject.toml").read_text())

TRY_IT = """
import numpy as np, clarray
x = np.arange(1000, dtype=np.float32)
a = clarray.asarray(x)
assert float(a.sum()) == x.sum(dtype=np.float64), float(a.sum())
assert clarray.asnumpy((a - 1) ** 2).tolist() == ((x - 1) ** 2).tolist()
assert clarray.sort(a[::-1]).get().tolist() == x.tolist()
print(clarray.__file__)
from clarray._engine.speedups import native
print("compiled core:", native is not None)
from importlib.resources import files
print("templates:", sum(1 for path in files("clarray.templates").rglob("*.mako")))
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


FOLDERS = ("clarray", "templates", "tests", "docs", "benchmarks", "examples")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd", "*.egg-info", "_build", "generated", "results", ".*")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout, because a build leaves a folder behind whose stale files would go into the next one."""
    made = tmp_path_factory.mktemp("packages") / "source"
    for name in FOLDERS:
        shutil.copytree(ROOT / name, made / name, ignore=LEFT_OUT)
    for file in ROOT.iterdir():
        if file.is_file() and not file.name.startswith("."):
            shutil.copy(file, made)
    return made


@pytest.fixture(scope="module")
def sdist(source: Path) -> Path:
    run(sys.executable, "-m", "build", "--sdist", "--outdir", source.parent, source, cwd=source.parent)
    (built,) = source.parent.glob("clarray-*.tar.gz")
    return built


@pytest.fixture(scope="module")
def wheel(sdist: Path) -> Path:
    """A wheel that is made of the source distribution, and so holds what that holds."""
    folder = sdist.parent
    quickly = {"CFLAGS": "-O0", "CXXFLAGS": "-O0"}  # the core is compiled
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, sdist, cwd=folder, **quickly)
    (built,) = folder.glob("clarray-*.whl")
    return built


def has_compiler() -> bool:
    named = (os.environ.get("CXX") or sysconfig.get_config_var("CXX") or "").split()
    return any(shutil.which(name) for name in (*named[:1], "c++", "g++", "clang++", "cl"))


def empty_environment(folder: Path) -> Path:
    """Make one, and give its Python."""
    venv.create(folder, with_pip=True, symlinks=os.name != "nt")
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


@pytest.mark.slow
def test_the_source_distribution_is_the_checkout(sdist: Path, source: Path) -> None:
    with tarfile.open(sdist) as file:
        inside = {name.partition("/")[2] for name in file.getnames()}
    assert [
        str(path.relative_to(source)) for path in source.rglob("*") if str(path.relative_to(source)) not in inside
    ] == []


@pytest.mark.slow
def test_the_package_index_would_take_them(sdist: Path, wheel: Path) -> None:
    said = run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel, cwd=sdist.parent)
    assert said.count("PASSED") == 2


@pytest.mark.slow
def test_wheel_holds_every_template_and_the_compiled_core(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    templates = ROOT / "templates"
    expected = {f"clarray/templates/{p.relative_to(templates).as_posix()}" for p in templates.rglob("*.mako")}
    assert expected <= inside
    assert "clarray/py.typed" in inside
    compiled = [name for name in inside if re.fullmatch(r"clarray/_engine/speedups/_speedups\.[\w.-]*(so|pyd)", name)]
    assert len(compiled) == has_compiler()
    assert "none-any" not in wheel.name or not compiled


@pytest.mark.slow
def test_wheel_works_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    python = empty_environment(tmp_path / "env")
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


@pytest.mark.slow
def test_source_distribution_works_in_an_empty_environment(sdist: Path, tmp_path: Path) -> None:
    python = empty_environment(tmp_path / "env")
    pip = (python, "-m", "pip", "install", "-q", "--disable-pip-version-check")
    run(*pip, f"{sdist}[pocl]", cwd=tmp_path, CFLAGS="-O0", CXXFLAGS="-O0")  # the core is compiled: quickly
    printed = run(python, "-c", TRY_IT, cwd=tmp_path, CLARRAY_CACHE_DIR=str(tmp_path / "cache")).splitlines()
    assert str(tmp_path / "env") in printed[-3]
    assert printed[-2] == f"compiled core: {has_compiler()}"
    assert printed[-1] == f"templates: {sum(1 for _ in (ROOT / 'templates').rglob('*.mako'))}"


@pytest.mark.slow
def test_without_a_compiler_it_says_so(sdist: Path, tmp_path: Path) -> None:
    """It is installed all the same, and pip hides what setuptools has to say."""
    none = {name: str(tmp_path / "no_compiler") for name in ("CC", "CXX")}
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path, sdist, cwd=tmp_path, **none)
    (built,) = tmp_path.glob("clarray-*.whl")
    run(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", tmp_path / "there", built, cwd=tmp_path)
    program = TRY_IT + "clarray.show_config()"
    printed = run(sys.executable, "-W", "error", "-c", program, cwd=tmp_path, PYTHONPATH=str(tmp_path / "there"))
    assert str(tmp_path / "there") in printed
    assert "  compiled core             not built: there was no C++ compiler when clarray was installed" in printed


def test_the_citation_has_the_version() -> None:
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()


@pytest.mark.parametrize("name", ["CODE_OF_CONDUCT.md", "SECURITY.md", "docs/project/support.md", "CITATION.cff"])
def test_addresses_are_for_a_person_to_fill_in(name: str) -> None:
    text = (ROOT / name).read_text()
    assert "o be filled in by a person" in text
    assert "@" not in text
    assert [word for word in re.findall(r"https?://\S+", text) if "semver.org" not in word] == []


# The lines that readers are told to type ------------------------------------------------------------

TEXTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "docs/how-to/install.md")),
    *(file for file in (ROOT / "docs").rglob("*.md") if file.name != "install.md" and "_build" not in file.parts),
    *(ROOT / "clarray").rglob("*.py"),
]
HOMES = ("docs/how-to/install.md", "clarray/_engine/runtime/install_lines.py")


def test_lines_that_install_work_before_there_is_a_release() -> None:
    """The package index knows no clarray yet: what readers are told to type takes a clone, or other packages."""
    told = [f"{file}: {line}" for file in TEXTS for line in file.read_text().splitlines() if "clarray[" in line]
    assert not told


@pytest.mark.parametrize(
    "package", ["install pocl-", "intel-opencl-rt intel", "vendors/nvidia.icd", "install intel-", "rocm-"]
)
def test_a_runtimes_line_has_one_home(package: str) -> None:
    """The documentation has it in its table, the messages in one module; the rest refers to them."""
    assert {str(file.relative_to(ROOT)) for file in TEXTS if package in file.read_text()} == set(HOMES)


def test_messages_and_the_table_have_the_same_lines() -> None:
    table = " ".join((ROOT / "docs" / "how-to" / "install.md").read_text().split())
    messages = [install_lines.POCL, install_lines.INTEL_CPU, install_lines.NVIDIA_ICD]
    messages += [line for text in install_lines.DRIVERS.values() for line in re.findall(r"`(.*?)`", text)]
    assert len(messages) >= 7
    assert [line for line in messages if f"`{line}`" not in table] == []


def test_the_clones_line_is_readmes() -> None:
    """CI runs it from there. The page on installing has the same line, and no other text has it."""
    readme = (ROOT / "README.md").read_text()
    line = re.search(r"<!-- install -->\n```sh\n(.*)\n", readme)
    assert line is not None
    assert readme.count(line[1]) == 1
    for file in TEXTS[1:]:
        text = file.read_text()
        if file.name == "install.md":
            assert text.count(f"```sh\n{line[1]}\n```") == 1
            text = text.replace(line[1], "")
        assert line[1] not in text
        assert '-e ".[pocl]"' not in text


def test_extras_are_listed() -> None:
    page = (ROOT / "docs" / "how-to" / "install.md").read_text().partition("## Extras\n")[2]
    listed = set(re.findall(r"^\| `(\w+)`", page, re.MULTILINE))
    assert listed == set(METADATA["project"]["optional-dependencies"])
