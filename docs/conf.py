"""Sphinx: `python -m sphinx -W -b html docs docs/_build/html`."""

import sys
from pathlib import Path

import clarray

project = "clarray"
author = "clarray developers"
copyright = "2026, clarray developers"
release = version = clarray.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build", "accuracy_pocl.rst", "accuracy_intel.rst"]  # included in a page
nitpicky = False

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc sections give the types
autodoc_default_options = {"show-inheritance": False}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"clarray {release}"

# Pages that are made from the package's own tables.
sys.path.insert(0, str(Path(__file__).parent))
import reference  # noqa: E402

reference.write(Path(__file__).parent / "generated")
