"""Reductions as monoids.

An algebra is a Mako def in ``templates/lib/monoids.mako``: the accumulator's components, the step that adds a value,
the combination of two accumulators, and the result. A `Monoid` is the algebra of a ufunc or a statistic at given
dtypes, with its identity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from clarray._engine.fast_dataclass import dataclass
from clarray._engine.ops.ctype import compute_type
from clarray._engine.ops.dtypes import dtype_row, wide_dtype
from clarray._engine.ops.ufuncs import Loop, find_loop

__all__ = [
    "CHANGES_FIRST",
    "CText",
    "Monoid",
    "Reduction",
    "fold_monoid",
    "scan_monoid",
    "snippet_monoid",
    "statistic_monoid",
]

_BOOL = np.dtype(bool)
_INT64 = np.dtype(np.int64)


def _lowest(dtype: np.dtype) -> Any:
    if dtype.kind == "b":
        return False
    if dtype.kind in "iu":
        return np.iinfo(dtype).min
    return complex(-np.inf, -np.inf) if dtype.kind == "c" else -np.inf


def _highest(dtype: np.dtype) -> Any:
    if dtype.kind == "b":
        return True
    if dtype.kind in "iu":
        return np.iinfo(dtype).max
    return complex(np.inf, np.inf) if dtype.kind == "c" else np.inf


def _all_ones(dtype: np.dtype) -> Any:
    return True if dtype.kind == "b" else (-1 if dtype.kind == "i" else np.iinfo(dtype).max)


def _nan(dtype: np.dtype) -> Any:
    return complex(np.nan, np.nan) if dtype.kind == "c" else np.nan


Identity = Callable[[np.dtype], Any]

# Identities of the ufuncs that are associative and commutative.
_IDENTITIES: dict[np.ufunc, Identity] = {
    np.add: lambda d: 0,
    np.multiply: lambda d: 1,
    np.maximum: _lowest,
    np.minimum: _highest,
    np.fmax: lambda d: _lowest(d) if d.kind in "biu" else _nan(d),
    np.fmin: lambda d: _highest(d) if d.kind in "biu" else _nan(d),
    np.logical_and: lambda d: True,
    np.logical_or: lambda d: False,
    np.logical_xor: lambda d: False,
    np.bitwise_and: _all_ones,
    np.bitwise_or: lambda d: 0,
    np.bitwise_xor: lambda d: 0,
    np.gcd: lambda d: 0,
    np.hypot: lambda d: 0.0,
    np.logaddexp: lambda d: -np.inf,
    np.logaddexp2: lambda d: -np.inf,
}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Monoid:
    """A reduction at given dtypes; interned, compared by identity.

    Parameters
    ----------
    name : str
        For printing.
    algebra : str
        Def of ``templates/lib/monoids.mako``.
    in_dtype, out_dtype : dtype
        Dtypes of the operand and of the result.
    components : tuple of (str, dtype)
        Names and dtypes of the accumulator's fields.
    loop : Loop or None
        The operation of a ``fold``.
    identity : object
        Identity of a ``fold``, a Python scalar.
    associative : bool
        If False the elements are reduced one by one, in order.
    indexed : bool
        Whether the accumulator takes the position of each value too.
    block : bool
        Whether the algebra has a step for several values.
    code : int
        Unique small integer.
    """

    name: str
    algebra: str
    in_dtype: np.dtype
    out_dtype: np.dtype
    components: tuple[tuple[str, np.dtype], ...]
    loop: Loop | None = None
    identity: Any = None
    associative: bool = True
    indexed: bool = False
    block: bool = False
    code: int = -1

    @property
    def accumulated_dtype(self) -> np.dtype:
        """The dtype to which values are converted before they are accumulated."""
        dtypes = dict(self.components)
        return dtypes.get("mean", self.components[0][1])

    @property
    def has_first_flag(self) -> bool:
        """Whether the accumulator has a flag for its first value, which it copies unchanged."""
        return self.components[-1][0] == "has"

    @property
    def max_length(self) -> int:
        """About how many elements one accumulator may take, as long as its float counter is exact."""
        counter = dict(self.components).get("n")
        exact = counter is None or counter.kind in "iu" or counter.itemsize > 4
        return 2**52 if exact else 2**23


@dataclass(frozen=True, slots=True)
class Reduction:
    """A monoid over axes, the operation of a reduction node. `reduction_op` makes one object for each.

    Parameters
    ----------
    monoid : Monoid
    axes : tuple of int
        Reduced axes, ascending.
    masked : bool
        Whether the node has a mask as second operand.
    """

    monoid: Monoid
    axes: tuple[int, ...]
    masked: bool
    code: tuple[Any, ...]
    out_dtype: np.dtype

    @property
    def name(self) -> str:
        return self.monoid.name


_reductions: dict[tuple[Any, ...], Reduction] = {}


def reduction_op(monoid: Monoid, axes: tuple[int, ...], ndim: int, masked: bool) -> Reduction:
    """Return the interned operation of a reduction; `ndim` distinguishes the same axes in different ranks."""
    code = (monoid.code, axes, ndim, masked)
    op = _reductions.get(code)
    if op is None:
        op = _reductions.setdefault(code, Reduction(monoid, axes, masked, code, monoid.out_dtype))
    return op


_codes = count()
_monoids: dict[tuple, Monoid] = {}


def _intern(key: tuple, make: Callable[[int], Monoid]) -> Monoid:
    monoid = _monoids.get(key)
    return monoid if monoid is not None else _monoids.setdefault(key, make(next(_codes)))


def fold_monoid(ufunc: np.ufunc, dtype: np.dtype, out_dtype: np.dtype | None = None) -> Monoid:
    """Return the reduction of a binary ufunc over values of `dtype`.

    Float sums are compensated (Neumaier's form of Knuth's TwoSum), so their error does not grow with
    the number of elements. `widened_monoid` is an alternative of the same accuracy. No partial result of a float sum
    or product overflows if the whole does not.

    Raises
    ------
    TypeError
        The ufunc has no loop from two `dtype` to `dtype`.
    """
    out = out_dtype or dtype
    key = (ufunc, dtype, out)
    interned = _monoids.get(key)
    if interned is not None:
        return interned
    acc = wide_dtype(dtype)
    if ufunc is np.add and acc.kind in "fc":
        components: tuple = (("s", acc), ("e", acc))
        return _intern(
            key,
            lambda code: Monoid(
                name="add",
                algebra="compensated",
                in_dtype=dtype,
                out_dtype=out,
                components=components,
                block=True,
                code=code,
            ),
        )
    folded = acc if ufunc is np.multiply else dtype
    loop = find_loop(ufunc, (folded, folded), (folded,))
    identity = _IDENTITIES.get(ufunc)
    if identity is None:
        return _intern(
            key,
            lambda code: Monoid(
                name=ufunc.__name__,
                algebra="first",
                in_dtype=dtype,
                out_dtype=out,
                components=(("v", folded), ("has", _BOOL)),
                loop=loop,
                associative=ufunc in (np.lcm,),
                code=code,
            ),
        )
    if ufunc is np.multiply and folded.kind in "fc":
        return _intern(
            key,
            lambda code: Monoid(
                name=ufunc.__name__,
                algebra="product",
                in_dtype=dtype,
                out_dtype=out,
                components=(("v", folded), ("k", np.dtype(folded.char.lower()))),
                loop=loop,
                identity=1,
                block=True,
                code=code,
            ),
        )
    return _intern(
        key,
        lambda code: Monoid(
            name=ufunc.__name__,
            algebra="fold",
            in_dtype=dtype,
            out_dtype=out,
            components=(("v", folded),),
            loop=loop,
            identity=identity(folded),
            code=code,
        ),
    )


CHANGES_FIRST = (np.gcd, np.hypot, np.logaddexp, np.logaddexp2)


def widened_monoid(monoid: Monoid) -> Monoid:
    """Return a sum of float32 with a float64 accumulator: as exact as a compensated sum, and faster on a CPU."""
    if monoid.algebra != "compensated" or monoid.components[0][1].char not in "fF":
        return monoid
    wide = np.dtype(monoid.components[0][1].char.translate({102: "d", 70: "D"}))
    return _intern(
        ("widened", monoid.code),
        lambda code: Monoid(
            name=monoid.name,
            algebra="widened",
            in_dtype=monoid.in_dtype,
            out_dtype=monoid.out_dtype,
            components=(("v", wide),),
            code=code,
        ),
    )


_COMPARED_BY: dict[np.ufunc, np.ufunc] = {
    np.maximum: np.greater,
    np.fmax: np.greater,
    np.minimum: np.less,
    np.fmin: np.less,
}


def extremum_monoid(monoid: Monoid) -> Monoid:
    """Return the complex maximum or minimum with the position of each value; any other monoid as it is.

    NumPy returns the first of several NaNs, and complex NaNs differ in their other part. A scan meets the values in
    order, but a reduction combines states whose positions alternate, so it needs the positions to find the first one.
    """
    loop = monoid.loop
    if monoid.algebra != "fold" or loop is None or loop.ufunc not in _COMPARED_BY or monoid.in_dtype.kind != "c":
        return monoid
    dtype = monoid.in_dtype
    return _intern(
        ("extremum", monoid.code),
        lambda code: Monoid(
            name=monoid.name,
            algebra="extremum",
            in_dtype=dtype,
            out_dtype=monoid.out_dtype,
            components=(("v", dtype), ("i", _INT64)),
            loop=find_loop(_COMPARED_BY[loop.ufunc], (dtype, dtype), (_BOOL,)),
            identity=monoid.identity,
            indexed=True,
            code=code,
        ),
    )


def scan_monoid(monoid: Monoid) -> Monoid:
    """Return the same operation for a scan, which must not change the first value.

    An identity may change a value: gcd(0, -4) is 4, (1+0j) * (inf+1j) is NaN, and the complex ``fmax`` of two NaNs is
    the first one. Such an operation has an accumulator with a flag for its first value instead of an identity.
    """
    loop = monoid.loop
    folded = monoid.components[0][1]
    if monoid.algebra == "product" and folded.kind == "c":
        components = (*monoid.components, ("has", _BOOL))
        return _intern(
            ("scan", monoid.code), lambda code: replace(monoid, components=components, block=False, code=code)
        )
    if monoid.algebra != "fold" or loop is None:
        return monoid
    if loop.ufunc not in CHANGES_FIRST and not (loop.ufunc in (np.fmax, np.fmin) and folded.kind == "c"):
        return monoid
    return _intern(
        ("scan", monoid.code),
        lambda code: Monoid(
            name=monoid.name,
            algebra="first",
            in_dtype=monoid.in_dtype,
            out_dtype=monoid.out_dtype,
            components=(("v", folded), ("has", _BOOL)),
            loop=loop,
            code=code,
        ),
    )


def statistic_monoid(name: str, dtype: np.dtype) -> Monoid:
    """Return the reduction of a statistic that is not a ufunc.

    Parameters
    ----------
    name : {'argmin', 'argmax', 'mean', 'moments', 'variance'}
        ``moments`` gives the sum of squared deviations from the mean, the numerator of a variance;
        ``mean`` and ``variance`` divide by the number of elements that the mask selects.
    dtype : dtype
    """
    acc = wide_dtype(dtype)
    real = np.dtype(acc.char.lower()) if acc.kind == "c" else acc

    def make(code: int) -> Monoid:
        if name in ("moments", "variance"):
            components: tuple = (
                ("n", real),
                ("mean", acc),
                ("low", acc),
                ("m2", real),
                ("e", real),
            )
            return Monoid(
                name=name, algebra=name, in_dtype=dtype, out_dtype=real, components=components, block=True, code=code
            )
        if name == "mean":
            components = (("s", acc), ("e", acc), ("n", _INT64))
            return Monoid(name=name, algebra="mean", in_dtype=dtype, out_dtype=acc, components=components, code=code)
        comparison = np.less if name == "argmin" else np.greater
        loop = find_loop(comparison, (dtype, dtype), (_BOOL,))
        components = (("v", dtype), ("i", _INT64))
        worst = _IDENTITIES[np.minimum if name == "argmin" else np.maximum](dtype)
        return Monoid(
            name=name,
            algebra="extremum_index",
            in_dtype=dtype,
            out_dtype=_INT64,
            components=components,
            loop=loop,
            identity=worst,
            indexed=True,
            code=code,
        )

    if name not in ("argmin", "argmax", "mean", "moments", "variance"):
        raise ValueError(f"no reduction is called {name!r}")
    return _intern((name, dtype), make)


class CText(str):
    """An identity as C text of the user's."""


def snippet_monoid(name: str, loop: Loop, identity: Any) -> Monoid:
    """Return the reduction by an expression of the user's, which is assumed to be associative.

    Parameters
    ----------
    loop : Loop
        The expression, with two operands and a result of one dtype.
    identity : object
        A scalar, C text, or None if there is none.
    """
    dtype = loop.out_dtype

    def make(code: int) -> Monoid:
        components: tuple = (("v", dtype),) if identity is not None else (("v", dtype), ("has", _BOOL))
        algebra = "fold" if identity is not None else "first"
        return Monoid(
            name=name,
            algebra=algebra,
            in_dtype=dtype,
            out_dtype=dtype,
            components=components,
            loop=loop,
            identity=identity,
            code=code,
        )

    return _intern(("snippet", loop.code, type(identity), repr(identity)), make)


def literal(value: Any, dtype: np.dtype) -> str:
    """Return the C text of a scalar constant of `dtype`, exact for every value."""
    row = dtype_row(dtype)
    if isinstance(value, CText):
        return f"((char)(-(({value}) != 0)))" if row.kind == "b" else f"(({compute_type(dtype)})({value}))"
    if row.kind == "b":
        return "((char)(-1))" if value else "((char)(0))"
    if row.kind in "iu":
        bits = int(value) & (2 ** (8 * dtype.itemsize) - 1)
        return f"(({row.compute})({bits:#x}UL))"
    if row.kind == "c":
        real = np.dtype(np.float32 if row.compute == "float" else np.float64)
        value = complex(value)
        return f"(({row.compute}2)({literal(value.real, real)}, {literal(value.imag, real)}))"
    value = float(value)
    if value != value:
        return f"(({row.compute})NAN)"
    if value in (np.inf, -np.inf):
        return f"(({row.compute})({'-' if value < 0 else ''}INFINITY))"
    suffix = "f" if row.compute == "float" else ""
    return f"(({row.compute})({value.hex()}{suffix}))"
