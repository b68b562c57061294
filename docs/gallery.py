"""Run the programs of docs/gallery, and write for each a page with its picture, output and times, and a notebook.

A program has a docstring whose first line is its title, a function ``compute`` with the numerical part, and below it
the lines that print and draw, with ``plt.show()`` at the end. Sphinx shows the links of gallery/README.md as pictures
that lead to the programs' pages. ``benchmarks/gallery_times.py`` writes the table of times in that file.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import runpy
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import clarray

if TYPE_CHECKING:  # tests read the programs without Sphinx
    from sphinx.application import Sphinx

PROGRAMS = Path(__file__).with_name("gallery")
README = PROGRAMS / "README.md"


def write(folder: Path) -> None:
    """Write the pages of programs that have changed, or of all programs if the package or README.md has changed."""
    made = folder / "gallery"
    made.mkdir(parents=True, exist_ok=True)
    package = max(path.stat().st_mtime for path in Path(clarray.__file__).parent.rglob("*.*") if path.is_file())
    sentences = times(README.read_text())
    programs = {path.stem: path for path in sorted(PROGRAMS.glob("*.py"))}
    for path in made.iterdir():  # a page of a program that is gone is on no list, which Sphinx warns of
        if path.stem not in programs:
            path.unlink()
    for program in programs.values():
        page = made / f"{program.stem}.rst"
        changed = max(package, *(path.stat().st_mtime for path in (program, README, Path(__file__))))
        if not page.exists() or page.stat().st_mtime < changed:
            printed = run(program, made / f"{program.stem}.png")
            (made / f"{program.stem}.ipynb").write_text(notebook(program.read_text()))
            page.write_text(page_of(program, printed, sentences))


def parts(text: str) -> tuple[str, str, str]:
    """Return the title of a program, its description, and its code."""
    module = ast.parse(text)
    title, _, about = (ast.get_docstring(module) or "").partition("\n")
    code = "\n".join(text.splitlines()[module.body[0].end_lineno or 0 :])
    return title.rstrip("."), about.strip(), code.strip()


def run(program: Path, picture: Path) -> str:
    """Execute a program, save its figure, and return what it prints."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    printed = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(printed):
        warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")
        runpy.run_path(str(program), run_name="__main__")
    pyplot.gcf().savefig(picture, dpi=100)
    pyplot.close("all")
    return printed.getvalue().rstrip()


def times(readme: str) -> dict[str, str]:
    """Return a sentence on the times of each program, by title, from the table of README.md if it has been measured."""
    place = re.search(r"^Measured on (.*)\.$", readme, re.MULTILINE)
    rows = re.findall(r"^\| ([^|]+) \| ([\d.e+-]+) \| ([\d.e+-]+) \| ([\d.e+-]+) \| .*\|$", readme, re.MULTILINE)
    return {title: TIMES.format(*seconds, place and place[1]) for title, *seconds in rows}


def page_of(program: Path, printed: str, sentences: dict[str, str]) -> str:
    """Return the page of a program. `sentences` has the times of each program, as `times` returns them."""
    title, about, code = parts(program.read_text())
    return PAGE.format(
        name=program.stem,
        title=title,
        line="=" * len(title),
        about=about,
        code=indented(code),
        printed=indented(printed),
        times=sentences.get(title, ""),
    )


def indented(text: str) -> str:
    return "\n".join(f"   {line}".rstrip() for line in text.splitlines())


def notebook(text: str) -> str:
    """Return a program as a notebook with a cell for each paragraph. Functions and blocks stay whole."""
    title, about, code = parts(text)
    cells = [cell("markdown", f"# {title}\n\n{about.replace('``', '`')}")]
    cells += [cell("code", paragraph) for paragraph in re.split(r"\n{2,}(?=\S)", code)]
    for number, one in enumerate(cells):
        one["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1) + "\n"


def cell(kind: str, text: str) -> dict[str, object]:
    made: dict[str, object] = {"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True)}
    return made | ({"outputs": [], "execution_count": None} if kind == "code" else {})


def thumbnails(text: str) -> str:
    """Return the gallery's list of programs as a list of pictures that lead to the programs' pages."""
    linked = re.sub(r"^- \[(.*)\]\((\w+)\.py\)$", THUMBNAIL, text, flags=re.MULTILINE)
    return re.sub(r"(?:^- \[.*\n)+", r"::::{container} gallery\n\g<0>::::\n", linked, count=1, flags=re.MULTILINE)


def _read(app: Sphinx, docname: str, source: list[str]) -> None:
    if docname == "gallery/README":
        source[0] = thumbnails(source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True}


THUMBNAIL = r"- [![\1](../generated/gallery/\2.png)<br>\1](../generated/gallery/\2.rst)"

TIMES = (
    "Its function ``compute`` takes {1} s with clarray and {2} s with NumPy. The first run with clarray compiles the "
    "kernels and takes {0} s. Measured on {3}."
)

PAGE = """\
{title}
{line}

{about}

.. image:: {name}.png
   :alt: What the program draws
   :class: made

It prints:

.. code-block:: text

{printed}

{times}

The program: :download:`as a file <../../gallery/{name}.py>`, :download:`as a notebook <{name}.ipynb>`

.. code-block:: python

{code}
"""
