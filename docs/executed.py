"""Sphinx extension: every build runs the ``>>>`` examples of the Markdown pages and compares their output.

``python docs/executed.py PAGE ...`` writes the output of changed examples into pages.

Examples are plain ``pycon`` fences and not notebook cells: a code host shows them with their output, Python's doctest
runs them, and copying from the documentation leaves the prompts out. The examples of a page share one namespace.
"""

from __future__ import annotations

import doctest
import io
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # tests run the examples without Sphinx
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"^ *```pycon\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def examples(page: Path) -> doctest.DocTest:
    """Return the examples of a page with the page's line numbers."""
    text = page.read_text("utf-8")
    lines = [""] * (text.count("\n") + 1)
    for fence in FENCE.finditer(text):
        first = text.count("\n", 0, fence.start(1))
        for number, line in enumerate(fence[1].splitlines(), first):
            lines[number] = line
    return doctest.DocTestParser().get_doctest("\n".join(lines), {}, page.name, str(page), 0)


def check(page: Path) -> str:
    """Run the examples of a page and return a report of those that print something else, or an empty string."""
    report = io.StringIO()
    doctest.DocTestRunner(optionflags=OPTIONS).run(examples(page), out=report.write)
    return report.getvalue()


class _Outputs(doctest.DocTestRunner):
    """Collects the output of each example that does not match the page."""

    def __init__(self) -> None:
        super().__init__(optionflags=OPTIONS)
        self.changed: list[tuple[doctest.Example, str]] = []

    def report_failure(self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        """Keep the output."""
        self.changed.append((example, got.replace("\n\n", "\n<BLANKLINE>\n")))

    def report_unexpected_exception(
        self, out: Any, test: doctest.DocTest, example: doctest.Example, exc_info: Any
    ) -> None:
        """Keep the error as doctest expects it."""
        message = f"{exc_info[0].__name__}: {exc_info[1]}"
        self.changed.append((example, f"Traceback (most recent call last):\n    ...\n{message}\n"))


def write(page: Path) -> None:
    """Write the output of changed examples into a page."""
    outputs = _Outputs()
    outputs.run(examples(page))
    lines = page.read_text("utf-8").splitlines()
    for example, got in reversed(outputs.changed):
        start = example.lineno + example.source.count("\n")
        indent = " " * example.indent
        lines[start : start + example.want.count("\n")] = [(indent + line).rstrip() for line in got.splitlines()]
    page.write_text("\n".join(lines) + "\n", "utf-8")


def _check_all(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    from sphinx.errors import ExtensionError

    pages = [Path(env.doc2path(name)) for name in sorted(env.found_docs)]
    if reports := [report for page in pages if page.suffix == ".md" and (report := check(page))]:
        raise ExtensionError("\n".join(reports))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("env-before-read-docs", _check_all)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write(Path(name))
