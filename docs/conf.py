"""Sphinx: `python -m sphinx -W -b html docs docs/_build/html`."""

import sys
from importlib import metadata
from pathlib import Path

from numpydoc.xref import DEFAULT_LINKS

import clarray

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # the extensions beside this file

project = "clarray"
author = "clarray developers"
copyright = "2026, clarray developers"
release = version = clarray.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "executed",
    "links",
    "shelves",
    "gallery",
    "anchors",
]
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]

# The reference. A name of clarray's that a page refers to must be there. Names of other libraries are not looked for.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!clarray\.).*")]
default_role = "autolink"  # a name in single backticks is a link if it can be imported
autodoc_typehints = "none"  # numpydoc's sections give the types
autosummary_generate = True
numpydoc_show_class_members = False  # the template of classes has tables of them
numpydoc_xref_param_type = True
numpydoc_xref_aliases = {"DeviceArray": "clarray.DeviceArray", "Generator": "clarray.random.Generator"}
numpydoc_xref_ignore = {"optional", "default", "of", "or", "shape", "type", "array_like", "scalar", "sequence"}
DEFAULT_LINKS.clear()  # of numpydoc's: to glossaries of Python's and NumPy's

myst_heading_anchors = 3
myst_enable_extensions = ["alert", "colon_fence"]  # `> [!WARNING]`, as code hosts have it
copybutton_exclude = ".linenos, .gp, .go"  # prompts and output

html_theme = "pydata_sphinx_theme"
html_title = f"clarray {release}"
html_logo = html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_js_files = ["filter.js"]
html_show_sourcelink = True
html_theme_options = {
    "logo": {"text": "clarray"},
    "navbar_align": "left",
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc", "edit-this-page", "sourcelink"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
# The link for editing a page needs the address of the repository, which the package's metadata may have.
urls = dict(url.split(", ", 1) for url in metadata.metadata("clarray").get_all("Project-URL") or [])
if repository := urls.get("Repository"):
    html_theme_options["use_edit_page_button"] = True
    html_context = {
        "edit_page_url_template": "{{ repository }}/edit/main/docs/{{ file_name }}",
        "edit_page_provider_name": "the repository",
        "repository": repository,
    }

# Pages that are made from the package's own tables, and of programs that are run.
import gallery  # noqa: E402
import reference  # noqa: E402

autosummary_context = reference.context()
reference.write(HERE / "generated")
gallery.write(HERE / "generated")
