"""Every loop of every supported ufunc against NumPy, on ordinary values and on the edges.

Results that the table computes exactly must equal NumPy's to the bit, the sign of zero included.
Rounded ones stay within the row's bound of the result in a wider type. Builds take the time here:
a loop that calls helpers has one of its own, the others share.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import clarray
from clarray._engine.ops.ctype import Dialect
from clarray._engine.ops.ufuncs import clip_ufunc, find_loop, helpers, supported_ufuncs
from clarray._engine.runtime import current_device

from ..conftest import DTYPES, check_same

Types = tuple[np.dtype, ...]

WIDER = {"e": "d", "f": "d", "d": "g", "F": "D", "D": "G"}
# Their terms cancel where the result is near zero: there the unit is that of the larger operand.
CANCELLING = {np.logaddexp, np.logaddexp2}
POWERS = {np.power, np.float_power}
# Of 0.0 and -0.0 NumPy returns either, as its vector instructions happen to; between the two nextafter has
# nowhere to go, and NVIDIA's compiler takes the equal for the same.
EITHER_ZERO = {np.maximum, np.minimum, np.fmax, np.fmin, np.nextafter, clip_ufunc}
COMPLEX_BOUND = 8  # units of the type's eps, of the result's modulus
RANDOM = 301  # odd, and more than any vector: every kernel runs its body and its tail


def loops() -> Iterator[tuple[np.ufunc, Types, Types]]:
    """Every loop NumPy has over clarray's dtypes: the ufunc, its dtypes in and out."""
    known = {np.dtype(name) for name in DTYPES}
    for ufunc in supported_ufuncs:
        found = {}
        for types in ufunc.types:
            ins, outs = (tuple(np.dtype(c) for c in part) for part in types.split("->"))
            if known.issuperset(ins + outs):
                found[ins] = outs
        for ins, outs in found.items():
            yield ufunc, ins, outs


def groups() -> Iterator[Any]:
    """Loops that are one C expression, by dtypes; every other loop by itself."""
    together: dict[tuple[Types, Types], list[np.ufunc]] = {}
    for ufunc, ins, outs in loops():
        called = helpers(find_loop(ufunc, ins, outs), Dialect())
        if ufunc.nout == 1 and not called and is_exact(ufunc, ins, outs, 0):
            together.setdefault((ins, outs), []).append(ufunc)
            continue
        yield pytest.param([ufunc], ins, outs, id="-".join([ufunc.__name__, *map(str, ins)]))
    for (ins, outs), ufuncs in together.items():
        yield pytest.param(ufuncs, ins, outs, id="-".join([*map(str, ins), "to", str(outs[0])]))


def is_exact(ufunc: np.ufunc, ins: Types, outs: Types, index: int) -> bool:
    """Whether the table promises NumPy's result to the bit."""
    row, form = supported_ufuncs[ufunc], find_loop(ufunc, ins, outs, index).form
    if ins[0].kind == "c":
        return form.result != "value" and ufunc not in (np.absolute, np.sign)
    return form.result != "value" or row.ulp <= 0.5


def skip_without_float64(dtypes: Types) -> None:
    if any(d.char in "dD" for d in dtypes) and not current_device().capabilities.fp64:
        pytest.skip("the device has no float64")


def edges(dtype: np.dtype) -> np.ndarray:
    """The values of a dtype where something special may happen."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        limits, bits = np.iinfo(dtype), dtype.itemsize * 8
        near = [*range(10), bits - 1, bits, bits + 1, *(-i for i in range(1, 10)), -bits, 100, -100]
        ends = [limits.max, limits.max - 1, limits.max // 2, limits.min, limits.min + 1]
        wanted = [n for n in near + ends if limits.min <= n <= limits.max]
        return np.array(wanted, dtype)
    if dtype.kind == "c":
        part = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, np.inf, -np.inf, np.nan])
        both = np.empty((part.size, part.size), dtype)
        both.real, both.imag = part[:, None], part
        return both.ravel()
    f = np.finfo(dtype)
    positive = [0, f.smallest_subnormal, f.tiny * 0.75, f.tiny, f.eps, 0.5, 1 - f.epsneg, 1]
    positive += [1 + f.eps, 1.5, 2, 2.5, 3, 10, 1 / f.eps, f.max / 2, f.max, np.inf]
    values = np.array(positive, dtype)
    return np.concatenate([values, -values, np.array([np.nan], dtype)])


def ordinary(dtype: np.dtype, random: np.random.Generator, n: int) -> np.ndarray:
    """Random values: of every magnitude, near one, near ten."""
    if dtype.kind == "b":
        return random.integers(0, 2, n).astype(bool)
    if dtype.kind in "iu":
        bits = random.integers(0, 256, n * dtype.itemsize, dtype=np.uint8).view(dtype)
        return bits >> random.integers(0, dtype.itemsize * 8, n).astype(dtype)
    if dtype.kind == "c":
        real = [random.uniform(-s, s, n) for s in (8, 8)]
        made = np.empty(n, dtype)
        made.real, made.imag = real
        return made
    top = {2: 10, 4: 100, 8: 900}[dtype.itemsize]
    families = random.uniform(-1, 1, n), random.uniform(-12, 12, n), random.uniform(-100, 100, n)
    every = random.choice([-1.0, 1.0], n) * np.exp2(random.uniform(-top, top, n))
    return np.choose(random.integers(0, 4, n), [*families, every]).astype(dtype)


def operands(ufunc: np.ufunc, dtypes: Types) -> list[np.ndarray]:
    """Edges, every one with every other, and random values after them."""
    random = np.random.default_rng(7)
    crossed = np.meshgrid(*map(edges, dtypes), indexing="ij")
    made = [
        np.concatenate([one.ravel(), ordinary(dtype, random, RANDOM)])
        for one, dtype in zip(crossed, dtypes, strict=True)
    ]
    if ufunc is np.power and dtypes[1].kind == "i":  # NumPy refuses negative integer powers
        made[1] = np.where(made[1] < 0, ~made[1], made[1])
    return made


def report(name: str, wrong: np.ndarray, ours: np.ndarray, right: np.ndarray, arrays: list[np.ndarray]) -> None:
    if wrong.any():
        shown = [
            f"{name}{tuple(x[i] for x in arrays)} = {ours[i]!r}, not {right[i]!r}" for i in np.flatnonzero(wrong)[:20]
        ]
        pytest.fail(f"{wrong.sum()} of {wrong.size} wrong\n" + "\n".join(shown), pytrace=False)


def assert_bits(name: str, ours: np.ndarray, theirs: np.ndarray, arrays: list[np.ndarray]) -> None:
    """Equal to the bit, except that one NaN is as good as another."""
    if theirs.dtype.kind == "c":
        assert_bits(name, ours.real, theirs.real, arrays)
        assert_bits(name, ours.imag, theirs.imag, arrays)
        return
    wrong = ours != theirs
    if theirs.dtype.kind == "f":
        wrong |= np.signbit(ours) != np.signbit(theirs)
        wrong &= ~(np.isnan(ours) & np.isnan(theirs))
    report(name, wrong, ours, theirs, arrays)


def assert_within(
    name: str,
    ours: np.ndarray,
    exact: np.ndarray,
    size: np.ndarray,
    ulp: float,
    arrays: list[np.ndarray],
) -> None:
    """Within `ulp` units of the last place of `size`; infinities, NaN and -0.0 where they belong."""
    limits = np.finfo(ours.dtype)
    unit = np.spacing(np.clip(size, limits.tiny, limits.max).astype(ours.dtype))
    unit = unit.astype(exact.dtype)
    # Infinity stands for the power of two after the largest number.
    top = exact.dtype.type(limits.max) + np.spacing(limits.max).astype(exact.dtype)
    mine, right = (np.clip(x.astype(exact.dtype), -top, top) for x in (ours, exact))
    wrong = np.abs(mine - right) > ulp * unit
    wrong |= np.isnan(ours) != np.isnan(exact)
    zero = (ours == 0) & (exact.astype(ours.dtype) == 0) & (size <= np.abs(exact))
    wrong |= zero & (np.signbit(ours) != np.signbit(exact))
    report(name, wrong, ours, exact, arrays)


def assert_near(name: str, ours: np.ndarray, exact: np.ndarray, size: np.ndarray, arrays: list[np.ndarray]) -> None:
    """Within COMPLEX_BOUND of `size`; infinities and NaN where they belong."""
    limits = np.finfo(ours.dtype)
    usual = np.isfinite(exact)
    error = np.abs(ours - exact) / np.maximum(size, limits.tiny)
    wrong = usual & ~(error <= COMPLEX_BOUND * limits.eps)
    parts = [(ours, exact)] if ours.dtype.kind == "f" else [(ours.real, exact.real)]
    if ours.dtype.kind == "c":
        parts.append((ours.imag, exact.imag))
    for mine, right in parts:
        wrong |= ~usual & (np.isnan(mine) != np.isnan(right))
        wrong |= ~usual & (np.isinf(mine) | np.isinf(right)) & (mine != right)
    report(name, wrong, ours, exact, arrays)


def on_device(ufuncs: list[np.ufunc], arrays: list[np.ndarray]) -> list[tuple[np.ndarray, ...]]:
    """The outputs of each ufunc; several ufuncs share one kernel, which chooses by position."""
    if len(ufuncs) == 1:
        result = ufuncs[0](*map(clarray.asarray, arrays))
        results = result if isinstance(result, tuple) else (result,)
        assert all(isinstance(one, clarray.DeviceArray) for one in results)
        return [tuple(map(clarray.asnumpy, results))]
    # Copies: what reads the user's own memory is computed at once, each ufunc in its own kernel.
    tiled = [clarray.array(np.tile(x, len(ufuncs))) for x in arrays]
    chosen = clarray.array(np.repeat(np.arange(len(ufuncs), dtype=np.uint8), arrays[0].size))
    result = ufuncs[0](*tiled)
    for index, ufunc in enumerate(ufuncs[1:], 1):
        result = clarray.where(chosen == index, ufunc(*tiled), result)
    return [(part,) for part in np.split(clarray.asnumpy(result), len(ufuncs))]


@pytest.mark.parametrize(("ufuncs", "ins", "outs"), list(groups()))
def test_every_loop(ufuncs: list[np.ufunc], ins: Types, outs: Types) -> None:
    skip_without_float64(ins + outs)
    arrays = operands(ufuncs[0], ins)
    with np.errstate(all="ignore"):
        for ufunc, results in zip(ufuncs, on_device(ufuncs, arrays), strict=True):
            wanted = ufunc(*arrays)
            wanted = wanted if isinstance(wanted, tuple) else (wanted,)
            for index, (mine, theirs) in enumerate(zip(results, wanted, strict=True)):
                assert mine.dtype == theirs.dtype == outs[index]
                check(ufunc, ins, outs, index, mine, theirs, arrays)


def check(
    ufunc: np.ufunc,
    ins: Types,
    outs: Types,
    index: int,
    mine: np.ndarray,
    theirs: np.ndarray,
    arrays: list[np.ndarray],
) -> None:
    """Judge one output of one loop as the table says."""
    name = ufunc.__name__
    if is_exact(ufunc, ins, outs, index):
        if ufunc in EITHER_ZERO:
            mine, theirs = mine + 0, theirs + 0
        assert_bits(name, mine, theirs, arrays)
        return
    wider = [x.astype(WIDER[x.dtype.char]) for x in arrays]
    exact = ufunc(*wider)
    if ufunc is np.expm1 and ins[0].kind == "c":  # NumPy's formula gives inf * 0, the array API standard exp's values
        exact = np.where(np.isfinite(arrays[0].real), exact, np.exp(wider[0]) - 1)
    size = np.abs(exact)
    if ins[0].kind == "c":
        if ufunc in POWERS:  # the exponent of e is rounded, whose error the result multiplies
            size = size * (1 + np.nan_to_num(np.abs(arrays[1] * np.log(arrays[0]))))
        assert_near(name, mine, exact, size, arrays)
        return
    if ufunc in CANCELLING:
        size = np.maximum.reduce([size, *map(np.abs, arrays)])
    # float16 is computed in float32 and rounded once more
    ulp = 0.51 if ins[0].char == "e" else supported_ufuncs[ufunc].ulp
    assert_within(name, mine, exact, size, ulp, arrays)


SHAPES = [((5, 1), (1, 7)), ((37,), ()), ((), (3, 37)), ((2, 1, 7), (5, 1)), ((0, 3), (1, 3))]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_broadcasting(shapes: tuple[tuple[int, ...], ...], same: Any) -> None:
    def body(xp: Any) -> Any:
        a, b = (np.arange(np.prod(shape)).reshape(shape) for shape in shapes)
        a, b = xp.asarray(a.astype(np.float32)), xp.asarray(b.astype(np.float32))
        return np.subtract(a, b), np.add(b[..., ::-1] if b.ndim else b, a)

    same(body)


def test_shapes_that_do_not_broadcast(same: Any) -> None:
    same(lambda xp: np.add(xp.asarray(np.ones(3)), xp.asarray(np.ones((2, 4)))))


OPERANDS = st.sampled_from(DTYPES) | st.sampled_from(
    [True, 0, 3, -1, 300, 2**40, 0.5, -0.0, float("nan"), float("inf"), 1e30, 2j]
)
MIXED = [np.add, np.multiply, np.maximum, np.less, np.equal]


@settings(max_examples=max(settings.default.max_examples // 3, 1))
@given(st.sampled_from(MIXED), st.sampled_from(DTYPES), OPERANDS, st.booleans())
def test_mixed_dtypes_and_python_scalars(ufunc: np.ufunc, dtype: str, other: Any, swapped: bool) -> None:
    """NumPy's promotion, and its errors where a Python integer does not fit."""
    no_fp64 = not current_device().capabilities.fp64

    def body(xp: Any) -> Any:
        one = xp.asarray(np.arange(-8, 29).astype(dtype))
        two = xp.asarray(np.arange(1, 38).astype(other)) if isinstance(other, str) else other
        with np.errstate(all="ignore"):
            return ufunc(two, one) if swapped else ufunc(one, two)

    assume(not (no_fp64 and "64" in str(body(np).dtype)))
    check_same(body)


def test_float16_chains_round_at_every_step(same: Any) -> None:
    """Values stay in float32 between the operations, yet each result is a float16."""
    random = np.random.default_rng(3)
    values = [ordinary(np.dtype("e"), random, 70) for _ in range(3)]

    def body(xp: Any) -> Any:
        a, b, c = map(xp.asarray, values)
        with np.errstate(all="ignore"):
            sums = (a * b + c) * 3 - a / 7
            roots = np.sqrt(np.abs(a)) + np.square(b) * c - 1.1
            mixed = (a + b).astype(np.float32) * np.float32(1.1) + np.minimum(b * c, a + c)
            whole = np.floor(a * b) % 7 + np.trunc(c / 3) // 2
            return sums, roots, mixed, whole, np.maximum(a + b, c * c) > a - c

    same(body)


def test_float16_overflows_and_underflows_as_numpy(same: Any) -> None:
    def body(xp: Any) -> Any:
        x = xp.asarray(np.array([65504, 65488, 300, 6e-8, 6e-5, -65504, -6e-8] * 5, np.float16))
        with np.errstate(all="ignore"):
            return x * x - x, x + x, x * 0.5 * 2, (x + 16) - x, x / 3 * 3

    same(body)
