"""Sphinx extension: names of functions and classes in docstrings are links, and sources are found.

- `` `numpy.sum` `` and `` `scipy.ndimage.sobel` `` lead to NumPy's and SciPy's documentation;
- parameters in single backticks are set in italics, also if a function has their name.
"""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import reference
from docutils import nodes
from names import value_of
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext.autosummary import autosummary_toc

OTHERS = {
    "numpy": "https://numpy.org/doc/stable/reference/generated/{}.html",
    "scipy": "https://docs.scipy.org/doc/scipy/reference/generated/{}.html",
}


def link_elsewhere(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element) -> Any:
    """Return a link to NumPy's or SciPy's page of an object, or to the page of clarray's settings for one of them."""
    target = node.get("reftarget", "")
    if target.startswith("clarray.config."):
        entry = env.domains.python_domain.objects["clarray.config"]
        url = f"{app.builder.get_relative_uri(node['refdoc'], entry.docname)}#{entry.node_id}"
    else:
        try:
            value = object_of(target)
        except (AttributeError, ImportError):
            return None
        name = target.rpartition(".")[2]
        own = target.startswith("clarray.")
        url = reference.numpys_url(name, value) if own else page_of_library(target, value)
        if not url:
            return content if own else None
    return nodes.reference("", "", content, internal=False, refuri=url)


def object_of(target: str) -> Any:
    """Return the object of a dotted name of NumPy's, SciPy's, or clarray's if NumPy has written it.

    Raises
    ------
    AttributeError, ImportError
        There is no such object.
    """
    first, _, rest = target.partition(".")
    if first not in ("clarray", *OTHERS) or not rest:
        raise ImportError(target)
    value: Any = value_of(target)
    if first == "clarray" and reference.is_own(value) and not inspect.ismodule(value):
        raise AttributeError(target)  # it should have a page
    return value


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
    app.connect("missing-reference", link_elsewhere)
    app.connect("autodoc-process-signature", without_signature, priority=400)
    app.connect("doctree-read", leave_out_of_navigation, priority=100)  # before the tree is collected
    app.connect("autodoc-process-docstring", mark_parameters, priority=400)  # before numpydoc
    app.connect("viewcode-follow-imported", module_of_source)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
