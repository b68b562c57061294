"""Sphinx extension: ``run`` shows Python code with what it prints, executed while the page is read.

The blocks of a page share one namespace, from top to bottom. Below each stands what it printed and, as in a notebook,
the value of a last line that is an expression; ``:raises: TypeError`` expects that error and shows its message. Code
that fails in any other way fails the build, so that no output is ever out of date.
"""

from __future__ import annotations

import ast
import contextlib
import io
import textwrap
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

COLUMNS = 88  # what a page holds on a screen of 1280 pixels


class Run(SphinxDirective):
    """A block of code and its output."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {"raises": directives.unchanged_required, "silent": directives.flag}

    def run(self) -> list[nodes.Node]:
        """Execute the block; give the two literal blocks."""
        self.env.note_reread()  # the output depends on the package, whose files Sphinx does not follow
        code = "\n".join(self.content)
        where = f"{self.env.docname}, line {self.lineno}"
        try:
            shown = output_of(code, _namespaces.setdefault(self.env.docname, {}), self.options.get("raises"))
        except Exception as error:
            raise ExtensionError(f"{where}: the code fails with {type(error).__name__}: {error}") from error
        made: list[nodes.Node] = [literal(code, "python", "run")]
        if shown and "silent" not in self.options:
            made.append(literal(shown, "text", "output"))
        return made


_namespaces: dict[str, dict[str, Any]] = {}


def literal(text: str, language: str, kind: str) -> nodes.literal_block:
    """Give a literal block in a language, with a class for the style sheet."""
    return nodes.literal_block(text, text, language=language, classes=[kind])


def output_of(code: str, namespace: dict[str, Any], raises: str | None = None) -> str:
    """Execute code; give what it prints, and the value or the error that it ends with."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            value = execute(code, namespace)
        except Exception as error:
            if type(error).__name__ != raises:
                raise
            print(textwrap.fill(f"{raises}: {error}", COLUMNS))
        else:
            if raises:
                raise AssertionError(f"{raises} was expected, and nothing is raised")
            if value is not None:
                print(repr(value))
    return printed.getvalue().rstrip()


def execute(code: str, namespace: dict[str, Any]) -> Any:
    """Execute statements; give the value of the last one if that is an expression."""
    body = ast.parse(code).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "<page>", "exec"), namespace)
    return eval(compile(ast.Expression(last.value), "<page>", "eval"), namespace) if last else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_directive("run", Run)
    app.connect("env-purge-doc", lambda app, env, docname: _namespaces.pop(docname, None))
    return {"parallel_read_safe": False}
