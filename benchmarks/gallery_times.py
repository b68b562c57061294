"""Time the programs of docs/gallery with clarray and with NumPy, and write the table of docs/gallery/README.md.

A program's function `compute` takes the library as its argument, so both libraries run the same lines. Each library
has a process of its own for each program, and the results are copied to the host. The first run with clarray has empty
caches and compiles its kernels. Of the later runs the median counts.
"""

from __future__ import annotations

import argparse
import ast
import datetime
import importlib
import inspect
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

GALLERY = Path(__file__).resolve().parents[1] / "docs/gallery"
SECTION = re.compile(r"<!-- times -->\n.*<!-- end of times -->\n", re.DOTALL)
RUNS, BUDGET = 20, 3.0  # later runs at most, and the seconds that they may take
LEAST_RUNS = 5
# The modules that a program's `compute` may ask for by the names of its parameters.
LIBRARIES = {
    "clarray": {"np": "clarray", "ndimage": "clarray.ndimage", "special": "clarray.special"},
    "numpy": {"np": "numpy", "ndimage": "scipy.ndimage", "special": "scipy.special"},
}


def computation(program: Path) -> Callable[..., Any]:
    """Return a program's function `compute`. What stands below it, which prints and draws, does not run."""
    module = ast.parse(program.read_text())
    names = [statement.name if isinstance(statement, ast.FunctionDef) else "" for statement in module.body]
    del module.body[names.index("compute") + 1 :]
    namespace: dict[str, Any] = {"__name__": program.stem}
    exec(compile(module, str(program), "exec"), namespace)
    return namespace["compute"]


def arguments(compute: Callable[..., Any], library: str) -> list[Any]:
    """Import the modules of a library that `compute` asks for."""
    return [importlib.import_module(LIBRARIES[library][name]) for name in inspect.signature(compute).parameters]


def on_host(result: Any) -> list[Any]:
    """Copy the arrays of a result to the host, those within tuples, lists and dictionaries as well."""
    import clarray

    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, tuple | list):
        return [array for part in result for array in on_host(part)]
    return [clarray.asnumpy(result)]


def run(program: Path, library: str) -> list[float]:
    """Run a program's computation in this process; return the seconds of the first run and of the later ones."""
    compute = computation(program)
    modules = arguments(compute, library)
    on_host(modules[0].zeros(1))  # the libraries and the device are initialized
    seconds: list[float] = []
    while len(seconds) <= LEAST_RUNS or (len(seconds) <= RUNS and sum(seconds[1:]) < BUDGET):
        start = time.perf_counter()
        on_host(compute(*modules))
        seconds.append(time.perf_counter() - start)
    return seconds


def run_in_new_process(program: Path, library: str, caches: str) -> list[float]:
    """Run a program's computation in a new process with empty caches of kernels."""
    folders = {"CLARRAY_CACHE_DIR": f"{caches}/clarray", "POCL_CACHE_DIR": f"{caches}/pocl", "MPLBACKEND": "Agg"}
    command = [sys.executable, __file__, "--child", library, str(program)]
    done = subprocess.run(command, env=os.environ | folders, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def measure(program: Path) -> tuple[float, float, float]:
    """Return the seconds of clarray's first run, and the medians of clarray's and NumPy's later runs."""
    with tempfile.TemporaryDirectory() as caches:
        first, *later = run_in_new_process(program, "clarray", caches)
        _, *numpys = run_in_new_process(program, "numpy", caches)
    return first, statistics.median(later), statistics.median(numpys)


def where() -> str:
    """Describe the device, the versions and the date."""
    import numpy

    import clarray

    with clarray.device(None) as device:
        what = device.capabilities
    cores = f"{len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()} cores"
    runtime = f"{what.name} ({what.platform}, driver {what.driver})"
    host = cores if what.kind == "cpu" else f"{cores} of {platform.processor() or platform.machine()}"
    return f"{runtime}, NumPy {numpy.__version__} on {host}, {datetime.date.today()}"


def table(rows: Iterable[tuple[str, float, float, float]], place: str) -> str:
    """Return the section of README.md."""
    lines = [
        "## Times",
        "",
        "The table shows how many seconds the function `compute` of each program takes. The first run with clarray",
        "compiles the kernels. The columns *clarray* and *NumPy* show medians of later runs of the same lines.",
        "With NumPy, the programs use `scipy.ndimage` and `scipy.special` in place of `clarray.ndimage` and",
        "`clarray.special`. The last column is NumPy's time divided by clarray's time. `python",
        "benchmarks/gallery_times.py` measures these times on your machine.",
        "",
        f"Measured on {place}.",
        "",
        "| program | first run | clarray | NumPy | NumPy / clarray |",
        "| --- | --: | --: | --: | --: |",
        *(
            f"| {name} | {first:.3g} | {later:.3g} | {numpys:.3g} | {numpys / later:.2g} |"
            for name, first, later, numpys in rows
        ),
    ]
    return "\n".join(lines) + "\n"


def with_section(readme: str, section: str) -> str:
    """Return the text of README.md with a new section."""
    return SECTION.sub(lambda _: f"<!-- times -->\n\n{section}\n<!-- end of times -->\n", readme)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", help="only programs whose name contains one of these; README.md stays")
    parser.add_argument("--child", metavar="LIBRARY", choices=LIBRARIES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(run(Path(options.programs[0]), options.child)))
        return
    sys.path.insert(0, str(GALLERY.parent))
    import gallery  # the extension of the documentation that reads the programs

    programs = sorted(GALLERY.glob("*.py"))
    wanted = [p for p in programs if not options.programs or any(word in p.stem for word in options.programs)]
    rows = []
    for program in wanted:
        title, _, _ = gallery.parts(program.read_text())
        rows.append((title, *measure(program)))
        print("{:<40} first run {:8.3f} s, later {:8.3f} s, NumPy {:8.3f} s".format(*rows[-1]), flush=True)
    section = table(sorted(rows), where())
    if wanted == programs:
        gallery.README.write_text(with_section(gallery.README.read_text(), section))
        print(f"wrote the table of {gallery.README}")
    else:
        print(f"\n{section}")


if __name__ == "__main__":
    main()
