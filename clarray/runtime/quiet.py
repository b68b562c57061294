"""Keeps a runtime's chatter during builds off the user's terminal, and nothing else."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import warnings
from collections.abc import Iterator

_CHATTER = re.compile(rb"(\d+ warnings? and )?\d+ (warning|error)s? generated\.|error: unknown target CPU '[^']*'|")


@contextlib.contextmanager
def quiet_build() -> Iterator[None]:
    """Silence pyopencl's compiler warnings, and the runtime's lines on stderr.

    PoCL and NVIDIA let their compilers print "1 warning generated." and the like straight to file descriptor 2.
    Whatever else was written there meanwhile is passed on afterwards.
    """
    with warnings.catch_warnings(), _held_stderr():
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def _held_stderr() -> Iterator[None]:
    try:
        saved = os.dup(2)
    except OSError:  # no stderr at all: nothing to keep clean
        yield
        return
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            held.seek(0)
            kept = [line for line in held if not _CHATTER.fullmatch(line.rstrip())]
            if kept:
                with contextlib.suppress(OSError):
                    os.write(2, b"".join(kept))
