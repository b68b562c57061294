"""Borders: every mode, every form of its widths and values, and NumPy's errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clarray
from clarray._engine.runtime import current_device

pytestmark = pytest.mark.usefixtures("quick_builds")

HOST = np.random.default_rng(2).integers(0, 100, (4, 5, 3))
MAPPED = ["constant", "edge", "reflect", "symmetric", "wrap"]
WIDTHS: list[Any] = [2, (1, 3), ((1, 0), (0, 2), (3, 4)), ((9,), (0,), (20,)), ((0, 0), (13, 1), (0, 0))]


KINDS = list(zip(["uint8", "float32", "complex64", "float32", "int16"], MAPPED, strict=True))


@pytest.mark.parametrize(("kind", "mode"), KINDS)
def test_modes_of_one_pass(same: Any, policy: str, kind: str, mode: str) -> None:
    def body(xp: Any) -> Any:
        a = xp.asarray(HOST.astype(kind))
        views = (a, a.T, a[:, ::-2], a[:, :1], a[0, 0])
        return [xp.pad(view, width, mode) for view in views for width in WIDTHS[:2]] + [
            xp.pad(a, width, mode) for width in WIDTHS[2:]
        ]

    same(body)


@pytest.mark.kernels_alone
@pytest.mark.parametrize("mode", MAPPED)
@pytest.mark.optimized
def test_one_launch_and_layout(mode: str) -> None:
    host = np.asfortranarray(HOST.astype(np.float32))
    array = clarray.array(host)
    with clarray.profile() as seen:
        made = clarray.pad(array, ((1, 2), (3, 4), (5, 60)), mode)
    assert seen.launches == 1
    assert made.strides == np.pad(host, ((1, 2), (3, 4), (5, 60)), mode).strides  # type: ignore[call-overload]


@given(st.sampled_from(MAPPED), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=2, max_size=2))
def test_any_widths(mode: str, widths: list[tuple[int, int]]) -> None:
    host = HOST[0].astype(np.int16)
    expected = np.pad(host, widths, mode)  # type: ignore[call-overload]
    np.testing.assert_array_equal(clarray.pad(clarray.array(host), widths, mode).get(), expected)


@pytest.mark.parametrize(
    "values", [7, (7, 8), ((1, 2), (3, 4), (5, 6)), ((7,), (8,), (9,)), np.array([[2.5]]), (300, 1)]
)
@pytest.mark.parametrize("turned", [False, True])
def test_constants(same: Any, values: Any, turned: bool) -> None:
    def body(xp: Any) -> Any:
        a = xp.asarray(HOST.astype(np.uint8))
        return xp.pad(a.T if turned else a, WIDTHS[2], constant_values=values)

    same(body)


@pytest.mark.parametrize("kind", ["float32", "bool"])
def test_odd_reflections(same: Any, kind: str) -> None:
    def body(xp: Any) -> Any:
        a = xp.asarray(HOST.astype(kind))
        return [
            xp.pad(view, width, mode, reflect_type="odd")
            for mode in ("reflect", "symmetric")
            for view in (a, a[:, :1])
            for width in (1, WIDTHS[2], WIDTHS[3])
        ]

    same(body)


@pytest.mark.parametrize("kind", ["uint8", "float32"])
def test_ramps(same: Any, kind: str) -> None:
    if not current_device().capabilities.fp64:
        pytest.skip("NumPy's ramps are computed in float64")
    ends: list[Any] = [0, ((5, 4), (1, 2), (3, 4)), (5, 4 if kind == "uint8" else -4)]

    def body(xp: Any) -> Any:
        a = xp.asarray(HOST.astype(kind))
        return [xp.pad(a, width, "linear_ramp", end_values=end) for width in (2, WIDTHS[2]) for end in ends]

    same(body)


STATISTICS = [
    ("maximum", "uint8"),
    ("minimum", "float32"),
    ("mean", "uint8"),
    ("mean", "float32"),
    ("median", "float32"),
]


@pytest.mark.parametrize(("mode", "kind"), STATISTICS)
def test_statistics(mode: Any, kind: str) -> None:
    if (mode, kind) == ("mean", "uint8") and not current_device().capabilities.fp64:
        pytest.skip("NumPy's means of integers are float64")
    host = HOST.astype(kind)
    for width, length in ((2, None), (WIDTHS[2], ((1, 2), (2, 1), (9, 3))), ((1, 3), 2)):
        found = clarray.pad(clarray.array(host), width, mode, stat_length=length)
        expected = np.pad(host, width, mode, stat_length=length)
        np.testing.assert_allclose(found.get(), expected, rtol=1e-6)


def fill(vector: Any, widths: tuple[int, int], axis: int, kwargs: dict[str, Any]) -> None:
    if widths[0]:
        vector[: widths[0]] = kwargs.get("value", axis)
    if widths[1]:
        vector[-widths[1] :] = 9


CALLS: list[Any] = [
    lambda xp, a: xp.pad(a, 2, fill, value=3),
    lambda xp, a: xp.pad(a[0, 0], (1, 2), fill),
    lambda xp, a: xp.pad(a, {0: 2, -1: (1, 2)}),
    lambda xp, a: xp.pad(a[:, :0], 1, constant_values=4),
    lambda xp, a: xp.pad(a[:, :0], ((1, 1), (0, 0), (2, 0)), "edge"),
    lambda xp, a: xp.pad(a, 2, "empty").shape,
    lambda xp, a: xp.pad(a[0, 0, 0], 3),
    lambda xp, a: xp.pad(a[:, :0], 1, "wrap"),
    lambda xp, a: xp.pad(a, -1),
    lambda xp, a: xp.pad(a, 1.5),
    lambda xp, a: xp.pad(a, ((1, 2), (3, 4))),
    lambda xp, a: xp.pad(a, 1, "foo"),
    lambda xp, a: xp.pad(a, 1, "edge", constant_values=3),
    lambda xp, a: xp.pad(a, 1, "maximum", stat_length=0),
    lambda xp, a: xp.pad(a, 1, "mean", stat_length=-1),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_calls_and_errors(same: Any, number: int) -> None:
    if number == 2 and np.lib.NumpyVersion(np.__version__) < "2.4.0":
        pytest.skip("NumPy takes a dict from 2.4 on")
    same(lambda xp: CALLS[number](xp, xp.asarray(HOST.astype(np.float32))))
