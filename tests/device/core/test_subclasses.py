"""Subclasses of DeviceArray, as NumPy's users write them: what they give has the class and is told where it is from."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import clarray

from ..conftest import outcome


def classes(xp: Any) -> SimpleNamespace:
    """The same classes over NumPy's array and over clarray's."""

    class Noted(xp.ndarray):
        note = None

        def __new__(cls, values: Any, note: Any = None) -> Any:
            made = xp.asarray(values).view(cls)
            made.note = note
            return made

        def __array_finalize__(self, source: Any) -> None:
            self.note = getattr(source, "note", None)

    class Plain(xp.ndarray):
        pass

    class Above(Plain):
        __array_priority__ = 2000

        def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
            made = super().__array_wrap__(array, context, return_scalar)
            made.wrapped = True
            return made

    class Doubles(xp.ndarray):
        """Its items are not what clarray itself reads."""

        def __getitem__(self, key: Any) -> Any:
            return super().__getitem__(key) * 2

        def sum(self, *args: Any, **kwargs: Any) -> Any:
            return super().sum(*args, **kwargs) + 100

    class Logged(xp.ndarray):
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
            plain = [x.view(xp.ndarray) if isinstance(x, Logged) else x for x in inputs]
            return ufunc.__name__, method, getattr(ufunc, method)(*plain, **kwargs)

    return SimpleNamespace(Noted=Noted, Plain=Plain, Above=Above, Doubles=Doubles, Logged=Logged, xp=xp)


pytestmark = pytest.mark.filterwarnings("ignore:Setting the:DeprecationWarning")  # each NumPy has its own
THEIRS, OURS = classes(np), classes(clarray)
VALUES = np.arange(1, 7, dtype="float32").reshape(2, 3)


def noted(all_: SimpleNamespace) -> Any:
    return all_.Noted(all_.xp.array(VALUES), "seconds")


def plain(all_: SimpleNamespace) -> Any:
    return all_.xp.array(VALUES)


def seen(found: Any) -> Any:
    """What is compared: values, dtypes, names of classes, attributes."""
    if isinstance(found, tuple | list):
        return [seen(one) for one in found]
    if isinstance(found, np.ndarray | np.generic | clarray.DeviceArray):
        name = type(found).__name__
        host = np.asarray(found.view(np.ndarray) if isinstance(found, np.ndarray) else found)
        kind = "ndarray" if name == "DeviceArray" or isinstance(found, np.generic) else name
        values = (
            np.round(host, 4) if host.dtype.kind == "f" else host
        ).tolist()  # `pow` is rounded as the device does it
        return kind, host.dtype, values, getattr(found, "note", None), getattr(found, "wrapped", None)
    return found


def check(body: Callable[[SimpleNamespace], Any]) -> None:
    theirs, expected = outcome(lambda xp: body(THEIRS), np)
    ours, error = outcome(lambda xp: body(OURS), clarray)
    if expected is not None:
        assert isinstance(error, type(expected)), f"{error!r} instead of {expected!r}"
        return
    if error is not None:
        raise error
    assert seen(ours) == seen(theirs)


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name)
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "eq", "ne", "ge")
}
ONE: dict[str, Callable[[Any], Any]] = {
    "neg": lambda a: -a,
    "abs": abs,
    "power": lambda a: a**2,
    "divmod": lambda a: divmod(a, 2),
    "slice": lambda a: a[1:],
    "row": lambda a: a[0],
    "newaxis": lambda a: a[:, None],
    "mask": lambda a: a[a > 2],
    "indices": lambda a: a[[1, 0]],
    "rows": list,
    "T": lambda a: a.T,
    "real": lambda a: a.real,
    "reshape": lambda a: a.reshape(3, 2),
    "ravel": lambda a: a.ravel(),
    "flatten": lambda a: a.flatten(),
    "swapaxes": lambda a: a.swapaxes(0, 1),
    "copy": lambda a: a.copy(),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "astype": lambda a: a.astype("i4"),
    "the same dtype": lambda a: a.astype("f4", copy=False) is a,
    "view": lambda a: a.view(),
    "view of a dtype": lambda a: a.view("i4"),
    "sum": lambda a: a.sum(0),
    "mean": lambda a: a.mean(axis=1),
    "max": lambda a: a.max(0, keepdims=True),
    "cumsum": lambda a: a.cumsum(1),
    "argsort": lambda a: a.argsort(),
    "clip": lambda a: a.clip(2, 3),
    "round": lambda a: a.round(),
    "take": lambda a: a.take([0, 1], 1),
    "conj": lambda a: a.conj() is a,
    "unary ufunc": lambda a: np.negative(a),
    "ufunc of two": lambda a: np.add(a, 1),
    "ufunc of two results": lambda a: np.modf(a),
    "outer": lambda a: np.add.outer(a[0], a[0]),
    "reduce": lambda a: np.add.reduce(a),
    "accumulate": lambda a: np.add.accumulate(a),
    "np.sum": lambda a: np.sum(a, 0),
    "np.transpose": lambda a: np.transpose(a),
    "np.zeros_like": lambda a: np.zeros_like(a),
    "np.sort": lambda a: np.sort(a),
    "item": lambda a: a.item(2),
    "float": lambda a: float(a[0, 0]),
    "tolist": lambda a: a.tolist(),
    "isinstance": lambda a: [isinstance(a, type(a)), isinstance(a[0] + 1, type(a))],
}


@pytest.mark.parametrize("call", ONE.values(), ids=ONE)
def test_results_keep_the_class(call: Any) -> None:
    check(lambda all_: call(noted(all_)))


@pytest.mark.parametrize("op", OPERATORS.values(), ids=OPERATORS)
def test_operators_keep_the_class(op: Any) -> None:
    for other in (lambda all_: 2, plain, noted, lambda all_: VALUES[0]):
        check(lambda all_, other=other: op(noted(all_), other(all_)))
        check(lambda all_, other=other: op(other(all_), noted(all_)))


def test_matrix_products_keep_the_class() -> None:
    check(lambda all_: noted(all_) @ plain(all_).T)
    check(lambda all_: plain(all_) @ noted(all_).T)


def test_writes_in_place_leave_the_array_what_it_is() -> None:
    def body(all_: SimpleNamespace) -> Any:
        a, out = noted(all_), all_.xp.zeros(3, "f4")
        same = a
        a += 1
        a *= plain(all_)
        a[0] = 7
        a.sort()
        kept = [a is same, a.sum(0, out=out) is out, np.add(a[0], 1, out=out) is out]
        a.shape = 3, 2
        return a, out, kept, type(out) == all_.xp.ndarray  # noqa: E721 - as programs ask

    check(body)


def test_a_pending_value_in_place() -> None:
    def body(all_: SimpleNamespace) -> Any:
        a = noted(all_) + 1
        a += 2
        b = a
        b -= 1
        return a, b is a

    check(body)


def test_new_arrays_of_a_class() -> None:
    def body(all_: SimpleNamespace) -> Any:
        a = all_.Plain((2, 3), "f4", order="F")
        a[...] = 2
        a.name = "mine"
        seen_ = all_.Plain((2,), "f4", plain(all_), 4)
        seen_[0] = 9
        return a, a.name, a.flags.f_contiguous, seen_, (a + 1), getattr(a + 1, "name", None)

    check(body)


def test_views_as_classes() -> None:
    def body(all_: SimpleNamespace) -> Any:
        x = plain(all_)
        a = x.view(all_.Plain)
        b = noted(all_).view(all_.Noted)
        c = noted(all_).view("i4", all_.Noted)
        a[0, 0] = 9
        return a, x, b, c, noted(all_).view(all_.xp.ndarray), noted(all_).view(type=all_.Plain), a.base is x

    check(body)
    for kind in (int, np.matrix, 3):
        with pytest.raises(TypeError):
            clarray.zeros(2, "f4").view(type=kind)


def test_the_highest_priority_gives_the_class() -> None:
    for pair in (lambda low, high: (low, high), lambda low, high: (high, low)):
        check(lambda all_, pair=pair: np.add(*pair(all_.Plain(3, "f4") * 0, all_.Above(3, "f4") * 0)))
        check(lambda all_, pair=pair: operator.sub(*pair(all_.Plain(3, "f4") * 0, all_.Above(3, "f4") * 0)))


def test_what_a_subclass_overrides_changes_its_own_calls_only() -> None:
    def body(all_: SimpleNamespace) -> Any:
        a = plain(all_).view(all_.Doubles)
        return a[0], a.sum(), a + 1, a.mean(), a.max(0), a.tolist(), a.item(1), np.add.reduce(a)

    check(body)


def test_ufuncs_of_a_subclass_are_its_own() -> None:
    def body(all_: SimpleNamespace) -> Any:
        a = plain(all_).view(all_.Logged)
        return a + 1, 1 - a, a * a, np.sqrt(a), plain(all_) + a, -a, np.add.reduce(a), a[0] < 2

    check(body)
    name, method, _ = clarray.add(clarray.array(VALUES), clarray.array(VALUES).view(OURS.Logged))
    assert (name, method) == ("add", "__call__")


class Kept(clarray.DeviceArray):
    """At module level, to be pickled."""


def test_pickles_keep_the_class() -> None:
    a = clarray.array(VALUES).view(Kept)
    found = pickle.loads(pickle.dumps(a))
    assert (type(found), found.tolist()) == (Kept, VALUES.tolist())


def test_clarrays_own_functions_give_plain_arrays() -> None:
    a = clarray.array(VALUES).view(Kept)
    assert type(clarray.sum(a, 0)) is type(clarray.concatenate([a, a])) is clarray.DeviceArray
    assert type(clarray.sqrt(a)) is type(clarray.add(1, a)) is Kept


def test_asarray_gives_plain_arrays_on_the_same_memory() -> None:
    def body(all_: SimpleNamespace) -> Any:
        a = noted(all_) + 0
        b, c = all_.xp.asarray(a), all_.xp.asanyarray(a)
        b[0, 0] = 9
        return a, b, c is a, all_.xp.array(a), all_.xp.array(a, copy=None), all_.xp.ascontiguousarray(a)

    check(body)
