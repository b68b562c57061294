"""The table of functions whose small calls NumPy computes. `clarray._core.small_calls` has the mechanism.

A function belongs here if its result is new and has the same bits whoever computes it: it moves, orders, compares,
counts or finds elements, or computes with integers. What is pending until it is needed, as most arithmetic is, does
not: it becomes part of another's kernel.
"""

from __future__ import annotations

from math import prod
from types import ModuleType
from typing import Any

import numpy as np

from clarray._core.small_calls import Rule, small_call, small_write
from clarray._core.small_operands import MOST, MOST_ORDERED
from clarray._engine.ops.dtypes import DTYPES
from clarray._numpy.products.gufuncs import all_pairs
from clarray._numpy.sorting.sorting import check_kind

__all__ = ["FUNCTIONS", "METHODS", "as_method", "serve", "served"]


# How many elements a result has, at most -----------------------------------------------------------


def _most(nested: Any) -> int:
    """The largest of integers, however they are nested."""
    if type(nested) is int:
        return abs(nested)
    return int(np.max(np.abs(nested))) if np.size(nested) else 0


def _refuse_wrapping(mode: Any) -> None:
    """Keep mode 'wrap' from NumPy, which subtracts the extent in a loop: an index of 2**62 takes years."""
    if mode not in ("raise", "clip"):
        raise ValueError("a mode for kernels")


def _taken(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> int:
    _refuse_wrapping(mode)
    named = 1 if type(indices) is int else np.size(indices)
    return named if axis is None or not np.size(a) else named * (np.size(a) // np.shape(a)[axis])


def _repeated(a: Any, repeats: Any, axis: Any = None) -> int:
    return np.size(a) * _most(repeats)


def _tiled(A: Any, reps: Any) -> int:  # noqa: N803 - NumPy's name
    if not np.size(A):
        raise ValueError("NumPy may give the array itself, which may be read-only")
    return np.size(A) * (reps if type(reps) is int else prod(np.ravel(reps).tolist()))


def _padded(array: Any, pad_width: Any, mode: Any = "constant", **others: Any) -> int:
    if mode not in ("constant", "edge", "wrap", "reflect", "symmetric") or others.get("reflect_type", "even") != "even":
        raise ValueError("a mode that computes")
    if type(pad_width) is dict:
        pad_width = list(pad_width.values())
    around = 2 * _most(pad_width)
    return prod(extent + around for extent in np.shape(array))


def _inserted(arr: Any, obj: Any, values: Any, axis: Any = None) -> int:
    if isinstance(obj, np.ndarray) and obj.dtype.kind in "iu" and obj.dtype.itemsize < 8:
        raise ValueError("NumPy counts places in the indices' dtype, where they may overflow")
    return 0


def _unpacked(a: Any, /, *_: Any, **__: Any) -> int:
    if not np.size(a):
        raise ValueError("NumPy 2.4 leaves bits unset, where `count` asks for some")
    return 8 * np.size(a)


def _resized(a: Any, new_shape: Any) -> int:
    return prod(new_shape) if type(new_shape) is tuple else _most(new_shape)


def _squared(v: Any, k: int = 0) -> int:
    if np.ndim(v) != 1:
        raise ValueError("the diagonal of a matrix is a view")
    return (np.size(v) + abs(k)) ** 2


def _counted(x: Any, /, weights: Any = None, minlength: Any = 0) -> int:
    return int(max(np.max(x, initial=0), minlength))


def _without_negative_zeros(*operands: Any, **_: Any) -> int:
    """Keep -0.0 from NumPy, which may change its sign as it sorts. Kernels put -0.0 before 0.0."""
    for a in operands:
        if isinstance(a, np.ndarray) and a.dtype.kind in "fc":
            for part in (a.real, a.imag) if a.dtype.kind == "c" else (a,):
                if not part.all() and np.signbit(part[part == 0]).any():
                    raise ValueError("an order for kernels")
    return 0


def _distinct(
    ar: Any,
    return_index: Any = 0,
    return_inverse: Any = 0,
    return_counts: Any = 0,
    axis: Any = None,
    equal_nan: Any = 1,
) -> int:
    """Leave `sorted` to kernels: NumPy's order without it is that of a hash table."""
    if axis is not None and ar.dtype in DTYPES and DTYPES[ar.dtype].packed:
        raise ValueError("NumPy puts rows of float16 with NaN first, kernels last")
    return _without_negative_zeros(ar)


# Functions that differ from NumPy's ------------------------------------------------------------------


def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> np.ndarray:
    """NumPy's, stable whatever kind it is asked for, as the kernels are."""
    check_kind(a.dtype, kind, order, stable)
    return np.ndarray.argsort(a, axis, kind="stable")


def partition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> np.ndarray:
    """Return the sorted array, as kernels do. NumPy checks the arguments."""
    np.partition(a, kth, axis, kind, order)
    return np.sort(a, axis)


def argpartition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> np.ndarray:
    """Return the positions that sort the array, as kernels do. NumPy checks the arguments."""
    np.ndarray.argpartition(a, kth, axis, kind, order)
    return argsort(a, axis)


def sort_in_place(a: Any, *args: Any) -> None:
    """NumPy's method, without a -0.0."""
    _without_negative_zeros(a)
    a.sort(*args)


def partition_in_place(a: Any, *args: Any) -> None:
    """NumPy's method, with the order of `partition`."""
    _without_negative_zeros(a)
    np.copyto(a, partition(a, *args))


def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    """NumPy's, without mode 'wrap'."""
    _refuse_wrapping(mode)
    np.put(a, ind, v, mode)


# Elements up to which NumPy is quicker, in us by NumPy and by kernels: sets of two times 1,000 integers 110 to 340 and
# 130 to 220, of two times 10,000 1,860 to 2,900 and 660 to 1,400; unique of 1,000 integers 63 and 61, of 10,000 1,120
# and 350; nonzero of 1,000 float32 8 and 40, of 10,000 48 and 35 (PoCL, two cores of an AMD EPYC, Zen 5).
MOST_IN_SETS = 1 << 12
MOST_HASHED = 1 << 10
MOST_FOUND = 1 << 13

# The functions ---------------------------------------------------------------------------------------

_FINDING: dict[str, Any] = {  # and counting, and comparing
    "argmax": np.ndarray.argmax,
    "argmin": np.ndarray.argmin,
    "nonzero": np.ndarray.nonzero,
    "flatnonzero": np.flatnonzero,
    "argwhere": np.argwhere,
    "count_nonzero": np.count_nonzero,
    "searchsorted": np.ndarray.searchsorted,
    "digitize": np.digitize,
    "array_equal": np.array_equal,
    "isin": np.isin,
}

_MOVED = {
    "take": Rule(np.ndarray.take, "any", _taken),
    "compress": Rule(np.compress, "any"),
    "extract": Rule(np.extract, "any"),
    "delete": Rule(np.delete, "any"),
    "repeat": Rule(np.ndarray.repeat, "any", _repeated),
    "tile": Rule(np.tile, "any", _tiled),
    "roll": Rule(np.roll, "any"),
    "resize": Rule(np.resize, "any", _resized),
    "pad": Rule(np.pad, "one", _padded),
    "diag": Rule(np.diag, "any", _squared),
    "diagflat": Rule(np.diagflat, "any", _squared),
    "insert": Rule(np.insert, "one", _inserted),
    "concatenate": Rule(np.concatenate, "joined"),
    "stack": Rule(np.stack, "joined"),
    "vstack": Rule(np.vstack, "joined"),
    "hstack": Rule(np.hstack, "joined"),
    "dstack": Rule(np.dstack, "joined"),
    "column_stack": Rule(np.column_stack, "joined"),
    "append": Rule(np.append, "joined", joined=2),
    "block": Rule(np.block, "joined"),
    "packbits": Rule(np.packbits, "integers"),
    "unpackbits": Rule(np.unpackbits, "integers", _unpacked),
}

_ORDERED = {
    "sort": Rule(np.sort, "any", _without_negative_zeros, most=MOST_ORDERED),
    "partition": Rule(partition, "any", _without_negative_zeros, most=MOST_ORDERED),
    "argsort": Rule(argsort, "any", most=MOST_ORDERED),
    "argpartition": Rule(argpartition, "any", most=MOST_ORDERED),
    "lexsort": Rule(np.lexsort, "any", most=MOST_ORDERED),
    "unique": Rule(np.unique, "any", _distinct, most_integers=MOST_HASHED),
    **{
        f.__name__: Rule(f, "joined", _without_negative_zeros, joined=2, most=MOST_IN_SETS)
        for f in (np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d)
    },
}

_COMPUTED = {
    "bincount": Rule(np.bincount, "integers", _counted, refused=("weights",)),
    "cumsum": Rule(np.ndarray.cumsum, "integers"),
    "cumprod": Rule(np.ndarray.cumprod, "integers"),
    "convolve": Rule(np.convolve, "integers", all_pairs),
    "correlate": Rule(np.correlate, "integers", all_pairs),
    "vdot": Rule(np.vdot, "integers"),
    "kron": Rule(np.kron, "integers", all_pairs),
    "allclose": Rule(np.allclose, "alike"),
}

FUNCTIONS: dict[str, Rule] = {
    **{name: Rule(numpys, "any", most=MOST_FOUND if name == "nonzero" else MOST) for name, numpys in _FINDING.items()},
    **_ORDERED,
    **_MOVED,
    **_COMPUTED,
}

# Methods; those of them that are functions too have their parameters.
METHODS: dict[str, Rule] = {
    **{name: FUNCTIONS[name] for name in ("argmax", "argmin", "argsort", "argpartition", "nonzero", "searchsorted")},
    **{name: FUNCTIONS[name] for name in ("take", "repeat", "cumsum", "cumprod")},
    "compress": Rule(np.ndarray.compress, "any"),
}

# What writes to its first operand, and which operands are written there.
WRITES: dict[str, tuple[Any, tuple[int, ...]]] = {
    "put": (put, (2,)),
    "place": (np.place, (2,)),
    "putmask": (np.putmask, (2,)),
    "fill_diagonal": (np.fill_diagonal, (1,)),
    "put_along_axis": (np.put_along_axis, (2,)),
}
WRITING_METHODS: dict[str, tuple[Any, ...]] = {
    "put": WRITES["put"],
    "sort": (sort_in_place, (), MOST_ORDERED),
    "partition": (partition_in_place, (), MOST_ORDERED),
}


def as_method(name: str, function: Any) -> Any:
    """A method of arrays, which leaves its small calls to NumPy if a table has it."""
    if name in WRITING_METHODS:
        return small_write(function, *WRITING_METHODS[name])
    rule = METHODS.get(name)
    return function if rule is None else small_call(function, rule)


def served(name: str, function: Any) -> Any:
    """A function of clarray's, which leaves its small calls to NumPy if a table has it."""
    if name in WRITES:
        return small_write(function, *WRITES[name])
    rule = FUNCTIONS.get(name)
    return function if rule is None else small_call(function, rule)


def serve(namespace: ModuleType) -> None:
    """Have the functions that clarray, the `namespace`, has by now leave their small calls to NumPy."""
    for name in (*FUNCTIONS, *WRITES):
        if name in vars(namespace):
            setattr(namespace, name, served(name, getattr(namespace, name)))
    namespace.concat = namespace.concatenate  # type: ignore[attr-defined]
