"""Byte orders that are not the machine's: host data is converted, and a result in one is NumPy's array or refused."""

from __future__ import annotations

import inspect
import io
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray

from ..closeness import outcome, skip_without_float64
from ..whole.test_every_function import SAMPLES, required

X = np.array([[3, 1, 4], [1, 5, 9]], "float32")
SWAPPED = X.astype(X.dtype.newbyteorder())
FOREIGN = SWAPPED.dtype.byteorder  # '>' on most machines
OTHER = f"{FOREIGN}f4"
REFUSED = r"byte ?order|only select the general DType|Unsupported dtype"
NO_RESULT = {"dtype", "finfo", "iinfo", "isdtype"}  # they are told a dtype and make no array of it
POSITIONAL = {"astype"}
OF_DATA = {"frombuffer", "fromfile"}  # the dtype says what the bytes are
LOOK_ALIKE = {
    "linalg.trace": (X,),
    "fft.fftfreq": (4,),
    "fft.rfftfreq": (4,),
    "matvec": (X, X[0]),
    "vecmat": (X[:, 0], X),
}
LOOK_ALIKE |= {"fromiter": ((1, 2),), "empty": ((2, 3),), "matmul": (X, X.T), "bitwise_count": (X.astype("int8"),)}
LOOK_ALIKE |= dict.fromkeys(("array", "asanyarray", "asarray", "asarray_chkfinite", "require"), (SWAPPED,))
LOOK_ALIKE |= dict.fromkeys(("ascontiguousarray", "asfortranarray"), (SWAPPED,))


def takes_dtype(function: Any) -> bool:
    try:
        return "dtype" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


FUNCTIONS = [
    name
    for name in clarray.__all__
    if takes_dtype(getattr(clarray, name)) and hasattr(np, name) and name not in NO_RESULT | OF_DATA | POSITIONAL
]
FUNCTIONS += ["linalg.trace", "fft.fftfreq", "fft.rfftfreq"]


def arguments(name: str) -> tuple[Any, ...]:
    """A call's arguments but for the dtype."""
    if name in LOOK_ALIKE:
        return LOOK_ALIKE[name]
    ufunc = getattr(np, name, None)
    if isinstance(ufunc, np.ufunc):
        return (X, X)[: ufunc.nin]
    return SAMPLES.get(name) or (X, X)[: required(name)]


def check(ours: Callable[[], Any], theirs: Callable[[], Any]) -> None:
    """Refused, or as NumPy's result, which is an ndarray in the other order."""
    found, error = outcome(ours, (), {})
    skip_without_float64(error)
    if isinstance(error, TypeError | ValueError) and re.search(REFUSED, str(error)):
        return
    if error is not None:
        raise error
    expected = theirs()
    if isinstance(expected, tuple):
        found, expected = found[0], expected[0]
    assert found.dtype == expected.dtype
    assert isinstance(found, np.ndarray | np.generic) or found.dtype.isnative
    np.testing.assert_allclose(clarray.asnumpy(found), expected, rtol=1e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name: str) -> None:
    def call(xp: Any) -> Any:
        function = xp
        for part in name.split("."):
            function = getattr(function, part)
        given = (xp.array(x) if isinstance(x, np.ndarray) and x is not SWAPPED else x for x in arguments(name))
        return function(*given, dtype=OTHER, **({"sep": " "} if name == "fromstring" else {}))

    if name in ("empty", "empty_like"):
        assert call(clarray).dtype == OTHER
    else:
        check(lambda: call(clarray), lambda: call(np))


METHODS: dict[str, Callable[[Any], Any]] = {
    "astype": lambda x: x.astype(OTHER),
    "astype of the same bits": lambda x: x.view("int32").astype(f"{FOREIGN}i4"),
    "view": lambda x: x.view(OTHER),
    "view of narrower elements": lambda x: x.view(f"{FOREIGN}i2"),
    "getfield": lambda x: x.getfield(f"{FOREIGN}i2"),
    "setfield": lambda x: (y := x.copy()).setfield(1, f"{FOREIGN}i2") or y,
    "dtype": lambda x: setattr(x, "dtype", OTHER),
    "astype function": lambda x: np.astype(x, OTHER),
    "sum": lambda x: x.sum(dtype=OTHER),
    "prod": lambda x: x.prod(0, OTHER),
    "cumsum": lambda x: x.cumsum(dtype=OTHER),
    "cumprod": lambda x: x.cumprod(0, OTHER),
    "mean": lambda x: x.mean(dtype=OTHER),
    "var": lambda x: x.var(0, OTHER),
    "std": lambda x: x.std(dtype=OTHER),
    "trace": lambda x: x.trace(dtype=OTHER),
    "signature": lambda x: np.add(x, x, signature=(OTHER, OTHER, OTHER)),
    "reduce": lambda x: np.add.reduce(x, dtype=OTHER),
    "accumulate": lambda x: np.add.accumulate(x, dtype=OTHER),
    "reduceat": lambda x: np.add.reduceat(x, [0, 1], dtype=OTHER),
    "outer": lambda x: np.add.outer(x, x, dtype=OTHER),
    "einsum": lambda x: np.einsum("ij->i", x, dtype=OTHER),
    "like": lambda x: np.zeros(3, OTHER, like=x),
}


@pytest.mark.filterwarnings("ignore:Setting the:DeprecationWarning")  # each NumPy has its own
@pytest.mark.parametrize("call", METHODS.values(), ids=METHODS)
def test_method(call: Callable[[Any], Any]) -> None:
    check(lambda: call(clarray.array(X)), lambda: call(X.copy()))


DRAWS: dict[str, Callable[[Any], Any]] = {
    "random": lambda g: g.random(3, OTHER),
    "standard_normal": lambda g: g.standard_normal(3, OTHER),
    "standard_exponential": lambda g: g.standard_exponential(3, OTHER),
    "standard_gamma": lambda g: g.standard_gamma(2.0, 3, OTHER),
    "integers": lambda g: g.integers(3, size=2, dtype=f"{FOREIGN}i4"),
}


@pytest.mark.parametrize("call", DRAWS.values(), ids=DRAWS)
def test_draws(call: Callable[[Any], Any]) -> None:
    for module in (np, clarray):
        with pytest.raises((TypeError, ValueError), match=REFUSED):
            call(module.random.default_rng(0))


TEXTS: dict[str, Callable[[Any], Any]] = {
    "loadtxt": lambda xp: xp.loadtxt(["1 2"], OTHER),
    "genfromtxt": lambda xp: xp.genfromtxt(["1 2"], OTHER),
    "arange of many": lambda xp: xp.arange(0, 9000, 1, OTHER),
    "linspace between arrays": lambda xp: xp.linspace(xp.array(X), 1, 3, dtype=OTHER),
    "geomspace between arrays": lambda xp: xp.geomspace(xp.array(X), 1, 3, dtype=OTHER),
    "logspace between arrays": lambda xp: xp.logspace(xp.array(X), 1, 3, dtype=OTHER),
}


@pytest.mark.parametrize("call", TEXTS.values(), ids=TEXTS)
def test_others(call: Callable[[Any], Any]) -> None:
    check(lambda: call(clarray), lambda: call(np))


# Host data of another order -----------------------------------------------------------------------


def filed(write: Callable[[Any], Any]) -> io.BytesIO:
    stored = io.BytesIO()
    write(stored)
    stored.seek(0)
    return stored


def written(array: Any, value: Any, index: Any = ...) -> Any:
    array[index] = value
    return array


HOST_DATA: dict[str, Callable[[Any], Any]] = {
    "array": lambda xp: xp.array(SWAPPED),
    "asarray": lambda xp: xp.asarray(SWAPPED[:, ::-1]),
    "copy": lambda xp: xp.copy(SWAPPED, "F"),
    "0-d": lambda xp: xp.asarray(SWAPPED[0, 0].astype(SWAPPED.dtype)),
    "full": lambda xp: xp.full((2, 2), SWAPPED[0, :2]),
    "full_like": lambda xp: xp.full_like(SWAPPED, 2),
    "zeros_like": lambda xp: xp.zeros_like(SWAPPED),
    "arange": lambda xp: xp.arange(np.array(5, f"{FOREIGN}i4")),
    "linspace": lambda xp: xp.linspace(SWAPPED, SWAPPED + 1, 3),
    "frombuffer": lambda xp: xp.frombuffer(SWAPPED.tobytes(), SWAPPED.dtype),
    "load": lambda xp: xp.load(filed(lambda file: np.save(file, SWAPPED))),
    "pickle": lambda xp: xp.asarray(pickle.loads(pickle.dumps(SWAPPED))),
    "operator": lambda xp: xp.array(X) + SWAPPED,
    "reflected": lambda xp: SWAPPED - xp.array(X),
    "in place": lambda xp: written(xp.array(X), SWAPPED * 2),
    "index": lambda xp: xp.array(X)[np.array([1, 0], f"{FOREIGN}i8")],
    "index of a write": lambda xp: written(xp.array(X), 7, (0, np.array([1, 2], f"{FOREIGN}i2"))),
    "where": lambda xp: xp.where(xp.array(X) > 3, SWAPPED, 0),
    "take": lambda xp: xp.take(xp.array(X), np.array([1, 0], f"{FOREIGN}i4")),
    "concatenate": lambda xp: xp.concatenate([xp.array(X), SWAPPED]),
    "ufunc": lambda xp: xp.maximum(xp.array(X), SWAPPED),
    "clip": lambda xp: xp.clip(xp.array(X), SWAPPED - 1, SWAPPED),
    "copyto": lambda xp: (lambda x: (xp.copyto(x, SWAPPED), x)[1])(xp.zeros((2, 3), "float32")),
    "putmask": lambda xp: (lambda x: (xp.putmask(x, x == 0, SWAPPED), x)[1])(xp.zeros((2, 3), "float32")),
    "matmul": lambda xp: xp.array(X) @ SWAPPED.T,
    "sum": lambda xp: xp.sum(SWAPPED, 0),
    "sort": lambda xp: xp.sort(SWAPPED),
    "searchsorted": lambda xp: xp.searchsorted(xp.array([1.0, 4.0], dtype="float32"), SWAPPED),
    "bincount": lambda xp: xp.bincount(np.array([1, 2], f"{FOREIGN}i4")),
    "astype": lambda xp: xp.array(SWAPPED).astype("int16"),
}


@pytest.mark.parametrize("call", HOST_DATA.values(), ids=HOST_DATA)
def test_host_data_is_converted(call: Callable[[Any], Any]) -> None:
    try:
        found = call(clarray)
    except TypeError as error:
        skip_without_float64(error)
        raise
    expected = call(np)
    assert isinstance(found, clarray.DeviceArray)
    assert found.dtype == expected.dtype.newbyteorder("=")
    np.testing.assert_array_equal(clarray.asnumpy(found), expected)


def test_files_are_converted(tmp_path: Any) -> None:
    SWAPPED.tofile(tmp_path / "raw")
    np.save(tmp_path / "x.npy", SWAPPED)
    for found in (
        clarray.fromfile(tmp_path / "raw", SWAPPED.dtype).reshape(X.shape),
        clarray.load(tmp_path / "x.npy", mmap_mode="r"),
    ):
        assert found.dtype == X.dtype
        assert found.tolist() == X.tolist()


def test_the_host_may_ask_for_any_order() -> None:
    found = np.asarray(clarray.array(X), SWAPPED.dtype)
    assert (found.dtype.byteorder, found.tolist()) == (FOREIGN, X.tolist())


def test_questions_about_dtypes_are_numpys() -> None:
    x = clarray.array(X)
    assert clarray.result_type(OTHER) == np.result_type(OTHER)
    assert clarray.promote_types(OTHER, x.dtype) == x.dtype
    assert clarray.can_cast(x, OTHER, "equiv")
    assert not clarray.can_cast(x, OTHER, "no")


def test_the_message_says_what_to_do() -> None:
    with pytest.raises(TypeError, match=r"byte order; ask for float32, which is dtype\.newbyteorder\('='\)"):
        clarray.ndimage.uniform_filter(clarray.array(X), output=np.dtype(OTHER))
