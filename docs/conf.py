"""Sphinx: `python -m sphinx -W -b html docs docs/_build/html`."""

from importlib.metadata import version as installed

project = "clarray"
author = "clarray developers"
copyright = "2026, clarray developers"
release = version = installed("clarray")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build"]
nitpicky = False

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc sections give the types
autodoc_default_options = {"show-inheritance": False}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"clarray {release}"
