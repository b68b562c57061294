"""Runs a program on NumPy and on clarray, side by side, and gives the first difference."""

from __future__ import annotations

import contextlib
import copy
import io
import pickle
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import clarray

from . import known
from .compare import Difference, Found, Undetermined, compare, compare_hosts, shown
from .follow import FOLLOWING, following, order_of, together, written_apart
from .program import Program, Statement, compiled, is_variable
from .values import values

LARGEST = 400_000  # elements of a result; a statement that makes more is left out
PRODUCTS = re.compile(  # what makes of n elements more than some n, or takes n * n steps
    r"outer|kron|meshgrid|ix_|diag|vander|convolve|correlate|cov|corrcoef|inner|tensordot|dot|mat|vec|@|einsum|poly|r_|c_"
)
EXTREMES = re.compile(r"(max|min|imum)\b.*\(")  # of complex NaN any may be the one
RUNNING = re.compile(r"cum|accumulate")  # NumPy adds one after the other: where terms repeat, so do the errors
AS_LARGEST = re.compile(r"unwrap\(")  # every element is rounded as its largest operand is, which it goes through
RUNS = 2  # of NumPy's with moved values, beside the one as it is
SHARED_WORK = 2_000  # for NumPy's exact answer whether arrays share memory

TOOLS = {"np": np, "values": values, "copy": copy, "pickle": pickle, "io": io}


class Side:
    """The variables of one run."""

    def __init__(self, xp: Any, program: Program) -> None:
        self.names: dict[str, Any] = {**TOOLS, "xp": xp}
        for datum in program.data:
            exec(compiled(datum.text, "exec"), self.names)

    def run(self, statement: Statement) -> Exception | None:
        try:
            with quiet():
                exec(statement.code, self.names)
        except Exception as error:
            return error
        return None

    def variables(self) -> dict[str, Any]:
        return {name: value for name, value in self.names.items() if is_variable(name)}


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


class Moved(Side):
    """NumPy with the inputs or the results of what rounds moved by some units in the last place."""

    def __init__(self, program: Program, seed: int) -> None:
        super().__init__(np, program)
        self.rng = np.random.default_rng(seed)
        self.upwards = bool(seed % 2)  # a sum's error grows with the sum of moduli: all terms one way
        self.way = {2: 1, 3: -1}.get(seed, 0)  # of two runs, one up and one down: on both sides of every step
        self.running = False

    def run(self, statement: Statement) -> Exception | None:
        names = statement.names
        rounds = self.rounding(statement)
        self.running = bool(RUNNING.search(statement.text))
        if not rounds:
            error = super().run(statement)
            for name in names.makes if EXTREMES.search(statement.text) and self.any_complex(names.makes) else ():
                self.names[name] = opened(self.names[name], 1.0 if self.upwards else -1.0)
            return error
        kept: dict[str, Any] = {}
        if rounds == "operands":
            for name in (names.reads - names.writes) & self.names.keys():
                kept[name] = self.names[name]
                self.names[name] = self.moved(kept[name], many=True)
            for name in names.writes & self.names.keys():
                self.settled(self.names[name], many=True)
        error = super().run(statement)
        self.names.update(kept)
        if error is None and not names.writes:
            self.run_wider(statement)
        largest = self.largest(names.reads) if AS_LARGEST.search(statement.text) else 0.0
        if error is None and (rounds != "complex" or self.any_complex(names.reads | names.makes)):
            coarse = self.coarsest(names.reads) if names.writes else 0.0
            for name in names.makes | names.writes:
                self.names[name] = self.settled(self.names[name], least=coarse)
                if largest:
                    self.names[name] = self.moved(self.names[name], many=True, by=largest)
        for name in names.makes | names.writes if error is None else ():
            self.names[name] = opened(self.names[name], 1.0 if self.upwards else -1.0)
        return error

    def rounding(self, statement: Statement) -> str:
        """Where a statement rounds; differences of products are those of operands where NumPy's are complex."""
        if statement.rounds != "complex operands":
            return statement.rounds
        return "operands" if self.any_complex(statement.names.reads) else ""

    def run_wider(self, statement: Statement) -> None:
        """Again, in wider floats, where NumPy adds integers, or 1 to a complex number, or sums up float16."""
        arrays = (np.ndarray, np.generic)
        made = {name: self.names[name] for name in statement.names.makes}
        dtypes = {value.dtype for value in made.values() if isinstance(value, arrays)}
        if len(made) != 1 or not dtypes or (dtype := dtypes.pop()).kind not in "fc":
            return
        many = self.rounding(statement) == "operands"
        if not many and not ("log1p(" in statement.text if dtype.kind == "c" else "i0(" in statement.text):
            return
        wide = np.result_type(dtype, np.float32 if many or dtype.kind == "f" else np.clongdouble)
        operands = {n: self.names[n] for n in statement.names.reads if isinstance(self.names.get(n), arrays)}
        wider = {n: v.astype(np.result_type(v.dtype, wide)) for n, v in operands.items()}
        if all(wider[n].dtype == v.dtype for n, v in operands.items()):
            return
        least = float(np.finfo(dtype).eps)
        self.names.update({n: self.moved(v, many=True, least=least) if many else v for n, v in wider.items()})
        error = super().run(statement)
        self.names.update(operands)
        ((name, value),) = made.items()
        found = self.names[name]
        same = error is None and isinstance(found, arrays) and found.dtype in (dtype, wide)
        with quiet():
            self.names[name] = found.astype(dtype) if same else value

    def coarsest(self, names: Iterable[str]) -> float:
        """The epsilon that a function computes in, whatever it writes to."""
        dtypes = [self.names[name].dtype for name in names if isinstance(self.names.get(name), np.ndarray)]
        found = [np.result_type(d, np.float16) for d in dtypes]  # what NumPy computes the sine of an integer in
        return max((float(np.finfo(d).eps) for d in found), default=0.0)

    def largest(self, names: Iterable[str]) -> float:
        """The largest modulus that a statement reads."""
        arrays = [self.names[name] for name in names if isinstance(self.names.get(name), np.ndarray)]
        finite = [np.abs(a[np.isfinite(a)].astype(np.complex128)) for a in arrays]
        return max((float(a.max()) for a in finite if a.size), default=0.0)

    def any_complex(self, names: Iterable[str]) -> bool:
        return any(np.iscomplexobj(self.names.get(name, 0)) for name in names)

    def settled(self, value: Any, many: bool = False, least: float = 0.0) -> Any:
        """An array, moved where it lies; anything else moved."""
        if isinstance(value, np.ndarray):
            if value.flags.writeable:
                value[...] = self.moved(value, many, least)
            return value
        return self.moved(value, many, least)

    def moved(self, value: Any, many: bool = False, least: float = 0.0, by: float = 0.0) -> Any:
        """A value with other last places: of its own, or of a number of the size `by`."""
        if isinstance(value, tuple | list) and type(value) in (tuple, list):
            return type(value)(self.moved(v, many) for v in value)
        if isinstance(value, float | complex) and not isinstance(value, np.generic):
            return type(value)(self.moved(np.asarray(value)).item())
        if not isinstance(value, np.ndarray | np.generic) or value.dtype.kind not in "fc" or not value.size:
            return value
        units = 2 + max(np.sqrt(value.size) / 2, value.size / 40 if self.running else 0) if many else 1.0
        eps = max(float(np.finfo(value.dtype).eps), least)
        steps = self.rng.uniform(1, 4, value.shape) * units
        if not many and self.way:
            steps *= self.way
        elif not (many and self.upwards):
            steps *= self.rng.choice([-1, 1], value.shape)
        with quiet():
            if value.dtype.kind == "c":
                turn = np.exp(2j * np.pi * self.rng.random(value.shape))
                shift = np.abs(value) * (steps * eps) * turn
            else:
                size = np.full_like(value, by) if by else np.abs(value) if many and self.upwards else value
                shift = (size * (steps * eps)).astype(value.dtype)
            limits = np.finfo(value.dtype)
            few = (value != 0) & (np.abs(value) < limits.tiny)  # bits: their unit is no part of the value
            shift = np.where(few, np.copysign(np.ceil(np.abs(steps / units)), steps) * limits.smallest_subnormal, shift)
            result = np.where(np.isfinite(value), value + shift, value).astype(value.dtype)
        return result if isinstance(value, np.ndarray) else result[()]


def opened(value: Any, sign: float) -> Any:
    """A result of arithmetic with other bits where IEEE and C leave them open.

    A NaN has any sign and payload, and of a complex number that is not finite either part may be NaN, or infinite.
    """
    if isinstance(value, tuple | list) and type(value) in (tuple, list):
        return type(value)(opened(v, sign) for v in value)
    if isinstance(value, np.generic):
        return opened(np.array(value), sign)[()]
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fc" or not value.flags.writeable:
        return value
    odd = np.isnan(value) if value.dtype.kind == "f" else ~np.isfinite(value)
    parts = (value.real, value.imag) if value.dtype.kind == "c" else (value,)
    for part in parts:
        nan = np.frombuffer(b"\xff" * part.itemsize, part.dtype)[0]
        part[odd] = np.copysign(np.inf if len(parts) == 2 and sign < 0 else nan, part.dtype.type(sign))
    return value


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
    """Without the statements whose result NumPy leaves open: see `known.UNDEFINED`."""
    for _ in range(len(program.statements) + 1):
        bad = first_undefined(program)
        if bad is None:
            return program
        program = program.without(bad, bad + 1)
    return program


def first_undefined(program: Program) -> int | None:
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
        if known.undefined(statement, error, told, oracle.plain.names) or too_large(statement, oracle.plain):
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
    if not in_reach(statement, side):
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
    shapes = [a.shape for a in arrays if isinstance(a, np.ndarray)]
    if PRODUCTS.search(statement.text):
        sizes = sorted(int(np.prod(shape)) for shape in shapes)
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
        if (k * 7 + len(program.statements)) % 3 == 0:
            evaluate([ours.names[name] for name in statement.names.makes])
        return None
    try:
        evaluate([ours.names[name] for name in statement.names.makes])
    except Exception as error:
        return Difference("raised", k, "", "no error", f"raised {error!r} when evaluated")
    return differing(k, oracle, ours, program)


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
            if statement is not None:
                compare_memory(theirs, ours.names[name], statement.layout and all_in_order(statement, oracle, ours))
        except Undetermined:
            continue
        except Found as found:
            difference = Difference(found.kind, place, name, found.theirs, found.ours, found.how)
            if difference.kind in FOLLOWING or not accepted(difference, statement or program.statements[k], oracle):
                listed.append(difference)
        except Exception as error:
            listed.append(Difference("raised", k, name, "a value", f"raised {shown(error)} when read", detail=error))
    return listed


def meant(found: list[Difference], k: int, oracle: Oracle, ours: Side, program: Program) -> set[str]:
    """The variables of which differences are meant, or follow from such."""
    run = program.statements[: k + 1]
    names = oracle.plain.names
    first = written_apart(replace(program, statements=run), names, ours.names)
    for difference in found:
        near = together([difference.name], names)
        if any(accepted(difference, s, oracle) for s in run if near & (s.names.makes | s.changes)):
            first.add(difference.name)
    return following(run, first, names) if first else set()


def opened_before(k: int, oracle: Oracle, ours: Side, program: Program) -> bool:
    """Whether statement `k` reads what differs, and is meant to."""
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


def compare_memory(theirs: Any, ours: Any, in_order: bool) -> None:
    """Whether it may be written, and where NumPy says so, in which order it lies."""
    if not isinstance(theirs, np.ndarray) or not isinstance(ours, clarray.DeviceArray):
        return
    if theirs.flags.writeable != ours.flags.writeable:
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
