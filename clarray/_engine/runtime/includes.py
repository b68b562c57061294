"""A comment for each source that includes files: it tells their contents, so that they are part of every key.

    #include "f.h"   ->   contents of f.h, and of what that includes   ->   // includes 0c5f...

Programs are kept by their text, in memory, on disk and by drivers. The compiler itself looks for the files; here every
place counts where it may find one, and where there is none yet. A source whose files cannot be told (a macro names
one, or only the compiler knows its folder) is compiled anew by each process.
"""

from __future__ import annotations

import hashlib
import os
import re

from clarray._engine.runtime import private_files
from clarray._engine.runtime.environment import compiler_settings

_NOTE = "\n// includes {}\n"
_NOTED = r"^// includes ([0-9a-f]{64})$"
_UNKNOWN = "\n// includes files that are not known, "
_BRINGS_FILES = r"include|import|embed|incbin"
_DIRECTIVE = r"""(?m)^[ \t]*\#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)"""
_COMMENT_OR_TEXT = r"""(?s)/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
_FOLDERS = r"(^|[\s=\"'])-(I|i)"  # an option that names folders or files
_MOST_FILES = 1000
_MOST_BYTES = 16 << 20

_noted: dict[str, tuple[str, str]] = {}  # a source and the folder the process was in, by what it included


def note_of(source: str) -> str:
    """Give the comment for a source of the user's; '' if it includes nothing."""
    if not re.search(_BRINGS_FILES, source.replace("\\\n", "")):
        return ""
    try:
        folder = os.getcwd()
    except OSError:  # it has been removed
        folder = os.devnull
    digest = _digest(source, folder)
    if digest is None:
        return f"{_UNKNOWN}{os.urandom(8).hex()}\n"
    _noted[digest] = source, folder
    return _NOTE.format(digest)


def may_be_kept(program: str) -> bool:
    """Whether the files that a program's sources include are known, and still what the comments in it tell."""
    if "// includes " not in program:
        return True
    if _UNKNOWN in program:
        return False
    return all(_digest(*_noted[digest]) == digest for digest in re.findall(_NOTED, program, re.M) if digest in _noted)


def _digest(source: str, folder: str) -> str | None:
    """Give a digest of the files that a source includes; None if they are not known."""
    if re.search(_FOLDERS, compiler_settings()):
        return None
    files: dict[str, bytes | None] = {}
    texts = [(source, folder)]
    while texts:
        text, beside = texts.pop()
        names = _included(text)
        if names is None or len(files) > _MOST_FILES:
            return None
        for name in names:
            places = dict.fromkeys(os.path.join(place, name) for place in (beside, folder))
            for path in places:
                if path not in files:
                    files[path] = _content(path)
                    texts.append(((files[path] or b"").decode("latin-1"), os.path.dirname(path)))
            if all(files[path] is None for path in places):
                return None  # the compiler's own, or in a folder that only it knows
    parts = (
        part for path, data in sorted(files.items()) for part in (os.fsencode(path), data or b"", b"%d" % bool(data))
    )
    return hashlib.sha256(b"".join(len(part).to_bytes(8, "little") + part for part in parts)).hexdigest()


def _included(text: str) -> list[str] | None:
    """Give the names in a text's directives; None where something else may bring in a file."""
    plain = re.sub(_COMMENT_OR_TEXT, _without_comment, re.sub(r"\\\r?\n", "", text))
    if re.search(_BRINGS_FILES, re.sub(_DIRECTIVE, "", plain)):
        return None
    return [quoted or angled for quoted, angled in re.findall(_DIRECTIVE, plain)]


def _without_comment(found: re.Match[str]) -> str:
    return " " if found[0].startswith("/") else found[0]


def _content(path: str) -> bytes | None:
    try:
        return private_files.read_regular(path, _MOST_BYTES)
    except OSError:
        return None
