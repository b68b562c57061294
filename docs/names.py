"""Sphinx extension: names of clarray in the text of pages are links into the API reference.

Pages write a name as plain code, `` `clarray.sum` ``, which every code host shows. A name that the package lacks is a
warning.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

NAME = re.compile(r"(clarray(?:\.[a-zA-Z]\w*)+)(\(.*\))?")
logger = logging.getLogger(__name__)


def value_of(name: str) -> object:
    """Return the object with a dotted name. Raises AttributeError if the package has none."""
    parts = name.split(".")
    value: object = importlib.import_module(parts[0])
    for end, part in enumerate(parts[1:], 2):
        try:
            value = getattr(value, part)
        except AttributeError:
            try:
                value = importlib.import_module(".".join(parts[:end]))
            except ImportError:
                raise AttributeError(name) from None
    return value


def entries_of(name: str, value: object) -> list[str]:
    """Return the names under which the reference may have an object."""
    owner, _, _ = name.rpartition(".")
    own = getattr(value, "__name__", "")
    return [name, f"{owner}.{own}", f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"]


def _link_names(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if Path(app.env.doc2path(docname)).suffix != ".md":
        return
    known = app.env.get_domain("py").data["objects"]
    for literal in list(doctree.findall(nodes.literal)):
        match = NAME.fullmatch(literal.astext())
        if match is None or isinstance(literal.parent, (nodes.reference, nodes.title)):
            continue
        try:
            value = value_of(match[1])
        except AttributeError:
            logger.warning("clarray has no name %s", match[1], location=literal.parent)
            continue
        there = next((known[entry] for entry in entries_of(match[1], value) if entry in known), None)
        if there is not None:
            link = make_refnode(app.builder, docname, there.docname, there.node_id, literal.deepcopy(), match[1])
            literal.replace_self(link)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("doctree-resolved", _link_names)
    return {"parallel_read_safe": True}
