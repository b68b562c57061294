"""The tests themselves: none passes by leaving before it has asked anything, and the smoke set is complete."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / "tests").rglob("test_*.py"))
SMOKE = (ROOT / "tests/smoke.txt").read_text().splitlines()
# Where an algorithm is tested, unless its name stands in the path; the others are in the whole suite.
ELSEWHERE = {
    "elementwise": "test_ufuncs",
    "index_map": "test_pad",
    "join": "test_joining",
    "scatter": "test_at_overlap",
    "search": "test_searchsorted",
    "snippet": "test_kernels",
    "spectral": "test_large_spectral",
    "unique": "test_sets",
}


def silent_returns(tree: ast.AST) -> list[int]:
    """Lines where a test says ``if ...: return``: such parameters count as passed, and belong in `parametrize`."""
    tests = [f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) and f.name.startswith("test_")]
    return [
        branch.lineno
        for test in tests
        for branch in ast.walk(test)
        if isinstance(branch, ast.If) and len(branch.body) == 1
        if isinstance(branch.body[0], ast.Return) and branch.body[0].value is None
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_test_returns_in_silence(path: Path) -> None:
    assert silent_returns(ast.parse(path.read_text())) == []


def test_silent_returns_are_found() -> None:
    source = "def test_it(x):\n    if x:\n        return  # nothing\n    assert x"
    assert silent_returns(ast.parse(source)) == [2]
    assert silent_returns(ast.parse(source.replace("return ", "check(x); return"))) == []


def test_the_smoke_set_is_there() -> None:
    assert len(set(SMOKE)) == len(SMOKE)
    for line in SMOKE:
        path, _, test = line.partition("::")
        assert (ROOT / path).exists(), line
        assert not test or f"def {test.partition('[')[0]}(" in (ROOT / path).read_text(), line


def test_the_smoke_mark_takes_what_the_lines_name() -> None:
    """A line is an argument of pytest too, and both ways collect the same tests."""
    folders = (
        "tests/engine/expr",
        "tests/device/random",
        "tests/device/algorithms/test_matmul.py",
        "tests/test_names.py",
    )
    lines = [line for line in SMOKE if line.startswith(folders)]
    marked = collected("-m", "smoke", *folders)
    assert marked == collected(*lines)
    assert len(marked) > len(lines) > 5


def collected(*arguments: str) -> set[str]:
    """Return the ids of the tests that pytest collects."""
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return {line for line in done.stdout.splitlines() if "::" in line}


ALGORITHMS = [
    p.parent.name for top in ("fused", "algorithms") for p in (ROOT / "clarray/_engine" / top).glob("*/__init__.py")
]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_smoke_set_runs_every_algorithm(algorithm: str) -> None:
    wanted = ELSEWHERE.get(algorithm, f"test_{algorithm}")
    assert any(wanted in line for line in SMOKE if line.startswith("tests/device"))


def optimized_tests(source: str) -> list[str]:
    """Return the tests of a file whose kernels are compiled as a program has them."""
    tree = ast.parse(source)
    marks = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Assign)]
    all_are_quick = any(text.startswith("pytestmark = ") and "quick_builds" in text for text in marks)
    tests = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    decorated = [(test.name, " ".join(map(ast.unparse, test.decorator_list))) for test in tests]
    return [name for name, marks in decorated if "mark.optimized" in marks or not (all_are_quick or "quick" in marks)]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_is_tested_as_it_is_compiled_in_a_program(algorithm: str) -> None:
    wanted = ELSEWHERE.get(algorithm, f"test_{algorithm}")
    files = [path for path in FILES if "device" in path.parts]
    tests = [f"{path.stem} {test}" for path in files for test in optimized_tests(path.read_text())]
    assert any(wanted in test for test in tests)


def test_quick_builds_are_found() -> None:
    quick, own = '@pytest.mark.usefixtures("quick_builds")\n', "@pytest.mark.optimized\n"
    source = f"{quick}def test_a(): ...\n\n{own}def test_b(): ...\n\ndef test_c(): ..."
    assert optimized_tests(source) == ["test_b", "test_c"]
    assert optimized_tests('pytestmark = pytest.mark.usefixtures("quick_builds")\n' + source) == ["test_b"]


# Modules that tests leave themselves out without, whose distribution has another name.
DISTRIBUTIONS = {
    "IPython": "ipython",
    "PIL": "pillow",
    "array_api_strict": "array-api-strict",
    "distributed": "dask",
    "myst_parser": "myst-parser",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
}


def wanted(path: Path) -> set[str]:
    """The packages without which tests of a file are left out."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    named = [
        call.args[0].value.partition(".")[0]
        for call in calls
        if ast.unparse(call.func) == "pytest.importorskip" and isinstance(call.args[0], ast.Constant)
    ]
    return {DISTRIBUTIONS.get(name, name) for name in named}


def test_what_tests_need_is_in_an_extra() -> None:
    """A package that no extra installs leaves its tests skipped."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    required = [
        *project["dependencies"],
        *(line for extra in project["optional-dependencies"].values() for line in extra),
    ]
    installed = {re.match(r"[\w-]+", line)[0].lower() for line in required}
    needed = {name: path.name for path in FILES for name in wanted(path)}
    assert {"unyt", "pint", "scikit-learn", "dask"} <= needed.keys()
    assert {name: file for name, file in needed.items() if name not in installed} == {}
