"""Report what a program did on the device and what NumPy did instead, by source line.

It counts what `clarray.profile` records. Every launch is waited for meanwhile, so that its time belongs to its line.
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

_LINES = 20  # of source, those that took longest
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
# Kinds of calls that went to the host, and why if nothing else is known.
_REASONS = {
    "fallback": "clarray does not have it",
    "host": "documented to work on the host, or given arrays that no device holds",
}
_COMPILING = frozenset(("render", "build", "load"))


class Tally(list[Record]):
    """Sums of records by line: a profile would keep every one of them."""

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
        if record.kind in _REASONS:
            sums = self.fallbacks.setdefault((record.where, record.name, record.kind), [0, 0.0])
            sums[0] += 1
            sums[1] += record.seconds


class Report:
    """Count what a program does from its first statement on, and print it.

    Parameters
    ----------
    again : list of str, optional
        The command that runs the program with Python, to be timed at the end.
    """

    def __init__(self, again: Sequence[str] | None = None) -> None:
        self._again = again
        self._tally = Tally()
        self._stack = ExitStack()
        self._began = 0.0

    def start(self) -> None:
        """Begin to count."""
        self._stack.enter_context(profiling.profile()).records = self._tally
        self._began = time.perf_counter()

    def show(self) -> None:
        """Print the report to the standard error."""
        whole = time.perf_counter() - self._began
        self._stack.close()
        sys.stdout.flush()
        print("\n".join(["", *self._totals(whole), *self._table(), *self._fallbacks()]), file=sys.stderr)
        if self._again is not None:
            self._compare(whole)

    def _totals(self, whole: float) -> list[str]:
        seconds, counts = self._tally.seconds, self._tally.counts

        def part(kind: str, text: str) -> str:
            return f"  {seconds.get(kind, 0.0):9.3f} s  {counts.get(kind, 0):7}  {text}"

        device = current_device() if counts else "no device was used"
        return [
            f"clarray run: {device}",
            f"  {whole:9.3f} s           the program, each launch waited for",
            part("launch", "kernels"),
            part("compile", "kernels written, compiled or loaded; the next run finds them on disk"),
            part("transfer", "copies between NumPy's arrays and the device"),
            part("synchronize", "waits for the device"),
            part("small call", "calls that NumPy computed in the arrays' memory, as they are small"),
            part("first call", "calls that NumPy computed in place of kernels that were not compiled yet"),
            part("host", "calls that are documented to work on the host, or of arrays that no device holds"),
            part("fallback", "calls that fell to NumPy, as clarray lacks them"),
        ]

    def _table(self) -> list[str]:
        rows = sorted(self._tally.lines.items(), key=lambda row: -row[1]["seconds"])[:_LINES]
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
            reason = reasons.get((where, name), _REASONS[kind])
            lines.append(f"  {where}: {name}, {times:.0f} times, {seconds:.4f} s: {reason}")
        return lines

    def _compare(self, whole: float) -> None:
        assert self._again is not None
        start = time.perf_counter()
        done = subprocess.run(self._again, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        theirs = time.perf_counter() - start
        compiling = self._tally.seconds.get("compile", 0.0)
        difference = f"{'saved' if theirs > whole else 'cost'} {abs(theirs - whole):.3f} s"
        text = (
            f"\n  The same program with python took {theirs:.3f} s, Python's start included (status {done.returncode}, "
            f"output not shown): clarray {difference}, of which compiling cost {compiling:.3f} s."
        )
        print(text, file=sys.stderr)


def start_report(again: Sequence[str] | None = None) -> None:
    """Begin a report that is printed when the process ends."""
    report = Report(again)
    report.start()
    atexit.register(report.show)
