"""Writes the chapters of the API reference: tables of the public names, which come from each module's ``__all__``.

`sphinx.ext.autosummary` makes the page of each name, from these tables and the templates in ``_templates``.
"""

from __future__ import annotations

import importlib
import inspect
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import chapters
import numpy as np

import clarray
from clarray._api.functions import UFunc
from clarray._engine.ops.ufuncs import supported_ufuncs, unsupported

KINDS = {"b": "bool", "i": "integers", "u": "unsigned", "f": "floats", "c": "complex"}
NUMPY = "https://numpy.org/doc/stable/reference/"


class Chapter(NamedTuple):
    """A page of the reference: the public module that it describes, and the names of each section."""

    title: str
    module: str
    sections: dict[str, list[str]]


def module_of(name: str) -> ModuleType:
    return importlib.import_module(name)


def public_names(module: ModuleType) -> list[str]:
    """Return the names of a module, but for the modules in it."""
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    return [name for name in names if not inspect.ismodule(getattr(module, name))]


@cache
def all_chapters() -> dict[str, Chapter]:
    """Return every page of the reference.

    Raises
    ------
    ValueError
        No chapter has a name of the main namespace.
    """
    left = dict.fromkeys(public_names(clarray))
    found = {}
    for page, (title, sections) in chapters.MAIN.items():
        names = {
            section: list(source if isinstance(source, tuple) else module_of(f"clarray.{source}").__all__)
            for section, source in sections.items()
        }
        names = {section: [n for n in listed if left.pop(n, "gone") is None] for section, listed in names.items()}
        found[page] = Chapter(title, "clarray", names)
    if left:
        raise ValueError(f"no chapter has {sorted(left)}: add them to docs/chapters.py")
    for name, title in chapters.MODULES.items():
        module = f"clarray.{name}"
        found[name.rpartition(".")[2]] = Chapter(title, module, {"": public_names(module_of(module))})
    return found


def is_own(value: Any) -> bool:
    """Return whether clarray has written an object; NumPy's own objects get a line, but no page."""
    home = getattr(value, "__module__", None) or type(value).__module__
    return str(home).partition(".")[0] == "clarray"


@cache
def pages() -> dict[str, Any]:
    """Return every public object with a page of its own, by its qualified name."""
    found = {}
    for chapter in all_chapters().values():
        for name in (name for names in chapter.sections.values() for name in names):
            value = getattr(module_of(chapter.module), name)
            if is_own(value):
                found[f"{chapter.module}.{name}"] = value
    for owner, parts in members().items():
        for name in (name for names in parts.values() for name in names):
            found[f"{owner}.{name}"] = inspect.getattr_static(found[owner], name)
    return found


@cache
def members() -> dict[str, dict[str, list[str]]]:
    """Return the attributes and methods of each public class; of a class with two names only under its own name."""
    found = {}
    for chapter in all_chapters().values():
        for name in (name for names in chapter.sections.values() for name in names):
            value = getattr(module_of(chapter.module), name)
            if inspect.isclass(value) and is_own(value) and value.__name__ == name and name != "ndarray":
                found[f"{chapter.module}.{name}"] = _parts(value)
    return found


def _parts(cls: type) -> dict[str, list[str]]:
    defined = {name: member for each in reversed(cls.__mro__) if is_own(each) for name, member in vars(each).items()}
    own = {name: member for name, member in defined.items() if not name.startswith("_")}
    if "__call__" in defined and defined["__call__"].__doc__:
        own = {"__call__": defined["__call__"], **own}
    methods = [n for n, m in own.items() if inspect.isroutine(m) and not inspect.ismemberdescriptor(m)]
    attributes = [n for n, m in own.items() if isinstance(m, property)]
    return {title: sorted(names) for title, names in (("Attributes", attributes), ("Methods", methods)) if names}


def context() -> dict[str, Any]:
    """Return what the templates of the names' pages ask for."""
    chapter_of = {
        f"{chapter.module}.{name}": (page, chapter.title)
        for page, chapter in all_chapters().items()
        for names in chapter.sections.values()
        for name in names
    }
    ufuncs = {name for name, value in pages().items() if isinstance(value, UFunc)}
    return {"parts": members(), "ufuncs": ufuncs, "chapter_of": chapter_of}


# The text of a page ------------------------------------------------------------------------------------------------


def heading(text: str, line: str = "=") -> str:
    return f"{text}\n{line * len(text)}\n\n"


def page_of(page: str, chapter: Chapter) -> str:
    module = module_of(chapter.module)
    text = heading(chapter.title if chapter.module == "clarray" else f"{chapter.title}: ``{chapter.module}``")
    if chapter.module != "clarray" and module.__doc__:
        text += f".. automodule:: {chapter.module}\n\n"
    text += f".. currentmodule:: {chapter.module}\n\n"
    if page in chapters.MORE:
        text += f"{chapters.MORE[page]}\n\n"
    if page == "ufuncs":
        text += UFUNCS
    for section, names in chapter.sections.items():
        own = [name for name in names if is_own(getattr(module, name))]
        others = [name for name in names if name not in own]
        if section and (own or others):
            text += heading(section, "-")
        if own:
            text += ".. autosummary::\n   :toctree: .\n\n" + "".join(f"   {name}\n" for name in own) + "\n"
        if others:
            text += numpys_table(module, others)
    if page in chapters.RETURNED:
        text += heading("Classes that have no public name", "-")
        classes = chapters.RETURNED[page].items()
        text += "\n".join(f".. autoclass:: clarray.{name}\n{options}" for name, options in classes)
    return text + (ufunc_table() if page == "ufuncs" else "")


def numpys_table(module: ModuleType, names: list[str]) -> str:
    """Return a table of objects that are NumPy's own: a link for each, and the first line of its docstring."""
    objects = {name: getattr(module, name) for name in names}
    rows = [f"   * - {numpys_link(name, value)}\n     - {summary(value)}" for name, value in objects.items()]
    lines = [".. list-table:: NumPy's own objects", "   :widths: 30 70", "", *rows]
    return "\n".join(lines) + "\n\n"


def numpys_link(name: str, value: Any) -> str:
    """Return a link to NumPy's page of an object, or its name if there is none."""
    url = numpys_url(name, value)
    return f"`{name} <{url}>`__" if url else f"``{name}``"


def numpys_url(name: str, value: Any) -> str:
    """Return the address of NumPy's page of an object, empty if there is none."""
    first = getattr(value, "__name__", name)
    home = str(getattr(value, "__module__", ""))
    if isinstance(value, type) and issubclass(value, np.generic):
        return f"{NUMPY}arrays.scalars.html"
    if isinstance(value, float) or name == "newaxis":
        return f"{NUMPY}constants.html#numpy.{name}"
    if home in ("numpy", "numpy.linalg", "numpy.random", "numpy.testing") and hasattr(module_of(home), first):
        return f"{NUMPY}generated/{home}.{first}.html"
    return ""


def summary(value: Any) -> str:
    """Return a line about an object of NumPy's: its value, or the first sentence of its docstring."""
    if isinstance(value, bool | float | None):
        return f"``{value!r}``"
    if isinstance(value, dict | tuple):
        return f"A {type(value).__name__} of {len(value)} entries."
    lines = [line.strip() for line in (inspect.getdoc(value) or "").splitlines()]
    lines = lines[1:] if lines and "(" in lines[0] and lines[0].endswith(")") else lines  # a signature
    first = " ".join(lines).strip().split(". ")[0].split("  ")[0]
    return first.replace("`", "").replace("*", "").replace(":class:", "").rstrip(".") + "."


UFUNCS = """\
Each function on this page computes NumPy's ufunc of the same name on the device. Broadcasting, the arguments ``out=``,
``where=``, ``casting=`` and ``dtype=``, and the methods ``reduce``, ``accumulate``, ``reduceat``, ``outer`` and ``at``
work as in NumPy.

For a device array ``a``, ``np.exp(a)`` and ``clarray.exp(a)`` return the same result. For a list, ``clarray.exp``
returns a device array, and ``np.exp`` returns a NumPy array.

"""

ULP = """\
Operands and accuracy
---------------------

Each ufunc accepts and returns the same dtypes as in NumPy. The column "operands" lists the kinds of dtypes that the
ufunc computes without a cast. clarray casts operands of all other dtypes, as NumPy does. The column "error, ulp"
gives the largest error of float32 and float64 results, in units in the last place (ulp). A result is correctly rounded
if its error is at most 0.5 ulp.

.. list-table::
   :header-rows: 1
   :class: filtered

   * - name
     - operands
     - error, ulp
{rows}

These ufuncs of NumPy are not in the table:

{absent}
"""


def ufunc_table() -> str:
    """Return the operands and the error of each ufunc, and the ufuncs that are absent."""
    rows = []
    for ufunc, row in sorted(supported_ufuncs.items(), key=lambda item: item[0].__name__):
        taken = {key[0] for key in row.forms}
        if "i" in taken:
            taken.add("u")
        kinds = ", ".join(name for kind, name in KINDS.items() if kind in taken)
        rows.append(f"   * - :obj:`{ufunc.__name__}`\n     - {kinds}\n     - {row.ulp:g}")
    absent = "\n".join(f"- ``{name}``: {why}" for name, why in sorted(unsupported.items()))
    return ULP.format(rows="\n".join(rows), absent=absent)


def write(folder: Path) -> None:
    """Write the chapters. Unchanged ones keep their date, by which Sphinx knows what to build again."""
    folder.mkdir(exist_ok=True)
    written = {page: page_of(page, chapter) for page, chapter in all_chapters().items()}
    for page, text in written.items():
        path = folder / f"{page}.rst"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    for path in folder.glob("clarray.*.rst"):  # of names that are gone
        if path.stem not in pages():
            path.unlink()
