"""The command ``python -m clarray run``: NumPy's programs, unmodified, on a device."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from clarray.run.children import tell_children
from clarray.run.forks import keep_arrays_in_forks
from clarray.run.installation import install
from clarray.run.report import start_report
from clarray.run.runner import Program, run_program

__all__ = ["main"]

USAGE = """\
usage: python -m clarray run [options] script.py [arguments]
       python -m clarray run [options] -m module [arguments]
       python -m clarray run [options] -c code [arguments]

Run a program that is written for NumPy on a device. "import numpy" means clarray in the program's own modules;
installed libraries keep NumPy. "-" as the script is the standard input.

options:
  --device DEVICE     index, or part of a platform's or device's name
  --strict            raise where clarray lacks something, and NumPy would compute it on the host
  --random WHOSE      "numpy" (the default): np.random draws NumPy's numbers; "device": clarray's
  --report            print at the end what ran where, by source line
  --report=compare    the same, and run the program twice more, with Python and with clarray, to compare times
  -h, --help          show this help
"""


class _Asked(NamedTuple):
    """The command line."""

    program: Program
    settings: dict[str, Any]
    report: str | None  # 'lines', 'compare', or None for no report


class _WrongUsageError(Exception):
    """The command line cannot be read."""


def _value(name: str, given: str | None, rest: list[str]) -> str:
    if given is not None:
        return given
    if not rest:
        raise _WrongUsageError(f"option {name} needs a value")
    return rest.pop(0)


def _read(arguments: list[str]) -> _Asked:
    """Read the options before the program; what follows it is the program's."""
    rest = list(arguments)
    settings: dict[str, Any] = {}
    report: str | None = None
    while rest:
        word = rest.pop(0)
        name, separator, text = word.partition("=")
        given = text if separator else None
        if name in ("--device", "--random"):
            settings[name[2:]] = _value(name, given, rest)
            if name == "--random" and settings["random"] not in ("numpy", "device"):
                raise _WrongUsageError(f'--random is "numpy" or "device", not {settings["random"]!r}')
        elif word == "--strict":
            settings["strict"] = True
        elif word in ("--report", "--report=compare"):
            report = given or "lines"
        elif word[:2] in ("-m", "-c"):
            what = word[2:] or _value(word, None, rest)
            return _Asked(Program("module" if word[1] == "m" else "command", what, rest), settings, report)
        elif word.startswith("-") and word != "-":
            raise _WrongUsageError(f"unknown option {word}")
        else:
            if word == "-" and report == "compare":
                raise _WrongUsageError(
                    "--report=compare runs the program twice more, and the standard input is read once"
                )
            return _Asked(Program("file", word, rest), settings, report)
    raise _WrongUsageError("no program")


def _commands(asked: _Asked) -> tuple[list[str], list[str]]:
    """Return what runs a program with Python, and what runs it with clarray as asked, without a report."""
    program = asked.program
    option = {"file": [], "module": ["-m"], "command": ["-c"]}[program.kind]
    words = [*option, program.what, *program.arguments]
    settings = [f"--{name}" if value is True else f"--{name}={value}" for name, value in asked.settings.items()]
    return [sys.executable, *words], [sys.executable, "-m", "clarray", "run", *settings, *words]


def main(arguments: list[str]) -> int:
    """Run the command; the program's end is the command's."""
    if arguments[:1] in (["-h"], ["--help"]):
        print(USAGE, end="")
        return 0
    try:
        asked = _read(arguments)
    except _WrongUsageError as error:
        print(f"clarray run: {error}\n\n{USAGE}", end="", file=sys.stderr)
        return 2

    def prepare() -> None:
        install(**asked.settings)
        tell_children(asked.settings)
        keep_arrays_in_forks()
        if asked.report is not None:
            start_report(*(_commands(asked) if asked.report == "compare" else ()))

    run_program(asked.program, prepare)
    return 0
