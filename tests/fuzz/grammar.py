"""Draws programs: statement by statement, beside a NumPy that says what there is, then with other numbers and shapes.

Compiling takes most of the time, so a program is a *skeleton* that runs many times: what changes nothing in the kernels
(values, extents, layouts of the data, the order of evaluation) changes between its runs.

The grammar and its shrinker are our own, and not Hypothesis: what may come next depends on the shapes that NumPy has by
then; a skeleton must be run again with other data; a crash of the process must leave the program behind; and hours of
it run in many processes, each of which begins where it likes.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np

from .compare import Undetermined
from .execute import Oracle, first_undefined, guarded, told_by, too_large, well_defined
from .operations import GROUPS
from .program import LAYOUTS, Datum, Program, Statement
from .row import Operation
from .slots import ALL_DTYPES, NoFit, Scope
from .undefined import undefined
from .values import PROFILES

ORDERS = ("evaluated", "lazy", "mixed")
NOT_DISPATCHED = {
    "asarray",
    "array",
    "ascontiguousarray",
    "asfortranarray",
    "asanyarray",
    "asarray_chkfinite",
    "require",
}
NOT_DISPATCHED |= {"from_dlpack", "iterable", "isscalar"}
TRIES = 60  # rows that fit nothing, one after the other


def skeleton(rng: Random, shares: bool, length: int | None = None) -> Program:
    """Draw a program of 5 to 40 statements."""
    length = length or rng.choice((5, 8, 12, 16, 20, 28, 40))
    sizes = tuple(rng.sample((2, 3, 4, 5, 6, 7), 2)) + ((1,) if rng.random() < 0.4 else ())
    sizes += (0,) if rng.random() < 0.08 else ()
    dtypes = tuple(rng.sample(ALL_DTYPES, rng.choice((1, 2, 2, 3))))
    data = tuple(datum(rng, f"h{k}", sizes, dtypes) for k in range(rng.randrange(2, 5)))
    program = Program(data, ())
    for k, one in enumerate(data):
        shared = shares and rng.random() < 0.35
        text = f"v{k} = xp.{'asarray' if shared else 'array'}({one.name})"
        program = replace(program, statements=(*program.statements, Statement(text, text[5:].partition("(")[0])))
    return grown(rng, program, length, sizes, dtypes, shares)


def datum(rng: Random, name: str, sizes: tuple[int, ...], dtypes: tuple[str, ...]) -> Datum:
    rank = rng.choice((0, 1, 1, 1, 2, 2, 2, 3))
    shape = tuple(rng.choice(sizes) for _ in range(rank))
    layout = rng.choice(list(LAYOUTS)) if rank and rng.random() < 0.3 else "C"
    return Datum(name, rng.randrange(10**6), shape, rng.choice(dtypes), profile(rng), layout)


def profile(rng: Random) -> str:
    drawn = rng.random()
    return "edge" if drawn < 0.1 else rng.choice(PROFILES) if drawn < 0.55 else "tame"


def grown(
    rng: Random, program: Program, length: int, sizes: tuple[int, ...], dtypes: tuple[str, ...], shares: bool
) -> Program:
    """Add statements that NumPy defines; most of them raise nothing."""
    oracle = started(program)
    tries = 0
    while len(program.statements) < length + len(program.data) and tries < TRIES:
        statement = proposed(rng, Scope(rng, oracle.plain.variables(), sizes, dtypes), program, shares)
        tries += 1
        if statement is None or not guarded(statement, oracle.plain):
            continue
        try:
            error, told = told_by(oracle, statement)
            bad = undefined(statement, error, told, oracle.plain.names) or too_large(statement, oracle.plain)
        except Undetermined:
            bad, error = True, None
        if bad or (error is not None and rng.random() < 0.7):
            oracle = started(program)  # it may have written
            continue
        program, tries = replace(program, statements=(*program.statements, statement)), 0
    return program


def started(program: Program) -> Oracle:
    """NumPy after the program's statements."""
    oracle = Oracle(program)
    for statement in program.statements:
        told_by(oracle, statement)
    return oracle


def proposed(rng: Random, scope: Scope, program: Program, shares: bool) -> Statement | None:
    """Fill a row of the table, if there is something for each of its slots."""
    operation = chosen(rng, shares)
    kind = operation.template
    name = next_name(program, "h" if kind.startswith("h: ") else "v")
    try:
        text, guard = scope.fill(kind, operation.guard, name)
    except NoFit:
        return None
    text = text[1:] if text.startswith("!") else f"{name} = {text.removeprefix('h: ')}"
    if "xp.lib" not in text and rng.random() < 0.08 and text.count("xp.") == 1 and " = xp." in text:
        text = maybe_by_numpy(text, scope)
    try:
        compile(text, kind, "exec")
    except SyntaxError:
        return None
    power = "**" in text or "power(" in text or "pow(" in text  # whose complex error grows with that of its operands
    rounds = "operands" if power else operation.rounds
    return Statement(text, kind, guard, rounds)


def maybe_by_numpy(text: str, scope: Scope) -> str:
    """NumPy's own function, where its first argument is an array: it is clarray's then."""
    head, _, rest = text.partition("(")
    first = rest.split(",")[0].split(")")[0]
    if head.partition("xp.")[2] in NOT_DISPATCHED or first[:1] != "v":
        return text
    return f"{head.replace('xp.', 'np.')}({rest}" if isinstance(scope.values.get(first), np.ndarray) else text


def chosen(rng: Random, shares: bool) -> Operation:
    names = list(GROUPS)
    (group,) = rng.choices(names, [GROUPS[name][0] for name in names])
    table = [row for row in GROUPS[group][1] if shares or not row.shares]
    (operation,) = rng.choices(table, [row.weight for row in table])
    return operation


def next_name(program: Program, letter: str) -> str:
    used = {d.name for d in program.data}.union(*(s.names.makes for s in program.statements))
    return f"{letter}{max((int(name[1:]) for name in used if name[0] == letter), default=-1) + 1}"


# The same program again ---------------------------------------------------------------------------------


def variants(rng: Random, program: Program, count: int) -> list[Program]:
    """The program as it is in each order, then with other values, extents and layouts."""
    found = [replace(program, order="evaluated"), replace(program, order="lazy")]
    while len(found) < count:
        changed = replace(program, data=varied(rng, program), order=rng.choice(ORDERS))
        if first_undefined(changed) is not None:
            changed = well_defined(changed)
        found.append(changed)
    return found


def repeated(rng: Random, program: Program, repeats: int, count: int) -> list[Program]:
    """The program with other values, after so many runs that clarray repeats what it has kept of the calls."""
    found = []
    for _ in range(count):
        data = tuple(replace(one, seed=rng.randrange(10**6), profile=profile(rng)) for one in program.data)
        changed = replace(program, data=data, order=rng.choice(ORDERS), repeats=rng.choice((2, 40, repeats)))
        found.append(well_defined(changed) if first_undefined(changed) is not None else changed)
    return found


def varied(rng: Random, program: Program) -> tuple[Datum, ...]:
    sizes = sorted({extent for one in program.data for extent in one.shape})
    other = {extent: extent for extent in sizes}
    rank = max(len(one.shape) for one in program.data)
    if rng.random() < 0.6:
        larger = rng.random() < 0.1
        for extent in sizes:
            if extent > 1:
                other[extent] = rng.choice((extent, extent + 1, 2 * extent, 17, 33, 64 if rank < 3 else 40))
        if larger and sizes and rank < 3:
            other[max(sizes)] = rng.choice((300, 150) if rank == 2 else (1000, 30_000, 100_000))
        elif rank == 2 and rng.random() < 0.4:  # kernels of their own take several long rows at a time
            wide = (rng.choice((32, 40, 65, 150)), rng.choice((4, 5, 9, 37)))
            other |= zip([extent for extent in sizes[::-1] if extent > 1], wide, strict=False)
        if rng.random() < 0.03:
            other[rng.choice(sizes) if sizes else 0] = 0
    return tuple(
        replace(
            one,
            seed=rng.randrange(10**6),
            shape=tuple(other[extent] for extent in one.shape),
            profile=profile(rng),
            layout=rng.choice(list(LAYOUTS)) if one.shape and rng.random() < 0.2 else one.layout,
        )
        for one in program.data
    )
