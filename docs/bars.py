"""Sphinx extension: ``bars`` draws a chart of ``label | value`` lines as HTML.

Its text is the page's own, so that it is legible at any width, light and dark, and nothing can leave its frame.
"""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class Bars(SphinxDirective):
    """A bar for each line, as long as its value; below one in another colour."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Give the chart as HTML."""
        rows = [
            (label.strip(), float(value)) for label, _, value in (line.rpartition("|") for line in self.content if line)
        ]
        longest = max(value for _, value in rows)
        lines = [f'<figure class="bars"><figcaption>{escape(" ".join(self.arguments[0].split()))}</figcaption>']
        lines += [bar(label, value, longest) for label, value in rows]
        return [nodes.raw("", "\n".join([*lines, "</figure>"]), format="html")]


def bar(label: str, value: float, longest: float) -> str:
    """Give one line of a chart."""
    kind = "ahead" if value >= 1 else "behind"
    drawn = f'<span class="{kind}" style="width:{100 * value / longest:.1f}%"></span>'
    return f'<div><code>{escape(label)}</code><span class="track">{drawn}</span><b>{value:g}</b></div>'


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_directive("bars", Bars)
    return {"parallel_read_safe": True}
