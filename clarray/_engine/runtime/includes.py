"""Append a comment with a digest of the included files to a source, so that their contents are part of every key.

    #include "f.h"   ->   contents of f.h, and of what that includes   ->   // includes 0c5f...

Programs are cached by their text, in memory, on disk and by drivers. The compiler itself searches for the files, so the
digest covers every path where it may find one, existing or not. If the files of a source are unknown, because a macro
names one or only the compiler knows its folder, each process compiles the source again.
"""

from __future__ import annotations

import hashlib
import os
import re

from clarray._engine.runtime import private_files
from clarray._engine.runtime.environment import compiler_settings

_COMMENT = "\n// includes {}\n"
_COMMENT_PATTERN = r"^// includes ([0-9a-f]{64})$"
_UNKNOWN = "\n// includes files that are not known, "
_INCLUDING_WORDS = r"include|import|embed|incbin"
_DIRECTIVE = r"""(?m)^[ \t]*\#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)"""
_COMMENT_OR_TEXT = r"""(?s)/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
_FOLDERS = r"(^|[\s=\"'])-(I|i)"  # options that name folders or files
_MAX_FILES = 1000
_MAX_BYTES = 16 << 20

_sources: dict[str, tuple[str, str]] = {}  # sources and working folders, by the digest of the included files


def include_comment(source: str) -> str:
    """Return the comment for a user's source, or '' if it includes no file."""
    if not re.search(_INCLUDING_WORDS, source.replace("\\\n", "")):
        return ""
    try:
        folder = os.getcwd()
    except OSError:  # it has been removed
        folder = os.devnull
    digest = _digest(source, folder)
    if digest is None:
        return f"{_UNKNOWN}{os.urandom(8).hex()}\n"
    _sources[digest] = source, folder
    return _COMMENT.format(digest)


def is_cacheable(program: str) -> bool:
    """Return whether a program may be cached: its included files are known, and have not changed."""
    if "// includes " not in program:
        return True
    if _UNKNOWN in program:
        return False
    return all(
        _digest(*_sources[digest]) == digest
        for digest in re.findall(_COMMENT_PATTERN, program, re.M)
        if digest in _sources
    )


def _digest(source: str, folder: str) -> str | None:
    """Return a digest of the files that a source includes, or None if they are unknown."""
    if re.search(_FOLDERS, compiler_settings()):
        return None
    files: dict[str, bytes | None] = {}
    texts = [(source, folder)]
    while texts:
        text, own_folder = texts.pop()
        names = _included(text)
        if names is None or len(files) > _MAX_FILES:
            return None
        for name in names:
            paths = dict.fromkeys(os.path.join(parent, name) for parent in (own_folder, folder))
            for path in paths:
                if path not in files:
                    files[path] = _content(path)
                    texts.append(((files[path] or b"").decode("latin-1"), os.path.dirname(path)))
            if all(files[path] is None for path in paths):
                return None  # a file of the compiler's, or in a folder that only the compiler knows
    parts = (
        part for path, data in sorted(files.items()) for part in (os.fsencode(path), data or b"", b"%d" % bool(data))
    )
    return hashlib.sha256(b"".join(len(part).to_bytes(8, "little") + part for part in parts)).hexdigest()


def _included(text: str) -> list[str] | None:
    """Return the names in the include directives of a text, or None if other words may include a file."""
    plain = re.sub(_COMMENT_OR_TEXT, _drop_comment, re.sub(r"\\\r?\n", "", text))
    if re.search(_INCLUDING_WORDS, re.sub(_DIRECTIVE, "", plain)):
        return None
    return [quoted or angled for quoted, angled in re.findall(_DIRECTIVE, plain)]


def _drop_comment(match: re.Match[str]) -> str:
    return " " if match[0].startswith("/") else match[0]


def _content(path: str) -> bytes | None:
    try:
        return private_files.read_regular(path, _MAX_BYTES)
    except OSError:
        return None
