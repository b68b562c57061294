"""What is not compared: NumPy leaves it open, or clarray differs on purpose. Each row has its reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .compare import Difference
from .program import Statement

# What guards may ask, beside NumPy and the variables -------------------------------------------------


def is_near(index: Any, length: int = 1) -> bool:
    """Whether NumPy comes to an end with ``mode="wrap"``: it goes an axis's length at a time, and that may be 0."""
    return length > 0 and bool(np.abs(np.asarray(index).astype(np.float64)).max(initial=0) < 1e6)


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
    return isinstance(mine, np.ndarray) and any(
        whole(mine) is whole(value) or np.may_share_memory(mine, value) for value in hosts
    )


def whole(array: np.ndarray) -> Any:
    """What an array is a view of, which may have no elements to share."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


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
    "is_near": is_near,
    "ascending": ascending,
    "sum_fits": sum_fits,
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
        "histograms of complex numbers are refused, as docs/engineering/histogram.md says; NumPy takes real parts",
        kinds="raised",
        ours="complex values have no histogram",
    ),
    Row(
        "what is a scalar in NumPy is a 0-d array here (see Guarantees)",
        statement=r"isscalar\(",
        kinds="value",
        theirs="True",
    ),
    Row(
        "what is Python's number in NumPy, the polynomial of no roots, is a 0-d array here (see Guarantees)",
        statement=r"trim_zeros\(",
        kinds="type",
        theirs="float",
    ),
    Row(
        "what is a scalar in NumPy is a 0-d array here, and is written as one (see Guarantees)",
        statement=r"repr\(",
        kinds="value",
        when=lambda difference, statement, values: any(
            isinstance(values.get(name), np.generic) for name in statement.names.reads
        ),
    ),
    Row(
        "what is a scalar, or Python's number, in NumPy is a 0-d array here, with attributes (see Guarantees)",
        kinds="not raised",
        theirs=r"of type 'numpy\.\w+' is not iterable|'(float|int)' object has no attribute|in a non-void array scalar",
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
        "a scalar of NumPy's has no memory that an array could share; a 0-d array has (see Guarantees)",
        statement=r"copy=False",
        kinds="not raised",
        theirs="Unable to avoid copy",
        when=lambda difference, statement, values: any(
            isinstance(values.get(name), np.generic) for name in statement.names.reads
        ),
    ),
    Row(
        "insert takes integers; NumPy adds int64 in place to those that are unsigned, or the extent, and fails first",
        statement=r"insert\(",
        kinds="raised|not raised",
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
        "NumPy gives Python's numbers here and there, which lack what arrays of no axes have (poly of nothing)",
        kinds="raised",
        theirs=r"AttributeError.*'(float|int|complex|bool)' object has no attribute",
    ),
    Row(
        "array_str and array_repr of NumPy's numbers fail within NumPy, which takes them for arrays",
        kinds="not raised",
        theirs=r"descriptor '__getitem__' requires a 'numpy.ndarray' object",
    ),
    Row(
        "a list of arrays is none for NumPy's own functions, which ask no array in it who computes",
        statement=r"^v\d+ = np\.",
        kinds="type",
        theirs="ndarray",
        ours="ndarray",
        when=lambda difference, statement, values: any(
            isinstance(values.get(name), (list, tuple)) for name in statement.names.reads
        ),
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
    Row(
        "NumPy cuts what it has summed to an integer at the end of each buffer, where floats are summed into integers",
        statement=r"(sum|prod|reduce)\(.*out=",
        kinds="value",
        when=lambda difference, statement, values: (
            np.asarray(values[difference.name]).dtype.kind in "iu"
            and any(
                isinstance(a, np.ndarray) and a.dtype.kind in "fc" and a.size > np.getbufsize()
                for a in map(values.get, statement.names.reads)
            )
        ),
    ),
    Row("NumPy's ufunc.at writes to arrays that are read-only", statement=r"\.at\(", kinds="raised", ours="read-only"),
    Row("tile of nothing is a view in NumPy, and a copy of anything", statement=r"tile\(", kinds="writeable"),
)


IGNORED: list[str] = []  # patterns of the command's `--ignore`, for the kind and the statement


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
