"""Discard the lines that OpenCL compilers print to stderr during builds, and nothing else."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import warnings
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from clarray._engine.runtime.forking import after_fork_in_child

_COMPILER_LINE = rb"(\d+ warnings? and )?\d+ (warning|error)s? generated\.|error: unknown target CPU '[^']*'|"


@contextlib.contextmanager
def silence_build_output() -> Iterator[None]:
    """Silence pyopencl's compiler warnings, and the lines of OpenCL compilers on stderr, during the block.

    PoCL and NVIDIA let their compilers print lines such as "1 warning generated." to file descriptor 2. All other lines
    that are written there during the block are written to stderr afterwards.
    """
    build = object()
    try:
        _builds.add(build)
        _ignore_warnings()
        _redirect_stderr()
        yield
    finally:
        try:
            _end(build)
        finally:
            _end(build)  # Ctrl-C may have interrupted the first call; a second one repeats nothing


# Several threads build at the same time, and a signal handler may build while its thread does. A lock could deadlock,
# so there is none: each change follows its check with no call between them.
_builds: set[object] = set()  # the first one redirects stderr, the last one restores it
_stderr_copy = -1
_captured: BinaryIO | None = None
_filters: warnings.catch_warnings[Any] | None = None


def _end(build: object) -> None:
    _builds.discard(build)
    if not _builds:
        _restore_warnings()
        _restore_stderr()


def _ignore_warnings() -> None:
    global _filters
    if _filters is None:
        filters = warnings.catch_warnings()
        filters.__enter__()
        if _filters is None:
            _filters = filters
        else:  # a re-entrant call has set the filters
            filters.__exit__(None, None, None)
            return
        warnings.simplefilter("ignore")


def _restore_warnings() -> None:
    global _filters
    filters = _filters
    if filters is not None:
        filters.__exit__(None, None, None)
        if _filters is filters:
            _filters = None


def _redirect_stderr() -> None:
    global _stderr_copy, _captured
    if _captured is not None:
        return
    with contextlib.suppress(OSError):  # no stderr, or no file for its lines: nothing to silence
        stderr_copy = os.dup(2)
        try:
            captured = _scratch_file()
        except OSError:
            os.close(stderr_copy)
            raise
        if _captured is None:
            # before the redirection, so that an interrupt cannot prevent the restoration
            _stderr_copy, _captured = stderr_copy, captured
            os.dup2(_captured.fileno(), 2)
        else:
            os.close(stderr_copy)
            captured.close()


def _restore_stderr() -> None:
    global _stderr_copy, _captured
    if _captured is None:
        return
    stderr_copy, captured = _stderr_copy, _captured
    _stderr_copy, _captured = -1, None
    os.dup2(stderr_copy, 2)
    os.close(stderr_copy)
    with captured:
        captured.seek(0)
        lines = captured.readlines()
    passed = [line for line in lines if not re.fullmatch(_COMPILER_LINE, line.rstrip())]
    if passed:
        with contextlib.suppress(OSError):
            os.write(2, b"".join(passed))


def _scratch_file() -> BinaryIO:
    if hasattr(os, "memfd_create"):  # needs no space on disk
        return os.fdopen(os.memfd_create("clarray"), "w+b")
    return cast(BinaryIO, tempfile.TemporaryFile())


@after_fork_in_child
def _after_fork_in_child() -> None:
    """Restore stderr in the child: the builds that redirected it continue in the parent only."""
    global _captured
    _builds.clear()
    _restore_warnings()
    if _captured is not None:
        os.dup2(_stderr_copy, 2)
        os.close(_stderr_copy)
        _captured = None
