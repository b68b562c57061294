"""The one command for each check: ``nox -s NAME``, and ``nox -l`` for the list.

Each session has an environment of its own; ``nox --no-venv -s NAME`` takes the one that is active, with what it holds.
What follows ``--`` is handed on: ``nox -s tests -- tests/device/api -k pickles``.
"""

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
    """The documentation as HTML, where a warning is an error."""
    install(session, "docs")
    session.run("python", "-m", "sphinx", "-W", "-q", "-b", "html", "docs", "docs/_build/html")


@nox.session
def smoke(session: nox.Session) -> None:
    """The tests of every algorithm, the protocols and a few programs that a minute has room for."""
    install(session, "pocl,test")
    session.run("python", "-m", "pytest", "-q", "-n", "2", "@tests/smoke.txt", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """All tests, or those named after `--`."""
    install(session, "pocl,test")
    session.run("python", "-m", "pytest", "-n", "2", *session.posargs)


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
def suites(session: nox.Session) -> None:
    """Other projects' tests with clarray's arrays: `-- scipy -n 2`."""
    install(session, "pocl,suites")
    session.run("python", "tests/suites/run.py", *session.posargs)
