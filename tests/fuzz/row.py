"""A row of the table of operations."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Operation:
    """A row of the table; `program.Statement` says what `guard` and `rounds` are."""

    template: str
    weight: float = 1
    guard: str = ""
    rounds: str = ""
    shares: bool = False  # only where a device shares the host's memory


def rows(text: str, rounds: str = "", shares: bool = False, weight: float = 1) -> list[Operation]:
    """Operations of a table in text; what follows `##` is the guard."""
    found = []
    for line in filter(None, map(str.strip, text.splitlines())):
        head, bar, rest = line.partition("| ")
        factor, template = (float(head), rest) if bar and head.replace(".", "").isdigit() else (1.0, line)
        template, _, guard = template.partition("  ## ")
        found.append(Operation(template.strip(), factor * weight, guard.strip(), rounds, shares))
    return found
