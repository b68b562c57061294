"""Sphinx: `python -m sphinx -W -b html docs docs/_build/html`."""

import sys
from pathlib import Path

import clarray

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # the extensions beside this file

project = "clarray"
author = "clarray developers"
copyright = "2026, clarray developers"
release = version = clarray.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "myst_parser",  # the changelog and the notes for contributors, which are Markdown
    "executed",
    "bars",
    "anchors",
]
exclude_patterns = ["_build", "accuracy_pocl.rst", "accuracy_intel.rst"]  # included in a page
# Every name of clarray's that a page refers to must be there; what numpydoc takes for classes, and bases of
# classes, are not looked for.
nitpicky = True
nitpick_ignore_regex = [
    ("py:obj", ".*"),  # the table of NumPy's names links those that have an entry
    ("py:.*", r"(?!clarray\.).*"),
    ("py:class", r"clarray\.(_numpy\.kernels\.base|random\.\w+)\.\w+"),
]

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc sections give the types
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"clarray {release}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_js_files = ["filter.js"]

# Pages that are made from the package's own tables, and of programs that are run.
import gallery  # noqa: E402
import reference  # noqa: E402

reference.write(HERE / "generated")
gallery.write(HERE / "generated")
