"""Prompts name an array's device; programs, doctests and `print` do not."""

from __future__ import annotations

import doctest
import os
import subprocess
import sys
import textwrap

import pytest

import clarray
from clarray._api import interactive
from clarray._engine.runtime import current_device

ON_DEVICE = f"# on the {current_device().capabilities.kind}, {current_device().capabilities.name}"


def session(lines: str, *options: str, **environment: str) -> list[str]:
    """Return what Python's prompt prints for lines that somebody types."""
    done = subprocess.run(
        [sys.executable, "-q", *options],
        input=textwrap.dedent(lines),
        capture_output=True,
        text=True,
        env=os.environ | environment,
        check=True,
    )
    return [line.removeprefix(">>> ") for line in done.stdout.replace(">>> >>> ", ">>> ").splitlines()]


TYPED = """
import clarray
x = clarray.arange(3.0)
x
print(x)
repr(x)
x.sum()
[x]
_ and x is x
x + 1
_ + 1
"""


def test_pythons_prompt_names_the_device() -> None:
    lines = session(TYPED, "-i")
    shown = [line.replace(">>> ", "") for line in lines if line.replace(">>> ", "")]
    assert shown == [
        f"array([0., 1., 2.])  {ON_DEVICE}",
        "[0. 1. 2.]",
        "'array([0., 1., 2.])'",
        "np.float64(3.0)",
        "[array([0., 1., 2.])]",
        "True",
        f"array([1., 2., 3.])  {ON_DEVICE}",
        f"array([2., 3., 4.])  {ON_DEVICE}",
    ]


def test_it_can_be_turned_off() -> None:
    for lines in (session(TYPED, "-i", CLARRAY_SHOW_DEVICE="0"), session("import clarray\n" + OFF + TYPED, "-i")):
        assert ON_DEVICE not in "".join(lines)


OFF = "clarray.config.show_device = False\n"


def test_programs_print_what_numpy_prints() -> None:
    program = "import clarray, sys; x = clarray.arange(3.0); print(x, repr(x)); sys.displayhook(x)"
    for command in ([], ["-m", "clarray", "run"]):
        done = subprocess.run([sys.executable, *command, "-c", program], capture_output=True, text=True, check=True)
        assert done.stdout == "[0. 1. 2.] array([0., 1., 2.])\narray([0., 1., 2.])\n"


def test_doctests_see_numpys_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    monkeypatch.setattr(sys, "displayhook", sys.displayhook)
    interactive.install_display()
    test = doctest.DocTestParser().get_doctest(
        ">>> x\narray([0., 1., 2.])\n", {"x": clarray.arange(3.0)}, "prompt", None, 0
    )
    assert doctest.DocTestRunner().run(test).failed == 0


def test_a_wide_array_has_the_device_on_a_line_of_its_own() -> None:
    x = clarray.ones((2, 15))
    assert interactive.text_with_device(x) == f"{x!r}\n{ON_DEVICE}"
    with clarray.config(show_device=False):
        assert interactive.text_with_device(x) == repr(x)


def test_ipython_names_the_device(capsys: pytest.CaptureFixture[str]) -> None:
    shells = pytest.importorskip("IPython.core.interactiveshell")
    program = """
    from IPython.core.interactiveshell import InteractiveShell
    shell = InteractiveShell.instance()
    shell.run_cell("import clarray; x = clarray.arange(3.0)")
    shell.run_cell("x")
    shell.run_cell("[x]")
    shell.run_cell("clarray.config.show_device = False; x")
    """
    assert shells
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    shown = [line.partition("]: ")[2] for line in done.stdout.splitlines() if line.startswith("Out")]
    assert shown == [f"array([0., 1., 2.])  {ON_DEVICE}", "[array([0., 1., 2.])]", "array([0., 1., 2.])"]
