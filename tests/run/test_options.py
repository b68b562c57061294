"""Reports, strictness, devices, and what `install` does in a process that is running."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., object]
Write = Callable[[str, str], Path]

REPORTED = """import numpy as np
x = np.linspace(0, 1, 100_000)
print((x + 1).sum())
print(np.array(["a", "b"]))
import sys
sys.exit(3)
"""


def test_a_report_by_source_line(ours: Run, write: Write) -> None:
    write("script.py", REPORTED)
    outcome = ours("script.py", options=("--report",))
    assert (outcome.status, outcome.output) == (3, "150000.0\n['a' 'b']\n")  # type: ignore[attr-defined]
    errors = outcome.errors  # type: ignore[attr-defined]
    assert "the program, each launch waited for" in errors
    assert any(line.endswith(" script.py:3") and line.split()[1] != "0" for line in errors.splitlines())
    assert "script.py:4: numpy.array, 1 times" in errors
    assert "arrays that no device holds" in errors
    assert "program was run twice more" not in errors


def test_a_report_that_compares(ours: Run) -> None:
    outcome = ours("-c", "print(1)", options=("--report=compare",))
    assert outcome.output == "1\n"  # type: ignore[attr-defined]
    python, clarray, verdict = outcome.errors.splitlines()[-3:]  # type: ignore[attr-defined]
    assert "python (status 0)" in python
    assert "clarray run (status 0)" in clarray
    theirs, ours = (float(line.split()[0]) for line in (python, clarray))
    assert verdict.split()[0] == ("clarray" if ours < theirs else "python")


def test_the_comparison_runs_the_program_as_it_was_asked_for(ours: Run, tmp_path: Path) -> None:
    source = "import sys; open('log', 'a').write(f'{\"clarray\" in sys.modules} {sys.argv[1:]}\\n')"
    outcome = ours("-c", source, "-x", options=("--report=compare", "--strict", "--random", "device"))
    assert outcome.status == 0  # type: ignore[attr-defined]
    assert (tmp_path / "log").read_text().splitlines() == ["True ['-x']", "False ['-x']", "True ['-x']"]


def test_the_standard_input_is_not_run_twice(ours: Run) -> None:
    outcome = ours("-", options=("--report=compare",), given="print(1)")
    assert (outcome.status, outcome.output) == (2, "")  # type: ignore[attr-defined]
    assert "--report=compare runs the program twice more" in outcome.errors  # type: ignore[attr-defined]


def test_strict_raises_where_numpy_would_compute(ours: Run) -> None:
    source = "import numpy as np\nx = np.ones(2)\nprint(x, np.array(['a']))\nnp.busday_count(x, x)"
    outcome = ours("-c", source, options=("--strict",))
    assert (outcome.status, outcome.output) == (1, "[1. 1.] ['a']\n")  # type: ignore[attr-defined]
    assert "TypeError: numpy.busday_count has no device implementation" in outcome.errors  # type: ignore[attr-defined]


def test_a_device(ours: Run) -> None:
    source = "import numpy as np\nprint(np.ones(2).device is not None)"
    assert ours("-c", source, options=("--device", "0")).output == "True\n"  # type: ignore[attr-defined]
    assert ours("-c", source, options=("--device=cpu",)).output == "True\n"  # type: ignore[attr-defined]
    outcome = ours("-c", source, options=("--device", "no such device"))
    assert outcome.status == 1  # type: ignore[attr-defined]
    assert "no device is called 'no such device'" in outcome.errors  # type: ignore[attr-defined]


INSTALLED = """
import importlib, pickle, sys
import clarray, numpy
before = numpy.ndarray
names = {name: getattr(clarray.DeviceArray, name) for name in ("__name__", "__module__", "sum", "astype")}
clarray.run.install()
import numpy
print(numpy.ndarray is before, type(numpy.ones(3).sum()).__name__, clarray.config.host_fallback)
clarray.run.install(strict=True)
print(clarray.config.host_fallback)
clarray.run.uninstall()
import numpy
print(numpy.ndarray is before, type(clarray.ones(3).sum()).__name__, clarray.config.host_fallback)
print(all(getattr(clarray.DeviceArray, name) is value for name, value in names.items()))
print(importlib.import_module("numpy") is numpy)
print(hasattr(clarray.DeviceArray, "ctypes"), type(pickle.loads(pickle.dumps(clarray.ones(2)))).__name__)
try:
    clarray.run.install(random="mine")
except ValueError as error:
    print(error)
"""


def test_install_and_uninstall(tmp_path: Path, write: Write) -> None:
    from .conftest import run

    write("script.py", INSTALLED)
    outcome = run(tmp_path, "script.py")
    assert outcome.output.splitlines() == [
        "False float64 allow",
        "raise",
        "True DeviceArray raise",
        "True",
        "True",
        "False DeviceArray",
        "random must be 'numpy' or 'device', not 'mine'",
    ], outcome.errors


NOTEBOOK = """
{shell}
run("import numpy as np, numpy.linalg\\nfrom numpy import linalg\\nold = np.ones(2)")
load()
run("print(hasattr(np.ones(3), 'evaluate'), hasattr(old, 'evaluate'), linalg is np.linalg, np.linalg.norm(np.ones(4)))")
run("import numpy\\nprint(hasattr(numpy.ones(3), 'evaluate'), type(numpy.ones(3).sum()))")
unload()
run("import numpy\\nprint(hasattr(np.ones(3), 'evaluate'), hasattr(numpy.ones(3), 'evaluate'))")
"""
PRETENDED = """
import clarray
class Shell:
    user_ns = {"__name__": "__main__"}
def run(cell):
    exec(cell, Shell.user_ns)
def load():
    clarray.load_ipython_extension(Shell)
def unload():
    clarray.unload_ipython_extension(Shell)
"""
IPYTHON = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
def run(cell):
    shell.run_cell(cell).raise_error()
def load():
    shell.run_line_magic("load_ext", "clarray")
def unload():
    shell.run_line_magic("unload_ext", "clarray")
"""


@pytest.mark.parametrize("shell", [PRETENDED, IPYTHON], ids=["pretended", "IPython"])
def test_the_notebooks_magic(tmp_path: Path, shell: str) -> None:
    from .conftest import run

    if shell is IPYTHON:
        pytest.importorskip("IPython")
    outcome = run(tmp_path, "-c", NOTEBOOK.format(shell=shell))
    expected = ["True False True 2.0", "True <class 'numpy.float64'>", "False False"]
    assert outcome.output.splitlines() == expected, outcome.errors
