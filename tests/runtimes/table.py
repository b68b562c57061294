"""Read the output of the steps, and write the table of the page Install."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

BEGIN = "<!-- runtimes: begin -->"
END = "<!-- runtimes: end -->"
HEADINGS = (
    *("system", "runtime", "version", "Python", "NumPy", "date", "doctor"),
    *("smoke tests", "sampled tests", "100 elements", "50,000 elements"),
)
RIGHT = 2  # the last columns contain times, and are aligned to the right
KEY = 2  # the first columns identify a row
NOT_RUN = "not run"

_CLOSING = re.compile(r"^=* ?((?:\d+ [a-z]+, )*\d+ [a-z]+) in \d[\d.]*s(?: \([\d:, days]+\))? ?=*$")
_COLOUR = re.compile(r"\x1b\[[\d;]*m")


@dataclass(frozen=True)
class Counts:
    """The outcomes of a run of pytest. Errors of fixtures and of collection count as failures."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0


def parse_closing_line(output: str) -> Counts | None:
    """Return the counts of the last closing line in pytest's output, or None without a closing line.

    pytest prints ``3 failed, 120 passed in 9.51s``, with ``=`` on both sides unless it is called with ``-q``.
    """
    for line in reversed(output.splitlines()):
        match = _CLOSING.match(_COLOUR.sub("", line).strip())
        if match:
            numbers = {word: int(number) for number, word in (part.split() for part in match[1].split(", "))}
            failed = sum(numbers.get(word, 0) for word in ("failed", "error", "errors"))
            return Counts(numbers.get("passed", 0), failed, numbers.get("skipped", 0))
    return None


def describe_status(status: int, minutes: float) -> str:
    """Return why a process did not end normally, or an empty text for an exit status that is no signal's.

    ``subprocess`` reports a signal as a negative number, a shell as 128 plus the number. ``timeout`` returns 124, or
    137 if it had to kill the process.
    """
    if status in (124, 137, -9):
        return f"stopped after {minutes:g} minutes"
    if status < 0:
        return f"ended by signal {-status}"
    if 128 < status < 193:
        return f"ended by signal {status - 128}"
    return ""


def format_tests(counts: Counts | None, status: int, minutes: float) -> str:
    """Return the cell for a run of pytest."""
    reason = describe_status(status, minutes)
    if counts is None:
        return reason or f"no result (exit status {status})"
    cell = f"{counts.passed:,} passed"
    if counts.failed:
        cell += f", {counts.failed:,} failed"
    return f"{cell} ({reason})" if reason else cell


def format_doctor(output: str, status: int, minutes: float) -> str:
    """Return the cell for the doctor, from the last line of its output."""
    match = re.search(r"^(No problem|\d+ problems?) found", output, re.MULTILINE)
    if match:
        return match[1].lower()
    return describe_status(status, minutes) or f"no result (exit status {status})"


def format_time(microseconds: float | None) -> str:
    """Return the cell for a time, with two significant digits below 10 us."""
    if microseconds is None:
        return "no result"
    return f"{microseconds:,.1f} us" if microseconds < 10 else f"{microseconds:,.0f} us"


def runtime_version(platform: str, driver: str) -> str:
    """Return the short version of a runtime: PoCL's from its platform, otherwise the driver's without Debian's part."""
    match = re.search(r"PoCL (\d+(?:\.\d+)*)", platform)
    return match[1] if match else re.sub(r"[-+~ ].*", "", driver)


def format_table(rows: Iterable[tuple[str, ...]]) -> str:
    """Return a Markdown table with columns of equal width."""
    lines = [HEADINGS, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    first_right = len(HEADINGS) - RIGHT

    def format_line(cells: tuple[str, ...]) -> str:
        padded = (
            cell.rjust(width) if column >= first_right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return f"| {' | '.join(padded)} |"

    rule = tuple("-" * (width - 1) + (":" if column >= first_right else "-") for column, width in enumerate(widths))
    return "\n".join(format_line(line) for line in (lines[0], rule, *lines[1:]))


def parse_table(text: str) -> list[tuple[str, ...]]:
    """Return the rows of a Markdown table with the headings of this script."""
    cells = [
        tuple(cell.strip() for cell in line.strip().strip("|").split("|"))
        for line in text.splitlines()
        if line.lstrip().startswith("|")
    ]
    return [row for row in cells[2:] if len(row) == len(HEADINGS)]


def merge_rows(
    existing: Iterable[tuple[str, ...]], new: Iterable[tuple[str, ...]], order: Sequence[tuple[str, ...]]
) -> list[tuple[str, ...]]:
    """Replace the rows that were tested again, and keep the other rows. A step that was not run keeps its old cell."""
    merged = {row[:KEY]: row for row in existing}
    for row in new:
        old = merged.get(row[:KEY], row)
        same_versions = old[: KEY + 3] == row[: KEY + 3]
        merged[row[:KEY]] = tuple(
            before if cell == NOT_RUN and same_versions else cell for before, cell in zip(old, row, strict=True)
        )
    ranks = {key: rank for rank, key in enumerate(order)}
    return sorted(merged.values(), key=lambda row: ranks.get(row[:KEY], len(order)))


def replace_table(page: str, rows: Iterable[tuple[str, ...]], order: Sequence[tuple[str, ...]]) -> str:
    """Return the page with the rows merged into the table between the two marker comments."""
    if page.count(BEGIN) != 1 or page.count(END) != 1 or page.index(BEGIN) > page.index(END):
        raise ValueError(f"the page must contain {BEGIN} once, and {END} once after it")
    head, rest = page.split(BEGIN)
    table, tail = rest.split(END)
    return f"{head}{BEGIN}\n\n{format_table(merge_rows(parse_table(table), rows, order))}\n\n{END}{tail}"
