"""The child process of `compiler_process`: compile programs, and store their binaries on disk.

It reads a line of JSON for each program from stdin, and writes 'done' or 'failed' to stdout. It ends with its parent,
which then has closed the pipe.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from math import ceil
from typing import Any

from clarray._engine.runtime.discovery import devices
from clarray._engine.threads import on_large_stack

try:
    import resource
except ImportError:  # Windows: the parent limits the time
    resource = None  # type: ignore[assignment]

_IDLE_SECONDS = 30.0


def main() -> None:
    """Compile the programs of all requests."""
    replies = os.dup(1)
    os.dup2(2, 1)  # for what drivers and libraries print
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    while select.select([0], [], [], _IDLE_SECONDS)[0]:
        request = sys.stdin.buffer.readline()
        if not request:
            break
        os.write(replies, _reply_to(json.loads(request)))


def _reply_to(request: dict[str, Any]) -> bytes:
    """Compile one program, and return the reply."""
    _limit_processor_time(time.process_time() + request["seconds"])
    try:
        on_large_stack(_compile)(request)
    except Exception:  # the parent gets the same error, and raises it
        return b"failed\n"
    finally:
        _limit_processor_time(None)
    return b"done\n"


def _limit_processor_time(seconds: float | None) -> None:
    """Have the system end this process once it has used so much processor time."""
    if resource is not None:
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        soft = hard if seconds is None else ceil(seconds)
        if hard == resource.RLIM_INFINITY or soft <= hard:
            resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def _compile(request: dict[str, Any]) -> None:
    device = next(device for device in devices() if device.identity == request["device"])
    queue = device.inline if request["queue"] == "inline" and device.inline is not None else device.main
    program = device.program(request["source"], request["arg_types"], tuple(request["options"]))
    for name in request["arg_types"]:
        program.bind(name, queue)
    program.save(queue)  # PoCL makes the machine code for a binary
    device.release_programs()


if __name__ == "__main__":
    main()
