"""Numbers are numbers: an element and a full reduction answer to a program as NumPy's scalars do.

Each consumer is given an element at hand, and a reduction that waits to be computed.
"""

from __future__ import annotations

import array
import ctypes
import fractions
import itertools
import math
import numbers
import operator
import pickle
import random
import statistics
import struct
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

from ..conftest import DTYPES, FEW_DTYPES, by_dtype

# What gives a number, from an array whose elements are all equal.
MAKERS: dict[str, Callable[[Any, Any], Any]] = {
    "element": lambda xp, x: x[1],
    "negative index": lambda xp, x: x[-1],
    "element of a pending array": lambda xp, x: xp.maximum(x, x)[1],
    "element of two axes": lambda xp, x: x[:, None][1, 0],
    "from iteration": lambda xp, x: next(iter(x)),
    "from unpacking": lambda xp, x: (lambda a, b, c: b)(*x),
    "from flat": lambda xp, x: x.flat[1],
    "of a 0-d array": lambda xp, x: xp.array(x[1])[()],
    "max": lambda xp, x: x.max(),
    "max of a pending array": lambda xp, x: xp.maximum(x, x).max(),
    "max by function": lambda xp, x: xp.max(x),
    "max by axis": lambda xp, x: x.max(axis=0),
    "computed of a number": lambda xp, x: abs(x.max()),
    "computed of two numbers": lambda xp, x: xp.maximum(x.max(), x[1]),
}

# These take kernels of their own for each dtype. Few dtypes stand for all: one for each way of storing, and those whose
# NumPy scalars are, or give, Python's own numbers. The maximum itself is asked in every dtype.
EXPRESSIONS = ("max of a pending array", "computed of a number", "computed of two numbers")
DTYPES_OF_EXPRESSIONS = (*FEW_DTYPES, "int64", "float64", "complex128")


def _catch(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except Exception as error:
        return type(error)


CONSUMERS: dict[str, Callable[[Any], Any]] = {
    "class": lambda n: n.__class__,
    **{
        f"isinstance {kind.__name__}": lambda n, kind=kind: isinstance(n, kind)
        for kind in (bool, int, float, complex, np.generic, np.bool, np.integer, np.floating, np.complexfloating)
    },
    **{
        f"is a {name}": lambda n, name=name: isinstance(n, getattr(numbers, name))
        for name in ("Number", "Complex", "Real", "Rational", "Integral")
    },
    "isscalar": np.isscalar,
    "hash": hash,
    "key": lambda n: {n: "found"}.get(n.item()),
    "in a set": lambda n: len({n, n.item()}),
    "equal": lambda n: bool(n == n.item()),
    "repr": repr,
    "str": str,
    "format": lambda n: f"{n} {n!s:>8}",
    "percent": lambda n: operator.mod("%s %r", (n, n)),
    "percent d": lambda n: operator.mod("%d", n),
    "percent f": lambda n: operator.mod("%.3f", n),
    "spec": lambda n: format(n, ".2f"),
    "in a tuple": lambda n: str((n, [n])),
    "bool": bool,
    "int": int,
    "float": float,
    "complex": complex,
    "index": operator.index,
    "range": lambda n: list(range(n)),
    "slice": lambda n: [0, 1, 2, 3, 4][:n],
    "item of a list": lambda n: [0, 1, 2, 3, 4][n],
    "round": round,
    "round to": lambda n: round(n, 1),
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "sqrt": math.sqrt,
    "factorial": math.factorial,
    "fraction": fractions.Fraction,
    "mean": lambda n: statistics.mean([n, n]),
    "sample": lambda n: random.Random(1).sample(range(9), n),
    "choices": lambda n: len(random.Random(1).choices("ab", k=n)),
    "pack d": lambda n: struct.pack("d", n),
    "pack i": lambda n: struct.pack("i", n),
    "c_double": lambda n: ctypes.c_double(n).value,
    "array of C": lambda n: array.array("d", [n]).tolist(),
    "pickle": lambda n: pickle.loads(pickle.dumps(n)),
    "pickle 5": lambda n: pickle.loads(pickle.dumps(n, 5)),
    "sum": lambda n: sum([n, n]),
    "max of a list": lambda n: max([n, n]),
    "sorted": lambda n: sorted([n, n]),
    "islice": lambda n: list(itertools.islice("abcdef", n)),
    "repeated string": lambda n: "ab" * n,
    **{
        f"{side} {type(sequence).__name__}": lambda n, sequence=sequence, side=side: (
            sequence * n if side == "before" else n * sequence
        )
        for sequence in ([0, 1], (1,), "ab", b"ab", bytearray(b"a"), array.array("i", [1]), deque([1]))
        for side in ("before", "after")
    },
    "list in place": lambda n: operator.imul([1], n),
    **{
        name: lambda n, name=name: (lambda a: a() if callable(a) else a)(getattr(n, name))
        for name in (
            *(
                "as_integer_ratio",
                "is_integer",
                "hex",
                "bit_count",
                "numerator",
                "denominator",
                "real",
                "imag",
                "conjugate",
            ),
            *("item", "tolist", "dtype", "shape", "ndim", "size", "nbytes", "T", "copy"),
        )
    },
    "astype": lambda n: n.astype(np.float32),
}

# Two answers of NumPy that a number that waits does not give: the C type, or the type itself, is looked at there.
_BY_TYPE = {"mean"}


def alike(mine: Any, theirs: Any) -> bool:
    if isinstance(theirs, type) and issubclass(theirs, Exception):
        return mine is theirs or (theirs is struct.error and mine is TypeError)  # struct looks for __index__ first
    if isinstance(mine, type) and issubclass(mine, Exception):
        return False
    if isinstance(theirs, np.generic) and not isinstance(mine, type(theirs)):
        return False
    if isinstance(theirs, np.generic | np.ndarray):
        return mine.dtype == theirs.dtype and np.array_equal(clarray.asnumpy(mine), theirs)
    if isinstance(theirs, tuple | list):
        return type(mine) is type(theirs) and len(mine) == len(theirs) and all(map(alike, mine, theirs))
    return type(mine) is type(theirs) and mine == theirs


@by_dtype("maker", [m for m in MAKERS if m not in EXPRESSIONS], EXPRESSIONS, those=DTYPES_OF_EXPRESSIONS)
def test_consumers(maker: str, dtype: str) -> None:
    host = np.full(3, 3, dtype)
    given = MAKERS[maker](np, host)
    assert isinstance(given, np.generic)
    differ = {}
    for name, consumer in CONSUMERS.items():
        theirs = _catch(lambda consumer=consumer: consumer(given))
        number = MAKERS[maker](clarray, clarray.array(host))
        mine = _catch(lambda consumer=consumer, number=number: consumer(number))
        waits = type(number) is clarray.DeviceArray
        if not alike(mine, theirs) and not (waits and name in _BY_TYPE):
            differ[name] = mine, theirs
    assert differ == {}


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_of_host_memory_are_numpys_scalars(dtype: str) -> None:
    host = np.arange(6).reshape(2, 3).astype(dtype)
    x = clarray.array(host)
    if not current_device().capabilities.host_memory:
        pytest.skip("the device has memory of its own")
    for mine, theirs in zip(x.flat, host.flat, strict=True):
        assert type(mine) is type(theirs)
        assert mine == theirs
    assert type((x + x)[1, 2]) is type(host[1, 2])


def test_bits_of_elements() -> None:
    for dtype, bits in (("u4", "f4"), ("u2", "f2"), ("u8", "f8")):
        host = np.array([np.iinfo(dtype).max // 2 - 5, np.iinfo(dtype).max - 9], dtype).view(bits)  # NaNs
        x = clarray.array(host)
        for k in range(2):
            assert np.asarray(clarray.asnumpy(x[k])).tobytes() == host[k : k + 1].tobytes()


def test_arrays_of_no_axes_stay_arrays() -> None:
    x = clarray.array(np.arange(3.0))
    for zero in (clarray.array(2.0), x[1, ...], x[1:2].reshape(()), x.max(keepdims=True)[0, ...], clarray.zeros(())):
        assert type(zero) is zero.__class__ is clarray.DeviceArray
        assert not isinstance(zero, np.generic | float)
        assert repr(zero).startswith("array(")
        assert not hasattr(zero, "is_integer")
        with pytest.raises(TypeError):
            hash(zero)
    assert not np.isscalar(x[1, ...])


def test_methods_of_clarray_on_a_reduction() -> None:
    total = clarray.array([1.0, 2.0]).sum()
    assert total.device is current_device()
    assert total.evaluate() is total
    assert total.get() == 3
    assert "add" in str((clarray.arange(1e6) * 2).sum().explain())


def test_writing_by_elements() -> None:
    rng = np.random.default_rng(3)
    host = rng.integers(0, 9, (4, 5)).astype(float)
    x = clarray.array(host)
    for xp in (x, host):
        for i in range(1, 4):
            for j in range(5):
                xp[i, j] += 0.5
                xp[i, j] = max(xp[i - 1, j], xp[i, j] * xp[i - 1, j - 1])
    np.testing.assert_array_equal(x.get(), host)


@pytest.mark.parametrize(
    "value", [np.float64(2.5), np.int64(3), np.bool(True), np.float32(7), np.complex64(1 + 2j), 1j]
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_an_element_of_another_dtype(dtype: str, value: Any) -> None:
    host = np.ones(3, dtype)
    x = clarray.array(host)

    def write(a: Any) -> Any:
        with np.testing.suppress_warnings() as quiet:
            quiet.filter(np.exceptions.ComplexWarning)
            a[1] = value
        return clarray.asnumpy(a).tolist()

    for _ in range(3):
        mine, theirs = _catch(lambda: write(x)), _catch(lambda: write(host))
        assert mine == theirs


def test_numbers_of_a_reduction_in_one_pass() -> None:
    x = clarray.array(np.arange(100_000.0)).evaluate()
    with clarray.profile() as profile:
        found = x.mean(), x.std(), x.min(), x.max()
        assert profile.launches <= 4  # nothing has waited for one of them
    assert [float(n) for n in found] == pytest.approx([49999.5, 28867.513457, 0, 99999])


def test_a_ufunc_of_numbers() -> None:
    for name, args in (("sqrt", (2.0,)), ("add", (1, 2)), ("sin", (np.float32(1),)), ("equal", (True, 1j))):
        mine, theirs = getattr(clarray, name)(*args), getattr(np, name)(*args)
        assert type(mine) is type(theirs)
        assert mine == theirs
