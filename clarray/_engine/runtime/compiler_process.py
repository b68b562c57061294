"""Compile programs in a child process, so that a compiler can neither end this process nor block it for ever.

    source  --JSON-->  child: compiles, stores the binary on disk  --"done"-->  this process loads the binary
                         |
                         +-- ends by a signal, or exceeds the limit of processor time: CompilationError

A compiler in this process cannot be stopped: it does not handle signals, and it holds a lock that every later
compilation needs. The limit counts processor time, so that a busy machine does not change the result. The child
process serves later compilations too. It ends with this process, and after half a minute without work.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clarray._engine.runtime.cache import DiskCache, cache_key
from clarray._engine.runtime.errors import CompilationError
from clarray._engine.runtime.forking import after_fork_in_child

SETTING = "CLARRAY_COMPILE_SECONDS"
_DEFAULT_SECONDS = 20.0
_WALL_FACTOR = 10  # a child that gets less than this part of a processor is given up
_COMMAND = (sys.executable, "-P", "-m", f"{__package__}.compiler_main")
_TURN_SECONDS = 0.1  # the longest time without a look for signals
_END_SECONDS = 2.0  # the longest wait for a process that ends by itself
_DONE, _FAILED = b"done\n", b"failed\n"
_CRASHES = {signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV}
_failures: dict[str, dict[str, object]] = {}  # those that this process has seen, by their keys on disk
_idle: list[subprocess.Popen[bytes]] = []
_can_start = True  # False once a child process could not start: each attempt takes a tenth of a second


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
        The cache of the device's programs, which has the notes about exceeded limits too.
    key : str
        The key of the program in the cache.

    Raises
    ------
    CompilationError
        The limit was exceeded, now or in an earlier process, or the compiler has ended the child process.
    """
    limit = limit_seconds()
    if not limit:
        return
    note = cache_key("compilation limit", key)
    failure = _failures.get(note) or cache.load_json(note)
    if failure is None or limit > float(str(failure["seconds"])):
        signal_number = _compile(json.dumps({**request, "seconds": limit}).encode() + b"\n", limit)
        if not signal_number:
            return
        cause = f"has crashed by signal {signal_number}"
        if signal_number == signal.SIGXCPU:
            cause = f"needs more than {limit:g} seconds"
        failure = _failures[note] = {"seconds": limit, "cause": cause}
        if signal_number == signal.SIGXCPU:  # a crash is found again at once, and may be due to a lack of memory
            cache.store_json(note, failure)
    raise CompilationError(
        f"the device's compiler {failure['cause']} for {', '.join(request['arg_types'])}. To give it more time, set "
        f"{SETTING}. Else divide the expression or the kernel, or use another device"
    )


def _compile(request: bytes, limit: float) -> int:
    """Have a child process compile. Return the signal that has ended its compiler, or 0."""
    global _can_start
    while _can_start:
        is_new = False
        try:
            child = _idle.pop()
        except IndexError:
            is_new = True
            try:
                child = _start()
            except OSError:
                break
        reply: bytes | None = None
        try:
            reply = _ask(child, request, _WALL_FACTOR * limit)
        finally:
            if reply in (_DONE, _FAILED):
                _idle.append(child)
            else:
                _end(child, _END_SECONDS if reply == b"" else 0.0)
        if reply in (_DONE, _FAILED):
            return 0
        if reply is None or child.returncode == -signal.SIGXCPU:
            return signal.SIGXCPU
        if -child.returncode in _CRASHES:
            return -child.returncode
        _can_start = not is_new  # an older one may have ended after its last work
    return 0


def _start() -> subprocess.Popen[bytes]:
    """Start a child process. It imports what this process can import."""
    folders = [*filter(None, sys.path), str(Path(__file__).resolve().parents[3])]
    return subprocess.Popen(
        _COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, SETTING: "0", "PYTHONPATH": os.pathsep.join(folders)},
        bufsize=0,
        start_new_session=True,  # Ctrl-C reaches this process only, which then ends the child
    )


def _ask(child: subprocess.Popen[bytes], request: bytes, seconds: float) -> bytes | None:
    """Send a request and return the reply, b'' if the child has ended, or None if it does not reply in time."""
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        while request:
            request = request[child.stdin.write(request) :]
    except BrokenPipeError:
        return b""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        # a signal just before the system call, or in another thread, does not end the call: Python looks in each turn
        ready, _, _ = select.select([child.stdout], [], [], min(left, _TURN_SECONDS))
        if ready:
            return child.stdout.readline()
    return None


def _end(child: subprocess.Popen[bytes], patience: float) -> None:
    """Wait for a child process, and kill it if it does not end in time. It ends when its input is closed."""
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(patience)
    child.kill()
    child.wait()
    child.stdout.close()


@atexit.register
def _end_all() -> None:
    while _idle:
        _end(_idle.pop(), _END_SECONDS)  # it removes its files


@after_fork_in_child
def _after_fork_in_child() -> None:
    """Close this process's copies of the pipes. The child processes are the parent's."""
    for child in _idle:
        child.returncode = 0  # otherwise the destructor would wait for it
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                pipe.close()
    _idle.clear()
