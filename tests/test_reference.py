"""The API reference: every public name has a page, and `help` shows its public name, signature and docstring.

Each test looks at all names at once, in this process and in one without the compiled core.
"""

from __future__ import annotations

import inspect
import operator
import os
import pickle
import pydoc
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import clarray
from tests.scripts import import_script

ROOT = Path(__file__).resolve().parents[1]
# How many names may be without: what is left to write. Smaller is better, and 0 is the end.
MOST_WITHOUT_PARAMETERS = 1
MOST_WITHOUT_EXAMPLE = 11

pytestmark = pytest.mark.skipif(find_spec("distributed") is None, reason="the reference describes clarray.dask")


def public_objects() -> dict[str, Any]:
    """Every function, class, method and attribute with a page, as ``clarray.`` and its name give it."""
    names = import_script("docs", "reference").pages()
    return {name: operator.attrgetter(name.partition(".")[2])(clarray) for name in names if "clarray.dask" not in name}


PRIVATE = re.compile(r"'Any'|: Any\b|-> Any\b|clarray\._|typing\.")


def complaints(name: str, value: Any) -> list[str]:
    """Say what is wrong with what `help` shows of an object."""
    shown = pydoc.render_doc(value, renderer=pydoc.plaintext)
    text = inspect.getdoc(value)
    if not text:
        return [f"{name}: no docstring"]
    wrong = [f"{name}: help shows {each!r}" for each in sorted(set(PRIVATE.findall(shown)))]
    if text.splitlines()[0] not in shown:
        wrong.append(f"{name}: help does not show its docstring")
    return wrong


def all_complaints() -> list[str]:
    return [each for name, value in public_objects().items() for each in complaints(name, value)]


def test_help_shows_names_signatures_and_docstrings() -> None:
    assert len(public_objects()) > 700
    assert all_complaints() == []


def test_help_is_as_readable_without_the_core() -> None:
    program = "from tests import test_reference as t; found = t.all_complaints(); print(*found, sep='\\n', end='')"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"CLARRAY_PURE": "1", "PYTHONPATH": os.pathsep.join((str(ROOT), *sys.path))},
    )
    assert (done.stdout, done.returncode) == ("", 0), done.stderr


def test_complaints_are_found() -> None:
    def annotated(x: Any) -> None:
        """Do something."""

    def undocumented() -> None: ...

    assert complaints("f", annotated) == ["f: help shows \"'Any'\""]
    assert complaints("f", undocumented) == ["f: no docstring"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("sum", "(a, axis=None, dtype=None, out=None, keepdims=False, initial=<no value>, where=True)"),
        ("DeviceArray.fill", "(self, value)"),
        ("linalg.norm", "(x, ord=None, axis=None, keepdims=False)"),
        ("random.Generator.random", "(self, size=None, dtype=<class 'numpy.float64'>, out=None)"),
        ("poly1d", "(c_or_r, r=False, variable=None)"),
    ],
)
def test_signatures_are_numpys(name: str, shown: str) -> None:
    assert str(inspect.signature(operator.attrgetter(name)(clarray))) == shown


@pytest.mark.parametrize(
    "name", ["sum", "asnumpy", "linalg.norm", "special.erf", "DeviceArray.sum", "DeviceArray.fill"]
)
def test_functions_are_pickled_by_their_public_names(name: str) -> None:
    function = operator.attrgetter(name)(clarray)
    assert pickle.loads(pickle.dumps(function)) is function
    assert f"{function.__module__}.{function.__qualname__}" == f"clarray.{name}"


@pytest.mark.parametrize("name", ["sum", "asnumpy", "linalg.norm", "DeviceArray.sum", "DeviceArray.put"])
def test_the_text_of_a_function_is_its_name(name: str) -> None:
    assert repr(operator.attrgetter(name)(clarray)).startswith(f"<function {name.removeprefix('linalg.')} at ")


def test_every_name_has_a_page() -> None:
    assert import_script("docs", "reference_gaps").without_page() == []
    assert len(import_script("docs", "reference").pages()) > 700


def test_the_page_of_chapters_lists_them_all_by_their_titles() -> None:
    """Sphinx warns of a chapter that is not listed, but not of a title that has changed."""
    listed = re.findall(r"^- \[(.+)\]\(generated/(\w+)\.rst\)", (ROOT / "docs/api.md").read_text(), re.MULTILINE)
    chapters = import_script("docs", "reference").all_chapters()
    assert listed == [(chapter.title, page) for page, chapter in chapters.items()]


def test_a_name_is_in_one_section() -> None:
    chapters = import_script("docs", "reference").all_chapters().values()
    names = [f"{c.module}.{name}" for c in chapters for section in c.sections.values() for name in section]
    assert "clarray.add" in names
    assert sorted(set(names)) == sorted(names)
    assert [title for c in chapters for title, section in c.sections.items() if not section] == []


def test_parameters_are_described() -> None:
    assert len(import_script("docs", "reference_gaps").without_parameters()) <= MOST_WITHOUT_PARAMETERS


def test_examples_are_there() -> None:
    assert len(import_script("docs", "reference_gaps").without_example()) <= MOST_WITHOUT_EXAMPLE
