"""Compile a program in a child process with a time limit, before this process loads it.

    source  --JSON-->  child: compiles, stores the binary on disk  -->  this process loads the binary
                         |
                         +-- limit of processor time exceeded: CompilationLimitError, noted on disk

A compiler in this process cannot be stopped: it does not handle signals, and it holds a lock that every later
compilation needs. So a source that may compile for ever is first compiled in a child process. The limit counts
processor time, so that a busy machine does not change the result.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from clarray._engine.runtime.cache import DiskCache, cache_key
from clarray._engine.runtime.errors import CompilationLimitError

SETTING = "CLARRAY_COMPILE_SECONDS"
_DEFAULT_SECONDS = 20.0
_WALL_FACTOR = 10  # a child that gets less than this part of a processor is given up
_COMMAND = (sys.executable, "-P", "-m", f"{__package__}.compile_child")
_DONE = b"done\n"
_failures: dict[str, dict[str, object]] = {}  # those that this process has seen, by their keys on disk


def limit_seconds() -> float:
    """Return the limit of the user's setting, in seconds of processor time. 0 means no limit, and no child process."""
    try:
        return max(float(os.environ.get(SETTING, _DEFAULT_SECONDS)), 0.0)
    except ValueError:
        return _DEFAULT_SECONDS


def compile_in_child(request: Mapping[str, Any], cache: DiskCache, key: str) -> None:
    """Compile a program in a child process, which stores its binary on disk.

    Nothing happens if the compiler reports an error, or if no child process can be started. This process then compiles
    the program itself.

    Parameters
    ----------
    request : mapping
        What the child process compiles: 'device' (the identity of the device), 'queue' (the name of the queue),
        'source', 'arg_types' and 'options', as in `Program`.
    cache : DiskCache
        The cache of the device's programs, which has the notes about earlier failures too.
    key : str
        The key of the program in the cache.

    Raises
    ------
    CompilationLimitError
        The limit was exceeded, now or in an earlier process, or the compiler has ended the child process.
    """
    limit = limit_seconds()
    if not limit:
        return
    note = cache_key("compilation limit", key)
    failure = _failures.get(note) or cache.load_json(note)
    if failure is None or limit > float(str(failure["seconds"])):
        cause = _run(json.dumps({**request, "seconds": limit}).encode(), limit)
        if cause is None:
            return
        failure = _failures[note] = {"seconds": limit, "cause": cause}
        cache.store_json(note, failure)
    raise CompilationLimitError(
        f"the device's compiler fails for {', '.join(request['arg_types'])}: {failure['cause']}. To give it more time, "
        f"set {SETTING}, or use another device"
    )


def _run(request: bytes, limit: float) -> str | None:
    """Run the child process. Return how its compiler has failed, or None if it has not."""
    environment = {**os.environ, SETTING: "0", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        child = subprocess.Popen(
            _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
    except OSError:
        return None
    try:
        reply = _ask(child, request, _WALL_FACTOR * limit)
    finally:
        child.kill()
        child.wait()
    if reply is None or child.returncode == -signal.SIGXCPU:
        return f"the compiler needs more than {limit:g} seconds"
    if reply != _DONE and child.returncode < 0:
        return f"the compiler has crashed by signal {-child.returncode}"
    return None


def _ask(child: subprocess.Popen[bytes], request: bytes, seconds: float) -> bytes | None:
    """Send the request, and return the child's output at its end, or None if it does not end in time."""
    assert child.stdin is not None
    assert child.stdout is not None
    with child.stdout as output:
        try:
            with child.stdin as stdin:
                stdin.write(request)
        except BrokenPipeError:
            return b""  # the child could not start
        ready, _, _ = select.select([output], [], [], seconds)
        reply = output.read() if ready else None
    if ready:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(seconds)  # it has closed its output, so it ends
    return reply
