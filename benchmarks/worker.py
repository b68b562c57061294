"""One library running one program in a process of its own, which does as it is told, a line at a time.

The process that asks holds a `Worker` for each library and lets them run in turn, so that a machine that
slows down slows all of them, while none shares an allocator, a pool of threads or a crash with another.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from peers import KINDS
from workloads import PROGRAMS, answers, difference


class Gone(Exception):
    """The process crashed, or did not answer in time."""


class Worker:
    """The process of one library, from outside."""

    script = __file__  # run in the process

    def __init__(self, peer: str, program: str, size: str, folder: Path, limit: float) -> None:
        self.limit = limit
        self.errors = folder / f"{peer}.stderr"
        line = [sys.executable, self.script, peer, program, size, str(folder)]
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)

    def ready(self) -> str:
        """Wait until the library is imported and the inputs are drawn; give its version."""
        return self.answer()["version"]

    def run(self) -> tuple[float, float, str | None]:
        """Have the program run once: its seconds, those of processors, and how the answer differs from NumPy's."""
        answer = self.ask("run")
        return answer["seconds"], answer["cpu_seconds"], answer["differs"]

    def ask(self, method: str) -> dict[str, Any]:
        """Call a method of the object in the process, and return its answer."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(f"{method}\n".encode())
            self.process.stdin.flush()
        except OSError:
            raise Gone(self.last_words()) from None
        return self.answer()

    def answer(self) -> dict[str, Any]:
        found = json.loads(self.line(time.monotonic() + self.limit))
        if "error" in found:
            raise Gone(found["error"])
        return found

    def line(self, until: float) -> bytes:
        assert self.process.stdout is not None
        line = b""
        while not line.endswith(b"\n"):
            if not select.select([self.process.stdout], [], [], max(until - time.monotonic(), 0))[0]:
                raise Gone(f"no answer within {self.limit:g} s")
            found = os.read(self.process.stdout.fileno(), 1 << 16)
            if not found:
                raise Gone(self.last_words())
            line += found
        return line

    def last_words(self) -> str:
        """Give the last line that a process without an answer wrote, and how it ended."""
        status = self.process.wait()
        lines = self.errors.read_text(errors="replace").strip().splitlines()
        return f"exit status {status}" + (f": {lines[-1]}" if lines else "")

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate()


class Inside:
    """What the process does: it knows one library and one program."""

    def __init__(self, peer: str, program: str, size: str, folder: str) -> None:
        self.peer = KINDS[peer](None)
        self.program = PROGRAMS[program]
        self.given = self.program.inputs(size)
        self.expected = Path(folder, "expected.npz")

    def run(self) -> dict[str, Any]:
        """Run once: with fresh inputs, uploaded beforehand, since programs write to them, and until all is computed."""
        given = [self.peer.upload(x.copy()) if isinstance(x, np.ndarray) else x for x in self.given]
        self.finish(given)
        start, worked = time.perf_counter(), time.process_time()
        result = self.program.run(self.peer.xp, *given)
        self.finish(result if isinstance(result, tuple) else [result])
        taken = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - worked}
        return {**taken, "differs": self.compare(result)}

    def finish(self, values: Iterable[Any]) -> None:
        self.peer.finish(tuple(x for x in values if hasattr(x, "dtype")))

    def compare(self, result: Any) -> str | None:
        """Say how the answer differs from NumPy's first, which NumPy's process keeps in a file."""
        mine = answers(result, self.peer.host)
        if not self.expected.exists():
            if self.peer.name == "numpy":
                np.savez(self.expected, *mine)
            return None
        with np.load(self.expected) as kept:
            return difference(mine, list(kept.values()), self.program.differing)


def main(inside: Callable[..., Any]) -> None:
    """Make an object of the arguments, and answer with what its methods return, of which a line names one."""
    # Answers go through the pipe that was given; what libraries print goes where errors go.
    pipe = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(make: Callable[[], dict[str, Any]]) -> None:
        try:
            found = make()
        except Exception as error:
            found = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        print(json.dumps(found), file=pipe, flush=True)

    warnings.simplefilter("ignore")
    made: list[Any] = []
    answer(lambda: made.append(inside(*sys.argv[1:])) or {"version": made[0].peer.version})
    for line in sys.stdin:
        answer(getattr(made[0], line.strip()))


if __name__ == "__main__":
    main(Inside)
