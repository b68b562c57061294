"""What is left out: statements whose result NumPy leaves open, or has from the machine or its memory."""

from __future__ import annotations

import contextlib
import re
import warnings
from typing import Any

import numpy as np

from .program import Statement
from .sides import SORTING

UNDEFINED_WARNINGS = {
    "invalid value encountered in cast": "C leaves open what a NaN or a float out of range becomes as an integer",
}
UNDEFINED_ERRORS = {
    "Unable to allocate": "memory is what the machine has",
    "Integers to negative integer powers": "where it writes in place, what has been written before it raises is open",
}

MULTIPLYING = re.compile(r"prod\(|multiply\.(reduce|accumulate)\(")
NUMBERING = re.compile(r"unique_(inverse|all)\(")  # of NaN, each is its own there, in any order
DISTINCT = re.compile(r"unique|union1d|intersect1d|setxor1d|setdiff1d")

SORTS_INSIDE = re.compile(rf"{SORTING.pattern}|histogram")

NEAR = 16  # units in the last place, within which numbers that were rounded may as well be one


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
    if re.search(r"\.sort\(", statement.text) and any(map(is_in_no_order, halves)):
        return True
    return any(
        not np.array_equal(np.sort(a, axis), np.sort(a, axis, kind="stable"), equal_nan=True)
        for a in halves
        if a.size > 64
        for axis in (None, *range(a.ndim))
    )


def is_in_no_order(array: np.ndarray) -> bool:
    """Whether an array is sorted along none of its axes."""
    return array.ndim > 0 and not any(
        np.array_equal(array, np.sort(array, axis, kind="stable"), equal_nan=True) for axis in range(array.ndim)
    )


def names_twice_out_of_order(statement: Statement, values: dict[str, Any]) -> bool:
    """Whether an index that is not in C order names a place twice: NumPy writes in the order that the index lies in."""
    call = re.search(r"^v\d+\[(.*)\] \S*= ", statement.text)
    try:
        index = eval(f"np.s_[{call[1]}]", {"np": np, "xp": np, **values}) if call else ()
    except Exception:  # NumPy's own, of the statement
        return False
    return any(
        isinstance(a, np.ndarray) and a.dtype.kind in "iu" and not a.flags.c_contiguous and np.unique(a).size < a.size
        for a in (index if isinstance(index, tuple) else (index,))
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
    """Whether NumPy's scalars, which cannot change, stand where clarray has 0-d arrays, which can (see Guarantees)."""
    return any(isinstance(values.get(name), np.generic) for name in statement.names.writes)


def numeric(value: Any) -> bool:
    """Whether a value has no objects, text or dates in it; devices hold numbers and bools."""
    return not isinstance(value, np.ndarray | np.generic) or (value.dtype.kind in "biufc" and value.dtype.isnative)
