"""Run a program as ``python`` runs it: a file, a module, a string, the standard input, a folder or an archive.

Its ``__main__`` is a module of its own. Tracebacks have no frames of clarray's, and the exit status is Python's.
"""

from __future__ import annotations

import builtins
import io
import linecache
import os
import runpy
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec, SourceFileLoader, SourcelessFileLoader
from types import CodeType, ModuleType
from typing import Any

from clarray.run.tracebacks import hide_own_frames, with_clean_traceback

__all__ = ["Program", "run_program"]


class Program:
    """The program to run, and its arguments.

    Parameters
    ----------
    kind : {'file', 'module', 'command'}
    what : str
        A path or ``'-'``, a module's name, or code.
    arguments : list of str
    """

    def __init__(self, kind: str, what: str, arguments: list[str]) -> None:
        self.kind = kind
        self.what = what
        self.arguments = arguments

    def load(self) -> tuple[CodeType, ModuleType]:
        """Return the code and its module ``__main__``, and set `sys.argv` and ``sys.path[0]``."""
        loaders: dict[str, Callable[[], tuple[CodeType, ModuleType]]] = {
            "file": self._load_file,
            "module": self._load_module,
            "command": self._load_command,
        }
        return loaders[self.kind]()

    def _begin(self, name: str, folder: str) -> None:
        sys.argv[:] = [name, *self.arguments]
        if not sys.flags.safe_path and not sys.flags.isolated:
            sys.path[0] = folder  # replaces the working folder, which ``python -m clarray`` has put first

    def _load_command(self) -> tuple[CodeType, ModuleType]:
        self._begin("-c", "")
        if sys.version_info >= (3, 13):  # tracebacks of these versions show source lines of strings
            lines = self.what.splitlines(keepends=True)
            linecache.cache["<string>"] = len(self.what), None, lines, "<string>"
        return compile(self.what, "<string>", "exec", dont_inherit=True), _main_module()

    def _load_file(self) -> tuple[CodeType, ModuleType]:
        path = self.what
        if path == "-":
            self._begin("-", "")
            source = sys.stdin.buffer.read() if hasattr(sys.stdin, "buffer") else sys.stdin.read()
            main = _main_module()
            main.__file__ = "<stdin>"
            return compile(source, "<stdin>", "exec", dont_inherit=True), main
        if os.path.isdir(path) or not _is_source(path):
            return self._load_archive()
        self._begin(path, os.path.dirname(os.path.realpath(path)))
        path = os.path.join(os.getcwd(), path)
        with io.open_code(path) as file:
            source = file.read()
        main = _main_module(SourceFileLoader("__main__", path))
        main.__file__ = path
        main.__cached__ = None  # type: ignore[attr-defined]
        return compile(source, path, "exec", dont_inherit=True), main

    def _load_archive(self) -> tuple[CodeType, ModuleType]:
        path = self.what
        if path.endswith(".pyc"):
            self._begin(path, os.path.dirname(os.path.realpath(path)))
            code = SourcelessFileLoader("__main__", path).get_code("__main__")
            assert code is not None
            main = _main_module()
            main.__file__ = path
            return code, main
        folder = os.path.join(os.getcwd(), path)
        self._begin(path, folder)
        if sys.path[:1] != [folder]:
            sys.path.insert(0, folder)
        _, spec, code = runpy._get_main_module_details()  # type: ignore[attr-defined]
        return code, _main_module(spec.loader, spec)

    def _load_module(self) -> tuple[CodeType, ModuleType]:
        self._begin("-m", os.getcwd())
        _, spec, code = runpy._get_module_details(self.what, runpy._Error)  # type: ignore[attr-defined]
        sys.argv[0] = spec.origin
        return code, _main_module(spec.loader, spec)


def _is_source(path: str) -> bool:
    """Return whether a file holds source, and is neither an archive nor a compiled module."""
    with open(path, "rb") as file:
        head = file.read(4)
    if path.endswith(".pyc") or head[:2] == b"PK" or b"\0" in head:
        return False
    from zipfile import is_zipfile  # imported late: archives that begin with a shebang line are rare

    return not (head[:2] == b"#!" and is_zipfile(path))


def _main_module(loader: Any = None, spec: ModuleSpec | None = None) -> ModuleType:
    main = ModuleType("__main__")
    names = vars(main)
    names.update(__loader__=loader, __spec__=spec, __package__=None, __builtins__=builtins, __annotations__={})
    if spec is not None:
        names.update(__file__=spec.origin, __cached__=spec.cached, __package__=spec.parent)
    return main


def run_program(program: Program, prepare: Callable[[], None]) -> None:
    """Run a program to its end, in place of the module ``__main__``.

    Parameters
    ----------
    program : Program
    prepare : callable
        Called before the program's first statement.

    Raises
    ------
    BaseException
        The program's uncaught exception. `sys.excepthook` shows it without clarray's frames.
    """
    try:
        code, main = program.load()
    except SyntaxError as error:
        raise with_clean_traceback(error, None) from None
    except (OSError, runpy._Error) as error:  # type: ignore[attr-defined]
        raise SystemExit(_report_unreadable(program, error)) from None
    prepare()
    hide_own_frames()
    sys.modules["__main__"] = main
    try:
        exec(code, vars(main))
    except SystemExit:
        raise
    except BaseException as error:
        traceback = error.__traceback__
        raise with_clean_traceback(error, traceback and traceback.tb_next) from None


def _report_unreadable(program: Program, error: Exception) -> Any:
    """Print Python's message for a program that cannot be opened, and return the exit status."""
    if isinstance(error, OSError):
        path = os.path.join(os.getcwd(), program.what)
        text = f"can't open file {path!r}: [Errno {error.errno}] {error.strerror}"
        print(f"{sys.executable}: {text}", file=sys.stderr)
        return 2
    print(f"{sys.executable}: {error}", file=sys.stderr)
    return 1
