"""Measure the error of every rounded ufunc in ulp, and write a table of docs/explanation/accuracy.md.

    python benchmarks/accuracy.py                                     # print
    python benchmarks/accuracy.py docs/explanation/accuracy.md pocl   # and write the part of the page with this mark

float32 is judged against NumPy in float64, float64 against NumPy in long double.
"""

from __future__ import annotations

import datetime
import re
import sys
import warnings
from pathlib import Path

import numpy as np

import clarray
from clarray._engine.ops.ufuncs import supported_ufuncs

# The search space: this many inputs of each family, for each argument.
INPUTS = {np.float32: 1 << 18, np.float64: 1 << 16}
LARGEST_EXPONENT = {np.float32: 100, np.float64: 900}
# Their terms cancel where the result is near zero: there the unit is that of the larger operand.
CANCELLING = {np.logaddexp, np.logaddexp2}
WIDER = {np.float32: np.float64, np.float64: np.longdouble}


def inputs(dtype: type, arguments: int) -> list[np.ndarray]:
    """Values near one, near ten, and of every magnitude, of both signs; pairs are drawn apart."""
    random = np.random.default_rng(1)
    n, top = INPUTS[dtype], LARGEST_EXPONENT[dtype]
    drawn = []
    for _ in range(arguments):
        signs = random.choice([-1.0, 1.0], n)
        families = (
            random.uniform(-1, 1, n),
            random.uniform(-12, 12, n),
            random.uniform(-100, 100, n),
            signs * np.exp2(random.uniform(-top, top, n)),
        )
        drawn.append(np.concatenate(families).astype(dtype))
    return drawn


def worst(got: np.ndarray, exact: np.ndarray, size: np.ndarray) -> float:
    """Largest error in units of the last place of `size`, where that is a normal number."""
    dtype = got.dtype
    limits = np.finfo(dtype)
    usual = (size >= limits.tiny) & (size <= limits.max)
    unit = np.spacing(size[usual].astype(dtype)).astype(exact.dtype)
    error = np.abs(got[usual].astype(exact.dtype) - exact[usual]) / unit
    return float(error.max()) if error.size else 0.0


def measured(ufunc: np.ufunc, dtype: type) -> tuple[float, float]:
    """Worst error of clarray and of NumPy."""
    given = inputs(dtype, ufunc.nin)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        exact = ufunc(*(x.astype(WIDER[dtype]) for x in given))
        theirs = ufunc(*given)
        mine = clarray.asnumpy(ufunc(*map(clarray.asarray, given)))
        size = np.abs(exact)
        if ufunc in CANCELLING:
            size = np.maximum.reduce([size, *map(np.abs, given)])
    return worst(mine, exact, size), worst(theirs, exact, size)


def table(fp64: bool) -> list[list[str]]:
    """One row per ufunc that does not round correctly by construction."""
    rows = [["function", "at most", "float32", "NumPy", "float64", "NumPy"]]
    dtypes = [np.float32, np.float64] if fp64 else [np.float32]
    for ufunc, entry in sorted(supported_ufuncs.items(), key=lambda item: item[0].__name__):
        if entry.ulp <= 0.5 or ufunc.nout > 1 or "f->f" not in " ".join(ufunc.types):
            continue
        cells = [f"`{ufunc.__name__}`", f"{entry.ulp:g}"]
        for dtype in dtypes:
            mine, theirs = measured(ufunc, dtype)
            cells += [f"{mine:.2f}{'!' if mine > entry.ulp else ''}", f"{theirs:.2f}"]
        rows.append(cells + ["-"] * (len(rows[0]) - len(cells)))
        print("  ".join(f"{cell:<14}" for cell in rows[-1]), flush=True)
    return rows


def as_markdown(rows: list[list[str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    lines = [
        [c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))] for row in rows
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in (lines[0], rule, *lines[1:]))


def write(page: Path, part: str, text: str) -> None:
    """Replace what stands between the marks of a part."""
    marks = re.compile(rf"(?<=<!-- begin {part} -->\n).*(?=<!-- end {part} -->)", re.DOTALL)
    if not marks.search(page.read_text()):
        raise ValueError(f"{page} has no marks of {part}")
    page.write_text(marks.sub(lambda _: text, page.read_text()))


def main() -> None:
    with clarray.device(None) as device:
        what = device.capabilities
        rows = table(what.fp64)
    if len(sys.argv) > 1:
        runtime = what.platform_version.split("  ")[0]
        where = f"{what.name} with {runtime} and NumPy {np.__version__}"
        note = f"The errors were measured on {datetime.date.today()} on {where}.\n\n"
        write(Path(sys.argv[1]), sys.argv[2], f"\n{note}{as_markdown(rows)}\n")


if __name__ == "__main__":
    main()
