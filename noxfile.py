"""The one command for each check: ``nox -s NAME``, and ``nox -l`` for the list.

Each session has an environment of its own; ``nox --no-venv -s NAME`` takes the one that is active, with what it holds.
What follows ``--`` is handed on: ``nox -s tests -- tests/device/api -k pickles``.
"""

import shutil
import subprocess
from pathlib import Path

import nox

nox.options.sessions = ["lint", "types", "docs", "smoke"]
nox.options.reuse_existing_virtualenvs = True


def install(session: nox.Session, extras: str) -> None:
    """Install clarray with these extras, unless the environment is the user's own."""
    if session.virtualenv.is_sandboxed:
        session.install("-e", f".[{extras}]")


@nox.session
def lint(session: nox.Session) -> None:
    """Style, mistakes and layout of the text, by ruff."""
    install(session, "checks")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")


@nox.session
def types(session: nox.Session) -> None:
    """Types, by mypy --strict."""
    install(session, "checks")
    session.run("mypy", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """The documentation as HTML: a warning, a dead link or code that fails is an error."""
    install(session, "docs")
    session.run("python", "-m", "sphinx", "-W", "-q", "-b", "html", "docs", "docs/_build/html")


@nox.session
def smoke(session: nox.Session) -> None:
    """Run the smoke set, about a minute: some tests of every algorithm, of the protocols and of programs."""
    install(session, "pocl,test")
    session.run("python", "-m", "pytest", "-q", "-n", "2", "-m", "smoke", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """All tests, or those named after `--`."""
    install(session, "pocl,test")
    session.run("python", "-m", "pytest", "-n", "2", *session.posargs)


_SETUPTOOLS = "setuptools>=77"
# `optional` in pyproject.toml makes a failed build a warning: so the core is asked for afterwards.
_BUILD = ("python", "-c", "from setuptools import setup; setup()", "build_ext", "--inplace")
_ASK = ("python", "-c", "from clarray._engine.speedups import native; assert native, 'the compiled core was not built'")


CORE_TESTS = [
    *(
        f"tests/device/core/test_{name}.py"
        for name in (
            *("speedups", "core_statements", "core_selections", "statement_leaks", "garbage", "readers", "locks"),
            *("threads", "interrupts", "aliasing", "sharing", "known_numbers", "recordings"),
        )
    ),
    "tests/device/fft/test_fft_fused.py",
    "tests/device/indexing/test_few_indices.py",
    "tests/device/linalg/test_factorization.py",
    "tests/device/whole/test_statements_machine.py",
    "tests/device/whole/test_statements_in_threads.py",
]


@nox.session
def native(session: nox.Session) -> None:
    """Build the compiled core in its place, after a change or for a checkout that is not installed; run its tests."""
    install(session, "pocl,test")
    if session.virtualenv.is_sandboxed:
        session.install(_SETUPTOOLS)
    session.run(*_BUILD, "--force", *(f"--build-{part}={session.create_tmp()}" for part in ("temp", "lib")))
    session.run(*_ASK)
    session.run("python", "-m", "pytest", "-q", *(session.posargs or CORE_TESTS))


PYTHONS = ["3.11", "3.12", "3.13", "3.14", "3.15"]


@nox.session(python=PYTHONS)
def pythons(session: nox.Session) -> None:
    """Build the compiled core and run the smoke set, with each Python that is installed; `pythons-3.15` takes one.

    With the newest NumPy, and without the libraries of the extra `test`, which come later for a new Python.
    """
    session.install("-e", ".[pocl]", "pytest>=8.2", "pytest-xdist>=3.5", "hypothesis>=6.100", "scipy")
    session.run(*_ASK)
    session.run("python", "-m", "pytest", "-q", "-n", "2", "-m", "smoke", *session.posargs)


@nox.session
def sanitizers(session: nox.Session) -> None:
    """The tests of the compiled core under GCC's address and undefined-behaviour sanitizers, in a copy of the checkout.

    On Intel's runtime, unless CLARRAY_DEVICE says otherwise: PoCL is not found with the sanitizers loaded.
    """
    install(session, "intel,test")
    if session.virtualenv.is_sandboxed:
        session.install(_SETUPTOOLS)
    copy = Path(session.create_tmp()).resolve() / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    for folder in ("clarray", "templates", "tests"):
        shutil.copytree(folder, copy / folder, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(name, copy)
    flags = "-O1 -fno-omit-frame-pointer -fsanitize=address,undefined"
    libraries = [
        subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    session.chdir(copy)
    session.run(*_BUILD, "--build-temp", "build", env={"CFLAGS": flags, "CXXFLAGS": flags, "LDFLAGS": flags})
    checked = {
        "PYTHONPATH": str(copy),
        "LD_PRELOAD": ":".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0",  # Python keeps what it has until the process ends
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "PYTHONMALLOC": "malloc",  # so that each object is an allocation of its own
        "CLARRAY_DEVICE": session.env.get("CLARRAY_DEVICE") or "intel",
    }
    session.run(*_ASK, env=checked)
    session.run("python", "-m", "pytest", "-q", *(session.posargs or CORE_TESTS), env=checked)


@nox.session
def stubs(session: nox.Session) -> None:
    """Write anew what type checkers see of methods and ufuncs."""
    install(session, "test")
    session.run("python", "tests/typing/stubs.py")


@nox.session
def bench(session: nox.Session) -> None:
    """Every operation beside NumPy and the peers that are installed; `-- sum --large 1000000` takes some."""
    install(session, "pocl,bench")
    session.run("python", "benchmarks/run.py", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Random programs on NumPy and on clarray: `-- --seconds 600 --jobs 2 --seed 1`."""
    install(session, "pocl,test")
    session.run("python", "-m", "tests.fuzz", *session.posargs)


@nox.session
def users(session: nox.Session) -> None:
    """The tests of the libraries in docs/reference/libraries.md, the larger ones too, each at its pinned release."""
    install(session, "pocl,users")
    session.run("python", "-m", "pytest", "-q", "tests/users", "tests/device/core/test_operands.py", *session.posargs)


@nox.session
def suites(session: nox.Session) -> None:
    """Other projects' tests with clarray's arrays: `-- scipy -n 2`."""
    install(session, "pocl,suites")
    session.run("python", "tests/suites/run.py", *session.posargs)


@nox.session(venv_backend="none")
def runtimes(session: nox.Session) -> None:
    """Tests on the OpenCL runtimes of Debian 12, 13 and sid, as root: `-- trixie --rows pocl,rusticl --sample 20`.

    On demand or nightly. `--write` writes the table of the page Install. The chroots need some 4 GB each.
    """
    session.run("python3", "-m", "tests.runtimes", *session.posargs, external=True)
