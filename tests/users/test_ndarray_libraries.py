"""Libraries that work on ndarrays: what takes device arrays as it takes ndarrays, and what says that it does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clarray

pd = pytest.importorskip("pandas")
sparse = pytest.importorskip("scipy.sparse")
special = pytest.importorskip("scipy.special")

VALUES = np.arange(12, dtype=np.float32) % 5
FRAME = pd.DataFrame({"a": VALUES, "b": np.arange(12)})
MATRIX = sparse.csr_array(np.eye(12, dtype=np.float32) * 2)

Call = Callable[[ModuleType, Any], Any]

TAKEN: dict[str, Call] = {
    "series": lambda xp, x: pd.Series(x),
    "series and index": lambda xp, x: pd.Series(x, index=xp.arange(12)),
    "frame": lambda xp, x: pd.DataFrame(x.reshape(3, 4)),
    "column": lambda xp, x: FRAME.assign(c=x),
    "series of a comparison": lambda xp, x: pd.Series(x > 2).sum(),
    "numbers of rows": lambda xp, x: FRAME.iloc[xp.asarray([3, 1, 2])],
    "labels": lambda xp, x: FRAME.loc[xp.asarray([3, 1, 2])],
    "added to a series": lambda xp, x: FRAME["a"] + x,
    "a series added": lambda xp, x: x + FRAME["a"],
    "is in": lambda xp, x: FRAME["b"].isin(x),
    "is not in": lambda xp, x: ~FRAME["a"].isin(x[1:3]),
    "is in a list of elements": lambda xp, x: FRAME["b"].isin([x[1], x[3]]),
    "replaced where": lambda xp, x: FRAME["a"].where(x > 2, -x),
    "intervals": lambda xp, x: pd.cut(x, [-1, 1, 2, 5]).codes,
    "indicators": lambda xp, x: pd.get_dummies(x),
    "counted together": lambda xp, x: pd.crosstab(x, x > 2),
    "gaps": lambda xp, x: pd.isna(x),
    "sorted by": lambda xp, x: FRAME.take(xp.argsort(x)[:3]),
    "sparse matrix of columns": lambda xp, x: sparse.csr_array(x.reshape(3, 4)).toarray(),
    "sparse matrix of entries": lambda xp, x: sparse.coo_array((x, (xp.arange(12), xp.arange(12)))).toarray(),
    "sparse diagonals": lambda xp, x: sparse.diags_array([x], offsets=[0]).toarray(),
    "sparse matrix times vector": lambda xp, x: MATRIX @ x,
    "vector times sparse matrix": lambda xp, x: x @ MATRIX,
    "counter": lambda xp, x: sorted(Counter(x.astype(int)).items()),
    "set": lambda xp, x: sorted(set(x)),
    "keys": lambda xp, x: {x[1]: 3}[x[1] + 0],
}


def _plain(value: Any) -> Any:
    if isinstance(value, clarray.DeviceArray):
        return value.get()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.to_numpy() if hasattr(value, "to_numpy") else value


@pytest.mark.parametrize("name", TAKEN)
def test_taken_as_ndarrays_are(name: str) -> None:
    found, expected = (_plain(TAKEN[name](xp, xp.asarray(VALUES))) for xp in (clarray, np))
    np.testing.assert_array_equal(found, expected)


# What the documentation names as raising, and what it says to write in its place.
COPIED: dict[str, tuple[Call, Call]] = {
    "rows by a mask": (lambda xp, x: FRAME[x > 2], lambda xp, x: FRAME[(x > 2).get()]),
    "rows and columns by a mask": (lambda xp, x: FRAME.loc[x > 2, "b"], lambda xp, x: FRAME.loc[(x > 2).get(), "b"]),
    "elements by a mask": (lambda xp, x: FRAME["a"][x > 2], lambda xp, x: FRAME["a"][(x > 2).get()]),
    "groups": (lambda xp, x: FRAME.groupby(x).sum(), lambda xp, x: FRAME.groupby(x.get()).sum()),
    "codes": (lambda xp, x: pd.factorize(x)[0], lambda xp, x: pd.factorize(x.get())[0]),
    "uniques": (lambda xp, x: pd.unique(x), lambda xp, x: pd.unique(x.get())),
    "added to a sparse matrix": (
        lambda xp, x: MATRIX + clarray.outer(x, x),
        lambda xp, x: MATRIX + clarray.outer(x, x).get(),
    ),
    "buffer": (lambda xp, x: memoryview(x), lambda xp, x: np.asarray(x.data)),
    "bytes": (lambda xp, x: b"".join([x]), lambda xp, x: np.frombuffer(x.tobytes(), x.dtype)),
}


@pytest.mark.parametrize("name", COPIED)
def test_what_must_be_copied_says_so(name: str) -> None:
    given, copied = COPIED[name]
    x = clarray.asarray(VALUES)
    with pytest.raises((TypeError, KeyError)):
        given(clarray, x)
    assert len(_plain(copied(clarray, x)))


@pytest.mark.parametrize(
    "value", [0, 3, -1, True, 2**62, 0.5, -0.0, 1e300, float("inf"), 1 + 2j, complex(2, 0)], ids=repr
)
def test_numbers_are_hashed_by_their_values(value: Any) -> None:
    try:
        x = clarray.asarray([value, value])
    except TypeError:
        pytest.skip("the device has no float64")
    assert hash(x[0]) == hash(x.get()[0])
    assert hash(x[0]) == hash(x.max() if value.__class__ is not complex else x[1])
    assert len({x[0], x[1], value}) == 1


def test_a_number_that_equals_nothing_is_a_key_by_itself() -> None:
    number = clarray.asarray([np.nan], "f4")[0]
    assert {number: 1}[number] == 1
    assert hash(number) == hash(number)
    assert len({number, clarray.asarray([np.nan], "f4")[0]}) == 2


@pytest.mark.parametrize("shape", [(), (1,), (3,)], ids=str)
def test_arrays_have_no_hash(shape: tuple[int, ...]) -> None:
    x = clarray.zeros(shape, "f4")
    for array in (x, x[...]):
        with pytest.raises(TypeError, match=r"unhashable type: 'DeviceArray'$"):
            hash(array)


@pytest.mark.parametrize("name", ["jv", "hyp2f1", "kv"])
def test_functions_of_scipy_are_named_as_such(name: str) -> None:
    ufunc = getattr(special, name)
    with pytest.raises(TypeError, match=rf"^scipy\.special\.{name} has no device implementation"):
        ufunc(*[clarray.ones(2, "f4")] * ufunc.nin)


def test_functions_of_users_are_called_on_the_host() -> None:
    ufunc = np.frompyfunc(divmod, 2, 2)
    quotients, remainders = ufunc(clarray.arange(2, dtype="f4"), 2)
    assert (quotients.tolist(), remainders.tolist()) == ([0, 0], [0, 1])
    with clarray.config(host_library="raise"), pytest.raises(TypeError, match=r"divmod \(vectorized\).*host_library"):
        ufunc(clarray.ones(2, "f4"), 2)
