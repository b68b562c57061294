"""What the doctor finds, and how it is printed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

__all__ = ["NOTE", "OK", "PROBLEM", "Finding", "as_dicts", "lines"]

OK, NOTE, PROBLEM = "ok", "note", "problem"


class Finding(NamedTuple):
    """One thing that was looked at.

    Parameters
    ----------
    state : str
        OK; NOTE, which a user may want to know; or PROBLEM.
    what : str
        One line.
    mend : str
        What to type or to do; '' where nothing needs to be done.
    """

    state: str
    what: str
    mend: str = ""


def lines(title: str, found: Iterable[Finding]) -> list[str]:
    """Give a heading and a line for each finding, and one below it that says what mends it."""
    made = [title]
    for each in found:
        made.append(f"  {each.state:<8} {each.what}")
        if each.mend:
            made.append(f"  {'':<8} -> {each.mend}")
    return made


def as_dicts(found: Iterable[Finding]) -> list[dict[str, Any]]:
    """Give findings as plain values, for JSON."""
    return [each._asdict() for each in found]
