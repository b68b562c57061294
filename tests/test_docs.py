"""The documentation's code, links and programs: code fits the pages, programs are scripts and notebooks."""

from __future__ import annotations

import ast
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.scripts import import_script

DOCS = Path(__file__).resolve().parents[1] / "docs"
COLUMNS = 110  # of code, which a page has room for at 1280 pixels (docs/_static/pages.css)
PROGRAMS = sorted((DOCS / "gallery").glob("*.py"))


@pytest.fixture(scope="module")
def gallery() -> ModuleType:
    return import_script("docs", "gallery")


@pytest.fixture(scope="module")
def executed() -> ModuleType:
    return import_script("docs", "executed")


@pytest.fixture(scope="module")
def gallery_times() -> ModuleType:
    return import_script("benchmarks", "gallery_times")


def pages() -> dict[str, Path]:
    return {str(path.relative_to(DOCS)): path for path in DOCS.rglob("*.md") if "_build" not in path.parts}


def test_code_of_pages_fits_them() -> None:
    fence = re.compile(r"^ *```(?:python|pycon|sh)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
    blocks = {name: fence.findall(path.read_text()) for name, path in pages().items()}
    assert sum(map(len, blocks.values())) > 60
    lines = [(name, line) for name, page in blocks.items() for block in page for line in block.splitlines()]
    assert [(name, line) for name, line in lines if len(line) > COLUMNS] == []


def test_pages_are_read_without_sphinx() -> None:
    """Only pages that include another file have markup that a code host shows as raw text."""
    for name, path in pages().items():
        text = re.sub(r"^( *)```(?:text|console)\n.*?^\1```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
        made = name in ("project/changelog.md", "project/contributing.md")
        assert (re.search(r"^ *(```\{|:::)|\{[a-z]+\}`\w|^\(\w+\)=$", text, re.MULTILINE) is not None) == made, name


def test_index_pages_list_every_page() -> None:
    for folder in sorted({path.parent for path in pages().values()} - {DOCS}):
        index = folder / ("README.md" if folder.name == "gallery" else "index.md")
        listed = set(re.findall(r"^- \[[^]]+\]\(([\w-]+\.(?:md|py))\)", index.read_text(), re.MULTILINE))
        there = {path.name for path in folder.glob("*.py" if folder.name == "gallery" else "*.md")} - {index.name}
        assert listed == there


def test_pages_for_users_are_short() -> None:
    fence = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
    long = {
        name: words
        for name, path in pages().items()
        if name.startswith(("tutorials/", "how-to/", "explanation/"))
        and (words := len(fence.sub("", path.read_text()).split())) > 1500
    }
    assert long == {}


def test_the_script_of_the_tutorial_is_the_one_of_its_page() -> None:
    tutorials = DOCS / "tutorials"
    shown = re.search(r"```pycon\n(.*?)```", (tutorials / "numpy_to_clarray.md").read_text(), re.DOTALL)
    assert shown is not None
    printed = [line for line in shown[1].splitlines() if not line.startswith((">>>", "..."))]
    script = subprocess.run(
        [sys.executable, "script.py"], cwd=tutorials, capture_output=True, text=True, check=True, timeout=300
    )
    assert script.stdout.splitlines() == printed


def test_names_in_pages_are_links(tmp_path: Path) -> None:
    """Names of clarray lead to the reference, settings to `clarray.config`, NumPy's objects to NumPy. Others warn."""
    pytest.importorskip("myst_parser")
    extensions = ["sphinx.ext.autodoc", "sphinx.ext.viewcode", "myst_parser", "links"]
    (tmp_path / "conf.py").write_text(f"extensions = {extensions}\nnitpicky = True\n")
    reference = "```{eval-rst}\n.. py:currentmodule:: clarray\n.. py:function:: sum\n.. py:data:: config\n```\n"
    names = "`clarray.sum(x)` `clarray.config.elements` `clarray.datetime64` `clarray.nonsense` `numpy.sum`"
    (tmp_path / "index.md").write_text(f"# `clarray.sum`\n\n{names}\n\n[`clarray.sum`](index.md)\n\n{reference}")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(tmp_path), str(tmp_path / "html")],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(DOCS), *sys.path))},
    )
    assert done.returncode == 0, done.stderr
    assert re.findall("WARNING: (.*)", done.stderr) == ["py:obj reference target not found: clarray.nonsense [ref.obj]"]
    page = (tmp_path / "html" / "index.html").read_text()
    links = re.findall(r'<a class="reference \w+" href="([^"]+)"(?: title="[^"]+")?><code[^>]*>(.*?)</code>', page)
    assert [(href, re.sub("<[^>]+>", "", text)) for href, text in links] == [
        ("#clarray.sum", "clarray.sum(x)"),
        ("#clarray.config", "clarray.config.elements"),
        ("https://numpy.org/doc/stable/reference/arrays.scalars.html", "clarray.datetime64"),
    ]


def test_outputs_of_examples_are_compared_and_written(tmp_path: Path, executed: ModuleType) -> None:
    page = tmp_path / "page.md"
    page.write_text("""\
Some text.

```pycon
>>> x = [1, 2]
>>> x
[1]
```

- In a list:

  ```pycon
  >>> for one in x:
  ...     print(one, "\\n")
  >>> x[2]
  0
  >>> x[
  ...     0]
  1
  ```
""")
    report = executed.check(page)
    assert 'page.md", line 5' in report
    assert 'page.md", line 12' in report
    assert "IndexError" in report
    assert report.count("Failed example") == 3
    executed.write(page)
    assert executed.check(page) == ""
    assert (
        page.read_text()
        == """\
Some text.

```pycon
>>> x = [1, 2]
>>> x
[1, 2]
```

- In a list:

  ```pycon
  >>> for one in x:
  ...     print(one, "\\n")
  1
  <BLANKLINE>
  2
  <BLANKLINE>
  >>> x[2]
  Traceback (most recent call last):
      ...
  IndexError: list index out of range
  >>> x[
  ...     0]
  1
  ```
"""
    )


def test_the_gallery_lists_sixteen_programs_by_their_titles(gallery: ModuleType) -> None:
    titles = {path.name: gallery.parts(path.read_text())[0] for path in PROGRAMS}
    assert len(titles) == 16
    listed = re.findall(r"^- \[(.+)\]\((\w+\.py)\)$", gallery.README.read_text(), re.MULTILINE)
    assert {name: title for title, name in listed} == titles
    assert [title for title, _ in listed] == sorted(titles.values())


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_without_matplotlib_a_program_names_the_package_in_one_line(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("matplotlib", "matplotlib.pyplot", "matplotlib.cbook"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SystemExit, match=r"^This program draws a picture: pip install matplotlib$"):
        runpy.run_path(str(program), run_name="__main__")


def test_the_table_of_times_reaches_the_pages(gallery: ModuleType, gallery_times: ModuleType) -> None:
    rows = [(gallery.parts(path.read_text())[0], 1234.5, 0.000123, 0.0456) for path in PROGRAMS]
    empty = gallery.README.read_text()
    filled = gallery_times.with_section(
        empty, gallery_times.table(rows, "a device, NumPy 2.4.6 on 2 cores, 2026-11-29")
    )
    assert gallery_times.with_section(filled, gallery_times.table(rows, "another device")).count("## Times") == 1
    times = gallery.times(filled)
    assert times.keys() == {title for title, *_ in rows}
    (sentence,) = set(times.values())
    for part in ("1.23e+03 s", "0.000123 s", "0.0456 s", "Measured on a device, NumPy 2.4.6 on 2 cores, 2026-11-29."):
        assert part in sentence
    assert sentence in gallery.page_of(PROGRAMS[0], "", times)
    shown = gallery.thumbnails(filled)
    assert shown.count("generated/gallery") == 32
    assert shown.index("::::\n") < shown.index("## Times")  # the container of pictures ends before the table


def test_the_table_of_times_is_whole(gallery: ModuleType) -> None:
    """Programs that are new, or have another title, are to be measured: ``python benchmarks/gallery_times.py``."""
    measured = gallery.times(gallery.README.read_text()).keys()
    assert measured in (set(), {gallery.parts(path.read_text())[0] for path in PROGRAMS})


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
    assert "\n\n".join("".join(cell["source"]) for cell in cells) == code.replace("\n\n\n", "\n\n")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_notebooks_are_of_the_format(program: Path, gallery: ModuleType) -> None:
    """The format's own validation rejects a code cell without outputs, and unknown keys."""
    nbformat = pytest.importorskip("nbformat")
    made = gallery.notebook(program.read_text())
    nbformat.validate(nbformat.reads(made, as_version=nbformat.NO_CONVERT), relax_add_props=False)
    for abort_capture in (lambda cell: cell.pop("outputs"), lambda cell: cell.update(color="red")):
        spoilt = json.loads(made)
        abort_capture(spoilt["cells"][1])
        with pytest.raises(nbformat.ValidationError):
            nbformat.validate(nbformat.from_dict(spoilt), relax_add_props=False)
