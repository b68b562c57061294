"""Functions have few parameters and fit a screen. The numbers of exceptions are bounds that can only fall."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
PARAMETERS = 7  # without `self` and `cls`
SCREEN = 50  # lines of code, without the docstring

# Functions that exceed a limit. Lower a bound when there are fewer, and never raise it.
WITH_MANY_PARAMETERS = 0
LONG_WITHOUT_DOCSTRING = 0

Function = ast.FunctionDef | ast.AsyncFunctionDef

# Signatures of SciPy, CuPy and Dask, which need not be installed: names by path, or None for all public functions.
THEIRS = {
    "clarray/ndimage": None,
    "clarray/_numpy/kernels/kernels.py": {"__init__"},
    "clarray/dask/worker.py": {"__init__"},
}


@cache
def functions() -> list[tuple[str, Function]]:
    """Return all functions of clarray, with their paths and names."""
    return [
        (f"{path.relative_to(ROOT)}: {node.name}", node)
        for path in sorted((ROOT / "clarray").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, Function)
    ]


def parameter_count(function: Function) -> int:
    """Return the number of parameters, without `self` and `cls`."""
    a = function.args
    names = [arg.arg for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if arg is not None]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def numpy_names() -> set[str]:
    """Return the names of functions and methods whose signatures are NumPy's."""
    homes = (np, np.ndarray, np.linalg, np.fft, np.random.Generator, np.ufunc, np.lib.stride_tricks, np.testing)
    return {name for home in homes for name in dir(home) if not name.startswith("_")}


def is_theirs(where: str, name: str) -> bool:
    """Return whether another library than NumPy determines a function's signature."""
    for folder, names in THEIRS.items():
        if where.startswith(folder) and (name in names if names is not None else not name.startswith("_")):
            return True
    return False


def code_lines(function: Function) -> int:
    """Return the number of lines without the docstring."""
    assert function.end_lineno is not None
    lines = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function) is None:
        return lines
    docstring = function.body[0]
    assert docstring.end_lineno is not None
    return lines - (docstring.end_lineno - docstring.lineno + 1)


def test_functions_have_few_parameters() -> None:
    numpys = numpy_names()
    many = [
        f"{where}: {parameter_count(function)} parameters"
        for where, function in functions()
        if parameter_count(function) > PARAMETERS
        and function.name not in numpys
        and not is_theirs(where, function.name)
    ]
    assert len(many) <= WITH_MANY_PARAMETERS, "\n".join(many)


def test_long_functions_have_a_docstring() -> None:
    long = [
        f"{where}: {code_lines(function)} lines"
        for where, function in functions()
        if code_lines(function) >= SCREEN and ast.get_docstring(function) is None
    ]
    assert len(long) <= LONG_WITHOUT_DOCSTRING, "\n".join(long)


def test_limits_are_measured_without_self_and_docstrings() -> None:
    (method,) = ast.parse(
        inspect.cleandoc('''
        def method(self, a, *args, b=0, **kwargs):
            """A docstring.

            Of three lines.
            """
            return a
    ''')
    ).body
    assert isinstance(method, Function)
    assert parameter_count(method) == 4
    assert code_lines(method) == 2
