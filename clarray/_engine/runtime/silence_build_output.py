"""Keeps a runtime's chatter during builds off the user's terminal, and nothing else."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import warnings
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from clarray._engine.runtime.forking import after_fork_in_child

_CHATTER = rb"(\d+ warnings? and )?\d+ (warning|error)s? generated\.|error: unknown target CPU '[^']*'|"


@contextlib.contextmanager
def quiet_build() -> Iterator[None]:
    """Silence pyopencl's compiler warnings, and the runtime's lines on stderr.

    PoCL and NVIDIA let their compilers print "1 warning generated." and the like straight to file descriptor 2.
    Whatever else was written there meanwhile is passed on afterwards.
    """
    with _held_back():
        yield


# Several threads build at once, and a signal handler may build while its thread does. So there is no lock that one of
# them could wait for: every change is made in one step after the last look, with no call between them.
_builds: set[object] = set()  # the first takes the terminal away, the last gives it back
_terminal = -1
_held: BinaryIO | None = None
_filters: warnings.catch_warnings[Any] | None = None


@contextlib.contextmanager
def _held_back() -> Iterator[None]:
    build = object()
    try:
        _builds.add(build)
        _ignore_warnings()
        _take()
        yield
    finally:
        try:
            _end(build)
        finally:
            _end(build)  # which Ctrl-C may have ended early; what is done already is not done again


def _end(build: object) -> None:
    _builds.discard(build)
    if not _builds:
        _heed_warnings()
        _give_back()


def _ignore_warnings() -> None:
    global _filters
    if _filters is None:
        filters = warnings.catch_warnings()
        filters.__enter__()
        if _filters is None:
            _filters = filters
        else:  # a re-entrant call has been quicker
            filters.__exit__(None, None, None)
            return
        warnings.simplefilter("ignore")


def _heed_warnings() -> None:
    global _filters
    filters = _filters
    if filters is not None:
        filters.__exit__(None, None, None)
        if _filters is filters:
            _filters = None


def _take() -> None:
    global _terminal, _held
    if _held is not None:
        return
    with contextlib.suppress(OSError):  # no stderr at all, or no file to hold it in: nothing to keep clean
        terminal = os.dup(2)
        try:
            held = _scratch_file()
        except OSError:
            os.close(terminal)
            raise
        if _held is None:
            _terminal, _held = terminal, held  # in one step with taking it, so that it is given back in any case
            os.dup2(_held.fileno(), 2)
        else:
            os.close(terminal)
            held.close()


def _give_back() -> None:
    global _terminal, _held
    if _held is None:
        return
    terminal, held = _terminal, _held
    _terminal, _held = -1, None
    os.dup2(terminal, 2)
    os.close(terminal)
    with held:
        held.seek(0)
        lines = held.readlines()
    kept = [line for line in lines if not re.fullmatch(_CHATTER, line.rstrip())]
    if kept:
        with contextlib.suppress(OSError):
            os.write(2, b"".join(kept))


def _scratch_file() -> BinaryIO:
    if hasattr(os, "memfd_create"):  # which a full disk is nothing to
        return os.fdopen(os.memfd_create("clarray"), "w+b")
    return cast(BinaryIO, tempfile.TemporaryFile())


@after_fork_in_child
def _after_fork_in_child() -> None:
    """Give the child its stderr back: the builds under way stayed in the parent."""
    global _held
    _builds.clear()
    _heed_warnings()
    if _held is not None:
        os.dup2(_terminal, 2)
        os.close(_terminal)
        _held = None
