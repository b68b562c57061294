"""What is not compared: NumPy leaves it open, or clarray differs on purpose. Each row has its reason."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .compare import Difference
from .program import Statement
from .sides import SORTING

# What guards may ask, beside NumPy and the variables -------------------------------------------------


def fits(value: Any, dtype: Any) -> bool:
    """Whether a conversion is defined: C leaves open what a float outside an integer type's range becomes."""
    value, dtype = np.asarray(value), np.dtype(dtype)
    if value.dtype.kind not in "fc" or dtype.kind not in "iu":
        return True
    limits, real = np.iinfo(dtype), value.real.astype(np.float64)
    return bool(((real > limits.min - 1) & (real < float(limits.max))).all())


def sum_fits(value: Any, dtype: Any) -> bool:
    """The same of a sum over the first axis; it goes by float64 where no integer holds both types."""
    with np.errstate(all="ignore"):
        through = np.result_type(value, dtype)
        return fits(np.sum(value, axis=0), dtype) and fits(np.sum(value, axis=0, dtype=through), dtype)


def tame(value: Any, limit: float) -> bool:
    """Whether no modulus is larger than a limit."""
    return bool(np.all(np.abs(value) <= limit))


def nonnegative(value: Any) -> bool:
    return bool(np.all(value >= 0))


def small_product(a: Any, b: Any) -> bool:
    return bool(np.size(a) * np.size(b) <= 100_000)


def are_bools(value: Any, dtype: Any) -> bool:
    """Whether bytes seen as bools are 0 or 1: a device copies what is true as 1, NumPy the byte."""
    return np.dtype(dtype).kind != "b" or bool((np.ascontiguousarray(value).view("u1") <= 1).all())


def ascending(edges: Any) -> bool:
    """Whether a search finds its way: a number and a NaN are taken for descending edges, in which it depends on all."""
    found = np.asarray(edges)
    return found.size < 2 or not np.isnan(found).any() or bool(found[0] < found[1])


def is_the_hosts(name: str, values: dict[str, Any]) -> bool:
    """Whether a variable is an array that the host has too, which `asarray` gives as it is."""
    return any(value is values.get(name) for other, value in values.items() if other[0] == "h")


def is_of_the_hosts(name: str, values: dict[str, Any]) -> bool:
    """Whether a variable lies in memory of the host's."""
    mine = values.get(name)
    hosts = [value for other, value in values.items() if other[0] == "h" and isinstance(value, np.ndarray)]
    return isinstance(mine, np.ndarray) and any(mine is value or np.may_share_memory(mine, value) for value in hosts)


def modulus_overflows(value: Any) -> bool:
    """Whether finite complex numbers have a modulus that their dtype does not hold."""
    with np.errstate(over="ignore"):
        return np.iscomplexobj(value) and bool((np.isfinite(value) & np.isinf(np.abs(value))).any())


GUARDS: dict[str, Any] = {
    "fits": fits,
    "tame": tame,
    "nonnegative": nonnegative,
    "small_product": small_product,
    "are_bools": are_bools,
    "ascending": ascending,
    "sum_fits": sum_fits,
}

# Left out: NumPy's answer depends on the machine, or on its memory -------------------------------------

UNDEFINED_WARNINGS = {
    "invalid value encountered in cast": "C leaves open what a NaN or a float out of range becomes as an integer",
}
UNDEFINED_ERRORS = {
    "Unable to allocate": "memory is what the machine has",
    "Integers to negative integer powers": "where it writes in place, what has been written before it raises is open",
}


@dataclass(frozen=True)
class Row:
    """A difference that is meant.

    Attributes
    ----------
    statement : str
        A pattern that the statement's text holds.
    kinds : str
        Kinds of `Difference`, and a part of what NumPy or clarray gave in `theirs` and `ours`.
    """

    reason: str
    statement: str = ""
    kinds: str = ""
    theirs: str = ""
    ours: str = ""
    when: Callable[[Difference, Statement, dict[str, Any]], bool] = lambda difference, statement, values: True


KNOWN: tuple[Row, ...] = (
    Row(
        "no device computes with a byte order that is not its own, nor holds objects, text or dates",
        kinds="raised",
        ours=r"does not hold|no OpenCL|has no dtype (object|dtype\('O'\))",
    ),
    Row(
        "histograms of complex numbers are refused, as docs/histogram.rst says; NumPy takes real parts",
        kinds="raised",
        ours="complex values have no histogram",
    ),
    Row(
        "what is a scalar in NumPy is a 0-d array here: see promise 2",
        statement=r"isscalar\(",
        kinds="value",
        theirs="True",
    ),
    Row(
        "what is a scalar in NumPy is a 0-d array here, and is written as one: see promise 2",
        statement=r"repr\(",
        kinds="value",
        when=lambda difference, statement, values: any(
            isinstance(values.get(name), np.generic) for name in statement.names.reads
        ),
    ),
    Row(
        "an array that has been unpickled has a dtype of its own, which NumPy takes for another, and gives a view",
        kinds="shares",
        theirs=r"\[False, True\]",
        ours=r"\[True, True\]",
        when=lambda difference, statement, values: any(
            isinstance(a := values.get(name), np.ndarray) and a.dtype is not np.dtype(a.dtype.char)
            for name in statement.names.reads
        ),
    ),
    Row(
        "`x[i] -= y` of one element: NumPy has a scalar there, which takes any y, and stores what it made, or fails to",
        statement=r"^v\d+\[[-\d, ]+\] \S+= ",
        kinds="raised",
        ours="raised (UFuncTypeError|ValueError)",
    ),
    Row(
        "a 0-d array stands for NumPy's scalars too, which putmask and place convert by value; 0-d arrays they refuse",
        statement=r"(putmask|place)\(",
        kinds="not raised",
        theirs="Cannot cast scalar",
    ),
    Row(
        "a scalar of NumPy's has no memory that an array could share; a 0-d array has: see promise 2",
        statement=r"copy=False",
        kinds="not raised",
        theirs="Unable to avoid copy",
        when=lambda difference, statement, values: any(
            isinstance(values.get(name), np.generic) for name in statement.names.reads
        ),
    ),
    Row(
        "insert takes integers; NumPy adds int64 in place to those that are unsigned, or the extent, and fails",
        statement=r"insert\(",
        kinds="not raised",
        theirs=r"UFuncTypeError\(<ufunc 'add'>, 'same_kind'|OverflowError\('Python integer \d+ out of bounds for u?int",
    ),
    Row(
        "places of insert that int8 does not hold come out negative where NumPy adds to them in place",
        statement=r"insert\(",
        kinds="value",
        when=lambda difference, statement, values: (
            any(getattr(values.get(name), "dtype", None) == np.int8 for name in statement.names.reads)
            and np.size(values[difference.name]) > np.iinfo(np.int8).max
        ),
    ),
    Row(
        "asarray of an ndarray is the ndarray itself in NumPy, whose shape is set with it; here it is a window on it",
        kinds="shape",
        when=lambda difference, statement, values: (
            difference.name[:1] == "h" and difference.name not in statement.names.makes
        ),
    ),
    Row(
        "asarray of an ndarray is the ndarray itself in NumPy, twice the same; here it is a window on it each time",
        kinds="shares",
        theirs=r"\[True, True\]",
        ours=r"\[False, True\]",
        when=lambda difference, statement, values: is_the_hosts(difference.name, values),
    ),
    Row(
        "asarray of an ndarray is the ndarray itself in NumPy, whose flags are set with it; each window has its own",
        kinds="writeable",
        when=lambda difference, statement, values: is_of_the_hosts(difference.name, values),
    ),
    Row(
        "NumPy computes what is large in the memory of its temporaries, and it lies as these do",
        statement=r"^v\d+ = .*\(v\d+ ",
        kinds="layout",
        when=lambda difference, statement, values: getattr(values.get(difference.name), "nbytes", 0) >= 1 << 18,
    ),
    Row(
        "NumPy's numbers lack an attribute that arrays of no axes have, and refuse",
        statement=r"\.mT\b",
        kinds="raised",
        theirs="AttributeError",
    ),
    Row(
        "NumPy cannot set the flag of what came by DLPack, not even as it is set already",
        statement=r"flags\.writeable = True",
        kinds="not raised",
        theirs="cannot set WRITEABLE flag to True of this array",
    ),
    Row(
        "NumPy cannot set the flag of a view whose array has been made read-only since, as broadcasting has it do",
        statement=r"broadcast_arrays\(",
        kinds="not raised",
        theirs="cannot set WRITEABLE flag to True of this array",
    ),
    Row(
        "asarray of an ndarray is the ndarray itself in NumPy: read-only where it has been made so by another name",
        kinds="not raised",
        theirs="read-only",
        when=lambda difference, statement, values: any(is_the_hosts(name, values) for name in statement.changes),
    ),
    Row(
        "NumPy refuses its integer scalars that a dtype does not hold; a 0-d array is converted, as NumPy's own are",
        kinds="not raised",
        theirs=r"OverflowError\('Python int(eger -?\d+ out of bounds| too large to convert)",
        when=lambda difference, statement, values: any(
            isinstance(values.get(name), np.integer) for name in statement.names.reads
        ),
    ),
    Row(
        "the direction of a finite complex number whose modulus overflows is what it is; NumPy gives 1j or -1j",
        statement=r"\bsign\(",
        kinds="value",
        theirs=r"complex\d+\(.*(0|1)j\)",
        when=lambda difference, statement, values: (
            bool(statement.changes) or any(modulus_overflows(values.get(name)) for name in statement.names.reads)
        ),
    ),
    Row(
        "polydiv leaves out leading coefficients that are close to zero: what rounds to it, or to a little beside it",
        statement=r"polydiv\(",
        kinds="shape",
    ),
    Row(
        "what does not vary has a correlation of 0 / 0, or of what its mean is rounded by",
        statement=r"corrcoef\(",
        kinds="value",
        ours="nan",
    ),
    Row(
        "NumPy takes the dtype of quantiles from those of its first line, the array's where that is all NaN",
        statement=r"nan(quantile|percentile)\(",
        kinds="dtype",
        theirs="float(16|32)",
    ),
    Row(
        "what does not vary is a range of what it is rounded by, too narrow for bins, or of nothing, which is widened",
        statement=r"histogram",
        kinds="raised|not raised",
        ours="Too many bins for data range|no error",
    ),
    Row(
        "1 + z is rounded before NumPy takes the logarithm of a complex z near 0; where it writes to z, it shows later",
        statement=r"log1p\(.*out=",
        kinds="value",
        theirs="complex",
    ),
    Row(
        "NumPy says of no order that what an index of arrays selects lies in: a copy, and no view, is made of it",
        statement=r"^v\d+ = (.*\]$|\w+\.(take|compress|delete|insert|extract)\()",
        kinds="layout",
        when=lambda difference, statement, values: (
            not any(
                isinstance(values.get(name), np.ndarray) and np.may_share_memory(values[name], values[difference.name])
                for name in statement.names.reads
            )
        ),
    ),
    Row(
        "what NumPy makes line by line, or of several parts, lies as these come to lie, of which it says nothing",
        statement=r"nanmedian|reduceat|unravel_index|histogram2d|histogramdd|apply_along_axis|einsum",
        kinds="layout",
    ),
    Row("NumPy's ufunc.at writes to arrays that are read-only", statement=r"\.at\(", kinds="raised", ours="read-only"),
    Row("tile of nothing is a view in NumPy, and a copy of anything", statement=r"tile\(", kinds="writeable"),
)


MULTIPLYING = re.compile(r"prod\(|multiply\.(reduce|accumulate)\(")
NUMBERING = re.compile(r"unique_(inverse|all)\(")  # of NaN, each is its own there, in any order
DISTINCT = re.compile(r"unique|union1d|intersect1d|setxor1d|setdiff1d")

SORTS_INSIDE = re.compile(rf"{SORTING.pattern}|histogram")

NEAR = 16  # units in the last place, within which numbers that were rounded may as well be one

IGNORED: list[str] = []  # patterns of the command's `--ignore`, for the kind and the statement


def undefined(statement: Statement, error: Exception | None, told: list[str], values: dict[str, Any]) -> bool:
    """Whether NumPy leaves open what a statement gave."""
    if any(part in message for message in told for part in UNDEFINED_WARNINGS):
        return True
    if error is not None and any(part in str(error) for part in UNDEFINED_ERRORS) and statement.names.writes:
        return True
    if statement.rounds == "operands" and any_overflown(statement, values):
        return True
    if DISTINCT.search(statement.text) and distinct_by_chance(statement, values):
        return True
    if SORTS_INSIDE.search(statement.text) and sorts_half_wrongly(statement, values):
        return True
    if error is None and statement.rounds == "operands" and overflows_on_its_way(statement, values):
        return True
    if isinstance(error, IndexError) and re.search(r"\bput\(", statement.text):
        return True  # what it has written before it came to the index is open
    if error is None and copies_by_its_own_mask(statement, values):
        return True
    if error is None and converts_what_it_leaves(statement, values):
        return True
    if re.search(r"\.place\(|\.flat\b.* = ", statement.text) and overlaps(statement, values):
        return True
    if names_twice_out_of_order(statement, values) or numbers_nan(statement, values):
        return True
    return writes_to_scalar(statement, values) or any(not numeric(values.get(name)) for name in statement.names.makes)


def any_overflown(statement: Statement, values: dict[str, Any]) -> bool:
    """Whether a sum may have overflown on its way.

    NumPy's partial sums of float16 are float16, clarray's float32; and of what is summed in place all is overwritten
    that would say whether another order of the terms overflows.
    """
    made, written = (map(values.get, names) for names in (statement.names.makes, statement.changes))
    return any(overflown(value, "e") for value in made) or any(overflown(value, "efdFD") for value in written)


def overflown(value: Any, dtypes: str) -> bool:
    """Whether a float of one of these dtypes, as NumPy's letters, is not finite."""
    return isinstance(value, np.ndarray | np.generic) and value.dtype.char in dtypes and not np.isfinite(value).all()


def distinct_by_chance(statement: Statement, values: dict[str, Any]) -> bool:
    """Whether rounding decides which numbers of a set are one, or C which NaN stands for all."""
    if any(half_nan(values.get(name)) for name in statement.names.makes | statement.names.reads):
        return True
    given = [values.get(name) for name in statement.names.reads]
    floats = [np.ravel(a) for a in given if isinstance(a, np.ndarray) and a.dtype.kind == "f"]
    if not floats:
        return False
    found = np.unique(np.concatenate(floats))
    with np.errstate(all="ignore"):
        return bool((np.diff(found) <= NEAR * np.finfo(found.dtype).eps * np.abs(found[1:])).any())


def sorts_half_wrongly(statement: Statement, values: dict[str, Any]) -> bool:
    """Whether NumPy sorts float16 otherwise than it says: NaN comes last.

    Among the records that `unique` makes of rows it is the first; and with AVX-512, NumPy 2.4 leaves some thousand
    numbers with many equal ones out of order, which a stable sort, of other code, does not.
    """
    halves = [a for a in map(values.get, statement.names.reads) if isinstance(a, np.ndarray) and a.dtype == np.float16]
    if re.search(r"unique\(.*axis=", statement.text) and any(np.isnan(a).any() for a in halves):
        return True
    return any(
        not np.array_equal(np.sort(a, axis), np.sort(a, axis, kind="stable"), equal_nan=True)
        for a in halves
        if a.size > 64
        for axis in (None, *range(a.ndim))
    )


def names_twice_out_of_order(statement: Statement, values: dict[str, Any]) -> bool:
    """Whether an index that is not in C order names a place twice: NumPy writes in the order that the index lies in."""
    call = re.search(r"^v\d+\[(.*)\] \S*= ", statement.text)
    named = [values.get(name) for name in re.findall(r"\bv\d+\b", call[1])] if call else []
    return any(
        isinstance(a, np.ndarray) and a.dtype.kind in "iu" and not a.flags.c_contiguous and np.unique(a).size < a.size
        for a in named
    )


def half_nan(value: Any) -> bool:
    """Whether complex numbers are NaN in one part: all NaN being one value, any of them may stand for it."""
    found = value if isinstance(value, tuple | list) else (value,)
    return any(np.iscomplexobj(x) and bool((np.isnan(x.real) != np.isnan(x.imag)).any()) for x in found)


def numbers_nan(statement: Statement, values: dict[str, Any]) -> bool:
    """Whether more than one NaN is numbered, each as its own."""
    return bool(NUMBERING.search(statement.text)) and any(map(several_nan, map(values.get, statement.names.reads)))


def several_nan(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "fc" and int(np.isnan(value).sum()) > 1


def overflows_on_its_way(statement: Statement, values: dict[str, Any]) -> bool:
    """Whether some order of terms or factors leaves the range of a float, where another does not.

    No partial sum is larger than that of the moduli. The factors above 1 have the largest of all partial products,
    those below 1 the smallest.
    """
    if statement.names.writes:
        return False
    multiplies = MULTIPLYING.search(statement.text)
    for limit in (np.maximum, np.minimum) if multiplies else (np.maximum,):
        names = dict(values)
        for name in statement.names.reads:
            if isinstance(values[name], np.ndarray | np.generic) and values[name].dtype.kind in "fc":
                size, least = np.abs(values[name]), 1 if multiplies else 0
                bounded = limit(np.where(np.isfinite(size) & (size > 0), size, least), least)
                names[name] = bounded.astype(values[name].dtype)
        with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.suppress(Exception):
            warnings.simplefilter("ignore")
            exec(statement.code, names)
        made = [a for a in map(names.get, statement.names.makes) if isinstance(a, np.ndarray | np.generic)]
        floats = [np.abs(a) for a in made if a.dtype.kind in "fc"]
        if any(not np.isfinite(a).all() or (multiplies and (a < np.finfo(a.dtype).tiny).any()) for a in floats):
            return True
    return False


def overlaps(statement: Statement, values: dict[str, Any]) -> bool:
    """Whether arrays that a statement names may be the same memory; `place` and `flat` write while they read."""
    named = [values.get(name) for name in re.findall(r"\bv\d+\b", statement.text)]
    arrays = [a for a in named if isinstance(a, np.ndarray)]
    return any(np.may_share_memory(a, b) for k, a in enumerate(arrays) for b in arrays[:k])


def copies_by_its_own_mask(statement: Statement, values: dict[str, Any]) -> bool:
    """Whether `copyto` writes to what its mask is read from: NumPy reads it as it goes."""
    call = re.search(r"copyto\((.*), where=(.*)\)", statement.text)
    if call is None:
        return False
    names = {**values, "xp": np}
    target, mask = eval(f"[{call[1]}]", names)[0], eval(call[2], names)
    return all(isinstance(a, np.ndarray) for a in (target, mask)) and np.may_share_memory(target, mask)


def converts_what_it_leaves(statement: Statement, values: dict[str, Any]) -> bool:
    """Whether ``where=`` goes with an output that overlaps an operand and is of another dtype than the result.

    NumPy computes into a temporary of the result's dtype, and converts what the mask leaves out there and back.
    """
    call = re.search(r"(?:xp|np)\.(\w+)\((.*), out=(v\d+), where=", statement.text)
    if call is None or not isinstance(values.get(call[3]), np.ndarray):
        return False
    name, operands, target = call[1], call[2], values[call[3]]
    found = eval(f"[{operands}]", {**values, "xp": np})
    near = [a for a in found if isinstance(a, np.ndarray) and a is not target and np.may_share_memory(a, target)]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with contextlib.suppress(ValueError):  # of powers that `where=` leaves out
            return bool(near) and getattr(np, name)(*found).dtype != target.dtype
    return True


def writes_to_scalar(statement: Statement, values: dict[str, Any]) -> bool:
    """Whether NumPy's scalars, which cannot change, stand where clarray has 0-d arrays, which can: see promise 2."""
    return any(isinstance(values.get(name), np.generic) for name in statement.names.writes)


def numeric(value: Any) -> bool:
    """Whether a value has no objects, text or dates in it; devices hold numbers and bools."""
    return not isinstance(value, np.ndarray | np.generic) or (value.dtype.kind in "biufc" and value.dtype.isnative)


def accepted(difference: Difference, statement: Statement, values: dict[str, Any]) -> str | None:
    """The reason of a difference that is meant."""
    for row in KNOWN:
        if row.kinds and difference.kind not in row.kinds.split("|"):
            continue
        pairs = ((row.statement, statement.text), (row.theirs, difference.theirs), (row.ours, difference.ours))
        if all(re.search(pattern, text) for pattern, text in pairs) and row.when(difference, statement, values):
            return row.reason
    label = f"{difference.kind}: {statement.text}"
    return next((pattern for pattern in IGNORED if re.search(pattern, label)), None)
