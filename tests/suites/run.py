"""Runs other people's test suites with clarray's arrays: NumPy's, SciPy's, scikit-learn's, Dask's, Cubed's, the API's.

``python tests/suites/run.py scipy --device intel -n 2 --out results`` runs SciPy's own Array API tests as they are
installed, prints the ids of what failed and a table of passed, failed and skipped by module, and leaves pytest's whole
log in the folder.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OUTCOMES = ("passed", "failed", "expected", "skipped")
INI = "[pytest]\naddopts = -p no:cacheprovider\n"


@dataclass
class Run:
    """How pytest is started for a suite."""

    root: Path
    paths: list[str]
    plugins: list[str]
    options: list[str] = field(default_factory=list)
    words: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    module_of: Callable[[str], str] = lambda nodeid: Path(nodeid.partition("::")[0]).name


def installed(package: str) -> Path:
    """Where a package is installed, found without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        sys.exit(f"{package} is not installed")
    return Path(spec.origin).parent


def files(folder: Path, pattern: str) -> list[Path]:
    """Test files at or below a path whose text a pattern is found in: collecting the others takes minutes."""
    found = sorted(folder.rglob("test_*.py")) if folder.is_dir() else [folder]
    return [path for path in found if re.search(pattern, path.read_text(encoding="utf-8"))]


def chosen(options: argparse.Namespace, package: Path, pattern: str) -> list[str]:
    """Paths of an installed package's test files: of the parts asked for, or all of them."""
    folders = [package / part for part in options.only or ["."]]
    return [str(path) for folder in folders for path in files(folder, pattern)]


def numpy_run(options: argparse.Namespace) -> Run:
    """NumPy's tests of functions; not those of dtypes that clarray has not, of files, of C and of NumPy itself."""
    package = installed("numpy")
    asked = options.only is not None
    library = "arraypad|arraysetops|function_base|histograms|index_tricks|nanfunctions|packbits|polynomial|shape_base"
    library += "|stride_tricks|twodim_base|type_check|ufunclike"
    core = "einsum|function_base|indexerrors|indexing|item_selection|numeric|shape_base"
    wanted = rf"lib/tests/test_({library})\.py|_core/tests/test_({core})\.py|linalg/tests|fft/tests"
    paths = chosen(options, package, "")
    return Run(
        root=package.parent,
        paths=[path for path in paths if asked or re.search(wanted, Path(path).as_posix())],
        plugins=["numpy_backend"],
        options=["--import-mode=importlib"],
        module_of=lambda nodeid: nodeid.split("/")[1],
        # C code that takes any object for an array, a list of 16 GiB, and forks that run the other tests if they fail
        words="not elide and not huge_list and not xerbla",
    )


def scipy_run(options: argparse.Namespace) -> Run:
    """SciPy's tests that take the fixture `xp`."""
    package = installed("scipy")
    backend = "numpy" if options.backend == "clarray" else options.backend  # the plugin puts clarray in its place
    return Run(
        root=package.parent,
        paths=chosen(options, package, r"\bxp\b"),
        plugins=["scipy_backend"],
        options=["-m", "array_api_backends"],
        environment={"SCIPY_ARRAY_API": json.dumps([backend]), "SCIPY_DEVICE": peer_device(options)},
        module_of=lambda nodeid: nodeid.split("/")[1],
    )


def peer_device(options: argparse.Namespace) -> str:
    """PyTorch's tests run where --device says, or else on the GPU."""
    return options.device or "cuda" if options.backend == "torch" else "cpu"


def sklearn_run(options: argparse.Namespace) -> Run:
    """scikit-learn's tests that are made for each array library, and its common tests of estimators."""
    package = installed("sklearn")
    return Run(
        root=package.parent,
        paths=chosen(options, package, r"yield_namespace|yield_mixed_namespace|parametrize_with_checks"),
        plugins=["sklearn_backend"],
        words=options.backend,  # an id holds the library's name
        environment={"SCIPY_ARRAY_API": "1", "SUITE_PEER_DEVICE": peer_device(options)},
        module_of=lambda nodeid: (
            nodeid.partition("/")[2].partition("::")[0].replace("tests/test_", "").removesuffix(".py")
        ),
    )


def dask_run(options: argparse.Namespace) -> Run:
    """Dask's tests of CuPy's arrays, in a copy with the other name."""
    copies = options.out / "dask_tests"
    copies.mkdir(exist_ok=True)
    for source in sorted((installed("dask") / "array" / "tests").glob("test_cupy_*.py")):
        if source.name != "test_cupy_sparse.py":  # of cupyx.scipy.sparse
            # Old CuPy is skipped by its version, which says nothing of another library's.
            text = source.read_text().replace("Version(cupy.__version__)", 'Version("99")')
            copy = copies / source.name.replace("cupy", options.backend)
            copy.write_text(text.replace("cupy", options.backend))
    return Run(
        root=copies,
        paths=chosen(options, copies, options.backend),
        plugins=["dask_backend"] if options.backend == "clarray" else [],
    )


def cubed_run(options: argparse.Namespace) -> Run:
    """Cubed's tests of arrays: those of its plans, its executors and its stores ask nothing of the array library."""
    package = installed("cubed")
    arrays = r"test_(array_api|core|groupby|gufunc|indexing|inspection|linalg|ops|random|rechunk|store)\.py"
    return Run(
        root=package.parent,
        paths=[path for path in chosen(options, package / "tests", "") if re.search(arrays, path)],
        plugins=["cubed_backend"],
        options=["-m", "not cloud"],
        environment={"CUBED_BACKEND_ARRAY_API_MODULE": options.backend},
    )


def array_api_run(options: argparse.Namespace) -> Run:
    """The Array API's tests, from a checkout with its submodule."""
    checkout = options.checkout and options.checkout.resolve()
    if checkout is None or not (checkout / "array-api" / "spec").is_dir():
        sys.exit("array-api wants --checkout, a checkout of data-apis/array-api-tests with its submodule array-api")
    backends = {"numpy": "numpy", "clarray": "clarray"}
    return Run(
        root=checkout,
        paths=chosen(options, checkout / "array_api_tests", ""),
        plugins=["array_api_backend"],
        options=[f"--max-examples={options.examples}", "--disable-deadline"],
        environment={"ARRAY_API_TESTS_MODULE": backends.get(options.backend, f"array_api_compat.{options.backend}")},
    )


SUITES = {
    "numpy": numpy_run,
    "scipy": scipy_run,
    "sklearn": sklearn_run,
    "dask": dask_run,
    "cubed": cubed_run,
    "array-api": array_api_run,
}


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--backend", default="clarray", help="clarray, or for a peer's column: numpy, torch, cupy")
    parser.add_argument("--device", help="clarray's device, as CLARRAY_DEVICE takes it; `cpu` puts torch on the CPU")
    parser.add_argument("-n", type=int, default=1, help="processes (more than one: pytest-xdist)")
    parser.add_argument("--out", type=Path, default=Path("suite-results"), help="folder for the log and the outcomes")
    parser.add_argument("--only", nargs="+", help="parts of the suite, as the table names them or as paths below it")
    parser.add_argument("--brief", action="store_true", help="of each test only the first parameters")
    parser.add_argument("--checkout", type=Path, help="for array-api: a checkout of data-apis/array-api-tests")
    parser.add_argument("--examples", type=int, default=200, help="for array-api: Hypothesis' examples per test")
    parser.add_argument("-k", help="pytest's expression that chooses tests")
    parser.add_argument("--pytest", nargs=argparse.REMAINDER, default=[], help="what follows goes to pytest")
    return parser.parse_args(arguments)


def start(options: argparse.Namespace, run: Run) -> int:
    """Run pytest with its output in the log, and give its exit status."""
    ini = options.out / "pytest.ini"
    ini.write_text(INI)
    chosen = [f"({words})" for words in (run.words, options.k) if words]
    command = [sys.executable, "-m", "pytest", "-c", str(ini), f"--rootdir={run.root}", "-q", "-rfE"]
    command += ["--tb=short", "--continue-on-collection-errors", "-W", "ignore::pytest.PytestUnknownMarkWarning"]
    for plugin in [*run.plugins, "suite_report"]:
        command += ["-p", plugin]
    command += [*run.options, *(["-k", " and ".join(chosen)] if chosen else [])]
    command += ["-n", str(options.n), "--dist=worksteal"] if options.n > 1 else []
    environment = {
        **os.environ,
        **run.environment,
        "PYTHONPATH": os.pathsep.join([str(HERE), str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
        "SUITE_NAME": options.suite,
        "SUITE_BACKEND": options.backend,
        "SUITE_RESULTS": str(options.out / "results.jsonl"),
    }
    if options.brief:
        environment["SUITE_BRIEF"] = "1"
    if options.device and options.backend == "clarray":
        environment["CLARRAY_DEVICE"] = options.device
    with (options.out / "log.txt").open("w") as log:
        return subprocess.call(
            [*command, *options.pytest, *run.paths], env=environment, cwd=options.out, stdout=log, stderr=log
        )


def table(rows: Iterable[dict[str, str]], module_of: Callable[[str], str]) -> str:
    """Give the counts by module, and their sums."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        counts[module_of(row["id"])][row["outcome"]] += 1
    width = max([len(name) for name in counts] + [6])
    lines = [f"{'module':{width}}" + "".join(f"{outcome:>10}" for outcome in OUTCOMES)]
    for name, count in [*sorted(counts.items()), ("all", sum(counts.values(), Counter()))]:
        lines.append(f"{name:{width}}" + "".join(f"{count[outcome]:10,}" for outcome in OUTCOMES))
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    run = SUITES[options.suite](options)
    status = start(options, run)
    results = options.out / "results.jsonl"
    rows = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    failed = [row for row in rows if row["outcome"] == "failed"]
    for row in failed:
        print(row["id"], "--", " ".join(row["reason"].split())[:150])
    print(table(rows, run.module_of))
    print(f"pytest's exit status {status}, log and outcomes in {options.out}")
    return status


if __name__ == "__main__":
    sys.exit(main())
