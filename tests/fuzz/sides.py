"""The sides of a comparison: a run of a program, and NumPy's own with what rounds moved, which says how exact it is."""

from __future__ import annotations

import contextlib
import copy
import io
import pickle
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from .program import Program, Statement, compiled, is_variable
from .values import values

EXTREMES = re.compile(r"(max|min|imum)\b.*\(")  # of complex NaN, and of zeros of both signs, any may be the one
# NumPy goes on from one to the next: where terms repeat, so do the errors. Only sums it adds by pairs.
RUNNING = re.compile(r"cum|accumulate|prod\(|multiply\.reduce")
SORTING = re.compile(r"sort|partition|unique|median|quantile|percentile|\b(union|intersect|setxor|setdiff)1d")
AS_LARGEST = re.compile(r"unwrap\(|logaddexp2?\(")  # every element is rounded as the largest number it goes through is
STEPWISE = re.compile(r"logaddexp2?\.reduce")  # the result so far is rounded at every step, whatever its terms are

Signs = Callable[[tuple[int, ...]], np.ndarray]
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
        self.seed = seed
        self.toss = np.random.default_rng([seed, 1])
        self.upwards = bool(seed % 2)  # a sum's error grows with the sum of moduli: all terms one way
        # of two runs, one makes all larger and one smaller, both parts of what is complex: on both sides of every step
        self.way = {2: 1, 3: -1}.get(seed, 0)
        self.running = False
        self.infinite = seed % 4 != 1  # what is not finite, with either sign, is NaN in the other runs
        self.exact = seed in (6, 7, 8)  # what is computed of moved numbers is as NumPy rounds it: equal to one perhaps
        self.snaps = seed in (4, 5)  # what another way of rounding makes exact, these runs do

    def signs(self, shape: tuple[int, ...]) -> np.ndarray:
        """Signs of what may have either: in two runs all the same, in the others any."""
        if self.seed < 2:
            return np.full(shape, 1.0 if self.upwards else -1.0)
        return self.toss.choice([-1.0, 1.0], shape)

    def run(self, statement: Statement) -> Exception | None:
        names = statement.names
        known = names.reads | names.writes
        sorts = SORTING.search(statement.text)
        equal = sorts or EXTREMES.search(statement.text)
        mixed = equal and any(map(has_both_zeros, map(self.names.get, known)))
        rounds = self.rounding(statement)
        error = self.run_rounding(statement, rounds) if rounds else super().run(statement)
        if error is not None:
            return error
        if rounds or (EXTREMES.search(statement.text) and self.any_complex(names.makes)):
            for name in names.makes | names.writes if rounds else names.makes:
                self.names[name] = opened(self.names[name], self.signs, self.infinite)
        if sorts:  # NumPy's vectorised sorts forget which NaN it was
            for name in names.makes | names.writes | statement.changes:
                self.names[name] = opened(self.names[name], self.signs, self.infinite)
        if mixed or rounds == "operands":
            for name in names.makes | names.writes | statement.changes:
                self.names[name] = zeros_signed(self.names[name], self.signs, "fc" if mixed else "c")
        return None

    def run_rounding(self, statement: Statement, rounds: str) -> Exception | None:
        """Run a statement with its operands moved, where it rounds those, and move its results."""
        names = statement.names
        self.running = bool(RUNNING.search(statement.text))
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
        if STEPWISE.search(statement.text):
            largest = self.largest(names.makes) * self.most(names.reads) / 40
        if error is None and (rounds != "complex" or self.any_complex(names.reads | names.makes)):
            coarse = self.coarsest(names.reads) if names.writes else 0.0
            for name in names.makes | names.writes:
                self.names[name] = self.settled(self.names[name], least=coarse)
                if largest:
                    self.names[name] = self.moved(self.names[name], many=True, by=largest)
                if self.snaps:
                    self.names[name] = snapped(self.names[name])
        if error is None and self.snaps and rounds == "operands" and not names.writes:
            self.cancel(statement)
        return error

    def cancel(self, statement: Statement) -> None:
        """Let terms that nearly cancel do so: of the operands' moduli a statement makes what its errors grow with."""
        operands = {n: v for n in statement.names.reads if isinstance(v := self.names.get(n), np.ndarray | np.generic)}
        made = {name: self.names[name] for name in statement.names.makes}
        self.names.update({n: np.abs(v) for n, v in operands.items() if v.dtype.kind in "ifc"})
        error = super().run(statement)
        sizes = {name: self.names.get(name) for name in made}
        self.names.update(operands | made)
        for name, value in made.items():
            size = sizes[name]
            arrays = all(isinstance(x, np.ndarray | np.generic) and x.dtype.kind in "fc" for x in (value, size))
            if error is not None or not arrays or size.shape != value.shape:
                continue
            with quiet():
                lost = np.abs(value) <= 32 * np.finfo(value.dtype).eps * np.abs(size)
            if isinstance(value, np.generic):
                self.names[name] = value.dtype.type(0) if lost else value
            elif value.flags.writeable:
                value[lost] = 0

    def rounding(self, statement: Statement) -> str:
        """Where a statement rounds; differences of products are those of operands where NumPy's are complex."""
        if statement.rounds == "complex" and self.exact:
            return ""
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
        wide = np.result_type(dtype, np.float32 if many else np.float64 if dtype.kind == "f" else np.clongdouble)
        operands = {n: self.names[n] for n in statement.names.reads if isinstance(self.names.get(n), arrays)}
        wider = {n: v.astype(np.result_type(v.dtype, wide)) for n, v in operands.items()}
        if all(wider[n].dtype == v.dtype for n, v in operands.items()):
            return
        least = float(np.finfo(dtype).eps)
        self.names.update({n: self.moved(v, many=True, least=least) if many else v for n, v in wider.items()})
        text = re.sub(r"dtype='complex\d+'", f"dtype={wide.name!r}", statement.text)
        error = super().run(replace(statement, text=text))
        self.names.update(operands)
        ((name, value),) = made.items()
        found = self.names[name]
        if not many and dtype.kind == "c" and error is None and len(wider) == 1:
            (given,) = wider.values()  # of what is lost beside 1 the logarithm is it
            found = np.where(np.abs(given) < least, given, found) if np.shape(given) == np.shape(found) else found
        same = error is None and isinstance(found, arrays) and found.dtype in (dtype, wide)
        with quiet():
            self.names[name] = found.astype(dtype) if same else value

    def coarsest(self, names: Iterable[str]) -> float:
        """The epsilon that a function computes in, whatever it writes to."""
        dtypes = [self.names[name].dtype for name in names if isinstance(self.names.get(name), np.ndarray)]
        found = [np.result_type(d, np.float16) for d in dtypes]  # what NumPy computes the sine of an integer in
        return max((float(np.finfo(d).eps) for d in found), default=0.0)

    def largest(self, names: Iterable[str]) -> float:
        """The largest modulus among variables."""
        values = map(self.names.get, names)
        arrays = [np.asarray(value) for value in values if isinstance(value, np.ndarray | np.generic)]
        finite = [np.abs(a[np.isfinite(a)].astype(np.complex128)) for a in arrays]
        return max((float(a.max()) for a in finite if a.size), default=0.0)

    def most(self, names: Iterable[str]) -> int:
        """The number of elements of the largest array that a statement reads."""
        return max((np.size(self.names[name]) for name in names if name in self.names), default=0)

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
        if self.way:
            steps *= self.way
        elif not (many and self.upwards):
            steps *= self.rng.choice([-1, 1], value.shape)
        with quiet():
            if value.dtype.kind == "c":
                turn = np.exp(
                    2j * np.pi * (0.125 if self.way else self.rng.random(value.shape))
                )  # or both parts one way
                shift = np.abs(value) * (steps * eps) * turn
            else:
                upwards = many and self.upwards and not self.way
                size = np.full_like(value, by) if by else np.abs(value) if upwards else value
                shift = (size * (steps * eps)).astype(value.dtype)
            limits = np.finfo(value.dtype)
            few = (value != 0) & (np.abs(value) < limits.tiny)  # bits: their unit is no part of the value
            shift = np.where(few, np.copysign(np.ceil(np.abs(steps / units)), steps) * limits.smallest_subnormal, shift)
            result = np.where(np.isfinite(value), value + shift, value).astype(value.dtype)
        return result if isinstance(value, np.ndarray) else result[()]


def opened(value: Any, signs: Signs, infinite: bool) -> Any:
    """A result of arithmetic with other bits where IEEE and C leave them open.

    A NaN has any sign and payload, and of a complex number that is not finite either part may be NaN, or infinite.
    """
    if isinstance(value, tuple | list) and type(value) in (tuple, list):
        return type(value)(opened(v, signs, infinite) for v in value)
    if isinstance(value, np.generic):
        return opened(np.array(value), signs, infinite)[()]
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fc" or not value.flags.writeable:
        return value
    odd = np.isnan(value) if value.dtype.kind == "f" else ~np.isfinite(value)
    parts = (value.real, value.imag) if value.dtype.kind == "c" else (value,)
    for part in parts:
        nan = np.frombuffer(b"\xff" * part.itemsize, part.dtype)[0]
        wild = np.inf if len(parts) == 2 and infinite else nan
        part[odd] = np.copysign(wild, signs(part.shape).astype(part.dtype))[odd]
    return value


def snapped(value: Any) -> Any:
    """Numbers that lie within some units of a quarter are it: what is compared with one then is equal to it."""
    if isinstance(value, np.generic):
        return snapped(np.array(value))[()]
    if isinstance(value, np.ndarray) and value.dtype.kind in "fc" and value.flags.writeable:
        for part in (value.real, value.imag) if value.dtype.kind == "c" else (value,):
            with quiet():
                near = np.rint(part * 4) / 4
                close = np.abs(part - near) <= 32 * np.finfo(part.dtype).eps * np.abs(value)
            part[close] = near[close]
    return value


def has_both_zeros(value: Any) -> bool:
    """Whether there is a zero of each sign: equal keys, which come in any order out of what sorts."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fc":
        return False
    parts = (value.real, value.imag) if value.dtype.kind == "c" else (value,)
    return any(len(set(np.signbit(part[part == 0]).tolist())) == 2 for part in parts)


def zeros_signed(value: Any, signs: Signs, kinds: str = "fc") -> Any:
    """A result with its zeros of one sign: that of a complex product depends on how its factors are grouped."""
    if isinstance(value, tuple | list) and type(value) in (tuple, list):
        return type(value)(zeros_signed(v, signs, kinds) for v in value)
    if isinstance(value, np.generic):
        return zeros_signed(np.array(value), signs, kinds)[()]
    if isinstance(value, np.ndarray) and value.dtype.kind in kinds and value.flags.writeable:
        for part in (value.real, value.imag) if value.dtype.kind == "c" else (value,):
            part[...] = np.where(part == 0, np.copysign(part.dtype.type(0), signs(part.shape)), part)
    return value
