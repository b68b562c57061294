"""Reductions: one body as NumPy and as clarray, over layouts, boundaries, dtypes and keywords.

Values are small integers wherever floats are added, so that every order gives the same bits; how
accurate sums are is tested in test_reduce_accuracy.py.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import clarray
from clarray._engine.runtime import current_device

from ..conftest import DTYPES, by_dtype, policy_in_force

Body = Callable[[Any], Any]


def small(shape: Any, dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    """Random integers from -3 to 3 (0 to 3 if unsigned) in any dtype."""
    found = np.random.default_rng(seed).integers(-3, 4, shape)
    kind = np.dtype(dtype).kind
    if kind == "c":
        return (found + 1j * found[..., ::-1]).astype(dtype)
    return (abs(found) if kind in "bu" else found).astype(dtype)


HOST = small((4, 5, 6))
CHOSEN = small((4, 5, 6), np.int8, seed=2) > 0
BYTES = small((4, 5, 6), np.int8, seed=3)


# Layouts ------------------------------------------------------------------------------------------

LAYOUTS: dict[str, Callable[[Any, np.ndarray], Any]] = {
    "contiguous": lambda xp, h: xp.asarray(h),
    "fortran": lambda xp, h: xp.asarray(np.asfortranarray(h)),
    "transposed": lambda xp, h: xp.asarray(h).T,
    "middle first": lambda xp, h: xp.asarray(h).transpose(1, 0, 2),
    "middle last": lambda xp, h: xp.asarray(h).transpose(0, 2, 1),
    "backwards": lambda xp, h: xp.asarray(h)[::-1, ::-1, ::-1],
    "backwards inside": lambda xp, h: xp.asarray(h)[:, :, ::-1],
    "every second": lambda xp, h: xp.asarray(h)[:, :, ::2],
    "every third": lambda xp, h: xp.asarray(h)[:, ::3, 1::3],
    "every second row": lambda xp, h: xp.asarray(h)[::2],
    "window": lambda xp, h: xp.asarray(h)[1:, 2:-1, 3:-2],
    "repeated rows": lambda xp, h: xp.broadcast_to(xp.asarray(h)[:, :1], h.shape),
    "repeated elements": lambda xp, h: xp.broadcast_to(xp.asarray(h)[:, :, :1], h.shape),
    "pending": lambda xp, h: xp.asarray(h) + xp.asarray(h)[0],
}
AXES = [None, 0, 1, 2, -1, (0, 1), (0, 2), (1, 2), (0, 1, 2), (2, 0)]
SHAPES = [(3, 5, 37), (37, 6, 4)]


@pytest.mark.usefixtures("quick_builds")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_layouts(same: Any, policy: str, shape: tuple[int, ...], layout: str) -> None:
    host = small(shape)

    def body(xp: Any) -> Any:
        x = LAYOUTS[layout](xp, host)
        return [xp.asarray(x.sum(axis=axis)) for axis in AXES]

    same(body)


@pytest.mark.usefixtures("quick_builds")
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "every second", "backwards"])
def test_layouts_of_positions(same: Any, policy: str, layout: str) -> None:
    # there are many equal values, and the first one counts, in whatever order memory is read
    host = small((5, 6, 33), np.int16)

    def body(xp: Any) -> Any:
        x = LAYOUTS[layout](xp, host)
        found = [x.argmax(), x.argmin(axis=0), x.argmax(axis=1), x.argmin(axis=2)]
        return [xp.asarray(one) for one in found]

    same(body)


@pytest.mark.usefixtures("quick_builds")
@pytest.mark.parametrize("layout", ["contiguous", "middle last", "every second", "repeated rows"])
def test_layouts_of_masks(same: Any, policy: str, layout: str) -> None:
    host, chosen = small((4, 5, 33)), small((4, 5, 33), np.int8, seed=1) > 0

    def body(xp: Any) -> Any:
        x, mask = LAYOUTS[layout](xp, host), LAYOUTS[layout](xp, chosen)
        sums = [x.sum(axis=axis, where=mask) for axis in (None, 0, 1, 2, (0, 2))]
        row = x.sum(axis=1, where=mask[:, :1])
        return [xp.asarray(one) for one in [*sums, row]]

    same(body)


@pytest.mark.usefixtures("quick_builds")
def test_policy_of_another_device(same: Any) -> None:
    host = small((40, 130))

    def body(xp: Any) -> Any:
        x = xp.asarray(host)
        views = [x, x.T, x[:, ::2], x[::-1]]
        return [xp.asarray(v.sum(axis=axis)) for v in views for axis in (None, 0, 1)]

    with policy_in_force("gpu" if current_device().capabilities.kind == "cpu" else "cpu"):
        same(body)


@pytest.mark.usefixtures("quick_builds")
def test_four_dimensions(same: Any, policy: str) -> None:
    host = small((3, 4, 5, 6))

    def body(xp: Any) -> Any:
        x = xp.asarray(host)
        found = [x.sum(axis=axis) for axis in (1, 2, (1, 3), (0, 2), (1, 2), (0, 1, 3))]
        turned = x.transpose(2, 0, 3, 1)[:, ::-1, 1:]
        return found + [turned.sum(axis=axis) for axis in (1, 2, (0, 2), (1, 3))]

    same(body)


# Boundaries ---------------------------------------------------------------------------------------

SIZES = [*range(1, 35), 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1025]


@pytest.mark.parametrize("form", ["all", "rows", "columns", "pairs"])
def test_every_length(same: Any, policy: str, form: str) -> None:
    """Of what is reduced: vectors, lanes, loads in flight, parts of a split and their tails."""
    host = small((max(SIZES) * 2, 3))

    def body(xp: Any) -> Any:
        x = xp.asarray(host)
        flat = x.reshape(-1)
        found = []
        for n in SIZES:
            if form == "all":
                found.append(xp.asarray(flat[:n].sum()))
            elif form == "rows":
                found.append(flat[: 3 * n].reshape(3, n).sum(axis=1))
            elif form == "columns":
                found.append(x[:n].sum(axis=0))
            else:
                found.append(xp.asarray(flat[: 2 * n : 2].sum()))
        return found

    same(body)


def test_every_number_of_outputs(same: Any, policy: str) -> None:
    host = small((5, max(SIZES)))

    def body(xp: Any) -> Any:
        x = xp.asarray(host)
        found = [x[:, :n].sum(axis=0) for n in SIZES]
        found += [x.T[:n, :3].sum(axis=1) for n in SIZES]
        return found + [x[:, : 2 * n : 2].sum(axis=0) for n in SIZES if 2 * n < max(SIZES)]

    same(body)


def test_every_start(same: Any, policy: str) -> None:
    """Of a run of elements, turned round too: vectors are aligned only where they may be."""
    host = small((3, 64))

    def body(xp: Any) -> Any:
        x = xp.asarray(host)
        windows = [x[:, a:b] for a in (0, 1, 2, 3, 5, 8, 16) for b in (17, 33, 40, 64)]
        found = [w[:, ::-1].sum(axis=1) for w in windows]
        return found + [w.sum(axis=k) for w in windows for k in (0, 1)]

    same(body)


@pytest.mark.usefixtures("quick_builds")
@pytest.mark.parametrize("short", [(2, 301), (301, 2), (3, 301), (301, 3), (2, 301, 2)], ids=str)
def test_short_axes(same: Any, policy: str, short: tuple[int, ...]) -> None:
    host = small(short)

    def body(xp: Any) -> Any:
        x = xp.asarray(host)
        found = [x.sum(axis=k) for k in range(x.ndim)]
        return found + [x[..., ::-1].sum(axis=k) for k in range(x.ndim)]

    same(body)


def test_wide_columns_of_complex_numbers(same: Any, policy: str) -> None:
    """Scalar code with a strip of outputs for each work-item."""
    host = small((3, 1500), np.complex64)
    same(lambda xp: [xp.asarray(host)[:, :n].sum(axis=0) for n in (1, 7, 512, 600, 1500)])


# Dtypes -------------------------------------------------------------------------------------------

NAMES = ["sum", "prod", "max", "min", "any", "argmax", "argmin", "nansum"]
AS_ANY = ["all", "count_nonzero"]  # elements as bools, as `any` takes them of every dtype


@pytest.mark.usefixtures("quick_builds")
@by_dtype("name", NAMES, AS_ANY)
def test_every_dtype(same: Any, dtype: str, name: str) -> None:
    host = small((5, 7), dtype)
    if name == "prod" and host.dtype.kind in "fc":
        host[abs(host) > 2] = 1
    same(lambda xp: getattr(xp, name)(xp.asarray(host), axis=1))


INTEGERS = [name for name in DTYPES if np.dtype(name).kind in "iu"]


@pytest.mark.usefixtures("quick_builds")
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin", "ptp"])
def test_extremes_of_integers(same: Any, dtype: str, name: str) -> None:
    info = np.iinfo(dtype)
    host = np.array([[info.min, 0, info.max], [info.min] * 3, [info.max] * 3], dtype)
    same(lambda xp: getattr(xp, name)(xp.asarray(host), axis=1))


@pytest.mark.usefixtures("quick_builds")
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", ["sum", "prod"])
def test_integers_wrap_around(same: Any, dtype: str, name: str) -> None:
    host = np.full((5, 7), np.iinfo(dtype).max, dtype)
    same(lambda xp: getattr(xp, name)(xp.asarray(host), axis=1))
    same(lambda xp: getattr(xp, name)(xp.asarray(host), axis=1, dtype=dtype))


INF, NAN, TINY, MAX = np.inf, np.nan, 1e-45, 3.4028235e38
# no two largest numbers of one sign: whether a partial sum overflows depends on the order, NumPy's too
SPECIAL = [
    [1, 2, NAN, 3],
    [NAN] * 4,
    [INF, 1, -INF, 2],
    [INF, INF, 1, 1],
    [-INF] * 4,
    [INF] * 4,
    [-0.0] * 4,
    [0.0, -0.0, 0.0, -0.0],
    [TINY, -TINY, TINY, TINY],
    [MAX, -MAX, 1, 1],
    [MAX, 0, 0, 0],
    [-MAX, NAN, INF, 0],
    [1, INF, NAN, -INF],
    [-1, -2, -0.0, -INF],
]
SPECIAL_NAMES = [
    "sum",
    "prod",
    "max",
    "min",
    "any",
    "all",
    "argmax",
    "argmin",
    "ptp",
    "count_nonzero",
    "nansum",
    "nanprod",
    "nanmax",
    "nanmin",
]
NO_ONE_ANSWER = ("prod", "nanprod", "ptp")  # of complex numbers with infinite parts
SPECIAL_CASES = [
    *(("float32", name) for name in SPECIAL_NAMES),
    *(("complex64", name) for name in SPECIAL_NAMES if name not in NO_ONE_ANSWER),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, about what these values do
@pytest.mark.parametrize(("kind", "name"), SPECIAL_CASES)
def test_special_values(same: Any, name: str, kind: str) -> None:
    host = np.array(SPECIAL, kind)
    if kind == "complex64":
        host = np.concatenate([host, host * 0 + 1], dtype=kind)
        host.imag[: len(SPECIAL)] = np.roll(host.real[: len(SPECIAL)], 1, axis=0)
    same(lambda xp: getattr(xp, name)(xp.asarray(host), axis=1))


def test_sum_of_negative_zeros_is_positive(policy: str) -> None:
    for shape in [(1,), (3,), (40,), (3, 40), (40, 3)]:
        host = np.full(shape, -0.0, np.float32)
        for axis in (None, 0, -1):
            expected = np.signbit(host.sum(axis=axis))
            found = clarray.asarray(host).sum(axis=axis)
            np.testing.assert_array_equal(np.signbit(found.get()), expected)


# Fusion -------------------------------------------------------------------------------------------

FUSED: dict[str, Body] = {
    "square of differences": lambda xp: ((xp.asarray(HOST) - xp.asarray(HOST)[0]) ** 2).sum(),
    "broadcast operands": lambda xp: (xp.asarray(HOST)[:, :1] * xp.asarray(HOST)[0]).sum(axis=(0, 2)),
    "after the sum": lambda xp: (xp.asarray(HOST).sum(axis=1) * 2 + 1) > 3,
    "after a full sum": lambda xp: -(xp.asarray(HOST).sum() * 2),
    "with memory after the sum": lambda xp: xp.asarray(HOST).sum(axis=0) + xp.asarray(HOST)[0],
    "two sums": lambda xp: xp.asarray(HOST).sum(axis=0) / xp.asarray(HOST).max(axis=0).sum(),
    "the sum of sums": lambda xp: xp.asarray(HOST).sum(axis=1).sum(axis=0),
    "the same sum twice": lambda xp: (lambda s: s * s + s)(xp.asarray(HOST).sum(axis=2)),
    "of a constant": lambda xp: xp.full((3, 40), 2, np.int32).sum(axis=1),
    "selected": lambda xp: (lambda x: x[x > 0].sum())(xp.asarray(HOST)),
    "selected, mean": lambda xp: (lambda x: x[x > 1].mean())(xp.asarray(HOST)),
    "selected, maximum": lambda xp: (lambda x: x[x < 0].max())(xp.asarray(HOST)),
    "selected, product": lambda xp: (lambda x: x[x == 2].prod())(xp.asarray(BYTES)),
    "selected, any": lambda xp: (lambda x: (x[x > 0] > 2).any())(xp.asarray(HOST)),
    "selected, operation": lambda xp: (lambda x: (x[x > 0] * 2 + 1).sum())(xp.asarray(HOST)),
    "selected by another": lambda xp: xp.asarray(HOST)[xp.asarray(CHOSEN)].min(),
    "selected of a view": lambda xp: (lambda x: x[x > 0].sum())(xp.asarray(HOST)[:, ::-2].T),
    "selected, nothing": lambda xp: (lambda x: x[x > 100].sum())(xp.asarray(HOST)),
    "selected, maximum of nothing": lambda xp: (lambda x: x[x > 100].max())(xp.asarray(HOST)),
    "selected, initial": lambda xp: (lambda x: x[x > 100].max(initial=4))(xp.asarray(HOST)),
    "counted": lambda xp: xp.count_nonzero(xp.asarray(HOST) > 1),
}


@pytest.mark.usefixtures("quick_builds")
@pytest.mark.parametrize("case", FUSED)
def test_fused(same: Any, case: str) -> None:
    same(FUSED[case])


# Anything -----------------------------------------------------------------------------------------


@st.composite
def views(draw: st.DrawFn) -> tuple[np.ndarray, tuple[slice, ...], tuple[int, ...], Any]:
    """An array, a basic index, a permutation of axes, and axes to reduce."""
    ndim = draw(st.integers(1, 4))
    sides = st.sampled_from([1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33])
    shape = tuple(draw(sides) if k < 2 else draw(st.integers(1, 5)) for k in range(ndim))
    steps = draw(st.tuples(*[st.sampled_from([1, 1, 2, 3, -1, -2])] * ndim))
    order = tuple(draw(st.permutations(range(ndim))))
    axes = st.lists(st.integers(-ndim, ndim - 1), max_size=ndim, unique_by=lambda a: a % ndim)
    axis = draw(st.none() | st.integers(-ndim, ndim - 1) | axes.map(tuple))
    host = small(shape, np.int16, seed=draw(st.integers(0, 5)))
    return host, tuple(slice(None, None, s) for s in steps), order, axis


@pytest.mark.usefixtures("quick_builds")
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(views(), st.sampled_from(["sum", "max"]), st.booleans())
def test_any_view(same: Any, policy: str, view: Any, name: str, keepdims: bool) -> None:
    host, index, order, axis = view

    def body(xp: Any) -> Any:
        x = xp.asarray(host)[index].transpose(order)
        return getattr(x, name)(axis=axis, keepdims=keepdims)

    same(body)


# What is done to a result may need other dtypes, and narrower vectors, than the reduction.
AFTERWARDS: dict[str, Callable[[Any, Any], Any]] = {
    "complex": lambda xp, s: s * 1j,
    "complex between": lambda xp, s: abs(s.astype("complex64") * 2j) + s,
    "half": lambda xp, s: s.astype("float16"),
    "bool": lambda xp, s: s > 30,
    "64 bits": lambda xp, s: s.astype("int64"),
    "bytes": lambda xp, s: s.astype("int8"),
}


@pytest.mark.usefixtures("quick_builds")
@pytest.mark.parametrize("name", ["tiny-cpu", "tiny-gpu", "own"])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "complex64"])
def test_dtypes_of_what_is_done_to_the_result(same: Any, name: str, dtype: str) -> None:
    cases = [c for c in AFTERWARDS if dtype != "complex64" or c in ("complex between", "bool")]
    with policy_in_force(name):
        for case, (shape, axis) in itertools.product(cases, [((40,), None), ((3, 40), 1), ((5, 41), 0)]):
            if name == "own" and case not in ("complex", "complex between"):
                continue
            host = (np.arange(np.prod(shape)) % 3).astype(dtype).reshape(shape)
            reduce = "sum" if dtype != "uint8" else "max"
            same(lambda xp, h=host, a=axis, r=reduce, c=case: AFTERWARDS[c](xp, getattr(xp.array(h), r)(axis=a)))


# The same bits every time -------------------------------------------------------------------------


def test_repeats_are_identical(policy: str) -> None:
    host = np.random.default_rng(0).standard_normal((61, 257)).astype(np.float32)
    x = clarray.array(host)
    bodies = [
        *(functools.partial(clarray.sum, x * x, axis) for axis in (None, 0, 1)),
        *(functools.partial(clarray.var, x, axis) for axis in (None, 0, 1)),
        functools.partial(clarray.argmax, x),
    ]
    for body in bodies:
        first = body().get().tobytes()
        assert all(body().get().tobytes() == first for _ in range(5))
