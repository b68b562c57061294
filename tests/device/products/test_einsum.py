"""Einstein's summation: every form of the notation, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clarray

from ..conftest import FEW_DTYPES, check_same

Same = Callable[..., None]


def whole(shape: tuple[int, ...], dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


TERMS: list[tuple[str, tuple[tuple[int, ...], ...]]] = [
    ("ij,jk->ik", ((3, 4), (4, 5))),
    ("ij,jk->ki", ((3, 4), (4, 5))),
    ("ij,jk", ((3, 4), (4, 5))),
    ("ba", ((3, 4),)),
    ("ii", ((4, 4),)),
    ("ii->i", ((4, 4),)),
    ("iij->j", ((4, 4, 3),)),
    ("i->", ((6,),)),
    ("ij->", ((3, 4),)),
    ("ij->ji", ((3, 4),)),
    ("i,i", ((6,), (6,))),
    ("i,j", ((6,), (5,))),
    ("i,i->i", ((6,), (6,))),
    ("ij,j", ((3, 4), (4,))),
    ("j,ij->i", ((4,), (3, 4))),
    ("zij,zjk->zik", ((2, 3, 4), (2, 4, 5))),
    ("ijz,jkz->ikz", ((3, 4, 2), (4, 5, 2))),
    ("ijz,jkz->zki", ((3, 4, 2), (4, 5, 2))),
    ("ij,kj,lj->ikl", ((3, 4), (2, 4), (5, 4))),
    ("ij,jk,kl->il", ((3, 4), (4, 5), (5, 2))),
    ("ij,jk,k,k->i", ((3, 4), (4, 5), (5,), (5,))),
    ("ij,kl->", ((3, 4), (2, 5))),
    ("ij,ij->", ((3, 4), (3, 4))),
    ("ij,jk->", ((3, 4), (4, 5))),
    ("iij,jkk->ik", ((3, 3, 4), (4, 5, 5))),
    ("...", ((3, 4),)),
    ("...i->...", ((2, 3, 4),)),
    ("i...->...", ((2, 3, 4),)),
    ("...ij,...jk->...ik", ((2, 3, 4), (4, 5))),
    ("...ij,...jk", ((2, 1, 3, 4), (6, 4, 5))),
    ("i...j,j->...i", ((2, 3, 4), (4,))),
    ("...,...", ((3, 4), (4,))),
    ("...ii->...", ((2, 3, 3),)),
    ("ij,ij->ij", ((1, 4), (3, 4))),
    ("i,i", ((1,), (6,))),
    ("ij,jk->ik", ((3, 1), (4, 5))),
    ("ij,jk->ik", ((3, 0), (0, 5))),
    ("abij,cjk->ikabc", ((2, 3, 4, 5), (2, 5, 3))),
    (",ij", ((), (3, 4))),
    (" i j , j k -> i k ", ((3, 4), (4, 5))),
    ("mk,zkn->zmn", ((3, 4), (2, 4, 5))),
    ("amk,bkn->ambn", ((2, 3, 4), (3, 4, 5))),
]


@pytest.mark.parametrize("case", TERMS, ids=lambda case: case[0].strip())
def test_notation(same: Same, case: tuple[str, tuple[tuple[int, ...], ...]]) -> None:
    text, shapes = case
    operands = [whole(shape, seed=n) for n, shape in enumerate(shapes)]
    same(lambda xp: xp.einsum(text, *map(xp.asarray, operands)))


def test_tiles_and_panels(same: Same, policy: str) -> None:
    a, b = whole((2, 9, 10)), whole((10, 2, 11), seed=1)

    def body(xp: ModuleType) -> Any:
        x, y = xp.asarray(a), xp.asarray(b)
        return [
            xp.einsum("zmk,kzn->zmn", x, y),
            xp.einsum("zmk,kzn->mnz", x, y),
            xp.einsum("zmk,kyn->nyzm", x, y),
            xp.einsum("zmk,kyn->zymn", x, y),
            xp.einsum("zmk,kzn->mn", x, y),
            xp.einsum("zmk,kyn->mzny", x[..., ::-1], y),
        ]

    same(body)


def test_lists_of_labels(same: Same) -> None:
    a, b = whole((3, 4)), whole((4, 5), seed=1)

    def body(xp: ModuleType) -> Any:
        x, y = xp.asarray(a), xp.asarray(b)
        return [
            xp.einsum(x, [0, 1], y, [1, 2]),
            xp.einsum(x, [0, 1], y, [1, 2], [2, 0]),
            xp.einsum(x, [Ellipsis, 1], [1, Ellipsis]),
            xp.einsum(x, [7, 30]),
        ]

    same(body)


@pytest.mark.parametrize("dtype", [*FEW_DTYPES, "int64"])
def test_dtypes(same: Same, dtype: str) -> None:
    a, b = whole((6, 7), dtype), whole((7, 5), dtype, 1)
    same(lambda xp: [xp.einsum("ij,jk->ik", xp.asarray(a), xp.asarray(b)), xp.einsum("ij->j", xp.asarray(a))])


def test_keywords(same: Same) -> None:
    a, b, v = whole((6, 7)), whole((7, 5), seed=1), whole((5,), np.int8, seed=2)

    def body(xp: ModuleType) -> Any:
        x, y, w = xp.asarray(a), xp.asarray(b), xp.asarray(v)
        out = xp.zeros((6, 5), np.float32)
        assert xp.einsum("ij,jk->ik", x, y, out=out) is out
        wide = xp.zeros((6, 5), np.complex64)
        assert xp.einsum("ij,jk->ik", x, y, out=wide) is wide
        return [
            out,
            wide,
            xp.einsum("i,i", w, w),
            xp.einsum("i,i", w, w, dtype=np.int32),
            xp.einsum("ij,jk,k->i", x, y, w, optimize=True),
            xp.einsum("ij,jk,k->i", x, y, w, optimize="optimal"),
            xp.einsum("ij,jk,k->i", x, y, w, optimize=["einsum_path", (0, 1), (0, 1)]),
            xp.einsum("ij,jk->ik", x, y, order="C", casting="unsafe", dtype=np.int16),
        ]

    same(body)


def test_a_view_is_writeable() -> None:
    x = clarray.zeros((4, 4), np.float32)
    diagonal = clarray.einsum("ii->i", x)
    diagonal[...] = 3
    assert clarray.asnumpy(x).trace() == 12
    assert clarray.einsum_path("ij,jk,kl->il", x, x, x)[0] == np.einsum_path("ij,jk,kl->il", *[np.zeros((4, 4))] * 3)[0]
    np.testing.assert_array_equal(np.einsum("ij->ji", x), clarray.asnumpy(x).T)


WRONG = [
    lambda xp, x: xp.einsum("ij", x, x),
    lambda xp, x: xp.einsum("ij,jk", x),
    lambda xp, x: xp.einsum("i", x),
    lambda xp, x: xp.einsum("ijk", x),
    lambda xp, x: xp.einsum("ij->ik", x),
    lambda xp, x: xp.einsum("ij->ii", x),
    lambda xp, x: xp.einsum("i1", x),
    lambda xp, x: xp.einsum("i.j", x),
    lambda xp, x: xp.einsum("ij,ij", x, x.T),
    lambda xp, x: xp.einsum("ii", x),
    lambda xp, x: xp.einsum("...j->j", x),
    lambda xp, x: xp.einsum("ij-j", x),
    lambda xp, x: xp.einsum("ij", x, dtype=np.int8),
    lambda xp, x: xp.einsum("ij", x, out=xp.zeros((2, 2), np.float32)),
    lambda xp, x: xp.einsum(),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_errors(same: Same, number: int) -> None:
    a = whole((3, 4))
    same(lambda xp: WRONG[number](xp, xp.asarray(a)), message=False)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_any_subscripts(data: st.DataObject) -> None:
    extents = {"a": 2, "b": 3, "c": 4, "d": 1, "e": 5}
    letters = st.text("abcde", max_size=3)
    parts = data.draw(st.lists(letters, min_size=1, max_size=3))
    used = sorted(set("".join(parts)))
    result = "".join(data.draw(st.permutations(used))[: data.draw(st.integers(0, len(used)))])
    text = ",".join(parts) + "->" + result
    operands = [whole(tuple(extents[c] for c in part), seed=n) for n, part in enumerate(parts)]
    check_same(lambda xp: xp.einsum(text, *map(xp.asarray, operands)))


@pytest.mark.parametrize(
    ("subscripts", "shapes", "out"),
    [
        ("ij,j->i", [(1, 2), (2,)], (3,)),
        ("ij,jk->ik", [(1, 2), (2, 1)], (2, 4)),
        ("ij->j", [(3, 1)], (2,)),
        ("ij,jk->ik", [(2, 3), (3, 1)], (2, 5)),
        ("ij,j->i", [(2, 2), (2,)], (1,)),
        ("ij,j->i", [(1, 2), (2,)], (2, 3)),
    ],
)
def test_an_output_of_more_elements(same: Any, subscripts: str, shapes: list[tuple[int, ...]], out: Any) -> None:
    """NumPy repeats what has one element along an axis."""
    operands = [np.arange(1, 1 + np.prod(shape)).reshape(shape) for shape in shapes]
    same(lambda xp: xp.einsum(subscripts, *map(xp.array, operands), out=xp.zeros(out, int)), message=False)
