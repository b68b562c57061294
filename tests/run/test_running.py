"""A program sees what ``python`` shows it: arguments, files, modules, exit status, tracebacks, warnings."""

from __future__ import annotations

import signal
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., object]
Write = Callable[[str, str], Path]

WHERE = """
import sys, os
print(__name__, __file__ if "__file__" in globals() else None, __package__, __spec__ and __spec__.name, __doc__)
print(sys.argv, os.path.basename(sys.path[0]), sorted(vars(sys.modules["__main__"])) == sorted(globals()))
import numpy as np
print(type(np.arange(3)), np.arange(3).sum())
if __name__ == "__main__":
    print("main")
"""


def test_a_file_and_its_arguments(same: Run, write: Write) -> None:
    write("script.py", '"""Docs."""' + WHERE)
    same("script.py", "a", "--device", "-m")


def test_a_file_in_another_folder(same: Run, write: Write) -> None:
    write("deep/er/script.py", WHERE)
    same("deep/er/script.py")


@pytest.mark.parametrize("what", ["pkg", "pkg.mod"])
def test_a_module(same: Run, write: Write, what: str) -> None:
    write("pkg/__init__.py", "import numpy\nvalue = numpy.ones(3).sum()\n")
    write("pkg/mod.py", WHERE + "from . import value\nfrom .other import twice\nprint(twice(value))\n")
    write("pkg/__main__.py", WHERE + "from pkg import value\nprint(value)\n")
    write("pkg/other.py", "import numpy as np\ndef twice(x):\n    return np.multiply(x, 2)\n")
    same("-m", what, "x")


def test_a_string(same: Run) -> None:
    same("-c", WHERE, "x", "y")


def test_the_standard_input(same: Run) -> None:
    same("-", "x", given=WHERE)


def test_a_folder_and_an_archive(same: Run, write: Write, tmp_path: Path) -> None:
    main = write("folder/__main__.py", WHERE + "import beside\nprint(beside.x)\n")
    beside = write("folder/beside.py", "import numpy as np\nx = np.arange(4)[::-1]\n")
    same("folder", "x")
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        for path in (main, beside):
            archive.write(path, path.name)
    same("archive.zip")


def test_modules_of_the_program_get_clarray_and_libraries_numpy(ours: Run, write: Write, tmp_path: Path) -> None:
    write("site-packages/library.py", "import numpy\nkind = type(numpy.ones(3))\n")
    write("mine.py", "import numpy\nkind = type(numpy.ones(3))\nfrom numpy.linalg import norm\n")
    write(
        "script.py",
        """
import sys
sys.path.append("site-packages")
import numpy, numpy.fft, mine, library, importlib, sys, scipy.linalg
import numpy.linalg as la
from numpy import linalg, ones as make, fft
from numpy.linalg import norm
from numpy import *
named = importlib.import_module("numpy")
print(hasattr(mine.kind, "evaluate"), hasattr(library.kind, "evaluate"), hasattr(scipy.linalg.inv(eye(2)), "evaluate"))
print(la is linalg is numpy.linalg, norm is la.norm is mine.norm, make is numpy.ones, named is numpy, fft is numpy.fft)
print(sys.modules["numpy"] is not numpy, hasattr(sys.modules["numpy"].ones(3), "evaluate"))
exec("import numpy as np2; print(hasattr(np2.ones(3), 'evaluate'))", {})
print(eval("__import__('numpy')") is numpy)
""",
    )
    outcome = ours("script.py")
    expected = "True False False\nTrue True True True True\nTrue False\nTrue\nTrue\n"
    assert (outcome.output, outcome.errors) == (expected, "")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "end", ["sys.exit()", "sys.exit(3)", "sys.exit('a message')", "raise SystemExit(None)", "1 / 0", "exit(4)"]
)
def test_exit_status(same: Run, end: str) -> None:
    same("-c", f"import sys, atexit\natexit.register(print, 'bye')\nprint('hello')\n{end}")


@pytest.mark.skipif(sys.platform == "win32", reason="has no signals")
def test_an_interrupt_ends_it_as_python_ends(ours: Run) -> None:
    outcome = ours("-c", "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nfor _ in range(10**9): pass")
    assert outcome.status == -signal.SIGINT  # type: ignore[attr-defined]
    assert outcome.errors.splitlines()[-1] == "KeyboardInterrupt"  # type: ignore[attr-defined]


FAILING = {
    "an error of its own": "def f(x):\n    return x / 0\n\nf(1)\n",
    "an operator": "import numpy as np\ndef f(x):\n    return x + np.ones(4)\n\nf(np.ones(3))\n",
    "an index": "import numpy as np\nx = np.arange(3)\nprint(x[2])\nx[7]\n",
    "a cause": "try:\n    {}['a']\nexcept KeyError as error:\n    raise ValueError('b') from error\n",
    "a context": "try:\n    import nothing_of_this_name\nexcept ImportError:\n    raise ValueError('b')\n",
    "no module": "import nothing_of_this_name\n",
    "no name": "from numpy import nothing_of_this_name\n",
    "no attribute": "import numpy as np\nnp.nothing_of_this_name\n",
    "no module of numpy's": "import numpy.nothing\n",
    "a removed name": "import numpy as np\nnp.float\n",
    "syntax": "x = = 3\n",
    "truth": "import numpy as np\nif np.ones(3): pass\n",
    "a group": "raise ExceptionGroup('several', [ValueError(1), TypeError(2)])\n",
}


@pytest.mark.parametrize("source", FAILING.values(), ids=list(FAILING))
def test_tracebacks(same: Run, write: Write, source: str) -> None:
    write("script.py", source)
    same("script.py")


def test_a_module_that_fails(same: Run, write: Write) -> None:
    write("helper.py", "import numpy as np\nvalue = np.ones(3)\nvalue.shape = 7\n")
    write("script.py", "def load():\n    import helper\n    return helper\n\nload()\n")
    same("script.py")


def test_an_error_of_numpys_functions_ends_at_the_users_line(ours: Run, write: Write) -> None:
    write("script.py", "import numpy as np\n\nnp.concatenate([np.ones((2, 2)), np.ones(3)])\n")
    outcome = ours("script.py")
    lines = outcome.errors.splitlines()  # type: ignore[attr-defined]
    assert lines[1].endswith('script.py", line 3, in <module>')
    assert lines[-1].startswith("ValueError: all the input arrays must have same number of dimensions")
    assert "clarray" not in outcome.errors  # type: ignore[attr-defined]


CAUGHT = """
import logging, sys, threading, traceback
import numpy as np

def fail():
    import nothing_of_this_name

def add():
    return np.ones(3) + np.ones(4)

for each in (fail, add):
    try:
        each()
    except Exception:
        print(traceback.format_exc())
        logging.exception("caught")
thread = threading.Thread(target=add, name="adding")
thread.start()
thread.join()
"""


def test_tracebacks_that_a_program_formats(same: Run, write: Write) -> None:
    write("script.py", CAUGHT)
    same("script.py")


def test_hooks_of_the_program(same: Run, write: Write) -> None:
    write("script.py", "import sys\nsys.excepthook = lambda kind, value, tb: print('hook', kind, value)\n1 / 0\n")
    same("script.py")


def test_what_cannot_be_opened(same: Run) -> None:
    same("nothing.py")
    same("-m", "nothing.at.all")


def test_warnings_name_the_users_line(same: Run, write: Write) -> None:
    write("old.py", "import warnings\nwarnings.warn('this module is old', DeprecationWarning, stacklevel=2)\n")
    write(
        "script.py",
        "import warnings, old\nimport numpy as np\nwarnings.warn('mine')\n"
        "x = np.array([1 + 2j]).astype(float)\nnp.float64(1) / np.float64(0)\n",
    )
    same("script.py")
    same("script.py", flags=("-W", "error"))


@pytest.mark.parametrize("wrong", [(), ("--nothing", "x.py"), ("--device",), ("-m",), ("--random", "mine", "-c", "")])
def test_wrong_usage(ours: Run, wrong: tuple[str, ...]) -> None:
    outcome = ours(*wrong)
    assert outcome.status == 2  # type: ignore[attr-defined]
    assert outcome.errors.startswith("clarray run: ")  # type: ignore[attr-defined]


def test_help(ours: Run) -> None:
    assert ours("--help").output.startswith("usage: python -m clarray run")  # type: ignore[attr-defined]
