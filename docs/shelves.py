"""Sphinx extension: the navigation follows the lists of links in index pages.

A ``toctree`` directive is unreadable on a code host. So an ``index.md`` (and ``gallery/README.md``, ``api.md``) lists
its pages as ordinary links. The items that begin with a link to a page become the hidden table of contents.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

LISTS = ("index", "README", "api")


class Shelves(SphinxTransform):
    """Add a hidden table of contents to an index page."""

    default_priority = 800  # before Sphinx collects the tables of contents

    def apply(self, **kwargs: Any) -> None:
        """Collect the linked pages in their order."""
        docname = self.env.docname
        if docname.rpartition("/")[2] not in LISTS:
            return
        entries = [name for item in self.document.findall(nodes.list_item) if (name := linked_page(item))]
        toctree = addnodes.toctree(
            parent=docname,
            entries=[(None, name) for name in entries],
            includefiles=entries,
            maxdepth=-1,
            caption=None,
            glob=False,
            hidden=True,
            includehidden=False,
            numbered=0,
            titlesonly=True,
        )
        toctree.source, toctree.line = self.document["source"], 1
        self.document.children[-1].append(nodes.compound("", toctree, classes=["toctree-wrapper"]))


def linked_page(item: nodes.list_item) -> str | None:
    """Return the page that an item begins with a link to."""
    first = item[0][0] if item[0].children else None
    if isinstance(first, addnodes.pending_xref) and first["refdomain"] == "doc":
        return str(first["reftarget"])
    return None


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_transform(Shelves)
    return {"parallel_read_safe": True}
