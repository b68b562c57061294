"""``python -m clarray`` and the script ``clarray``: list the devices, and time one of them on your data."""

import difflib
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from clarray._engine.version import __version__

COMMANDS = {
    "doctor": ("clarray._api.doctor.command", "find what is wrong with this machine's OpenCL, and what mends it"),
    "run": ("clarray.run.command", "run a program that is written for NumPy on a device"),
    "tune": ("clarray._api.tune", "measure a device, and keep what is faster on it"),
}
USAGE = f"""\
usage: python -m clarray [--device DEVICE] [--size SIZE] [FILE]
       python -m clarray COMMAND ...

Without a command: list the devices, and time a few computations of a file of numbers (.npy, .npz or .csv), or of
sample data, on one of them and with NumPy.

commands, each with --help:
{chr(10).join(f"  {name:16}  {text}" for name, (_, text) in COMMANDS.items())}

options:
  --device DEVICE   index, or part of a platform's or device's name
  --size SIZE       elements of the sample data
  --version         show the version
  -h, --help        show this help
"""


def main() -> int:
    """Run the command of the first argument, or the demo without a command."""
    arguments = sys.argv[1:]
    word = arguments[0] if arguments else ""
    if word in ("-h", "--help"):
        print(USAGE, end="")
        return 0
    if word == "--version":
        print(f"clarray {__version__}")
        return 0
    if word in COMMANDS:
        return _load_main(COMMANDS[word][0])(arguments[1:])
    if word and not word.startswith("-") and not Path(word).suffix and not Path(word).exists():
        print(_unknown(word), file=sys.stderr)
        return 2
    return _load_main("clarray._api.demo")(arguments)


def _load_main(module: str) -> Callable[[list[str]], int]:
    function: Callable[[list[str]], int] = import_module(module).main
    return function


def _unknown(word: str) -> str:
    like = difflib.get_close_matches(word, COMMANDS, 1)
    question = f"; did you mean {like[0]!r}?" if like else ""
    commands = "\n".join(f"  {name:16}  {text}" for name, (_, text) in COMMANDS.items())
    return f"clarray: there is no command and no file {word!r}{question}\nThe commands are:\n{commands}"


if __name__ == "__main__":
    sys.exit(main())
