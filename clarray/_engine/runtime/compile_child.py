"""The child process of `compile_limit`: compile one program, and store its binary on disk."""

from __future__ import annotations

import json
import sys
from math import ceil
from typing import Any

from clarray._engine.runtime.discovery import devices
from clarray._engine.threads import on_large_stack

try:
    import resource
except ImportError:  # Windows: the parent limits the time
    resource = None  # type: ignore[assignment]


def main() -> None:
    """Compile the program of the request on stdin, and print 'done'."""
    request = json.loads(sys.stdin.buffer.read())
    output = sys.stdout
    sys.stdout = sys.stderr  # for what drivers and libraries print
    if resource is not None:
        seconds = ceil(request["seconds"])
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    on_large_stack(_compile)(request)
    output.write("done\n")
    output.flush()


def _compile(request: dict[str, Any]) -> None:
    device = next(device for device in devices() if device.identity == request["device"])
    queue = device.inline if request["queue"] == "inline" and device.inline is not None else device.main
    program = device.program(request["source"], request["arg_types"], tuple(request["options"]))
    for name in request["arg_types"]:
        program.bind(name, queue)
    program.save(queue)  # PoCL makes the machine code for a binary


if __name__ == "__main__":
    main()
