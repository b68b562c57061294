"""Report the program's launches and its calls of NumPy, by source line.

The report sums the records of `clarray.profile`. Each launch is synchronous meanwhile, so that its time counts for its
line.
"""

from __future__ import annotations

import atexit
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack

from clarray._engine.runtime import current_device, profiling
from clarray._engine.runtime.profiling import Record
from clarray.run.functions import reasons

__all__ = ["Report", "start_report"]

_MAX_LINES = 20  # source lines of the report: those with the largest times
_COLUMNS = ("seconds", "launches", "NumPy", "copies", "MB", "waits", "line")
_COLUMN_OF = {
    "launch": "launches",
    "first call": "NumPy",
    "small call": "NumPy",
    "host": "NumPy",
    "fallback": "NumPy",
    "transfer": "copies",
    "synchronize": "waits",
}
# Kinds of calls on the host, and their default reason.
_DEFAULT_REASONS = {
    "fallback": "clarray does not have it",
    "host": "it always works on the host, or an array is one that no device holds",
}
_COMPILING = frozenset(("render", "build", "load"))


class Tally(list[Record]):
    """Sums of records by source line, in place of a profile's list of all records."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: dict[str, dict[str, float]] = {}
        self.fallbacks: dict[tuple[str, str, str], list[float]] = {}
        self.seconds: dict[str, float] = {}
        self.counts: dict[str, int] = {}

    def append(self, record: Record) -> None:
        """Add a record to the sums of its line."""
        kind = "compile" if record.kind in _COMPILING or record.first else record.kind
        self.seconds[kind] = self.seconds.get(kind, 0.0) + record.seconds
        self.counts[kind] = self.counts.get(kind, 0) + 1
        column = _COLUMN_OF.get(record.kind)
        line = self.lines.setdefault(record.where, dict.fromkeys(_COLUMNS, 0.0))
        line["seconds"] += record.seconds
        if column is not None:
            line[column] += 1
        if record.kind == "transfer":
            line["MB"] += record.nbytes / 1e6
        if record.kind in _DEFAULT_REASONS:
            sums = self.fallbacks.setdefault((record.where, record.name, record.kind), [0, 0.0])
            sums[0] += 1
            sums[1] += record.seconds


class Report:
    """Count what a program does from its first statement on, and print it.

    Parameters
    ----------
    commands : list of str, two, optional
        Commands that run the program with Python and with clarray, to compare their times at the end.
    """

    def __init__(self, *commands: Sequence[str]) -> None:
        self._commands = commands
        self._tally = Tally()
        self._stack = ExitStack()
        self._began = 0.0

    def start(self) -> None:
        """Start counting."""
        self._stack.enter_context(profiling.profile()).records = self._tally
        self._began = time.perf_counter()

    def show(self) -> None:
        """Print the report to the standard error."""
        total = time.perf_counter() - self._began
        self._stack.close()
        sys.stdout.flush()
        print("\n".join(["", *self._totals(total), *self._table(), *self._fallbacks()]), file=sys.stderr)
        if self._commands:
            _compare(*self._commands)

    def _totals(self, total: float) -> list[str]:
        seconds, counts = self._tally.seconds, self._tally.counts

        def part(kind: str, text: str) -> str:
            return f"  {seconds.get(kind, 0.0):9.3f} s  {counts.get(kind, 0):7}  {text}"

        device = current_device() if counts else "no device was used"
        return [
            f"clarray run: {device}",
            f"  {total:9.3f} s           the program, each launch waited for",
            part("launch", "kernels"),
            part("compile", "kernels generated, compiled, or loaded from disk"),
            part("transfer", "copies between NumPy's arrays and the device"),
            part("synchronize", "waits for the device"),
            part("small call", "calls on small arrays, computed by NumPy"),
            part("first call", "calls computed by NumPy, as their kernels were not compiled yet"),
            part("host", "calls of functions that always work on the host, or on arrays that no device holds"),
            part("fallback", "calls of functions that clarray lacks, computed by NumPy"),
        ]

    def _table(self) -> list[str]:
        rows = sorted(self._tally.lines.items(), key=lambda row: -row[1]["seconds"])[:_MAX_LINES]
        if not rows:
            return []
        lines = ["", "  " + " ".join(f"{name:>9}" for name in _COLUMNS[:-1]) + "  line"]
        for where, sums in rows:
            cells = [f"{sums['seconds']:9.4f}", *(f"{sums[name]:9.0f}" for name in ("launches", "NumPy", "copies"))]
            lines.append(f"  {' '.join(cells)} {sums['MB']:9.2f} {sums['waits']:9.0f}  {where}")
        return lines

    def _fallbacks(self) -> list[str]:
        if not self._tally.fallbacks:
            return []
        lines = ["", "  What fell to NumPy, and why"]
        for (where, name, kind), (times, seconds) in self._tally.fallbacks.items():
            reason = reasons.get((where, name), _DEFAULT_REASONS[kind])
            lines.append(f"  {where}: {name}, {times:.0f} times, {seconds:.4f} s: {reason}")
        return lines


def _time_process(command: Sequence[str]) -> tuple[float, int]:
    """Run a process without output, and return its seconds and its status."""
    start = time.perf_counter()
    process = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    return time.perf_counter() - start, process.returncode


def _compare(with_python: Sequence[str], with_clarray: Sequence[str]) -> None:
    """Run the program twice more, without a report, and print the times of both processes.

    The run with clarray comes last, so that it finds its kernels on disk, and its files replace those of the other run.
    """
    theirs, their_status = _time_process(with_python)
    ours, our_status = _time_process(with_clarray)
    faster, ratio = ("clarray", theirs / ours) if ours < theirs else ("python", ours / theirs)
    text = (
        "\n  The program was run twice more, without its output and without a report. Times of the whole processes:\n"
        f"  {theirs:9.3f} s           python (status {their_status})\n"
        f"  {ours:9.3f} s           clarray run (status {our_status}), kernels found on disk\n"
        f"  {faster} was {ratio:.1f} times as fast."
    )
    print(text, file=sys.stderr)


def start_report(*commands: Sequence[str]) -> None:
    """Start a report that is printed when the process ends. The commands are as in `Report`."""
    report = Report(*commands)
    report.start()
    atexit.register(report.show)
