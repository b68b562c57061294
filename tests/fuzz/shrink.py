"""Makes a program that shows a difference as small as it gets: statements, operands, arrays."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from .compare import Difference
from .execute import confirmed, well_defined
from .program import Datum, Program, Statement, is_variable

Check = Callable[[Program], Difference | None]
VARIABLE = re.compile(r"\b[hv]\d+\b")


def shrunk(program: Program, found: Difference, seconds: float, check: Check = confirmed) -> tuple[Program, Difference]:
    """Give the smallest program found that differs in the same way.

    Parameters
    ----------
    seconds : float
        How long to look.
    check : function
        Runs a program and gives its difference.
    """
    end = time.monotonic() + seconds
    kept = replace(program, statements=program.statements[: found.statement + 1])
    again = _same(kept, found, check)
    program, found = (kept, again) if again else (program, found)
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for candidate in candidates(program):
            if time.monotonic() > end:
                break
            again = _same(candidate, found, check)
            if again is not None:
                program, found, progress = candidate, again, True
                break
    if program.order == "evaluated":  # as it comes it reads better
        lazy = replace(program, order="lazy")
        again = _same(lazy, found, check)
        program, found = (lazy, again) if again else (program, found)
    return program.used(), found


def _same(program: Program, found: Difference, check: Check) -> Difference | None:
    try:
        if not program.statements or len(well_defined(program).statements) != len(program.statements):
            return None
        again = check(program)
    except Exception:
        return None
    return again if again is not None and again.kind == found.kind else None


def candidates(program: Program) -> Iterator[Program]:
    """Smaller programs, the much smaller ones first."""
    count = len(program.statements)
    width = count // 2
    while width:
        for start in reversed(range(0, count, width)):
            candidate = program.without(start, start + width)
            if candidate.statements:
                yield candidate
        width //= 2
    if program.order == "mixed":
        yield replace(program, order="lazy")
    for k, statement in enumerate(program.statements):
        for text in simpler(statement, program, k):
            changed = replace(statement, text=text)
            yield replace(program, statements=(*program.statements[:k], changed, *program.statements[k + 1 :])).pruned()
    for k, datum in enumerate(program.data):
        for other in smaller(datum):
            yield replace(program, data=(*program.data[:k], other, *program.data[k + 1 :]))
    yield from narrowed(program)


def narrowed(program: Program) -> Iterator[Program]:
    """One extent smaller in all the data."""
    for extent in sorted({extent for one in program.data for extent in one.shape}, reverse=True):
        for to in {1, 2, extent // 2, extent - 1}:
            if 0 < to < extent:
                data = tuple(
                    replace(one, given=None, shape=tuple(to if e == extent else e for e in one.shape))
                    for one in program.data
                )
                yield replace(program, data=data)


def smaller(datum: Datum) -> Iterator[Datum]:
    """The same array with simpler numbers, or one of its axes shorter."""
    if datum.layout != "C":
        yield replace(datum, layout="C", given=None)
    if datum.profile != "tame" and datum.given is None:
        yield replace(datum, profile="tame")
    for axis, extent in enumerate(datum.shape):
        for to in (1, extent // 2, extent - 1):
            if 0 < to < extent:
                yield replace(datum, given=None, shape=(*datum.shape[:axis], to, *datum.shape[axis + 1 :]))
    if len(datum.shape) > 1:
        yield replace(datum, given=None, shape=datum.shape[1:])
    yield from plainer(datum)


def plainer(datum: Datum) -> Iterator[Datum]:
    """Zeros and ones in place of numbers."""
    if int(np.prod(datum.stored)) > 24:
        return
    drawn = list(datum.given) if datum.given is not None else datum.drawn().tolist()
    for number in (0, 1):
        wanted = [bool(number)] * len(drawn) if datum.dtype == "bool" else [number] * len(drawn)
        if drawn != wanted and datum.given is None:
            yield replace(datum, given=tuple(wanted))
    for k, number in enumerate(drawn):
        if number not in (0, 1):
            for to in (0, 1):
                yield replace(datum, given=(*drawn[:k], to, *drawn[k + 1 :]))


def simpler(statement: Statement, program: Program, place: int) -> Iterator[str]:
    """The statement with an argument less, or an earlier variable in place of one."""
    text = statement.text
    for keyword in re.finditer(r", \w+=(?:'\w*'|[\w.-]+)(?=[,)])", text):
        if not keyword[0].startswith(", out=") or "where=" not in text:  # what `where` leaves out is open without
            yield text[: keyword.start()] + text[keyword.end() :]
    made = statement.names.makes
    for used in VARIABLE.finditer(text):
        if used[0] in made or used[0] in statement.names.writes:
            continue
        for other in earlier(program, place):
            if other[0] == used[0][0] and int(other[1:]) < int(used[0][1:]):
                yield text[: used.start()] + other + text[used.end() :]


def earlier(program: Program, place: int) -> list[str]:
    names = [datum.name for datum in program.data]
    for statement in program.statements[:place]:
        names += sorted(filter(is_variable, statement.names.makes))
    return names[:4]
