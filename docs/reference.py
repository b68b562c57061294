"""Writes the reference pages from the package itself, so that no list of names is kept by hand.

Chapters give their functions by ``__all__``; the ufunc table gives names, kinds of operands and
error bounds.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

from clarray.ops.ufuncs import supported_ufuncs, unsupported

CHAPTERS = {
    "creation": "Making arrays",
    "sources": "Arrays from functions, iterators, buffers and text",
    "sequences": "Ranges and grids",
    "indexing": "Reading and writing elements",
    "flat_iterator": "All elements on one axis",
    "index_tables": "Arrays of indices",
    "index_tricks": "Ranges written as indices",
    "diagonals": "Diagonals and triangles",
    "manipulation": "Shapes and views",
    "joining": "Joining",
    "splitting": "Splitting",
    "repeating": "Shifting and repeating",
    "padding": "Borders",
    "inserting": "Inserting and trimming",
    "applying": "Functions of your own",
    "bits": "Packing bits",
    "requirements": "Arrays with a layout",
    "selecting": "Choosing between values",
    "reductions": "Reductions",
    "nanfunctions": "Reductions that skip NaN",
    "scans": "Running sums, differences",
    "compaction": "Choosing by a mask",
    "gathering": "Choosing by number",
    "sorting": "Sorting and searching",
    "quantiles": "Order statistics",
    "sets": "Sets",
    "histograms": "Counting",
    "statistics": "Weighted means, covariances",
    "products": "Products",
    "stencils": "Convolution",
    "sharing": "Shared memory",
    "dlpack": "Arrays of other libraries",
    "files": "Arrays in files",
    "printing": "Arrays as text",
    "calculus": "Slopes and angles",
    "interpolation": "Interpolation",
    "polynomials": "Polynomials",
    "polynomial_object": "Polynomials as objects",
    "tapers": "Windows of signals",
    "logic": "Comparing arrays, tests of elements",
    "dtype_functions": "Dtypes",
    "numpy_names": "NumPy's types, constants and settings",
}
KINDS = {"b": "bool", "i": "integers", "u": "unsigned", "f": "floats", "c": "complex"}


def heading(text: str, line: str = "=") -> str:
    return f"{text}\n{line * len(text)}\n\n"


def directive(value: object, module: str) -> str | None:
    """How a public name of clarray's own is documented; None for what is NumPy's, or has another place."""
    if inspect.isfunction(value) and value.__module__.startswith("clarray."):
        return "autofunction"
    return "autoclass" if inspect.isclass(value) and value.__module__ == module else None


def chapter(name: str, title: str) -> str:
    module = importlib.import_module(f"clarray.{name}")
    own = {n: found for n in module.__all__ if (found := directive(getattr(module, n), module.__name__))}
    entries = "\n".join(f".. {found}:: {entry}" for entry, found in own.items())
    numpys = ", ".join(f"``{n}``" for n in module.__all__ if n not in own)
    also = f"As NumPy has them: {numpys}.\n\n" if numpys else ""
    return f"{heading(title)}.. currentmodule:: clarray\n\n{also}{entries}\n"


def ufuncs() -> str:
    """One line per row of the table."""
    lines = [
        ".. list-table::",
        "   :header-rows: 1",
        "",
        "   * - name",
        "     - operands",
        "     - error, ulp",
    ]
    for ufunc, row in sorted(supported_ufuncs.items(), key=lambda item: item[0].__name__):
        taken = {key[0] for key in row.forms}
        if "i" in taken:
            taken.add("u")
        kinds = ", ".join(name for kind, name in KINDS.items() if kind in taken)
        lines += [f"   * - ``{ufunc.__name__}``", f"     - {kinds}", f"     - {row.ulp:g}"]
    absent = "\n".join(f"- ``{name}``: {why}" for name, why in sorted(unsupported.items()))
    return UFUNCS.format(title=heading("Universal functions"), table="\n".join(lines), absent=absent)


UFUNCS = """\
{title}Every function below is NumPy's ufunc on the device: broadcasting, ``out=``, ``where=``,
``casting=`` and ``dtype=`` included, with the methods ``reduce``, ``accumulate``, ``reduceat``,
``outer`` and ``at``. ``np.exp(a)`` and ``clarray.exp(a)`` are the same; the second also sends
lists and scalars to the device. NumPy's other names for them (``np.abs``, ``np.true_divide``,
``np.acos``) work too. NumPy decides which dtypes a ufunc takes and gives; operands are listed
by the kinds that have code of their own, others are cast as NumPy casts them.

The last column bounds the error of float32 and float64 results in units in the last place;
0.5 is correctly rounded.

{table}

Not supported, and why:

{absent}
"""


def write(folder: Path) -> None:
    """Write the pages, leaving alone those that would not change (Sphinx rebuilds by date)."""
    folder.mkdir(exist_ok=True)
    pages = {name: chapter(name, title) for name, title in CHAPTERS.items()}
    pages["ufuncs"] = ufuncs()
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
