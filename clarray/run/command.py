"""The command ``python -m clarray run``: NumPy's programs, unmodified, on a device."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from clarray.run.children import install_in_children
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


class _CommandLine(NamedTuple):
    """The parsed command line."""

    program: Program
    settings: dict[str, Any]
    report: str | None  # 'lines', 'compare', or None for no report


class _WrongUsageError(Exception):
    """The command line cannot be read."""


def _option_value(name: str, option_value: str | None, remaining: list[str]) -> str:
    if option_value is not None:
        return option_value
    if not remaining:
        raise _WrongUsageError(f"option {name} needs a value")
    return remaining.pop(0)


def _parse(arguments: list[str]) -> _CommandLine:
    """Parse the options before the program. The arguments after the program belong to the program."""
    remaining = list(arguments)
    settings: dict[str, Any] = {}
    report: str | None = None
    while remaining:
        argument = remaining.pop(0)
        name, separator, text = argument.partition("=")
        option_value = text if separator else None
        if name in ("--device", "--random"):
            settings[name[2:]] = _option_value(name, option_value, remaining)
            if name == "--random" and settings["random"] not in ("numpy", "device"):
                raise _WrongUsageError(f'--random is "numpy" or "device", not {settings["random"]!r}')
        elif argument == "--strict":
            settings["strict"] = True
        elif argument in ("--report", "--report=compare"):
            report = option_value or "lines"
        elif argument[:2] in ("-m", "-c"):
            what = argument[2:] or _option_value(argument, None, remaining)
            return _CommandLine(
                Program("module" if argument[1] == "m" else "command", what, remaining), settings, report
            )
        elif argument.startswith("-") and argument != "-":
            raise _WrongUsageError(f"unknown option {argument}")
        else:
            if argument == "-" and report == "compare":
                raise _WrongUsageError(
                    "--report=compare runs the program twice more, and the standard input is read once"
                )
            return _CommandLine(Program("file", argument, remaining), settings, report)
    raise _WrongUsageError("no program")


def _commands(command_line: _CommandLine) -> tuple[list[str], list[str]]:
    """Return the commands that run the program with Python, and with clarray and its options, without a report."""
    program = command_line.program
    option = {"file": [], "module": ["-m"], "command": ["-c"]}[program.kind]
    words = [*option, program.what, *program.arguments]
    settings = [f"--{name}" if value is True else f"--{name}={value}" for name, value in command_line.settings.items()]
    return [sys.executable, *words], [sys.executable, "-m", "clarray", "run", *settings, *words]


def main(arguments: list[str]) -> int:
    """Run the command. It ends as the program ends."""
    if arguments[:1] in (["-h"], ["--help"]):
        print(USAGE, end="")
        return 0
    try:
        command_line = _parse(arguments)
    except _WrongUsageError as error:
        print(f"clarray run: {error}\n\n{USAGE}", end="", file=sys.stderr)
        return 2

    def prepare() -> None:
        install(**command_line.settings)
        install_in_children(command_line.settings)
        keep_arrays_in_forks()
        if command_line.report is not None:
            start_report(*(_commands(command_line) if command_line.report == "compare" else ()))

    run_program(command_line.program, prepare)
    return 0
