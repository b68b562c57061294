"""What docs/ runs and draws when it is built: its code fits its pages, its programs are programs and notebooks."""

from __future__ import annotations

import ast
import importlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
COLUMNS = 110  # of code, which a page has room for at 1280 pixels (docs/_static/pages.css)
PROGRAMS = sorted((DOCS / "gallery").glob("*.py"))


@pytest.fixture(scope="module")
def gallery() -> Iterator[ModuleType]:
    sys.path.insert(0, str(DOCS))
    try:
        yield importlib.import_module("gallery")
    finally:
        sys.path.remove(str(DOCS))


def run_blocks(text: str) -> Iterator[str]:
    """The code of a page's `run` directives."""
    lines = iter(text.splitlines())
    for line in lines:
        if line.lstrip() != ".. run::":
            continue
        indent = len(line) - len(line.lstrip())
        block = []
        for inner in lines:
            if inner.strip() and len(inner) - len(inner.lstrip()) <= indent:
                break
            block.append(inner[indent + 3 :])
        yield "\n".join(one for one in block if not one.startswith(":"))


def test_code_of_pages_fits_them() -> None:
    blocks = {path.name: list(run_blocks(path.read_text())) for path in DOCS.glob("*.rst")}
    assert len(blocks["quickstart.rst"]) > 5
    assert len(blocks["performance.rst"]) > 3
    wide = [line for page in blocks.values() for block in page for line in block.splitlines() if len(line) > COLUMNS]
    assert wide == []
    for page in blocks.values():
        for block in page:
            ast.parse(block)


def shown_blocks(text: str) -> Iterator[str]:
    """The code of a page's `code-block` directives, in Python or for a shell."""
    for found in re.finditer(r"^( *)\.\. code-block:: (?:python|sh|pycon)\n((?:\1   .*\n|\s*\n)+)", text, re.MULTILINE):
        indent = len(found[1]) + 3
        yield "\n".join(line[indent:] for line in found[2].splitlines() if not line.strip().startswith(":"))


def test_code_that_pages_show_fits_them() -> None:
    blocks = {path.name: list(shown_blocks(path.read_text())) for path in DOCS.glob("*.rst")}
    assert sum(map(len, blocks.values())) > 25
    lines = [(name, line) for name, page in blocks.items() for block in page for line in block.splitlines()]
    assert [(name, line) for name, line in lines if len(line) > COLUMNS] == []


def test_there_are_eight_programs() -> None:
    assert len(PROGRAMS) == 8


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_is_a_notebook_too(program: Path, gallery: ModuleType) -> None:
    text = program.read_text()
    title, about, code = gallery.parts(text)
    assert title
    assert about
    assert [line for line in code.splitlines() if len(line) > COLUMNS] == []
    assert code.endswith("plt.show()")
    assert "__file__" not in code  # which a notebook has not
    first, *cells = json.loads(gallery.notebook(text))["cells"]
    assert first["cell_type"] == "markdown"
    assert first["source"][0] == f"# {title}\n"
    for cell in cells:
        ast.parse("".join(cell["source"]))  # no paragraph ends within a statement
    assert "\n\n".join("".join(cell["source"]) for cell in cells) == code


def test_every_name_in_the_reference_has_one_place() -> None:
    """The table of ufuncs leaves those to other chapters that have an entry there."""
    sys.path.insert(0, str(DOCS))
    try:
        reference = importlib.import_module("reference")
    finally:
        sys.path.remove(str(DOCS))
    entries = [line.split("clarray.")[1] for line in reference.ufuncs().splitlines() if "py:function::" in line]
    chapters = {
        name
        for chapter in reference.CHAPTERS
        for name in reference.documented(importlib.import_module(f"clarray.{chapter}"))
    }
    assert "add" in entries
    assert len(entries) == len(set(entries))
    assert chapters.isdisjoint(entries)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_notebooks_are_of_the_format(program: Path, gallery: ModuleType) -> None:
    """What it does not have is an error: a code cell without outputs, a key of one's own."""
    nbformat = pytest.importorskip("nbformat")
    made = gallery.notebook(program.read_text())
    nbformat.validate(nbformat.reads(made, as_version=nbformat.NO_CONVERT), relax_add_props=False)
    for spoil in (lambda cell: cell.pop("outputs"), lambda cell: cell.update(color="red")):
        spoilt = json.loads(made)
        spoil(spoilt["cells"][1])
        with pytest.raises(nbformat.ValidationError):
            nbformat.validate(nbformat.from_dict(spoilt), relax_add_props=False)
