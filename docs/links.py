"""Sphinx extension: names of functions and classes are links, in docstrings and in pages.

- Pages write a name of clarray as plain code, `` `clarray.sum` ``, which every code host shows.
- In docstrings `` `numpy.sum` `` and `` `scipy.ndimage.sobel` `` lead to NumPy's and SciPy's documentation.
- Parameters in single backticks are set in italics, also if a function has their name.

Sphinx warns of a name of clarray that neither the reference nor NumPy has.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import reference
from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext.autosummary import autosummary_toc
from sphinx.util.nodes import make_refnode

OTHERS = {
    "numpy": "https://numpy.org/doc/stable/reference/generated/{}.html",
    "scipy": "https://docs.scipy.org/doc/scipy/reference/generated/{}.html",
}


NAME = re.compile(r"(clarray(?:\.[a-zA-Z]\w*)+)(\(.*\))?")


def refer_to_names(app: Sphinx, doctree: nodes.document) -> None:
    """Turn clarray's names in the code of a Markdown page into references, but for those in headings and links."""
    docname = app.env.docname
    if Path(app.env.doc2path(docname)).suffix != ".md":
        return
    for literal in list(doctree.findall(nodes.literal)):
        match = NAME.fullmatch(literal.astext())
        if match is not None and not is_within(literal, nodes.title, nodes.reference, pending_xref):
            target = {"refdomain": "py", "reftype": "obj", "reftarget": match[1], "refexplicit": False}
            literal.replace_self(pending_xref("", literal.deepcopy(), refdoc=docname, **target))


def is_within(node: nodes.Element, *kinds: type[nodes.Element]) -> bool:
    """Return whether a node has an ancestor of one of the kinds."""
    parent = node.parent
    return parent is not None and (isinstance(parent, kinds) or is_within(parent, *kinds))


def link_elsewhere(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element) -> Any:
    """Link a name that the reference lacks: to the entry of its object's own name, or to NumPy's or SciPy's page."""
    target = node.get("reftarget", "")
    try:
        value = value_of(target)
    except (AttributeError, ImportError):
        return None
    known = env.domains.python_domain.objects
    for entry in (known[name] for name in entries_of(target, value) if name in known):
        return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, content, target)
    if not target.startswith("clarray."):
        url = page_of_library(target, value)
    elif inspect.ismodule(value) or not reference.is_own(value):
        url = reference.numpys_url(target.rpartition(".")[2], value)
    else:
        return None  # it should have a page
    if url:
        return nodes.reference("", "", content, internal=False, refuri=url)
    return content if target.startswith("clarray.") else None


def value_of(name: str) -> Any:
    """Return the object with a dotted name of clarray's, NumPy's or SciPy's.

    Raises
    ------
    AttributeError, ImportError
        There is no such object.
    """
    first, *parts = name.split(".")
    if first not in ("clarray", *OTHERS) or not parts:
        raise ImportError(name)
    value: Any = importlib.import_module(first)
    for end, part in enumerate(parts, 1):
        try:
            value = getattr(value, part)
        except AttributeError:
            value = importlib.import_module(".".join((first, *parts[:end])))
    return value


def entries_of(name: str, value: Any) -> list[str]:
    """Return the names under which the reference may have an object. Settings are part of the entry of `config`."""
    if name.startswith("clarray.config."):
        return ["clarray.config"]
    owner, _, _ = name.rpartition(".")
    own = getattr(value, "__name__", "")
    return [f"{owner}.{own}", f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"]


def page_of_library(target: str, value: Any) -> str:
    """Return the address of a function or a class. The libraries document these on pages of their own."""
    return OTHERS[target.partition(".")[0]].format(target) if callable(value) else ""


def mark_parameters(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Set parameters in italics. In single backticks the names of functions would be links."""
    try:
        names = "|".join(map(re.escape, inspect.signature(obj).parameters))
    except (TypeError, ValueError):
        return
    if names:
        pattern = re.compile(rf"(?<![`:\w])`({names})`(?![`_])")
        lines[:] = [pattern.sub(r"*\1*", line) for line in lines]


def module_of_source(app: Sphinx, module: str, attribute: str) -> str | None:
    """Return the module in which a public object is written: `viewcode` shows that one's source."""
    value: Any = importlib.import_module(module)
    for part in attribute.split("."):
        value = inspect.getattr_static(value, part) if inspect.isclass(value) else getattr(value, part)
    value = inspect.unwrap(getattr(value, "fget", None) or value)
    if inspect.isclass(value):
        return source_module(value)
    code = getattr(getattr(value, "__func__", value), "__globals__", None)
    return code["__name__"] if code else None


def source_module(cls: type) -> str | None:
    module = inspect.getmodule(next((m for m in vars(cls).values() if inspect.isfunction(m)), cls))
    return None if module is None else module.__name__


def without_signature(app: Sphinx, what: str, *_: Any) -> tuple[()] | None:
    """Keep numpydoc from giving data a signature, which autodoc has no place for: ufuncs in tables are data."""
    return () if what == "data" else None


def leave_out_of_navigation(app: Sphinx, doctree: nodes.document) -> None:
    """Remove the pages of names from the tree of contents, which themes copy for every page."""
    for tree in list(doctree.findall(autosummary_toc)):
        tree.parent.remove(tree)


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("doctree-read", refer_to_names)
    app.connect("missing-reference", link_elsewhere)
    app.connect("autodoc-process-signature", without_signature, priority=400)
    app.connect("doctree-read", leave_out_of_navigation, priority=100)  # before the tree is collected
    app.connect("autodoc-process-docstring", mark_parameters, priority=400)  # before numpydoc
    app.connect("viewcode-follow-imported", module_of_source)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
