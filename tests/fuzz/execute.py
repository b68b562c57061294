"""Runs a program on NumPy and on clarray, side by side, and gives the first difference."""

from __future__ import annotations

import contextlib
import re
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

import clarray
from tests import both_ways

from . import known
from .compare import Difference, Found, Undetermined, compare, compare_hosts, keep_range, left_open, shown
from .follow import FOLLOWING, following, looks_at_order, order_of, together, written_apart
from .program import Program, Statement, compiled
from .sides import Moved, Side, quiet
from .undefined import undefined

LARGEST = 400_000  # elements of a result; a statement that makes more is left out
# NumPy 2.4 ends the process: np.less(np.zeros(5, "u4"), -2, where=np.ones(5, bool), out=np.zeros(5, bool)).
AT = re.compile(r"\w\.at\((\w+),")  # as many rows as there are indices, one element after the other
ENDS_NUMPY = re.compile(r"\b(less|less_equal|greater|greater_equal|equal|not_equal)\([^=]*\b\d+\b.*where=")
PRODUCTS = re.compile(  # what makes of n elements more than some n, or takes n * n steps
    r"outer|kron|meshgrid|ix_|diag|tri[lu]|vander|convolve|correlate|cov|corrcoef|inner|tensordot|dot|mat|vec|@|einsum|poly|r_|c_"
)
SUMS = re.compile(r"\b(nan|cum)?(sum|prod|mean|var|std)\(|cumulative_(sum|prod)\(")  # no NaN of finite numbers
RUNS = 2  # of NumPy's with moved values, beside the one as it is
SHARED_WORK = 2_000  # for NumPy's exact answer whether arrays share memory


class Oracle:
    """NumPy's runs of a program: one as it is, and moved ones."""

    def __init__(self, program: Program, runs: int = RUNS) -> None:
        self.plain = Side(np, program)
        self.moved = [Moved(program, seed) for seed in range(runs)]

    def run(self, statement: Statement) -> Exception | None:
        error = self.plain.run(statement)
        for side in self.moved:
            if type(side.run(statement)) is not type(error):
                raise Undetermined
        return error


def well_defined(program: Program) -> Program:
    """Without the statements whose result NumPy leaves open: see `undefined`."""
    for _ in range(len(program.statements) + 1):
        bad = first_undefined(program)
        if bad is None:
            return program
        program = program.without(bad, bad + 1)
    return program


def first_undefined(program: Program) -> int | None:
    if program.repeats and (earlier := first_undefined(program.earlier())) is not None:
        return earlier
    try:
        oracle = Oracle(program)
    except Exception:  # a shape of the data that its layout does not fit
        return 0 if program.statements else None
    for k, statement in enumerate(program.statements):
        if not guarded(statement, oracle.plain):
            return k
        try:
            error, told = told_by(oracle, statement)
        except Undetermined:
            return k
        if undefined(statement, error, told, oracle.plain.names) or too_large(statement, oracle.plain):
            return k
    return None


def told_by(oracle: Oracle, statement: Statement) -> tuple[Exception | None, list[str]]:
    """NumPy's error and warnings."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore", invalid="warn"):
        warnings.simplefilter("always")
        error = None
        try:
            exec(statement.code, oracle.plain.names)
        except Exception as raised:
            error = raised
    for side in oracle.moved:
        if type(side.run(statement)) is not type(error):
            raise Undetermined
    return error, [str(w.message) for w in caught]


def guarded(statement: Statement, side: Side) -> bool:
    """Whether a statement may be run: its guard says so, and its result is not large beyond reason."""
    if ENDS_NUMPY.search(statement.text) or not in_reach(statement, side):
        return False
    if not statement.guard:
        return True
    try:
        with quiet():
            return bool(eval(compiled(statement.guard, "eval"), {**side.names, **known.GUARDS}))
    except Exception:
        return False


def in_reach(statement: Statement, side: Side) -> bool:
    """Whether what a statement makes, by its operands' shapes, is not too large even to be tried."""
    arrays = [side.names.get(name) for name in statement.names.reads]
    updated = AT.search(statement.text)
    if updated is not None and isinstance(target := side.names.get(updated[1]), np.ndarray):
        return max(map(np.size, arrays), default=1) * int(np.prod(target.shape[1:])) <= LARGEST
    shapes = [a.shape for a in arrays if isinstance(a, np.ndarray)]
    if PRODUCTS.search(statement.text):
        sizes = sorted(int(np.prod(np.maximum(shape, 1))) for shape in shapes)  # (9, 0) by (0, 9) makes 81
        return not sizes or sizes[-1] * sizes[-2 if len(sizes) > 1 else -1] <= LARGEST
    try:
        return int(np.prod(np.broadcast_shapes(*shapes))) <= LARGEST
    except ValueError:
        return True


def too_large(statement: Statement, side: Side) -> bool:
    made = (side.names.get(name) for name in statement.names.makes)
    return any(isinstance(value, np.ndarray) and value.size > LARGEST for value in made)


def first_difference(program: Program, runs: int = RUNS) -> Difference | None:
    """Run a program, whose statements are all defined, on both sides."""
    if not program.repeats:
        return compared(program, runs)
    with both_ways.paused():  # as users have it
        for _ in range(program.repeats):
            run_alone(program.earlier())
        return compared(program, runs)


def run_alone(program: Program) -> None:
    """Run a program on clarray and compare nothing."""
    ours = Side(clarray, program)
    with contextlib.suppress(Exception):  # which the comparison finds
        for k, statement in enumerate(program.statements):
            if ours.run(statement) is None and evaluates(program, k):
                evaluate([ours.names[name] for name in statement.names.makes])
        evaluate(list(ours.variables().values()))


def compared(program: Program, runs: int) -> Difference | None:
    oracle, ours = Oracle(program, runs), Side(clarray, program)
    for k, statement in enumerate(program.statements):
        try:
            expected = oracle.run(statement)
        except Undetermined:
            return None
        found = compare_errors(k, expected, ours.run(statement))
        if found is None and expected is None and program.order != "lazy":
            found = step(program, k, oracle, ours)
        if found is not None and not accepted(found, statement, oracle) and not opened_before(k, oracle, ours, program):
            return found
        if found is not None:
            return None  # what follows a known difference is not compared
    return differing(len(program.statements) - 1, oracle, ours, program)


def step(program: Program, k: int, oracle: Oracle, ours: Side) -> Difference | None:
    """What is done after a statement that is not left as it comes."""
    statement = program.statements[k]
    if program.order == "mixed":
        if evaluates(program, k):
            evaluate([ours.names[name] for name in statement.names.makes])
        return None
    try:
        evaluate([ours.names[name] for name in statement.names.makes])
    except Exception as error:
        return Difference("raised", k, "", "no error", f"raised {error!r} when evaluated")
    return differing(k, oracle, ours, program)


def evaluates(program: Program, k: int) -> bool:
    """Whether what statement `k` makes is evaluated at once."""
    if program.order == "mixed":
        return (k * 7 + len(program.statements)) % 3 == 0
    return program.order == "evaluated"


def evaluate(value: Any) -> None:
    if isinstance(value, clarray.DeviceArray):
        value.evaluate()
    elif isinstance(value, tuple | list):
        for one in value:
            evaluate(one)


def compare_errors(k: int, expected: Exception | None, error: Exception | None) -> Difference | None:
    if expected is None and error is not None:
        return Difference("raised", k, "", "no error", f"raised {shown(error)}", detail=error)
    if expected is not None and error is None:
        return Difference("not raised", k, "", f"raised {shown(expected)}", "no error", detail=expected)
    if expected is not None and not isinstance(error, wanted_type(expected)):
        return Difference("raised", k, "", f"raised {shown(expected)}", f"raised {shown(error)}", detail=error)
    return None


def wanted_type(error: Exception) -> type:
    """The nearest type that is public; NumPy's private ones show the name of their base."""
    return next(t for t in type(error).__mro__ if "._" not in t.__module__)


def differing(k: int, oracle: Oracle, ours: Side, program: Program) -> Difference | None:
    """Compare every variable; statement `k` was the last to run."""
    found = differences(k, oracle, ours, program)
    if found:
        open_ = meant(found, k, oracle, ours, program)
        for difference in found:
            if difference.name not in open_ or difference.kind not in FOLLOWING:
                return difference
    return sharing(k, oracle, ours, program)


def differences(k: int, oracle: Oracle, ours: Side, program: Program) -> list[Difference]:
    """What is not NumPy's of all variables, whether it is meant or not."""
    made_by = {name: s for s in program.statements[: k + 1] for name in s.names.makes}
    listed = []
    for name, theirs in oracle.plain.variables().items():
        statement = made_by.get(name)
        place = k if program.order == "evaluated" else program.statements.index(statement) if statement else 0
        try:
            moved = [side.names[name] for side in oracle.moved]
            if name[0] == "h" and isinstance(theirs, np.ndarray):
                compare_hosts(theirs, ours.names[name], moved)
            else:
                compare(theirs, ours.names[name], moved)
            if statement is program.statements[k] and program.order == "evaluated" and keeps_range(statement, oracle):
                keep_range(theirs, ours.names[name])
            if statement is not None:
                compare_memory(
                    theirs,
                    ours.names[name],
                    all_in_order(statement, oracle, ours),
                    not is_of_another_flag(name, statement, oracle, ours),
                )
        except Undetermined:
            continue
        except Found as found:
            difference = Difference(found.kind, place, name, found.theirs, found.ours, found.how)
            if difference.kind in FOLLOWING or not accepted(difference, statement or program.statements[k], oracle):
                listed.append(difference)
        except Exception as error:
            listed.append(Difference("raised", k, name, "a value", f"raised {shown(error)} when read", detail=error))
    return listed


def keeps_range(statement: Statement, oracle: Oracle) -> bool:
    """Whether a statement adds or multiplies finite numbers, so that nothing of it is NaN."""
    operands = map(oracle.plain.names.get, statement.names.reads)
    arrays = [a for a in operands if isinstance(a, np.ndarray | np.generic) and a.dtype.kind in "biufc"]
    return bool(
        not statement.names.writes
        and SUMS.search(statement.text)
        and arrays
        and all(np.isfinite(a).all() for a in arrays)
    )


def meant(found: list[Difference], k: int, oracle: Oracle, ours: Side, program: Program) -> set[str]:
    """The variables of which differences are meant, or follow from such."""
    run = program.statements[: k + 1]
    names = oracle.plain.names
    first = written_apart(replace(program, statements=run), names, ours.names)
    for statement in run:
        if looks_at_order(statement, names, ours.names):
            first |= statement.names.makes
    first |= {
        name
        for name, theirs in oracle.plain.variables().items()
        if name in ours.names and left_open(theirs, ours.names[name])
    }
    for difference in found:
        near = together([difference.name], names)
        if any(accepted(difference, s, oracle) for s in run if near & (s.names.makes | s.changes)):
            first.add(difference.name)
    return following(run, first, names) if first else set()


def opened_before(k: int, oracle: Oracle, ours: Side, program: Program) -> bool:
    """Whether statement `k` reads what differs, and is meant to, or lies otherwise where it looks at that."""
    if looks_at_order(program.statements[k], oracle.plain.names, ours.names):
        return True
    found = differences(k - 1, oracle, ours, program)
    return bool(found and meant(found, k - 1, oracle, ours, program) & program.statements[k].names.reads)


def accepted(difference: Difference, statement: Statement, oracle: Oracle) -> bool:
    return known.accepted(difference, statement, oracle.plain.names) is not None


def all_in_order(statement: Statement, oracle: Oracle, ours: Side) -> bool:
    """Whether what a statement reads lies as NumPy's arrays do, which NumPy does not say of all."""
    for name in statement.names.reads:
        theirs, mine = oracle.plain.names.get(name), ours.names.get(name)
        if (
            isinstance(theirs, np.ndarray)
            and theirs.size
            and (
                order_of(theirs) != order_of(mine) or 0 in order_of(theirs)  # elements that repeat have no order
            )
        ):
            return False
    return True


def is_of_another_flag(name: str, statement: Statement, oracle: Oracle, ours: Side) -> bool:
    """Whether NumPy's result is a view of something read whose flag differs already: it has the flag of that."""
    made = oracle.plain.names.get(name)
    for read in statement.names.reads if isinstance(made, np.ndarray) else ():
        theirs, mine = oracle.plain.names.get(read), ours.names.get(read)
        if isinstance(theirs, np.ndarray) and isinstance(mine, clarray.DeviceArray):
            is_view = known.whole(made) is known.whole(theirs)
            if is_view and theirs.flags.writeable != mine.flags.writeable:
                return True
    return False


def compare_memory(theirs: Any, ours: Any, in_order: bool, as_writable: bool) -> None:
    """Whether it may be written, and where NumPy says so, in which order it lies."""
    if not isinstance(theirs, np.ndarray) or not isinstance(ours, clarray.DeviceArray):
        return
    if as_writable and theirs.flags.writeable != ours.flags.writeable:
        raise Found("writeable", theirs.flags.writeable, ours.flags.writeable)
    if in_order and theirs.size and order_of(theirs) != order_of(ours):
        raise Found("layout", theirs.strides, ours.strides, f"of shape {theirs.shape}")


def sharing(k: int, oracle: Oracle, ours: Side, program: Program) -> Difference | None:
    """Whether what a statement made is one of the variables that it read, or shares memory with it."""
    names = program.statements[k].names if k >= 0 else None
    if names is None or program.order != "evaluated":
        return None
    for name in names.makes:
        for other in names.reads:
            pairs = [side.names.get(n) for side in (oracle.plain, ours) for n in (name, other)]
            if not all(isinstance(a, np.ndarray) and a.size for a in pairs[:2]):
                continue
            if not all(isinstance(a, clarray.DeviceArray) for a in pairs[2:]):
                continue
            with contextlib.suppress(np.exceptions.TooHardError):
                theirs = [pairs[0] is pairs[1], np.shares_memory(*pairs[:2], max_work=SHARED_WORK)]
                mine = [pairs[2] is pairs[3], clarray.shares_memory(*pairs[2:], max_work=SHARED_WORK)]
                if order_of(pairs[1]) != order_of(pairs[3]):  # whether a view is possible is another question then
                    if looks_at_order(program.statements[k], oracle.plain.names, ours.names):
                        continue
                    theirs, mine = theirs[:1], mine[:1]
                if theirs != mine:
                    found = Difference("shares", k, name, f"(is, shares): {theirs} with {other}", str(mine))
                    if not accepted(found, program.statements[k], oracle):
                        return found
    return None


def confirmed(program: Program) -> Difference | None:
    """The difference, if it is there still when NumPy's own spread is known better."""
    found = first_difference(program)
    if found is not None and found.kind == "value":
        found = first_difference(program, runs=12)
    return found


def with_order(program: Program, order: str) -> Program:
    return replace(program, order=order)
