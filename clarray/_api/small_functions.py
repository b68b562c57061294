"""The table of functions whose small calls NumPy computes. `clarray._core.small_calls` has the mechanism.

A function belongs here if its result is a new array, with the same bits from NumPy and from kernels: it moves, sorts,
compares, counts or finds elements, or computes with integers. Functions with pending results, such as arithmetic, do
not belong here: they fuse with other kernels.
"""

from __future__ import annotations

from math import prod
from types import ModuleType
from typing import Any

import numpy as np

from clarray._core.small_calls import Rule, small_call, small_write
from clarray._core.small_operands import MAX_ELEMENTS, MAX_ORDERED
from clarray._engine.ops.dtypes import DTYPES
from clarray._numpy.products.gufuncs import count_pairs
from clarray._numpy.sorting.sorting import check_kind

__all__ = ["FUNCTIONS", "METHODS", "as_method", "attach_small_calls", "with_small_calls"]


# Upper bounds on the size of results ---------------------------------------------------------------


def _largest_magnitude(nested: Any) -> int:
    """Return the largest magnitude in nested integers."""
    if type(nested) is int:
        return abs(nested)
    return int(np.max(np.abs(nested))) if np.size(nested) else 0


def _refuse_wrapping(mode: Any) -> None:
    """Raise for mode 'wrap': NumPy subtracts the extent in a loop, and an index of 2**62 would take years."""
    if mode not in ("raise", "clip"):
        raise ValueError("a mode for kernels")


def _take_size(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> int:
    _refuse_wrapping(mode)
    index_count = 1 if type(indices) is int else np.size(indices)
    return index_count if axis is None or not np.size(a) else index_count * (np.size(a) // np.shape(a)[axis])


def _repeat_size(a: Any, repeats: Any, axis: Any = None) -> int:
    return np.size(a) * _largest_magnitude(repeats)


def _tile_size(A: Any, reps: Any) -> int:  # noqa: N803 - NumPy's name
    if not np.size(A):
        raise ValueError("NumPy may give the array itself, which may be read-only")
    return np.size(A) * (reps if type(reps) is int else prod(np.ravel(reps).tolist()))


def _pad_size(array: Any, pad_width: Any, mode: Any = "constant", **others: Any) -> int:
    if mode not in ("constant", "edge", "wrap", "reflect", "symmetric") or others.get("reflect_type", "even") != "even":
        raise ValueError("a mode that computes")
    if type(pad_width) is dict:
        pad_width = list(pad_width.values())
    added = 2 * _largest_magnitude(pad_width)
    return prod(extent + added for extent in np.shape(array))


def _insert_size(arr: Any, obj: Any, values: Any, axis: Any = None) -> int:
    if isinstance(obj, np.ndarray) and obj.dtype.kind in "iu" and obj.dtype.itemsize < 8:
        raise ValueError("NumPy counts places in the indices' dtype, where they may overflow")
    return 0


def _unpackbits_size(a: Any, /, *_: Any, **__: Any) -> int:
    if not np.size(a):
        raise ValueError("NumPy 2.4 leaves bits unset, where `count` asks for some")
    return 8 * np.size(a)


def _resize_size(a: Any, new_shape: Any) -> int:
    return prod(new_shape) if type(new_shape) is tuple else _largest_magnitude(new_shape)


def _diag_size(v: Any, k: int = 0) -> int:
    if np.ndim(v) != 1:
        raise ValueError("the diagonal of a matrix is a view")
    return (np.size(v) + abs(k)) ** 2


def _bincount_size(x: Any, /, weights: Any = None, minlength: Any = 0) -> int:
    return int(max(np.max(x, initial=0), minlength))


def _refuse_negative_zeros(*operands: Any, **_: Any) -> int:
    """Raise for operands with -0.0: NumPy's sort may change its sign. Kernels sort -0.0 before 0.0."""
    for a in operands:
        if isinstance(a, np.ndarray) and a.dtype.kind in "fc":
            for part in (a.real, a.imag) if a.dtype.kind == "c" else (a,):
                if not part.all() and np.signbit(part[part == 0]).any():
                    raise ValueError("an order for kernels")
    return 0


def _unique_size(
    ar: Any,
    return_index: Any = 0,
    return_inverse: Any = 0,
    return_counts: Any = 0,
    axis: Any = None,
    equal_nan: Any = 1,
) -> int:
    """Bound the size of `unique`. There is no parameter `sorted`: without it, NumPy has the order of a hash table."""
    if axis is not None and ar.dtype in DTYPES and DTYPES[ar.dtype].packed:
        raise ValueError("NumPy puts rows of float16 with NaN first, kernels last")
    return _refuse_negative_zeros(ar)


# Functions that differ from NumPy's ------------------------------------------------------------------


def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> np.ndarray:
    """Call NumPy's stable argsort for any `kind`, because the kernels are stable."""
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
    """Call NumPy's method, unless the array has a -0.0."""
    _refuse_negative_zeros(a)
    a.sort(*args)


def partition_in_place(a: Any, *args: Any) -> None:
    """Partition in place, with the order of `partition`."""
    _refuse_negative_zeros(a)
    np.copyto(a, partition(a, *args))


def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    """Call NumPy's function, unless the mode is 'wrap'."""
    _refuse_wrapping(mode)
    np.put(a, ind, v, mode)


# Numbers of elements up to which NumPy is faster. Measured in us, by NumPy and by kernels (PoCL, two cores of an AMD
# EPYC, Zen 5):
#   sets of two times 1,000 integers   110 to 340       130 to 220     two times 10,000   1,860 to 2,900   660 to 1,400
#   unique of 1,000 integers           63               61             10,000             1,120            350
#   nonzero of 1,000 float32           8                40             10,000             48               35
MAX_SETS = 1 << 12
MAX_UNIQUE_INTEGERS = 1 << 10
MAX_NONZERO = 1 << 13

# The functions ---------------------------------------------------------------------------------------

_SEARCHES: dict[str, Any] = {  # and counting, and comparing
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

_REARRANGEMENTS = {
    "take": Rule(np.ndarray.take, "any", _take_size),
    "compress": Rule(np.compress, "any"),
    "extract": Rule(np.extract, "any"),
    "delete": Rule(np.delete, "any"),
    "repeat": Rule(np.ndarray.repeat, "any", _repeat_size),
    "tile": Rule(np.tile, "any", _tile_size),
    "roll": Rule(np.roll, "any"),
    "resize": Rule(np.resize, "any", _resize_size),
    "pad": Rule(np.pad, "one", _pad_size),
    "diag": Rule(np.diag, "any", _diag_size),
    "diagflat": Rule(np.diagflat, "any", _diag_size),
    "insert": Rule(np.insert, "one", _insert_size),
    "concatenate": Rule(np.concatenate, "joined"),
    "stack": Rule(np.stack, "joined"),
    "vstack": Rule(np.vstack, "joined"),
    "hstack": Rule(np.hstack, "joined"),
    "dstack": Rule(np.dstack, "joined"),
    "column_stack": Rule(np.column_stack, "joined"),
    "append": Rule(np.append, "joined", joined=2),
    "block": Rule(np.block, "joined"),
    "packbits": Rule(np.packbits, "integers"),
    "unpackbits": Rule(np.unpackbits, "integers", _unpackbits_size),
}

_SORTS = {
    "sort": Rule(np.sort, "any", _refuse_negative_zeros, most=MAX_ORDERED),
    "partition": Rule(partition, "any", _refuse_negative_zeros, most=MAX_ORDERED),
    "argsort": Rule(argsort, "any", most=MAX_ORDERED),
    "argpartition": Rule(argpartition, "any", most=MAX_ORDERED),
    "lexsort": Rule(np.lexsort, "any", most=MAX_ORDERED),
    "unique": Rule(np.unique, "any", _unique_size, most_integers=MAX_UNIQUE_INTEGERS),
    **{
        f.__name__: Rule(f, "joined", _refuse_negative_zeros, joined=2, most=MAX_SETS)
        for f in (np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d)
    },
}

_ARITHMETIC = {
    "bincount": Rule(np.bincount, "integers", _bincount_size, refused=("weights",)),
    "cumsum": Rule(np.ndarray.cumsum, "integers"),
    "cumprod": Rule(np.ndarray.cumprod, "integers"),
    "convolve": Rule(np.convolve, "integers", count_pairs),
    "correlate": Rule(np.correlate, "integers", count_pairs),
    "vdot": Rule(np.vdot, "integers"),
    "kron": Rule(np.kron, "integers", count_pairs),
    "allclose": Rule(np.allclose, "alike"),
}

FUNCTIONS: dict[str, Rule] = {
    **{
        name: Rule(numpys, "any", most=MAX_NONZERO if name == "nonzero" else MAX_ELEMENTS)
        for name, numpys in _SEARCHES.items()
    },
    **_SORTS,
    **_REARRANGEMENTS,
    **_ARITHMETIC,
}

# Methods. A method that is also a function has the function's parameters.
METHODS: dict[str, Rule] = {
    **{name: FUNCTIONS[name] for name in ("argmax", "argmin", "argsort", "argpartition", "nonzero", "searchsorted")},
    **{name: FUNCTIONS[name] for name in ("take", "repeat", "cumsum", "cumprod")},
    "compress": Rule(np.ndarray.compress, "any"),
}

# Functions that write to their first operand, and the positions of the operands that they write.
WRITES: dict[str, tuple[Any, tuple[int, ...]]] = {
    "put": (put, (2,)),
    "place": (np.place, (2,)),
    "putmask": (np.putmask, (2,)),
    "fill_diagonal": (np.fill_diagonal, (1,)),
    "put_along_axis": (np.put_along_axis, (2,)),
}
WRITING_METHODS: dict[str, tuple[Any, ...]] = {
    "put": WRITES["put"],
    "sort": (sort_in_place, (), MAX_ORDERED),
    "partition": (partition_in_place, (), MAX_ORDERED),
}


def as_method(name: str, function: Any) -> Any:
    """Wrap a method of arrays so that NumPy computes its small calls, if a table has the method."""
    if name in WRITING_METHODS:
        return small_write(function, *WRITING_METHODS[name])
    rule = METHODS.get(name)
    return function if rule is None else small_call(function, rule)


def with_small_calls(name: str, function: Any) -> Any:
    """Wrap a function of clarray's so that NumPy computes its small calls, if a table has the function."""
    if name in WRITES:
        return small_write(function, *WRITES[name])
    rule = FUNCTIONS.get(name)
    return function if rule is None else small_call(function, rule)


def attach_small_calls(namespace: ModuleType) -> None:
    """Wrap the functions that `namespace`, clarray, already has so that NumPy computes their small calls."""
    for name in (*FUNCTIONS, *WRITES):
        if name in vars(namespace):
            setattr(namespace, name, with_small_calls(name, getattr(namespace, name)))
    namespace.concat = namespace.concatenate  # type: ignore[attr-defined]
