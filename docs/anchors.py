"""Sphinx extension: the build of the HTML fails where a link within it leads nowhere.

``python docs/anchors.py FOLDER`` does the same for a folder that is built already.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError


class Page(HTMLParser):
    """The anchors of a page, and where it points to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element is called, and what it links to."""
        for key, value in attrs:
            if key == "id" or (key == "name" and tag == "a"):
                self.anchors.add(value or "")
            elif key in ("href", "src"):
                self.links.add(value or "")


def dead(folder: Path) -> Iterator[str]:
    """Give what is wrong with the links within a folder of HTML."""
    files = [path for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts]  # the theme's templates
    pages = {path.resolve(): Page(path.read_text("utf-8")) for path in files}
    for path, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link in ("", "#"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                yield f"{path.relative_to(folder.resolve())}: {link}: no such file"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{path.relative_to(folder.resolve())}: {link}: no such anchor"


def _finished(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.name == "html" and (found := list(dead(Path(app.outdir)))):
        raise ExtensionError(f"links that lead nowhere ({app.outdir} may be old: remove it):\n" + "\n".join(found))


def _point_back(app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Mend the links from a page of sources. `viewcode` prefixes all names of a file with one module."""
    if not pagename.startswith("_modules/"):
        return
    known = app.env.get_domain("py").data["objects"]
    pages: dict[str, dict[str, str]] = {}
    for name, entry in known.items():
        pages.setdefault(entry.docname, {})[name] = entry.node_id

    def mended(match: re.Match[str]) -> str:
        path, name = match.groups()
        documented = pages.get(posixpath.normpath(posixpath.join(posixpath.dirname(pagename), path)), {})
        parts = name.split(".")
        for start in range(len(parts)):
            ending = ".".join(parts[start:])
            anchors = {node_id for each, node_id in documented.items() if f".{each}".endswith(f".{ending}")}
            if len(anchors) == 1:
                return f'href="{path}.html#{anchors.pop()}"'
        return match[0]

    context["body"] = re.sub(r'href="([^"]+)\.html#(clarray\.[\w.]+)"', mended, context["body"])


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("html-page-context", _point_back)
    app.connect("build-finished", _finished)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    sys.exit("\n".join(dead(Path(sys.argv[1]))))
