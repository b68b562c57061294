"""Writes the reference pages from the package itself, so that no list of names is kept by hand.

Chapters give their functions by ``__all__``; the ufunc table gives names, kinds of operands and
error bounds.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from types import ModuleType

from clarray._engine.ops.ufuncs import supported_ufuncs, unsupported

CHAPTERS = {
    "_core.creation": "Making arrays",
    "_core.creation_like": "Making arrays like others",
    "_numpy.creation.from_data": "Arrays from functions, iterators, buffers and text",
    "_numpy.creation.sequences": "Ranges and grids",
    "_numpy.indexing.subscripts": "Reading and writing elements",
    "_numpy.indexing.flat_iterator": "All elements on one axis",
    "_numpy.indexing.index_tables": "Arrays of indices",
    "_numpy.indexing.triangles": "Indices of triangles and diagonals",
    "_numpy.indexing.iterating": "Iterators over elements",
    "_numpy.indexing.index_tricks": "Ranges written as indices",
    "_numpy.indexing.diagonals": "Diagonals and triangles",
    "_numpy.manipulation.shapes": "Shapes and views",
    "_numpy.manipulation.ranks": "Number of axes, broadcasting, dtype",
    "_numpy.manipulation.joining": "Joining",
    "_numpy.manipulation.splitting": "Splitting",
    "_numpy.manipulation.repeating": "Reversing, shifting and repeating",
    "_numpy.manipulation.padding": "Borders",
    "_numpy.manipulation.inserting": "Inserting and trimming",
    "_numpy.manipulation.applying": "Functions of your own",
    "_numpy.math.bits": "Packing bits",
    "_numpy.creation.requiring": "Arrays with a layout",
    "_numpy.indexing.selecting": "Choosing between values",
    "_numpy.reduction.reductions": "Reductions",
    "_numpy.reduction.moments": "Means, variances and standard deviations",
    "_numpy.reduction.nanfunctions": "Reductions that skip NaN",
    "_numpy.reduction.scans": "Running sums, differences",
    "_numpy.indexing.masking": "Choosing by a mask",
    "_numpy.indexing.gathering": "Choosing by number",
    "_numpy.sorting.sorting": "Sorting and searching",
    "_numpy.statistics.quantiles": "Order statistics",
    "_numpy.sorting.sets": "Sets",
    "_numpy.statistics.counting": "Counting integers",
    "_numpy.statistics.histograms": "Histograms",
    "_numpy.statistics.averages": "Weighted means, covariances",
    "_numpy.products.products": "Products",
    "_numpy.math.convolution": "Convolution",
    "_core.sharing": "Shared memory",
    "_api.dlpack": "Arrays of other libraries",
    "_numpy.creation.files": "Arrays in files",
    "_core.printing": "Arrays as text",
    "_numpy.math.calculus": "Slopes and angles",
    "_numpy.math.interpolation": "Interpolation",
    "lib.polynomials": "Polynomials",
    "lib.polynomial_roots": "Roots and fits of polynomials",
    "lib.polynomial_object": "Polynomials as objects",
    "_numpy.math.window_functions": "Windows of signals",
    "_numpy.math.logic": "Comparing arrays, tests of elements",
    "_api.dtype_functions": "Dtypes",
    "_api.numpy_names": "NumPy's types, constants and settings",
}
KINDS = {"b": "bool", "i": "integers", "u": "unsigned", "f": "floats", "c": "complex"}


def heading(text: str, line: str = "=") -> str:
    return f"{text}\n{line * len(text)}\n\n"


def directive(value: object, module: str) -> str | None:
    """How a public name of clarray's own is documented; None for what is NumPy's, or has another place."""
    if inspect.isroutine(value) and str(value.__module__).startswith("clarray"):
        return "autofunction"
    return "autoclass" if inspect.isclass(value) and value.__module__ == module else None


def documented(module: ModuleType) -> dict[str, str]:
    """Give how each name of a chapter is documented that is not NumPy's own."""
    return {n: found for n in module.__all__ if (found := directive(getattr(module, n), module.__name__))}


def chapter(name: str, title: str) -> str:
    module = importlib.import_module(f"clarray.{name}")
    own = documented(module)
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
    elsewhere = {n for name in CHAPTERS for n in documented(importlib.import_module(f"clarray.{name}"))}
    for ufunc, row in sorted(supported_ufuncs.items(), key=lambda item: item[0].__name__):
        taken = {key[0] for key in row.forms}
        if "i" in taken:
            taken.add("u")
        kinds = ", ".join(name for kind, name in KINDS.items() if kind in taken)
        name = ufunc.__name__
        lines += [
            f"   * - ``{name}``" if name in elsewhere else ENTRY.format(name=name),
            f"     - {kinds}",
            f"     - {row.ulp:g}",
        ]
    absent = "\n".join(f"- ``{name}``: {why}" for name, why in sorted(unsupported.items()))
    return UFUNCS.format(title=heading("Universal functions"), table="\n".join(lines), absent=absent)


# An entry of the index, which takes no room: what links and searches find.
ENTRY = """\
   * - .. py:function:: clarray.{name}
          :no-typesetting:

       ``{name}``"""

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
    pages = {name.rpartition(".")[2]: chapter(name, title) for name, title in CHAPTERS.items()}
    pages["ufuncs"] = ufuncs()
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
