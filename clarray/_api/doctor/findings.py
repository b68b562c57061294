"""Findings of the doctor, and their text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

__all__ = ["NOTE", "OK", "PROBLEM", "Finding", "as_dicts", "lines"]

OK, NOTE, PROBLEM = "ok", "note", "problem"


class Finding(NamedTuple):
    """The outcome of a check.

    Parameters
    ----------
    state : str
        OK, NOTE or PROBLEM.
    what : str
        The finding, on one line.
    mend : str
        The remedy, a command or an action, or ''.
    """

    state: str
    what: str
    mend: str = ""


def lines(title: str, findings: Iterable[Finding]) -> list[str]:
    """Return a heading and a line for each finding, followed by a line with its remedy."""
    text_lines = [title]
    for finding in findings:
        text_lines.append(f"  {finding.state:<8} {finding.what}")
        if finding.mend:
            text_lines.append(f"  {'':<8} -> {finding.mend}")
    return text_lines


def as_dicts(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Convert findings to dictionaries, for JSON."""
    return [finding._asdict() for finding in findings]
