"""Arrays on two devices in one call: an error that names both, or what the host computes; never a launch."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._api.functions import ufuncs_by_name
from clarray._engine.runtime import Device, current_device
from clarray._engine.runtime.memory import Memory

from ..closeness import outcome
from ..whole.test_every_function import (
    FUNCTIONS,
    KEYWORDS,
    METHODS,
    NO_CALL,
    NO_METHOD,
    SHARED_METHODS,
    SORTED,
    B,
    N,
    X,
    Y,
    fresh,
    sample,
)

pytestmark = [
    pytest.mark.skipif(len(clarray.devices()) < 2, reason="there is one device"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

# These ask where arrays lie, and what shapes they have.
NEED_NOT_RAISE = {"einsum_path", "may_share_memory", "shares_memory"}

W = X[:, :3].copy()


def other_device() -> Device:
    return next(d for d in clarray.devices() if d is not current_device())


def count_arrays(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return 1
    return sum(map(count_arrays, value)) if type(value) in (tuple, list) else 0


def placed(value: Any, elsewhere: int, numbers: Iterator[int]) -> Any:
    """The same arguments on the device, the array of this number on the other one."""
    if isinstance(value, np.ndarray):
        return clarray.array(value, device=other_device() if next(numbers) == elsewhere else None)
    return type(value)([placed(v, elsewhere, numbers) for v in value]) if type(value) in (tuple, list) else value


def read(value: Any) -> None:
    """Read all arrays there are."""
    if isinstance(value, clarray.DeviceArray):
        value.get()
    elif type(value) in (tuple, list):
        for v in value:
            read(v)


def must_raise(function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Fail unless the call, or reading what it gives, raises a ValueError that names both devices."""
    with pytest.raises(ValueError, match="to_device") as caught:
        read(function(*args, **kwargs))  # pending until it is read
    message = str(caught.value)
    for device in (current_device(), other_device()):
        assert repr(device) in message


def check(name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    for number in range(1, count_arrays(args)):
        given = placed(fresh(args), number, itertools.count())
        if name in NEED_NOT_RAISE:
            read(function(*given, **kwargs))
        else:
            must_raise(function, *given, **kwargs)


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in NO_CALL and count_arrays(sample(n)) > 1])
def test_function(name: str) -> None:
    check(name, getattr(clarray, name), sample(name), KEYWORDS.get(name, {}))


@pytest.mark.parametrize("name", [n for n in SHARED_METHODS if n not in NO_METHOD and count_arrays(METHODS.get(n, ()))])
def test_method(name: str) -> None:
    array = SORTED if name == "searchsorted" else N % 2 if name == "choose" else X
    check(name, getattr(clarray.DeviceArray, name), (array, *METHODS.get(name, ())), {})


@pytest.mark.parametrize("name", [n for n in ufuncs_by_name() if getattr(np, n).nin > 1])
def test_ufunc(name: str) -> None:
    ufunc = getattr(clarray, name)
    kind = next(
        k for k in ("float32", "int32", "bool") if outcome(getattr(np, name), (W.astype(k),) * 2, {})[1] is None
    )
    x, other = W.astype(kind), clarray.array(W.astype(kind), device=other_device())
    must_raise(ufunc, clarray.array(x), other)
    must_raise(ufunc, x, other, out=clarray.array(x))


RNG = clarray.random.default_rng(3)
HALVES = clarray.ElementwiseKernel("T x, T y", "T z", "z = x + y / 2", "halves")
LOOKED_UP = clarray.ElementwiseKernel("T x, raw T y", "T z", "z = x + y[i]", "looked_up_elsewhere")
TOTAL = clarray.ReductionKernel("T x, T y", "T z", "x * y", "a + b", "z = a", "0", "total_elsewhere")


def with_number(use: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """Use a number of y that has been computed, after the same with one of x, whose launch is remembered."""
    for _ in range(4):
        x.get()  # nothing is queued now
        read(use(x.copy(), x[1].max()))
    y.get()
    return use(x, y[1].max())


# Of x, (3, 4), on the device, y, of the same shape, on the other one, m, y > 3, and n, four indices, there too.
CALLS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "add": lambda x, y, m, n: x + y,
    "iadd": lambda x, y, m, n: x.__iadd__(y),
    "matmul": lambda x, y, m, n: x @ y.T,
    "pending": lambda x, y, m, n: ((x + 1) * (y + 2)).sum(),
    "compared": lambda x, y, m, n: x == y,
    "number": lambda x, y, m, n: with_number(lambda a, k: a + k, x, y),
    "number in place": lambda x, y, m, n: with_number(lambda a, k: a.__isub__(k), x, y),
    "number set": lambda x, y, m, n: with_number(lambda a, k: a.__setitem__(slice(1, None), a[1:] * k), x, y),
    "number set at once": lambda x, y, m, n: with_number(lambda a, k: a.__setitem__((1, 2), k), x, y),
    "divmod": lambda x, y, m, n: divmod(x, y),
    "ipow": lambda x, y, m, n: x.__ipow__(y),
    "imatmul": lambda x, y, m, n: x[:, :3].__imatmul__(y[:, :3]),
    "contains": lambda x, y, m, n: y in x,
    "set": lambda x, y, m, n: x.__setitem__(..., y),
    "set row": lambda x, y, m, n: x.__setitem__(1, y[0]),
    "set number": lambda x, y, m, n: x.__setitem__((1, 2), y[0].max()),
    "set masked": lambda x, y, m, n: x.__setitem__(m, 3),
    "set masked of": lambda x, y, m, n: x.__setitem__(x > 3, y[m]),
    "set named": lambda x, y, m, n: x.__setitem__((0, n), 3),
    "named": lambda x, y, m, n: x[0, n],
    "masked": lambda x, y, m, n: x[m],
    "masked row": lambda x, y, m, n: x[0][m[0]],
    "masked sum": lambda x, y, m, n: x[m].sum(),
    "mask of mask": lambda x, y, m, n: x[(x > 3) & m],
    "add masked": lambda x, y, m, n: x.__setitem__(m, x[m] + 1),
    "flat": lambda x, y, m, n: x.flat.__setitem__(slice(0, 4), y[0]),
    "fill": lambda x, y, m, n: x.fill(y[0].max()),
    "sum out": lambda x, y, m, n: x.sum(0, out=y[0]),
    "sum where": lambda x, y, m, n: x.sum(where=m),
    "mean out": lambda x, y, m, n: clarray.mean(x, 0, out=y[0]),
    "std where": lambda x, y, m, n: x.std(where=m),
    "max out": lambda x, y, m, n: x.max(0, out=y[0]),
    "argmax out": lambda x, y, m, n: x.argmax(0, out=n),
    "any out": lambda x, y, m, n: clarray.any(x > 3, 0, out=m[0]),
    "cumsum out": lambda x, y, m, n: x.cumsum(0, out=y),
    "cumsum masked": lambda x, y, m, n: x[m].cumsum(),
    "median out": lambda x, y, m, n: clarray.median(x, 0, out=y[0]),
    "percentile": lambda x, y, m, n: clarray.percentile(x, 30, weights=y, method="inverted_cdf"),
    "quantile out": lambda x, y, m, n: clarray.quantile(x, 0.5, axis=0, out=y[0]),
    "nansum out": lambda x, y, m, n: clarray.nansum(x, 0, out=y[0]),
    "add out": lambda x, y, m, n: clarray.add(x, x, out=y),
    "add where": lambda x, y, m, n: clarray.add(x, x, out=None, where=m),
    "add where out": lambda x, y, m, n: clarray.add(x, x, out=x, where=m),
    "add at": lambda x, y, m, n: clarray.add.at(x, (0, n), 1),
    "add at of": lambda x, y, m, n: clarray.add.at(x, 0, y[0]),
    "add reduce": lambda x, y, m, n: clarray.add.reduce(x, 0, out=y[0]),
    "add accumulate": lambda x, y, m, n: clarray.add.accumulate(x, 0, out=y),
    "outer": lambda x, y, m, n: clarray.add.outer(x, y),
    "hypot reduce": lambda x, y, m, n: clarray.hypot.reduce(x, 0, out=y[0]),
    "clip": lambda x, y, m, n: x.clip(y, None),
    "clip out": lambda x, y, m, n: x.clip(1, 2, out=y),
    "round out": lambda x, y, m, n: x.round(1, out=y),
    "take out": lambda x, y, m, n: x[0].take([0, 1, 2, 3], out=y[0]),
    "compress out": lambda x, y, m, n: x.compress([True, True, True], 0, out=y),
    "choose out": lambda x, y, m, n: clarray.array(N % 2).choose((x[0], x[1]), out=y[0]),
    "concatenate out": lambda x, y, m, n: clarray.concatenate((x[:1], x[1:]), out=y),
    "stack out": lambda x, y, m, n: clarray.stack((x[0], x[1], x[2]), out=y),
    "copyto where": lambda x, y, m, n: clarray.copyto(x, 7, where=m),
    "where": lambda x, y, m, n: clarray.where(m, x, 0),
    "dot out": lambda x, y, m, n: clarray.dot(x[:, :3], x, out=y),
    "matmul out": lambda x, y, m, n: clarray.matmul(x[:, :3], x, out=y),
    "einsum": lambda x, y, m, n: clarray.einsum("ij,kj->ik", x, y),
    "einsum three": lambda x, y, m, n: clarray.einsum("ij,kj,kl->il", x, x, y),
    "einsum out": lambda x, y, m, n: clarray.einsum("ij->ij", x, out=y),
    "average": lambda x, y, m, n: clarray.average(x, weights=y),
    "cov": lambda x, y, m, n: clarray.cov(x, y),
    "cov weights": lambda x, y, m, n: clarray.cov(x, aweights=y[0]),
    "append": lambda x, y, m, n: clarray.append(x, y),
    "bincount weights": lambda x, y, m, n: clarray.bincount(clarray.array(N), y[0]),
    "histogram weights": lambda x, y, m, n: clarray.histogram(x, weights=y),
    "histogram2d": lambda x, y, m, n: clarray.histogram2d(x[0], y[0]),
    "delete": lambda x, y, m, n: clarray.delete(x, n, 1),
    "insert": lambda x, y, m, n: clarray.insert(x, 1, y[0], 0),
    "repeat": lambda x, y, m, n: x.repeat(n, 1),
    "diff": lambda x, y, m, n: clarray.diff(x, prepend=y[:, :1]),
    "ediff1d": lambda x, y, m, n: clarray.ediff1d(x, to_end=y[0]),
    "trapezoid": lambda x, y, m, n: clarray.trapezoid(x, y),
    "gradient": lambda x, y, m, n: clarray.gradient(x[0], clarray.cumsum(y[0])),
    "interp": lambda x, y, m, n: clarray.interp(x, clarray.sort(y[0]), y[1]),
    "searchsorted sorter": lambda x, y, m, n: clarray.searchsorted(x[0], x, sorter=clarray.argsort(y[0])),
    "piecewise": lambda x, y, m, n: clarray.piecewise(x, [m], [1, 2]),
    "isin": lambda x, y, m, n: clarray.isin(x, y),
    "select default": lambda x, y, m, n: clarray.select([x > 3], [x], y),
    "full": lambda x, y, m, n: clarray.full_like(x, y[0]),
    "linspace": lambda x, y, m, n: clarray.linspace(x[0], y[0], 5),
    "convolve": lambda x, y, m, n: clarray.convolve(x[0], y[0, :3]),
    "sort key": lambda x, y, m, n: clarray.lexsort((x[0], y[0])),
    "solve": lambda x, y, m, n: clarray.linalg.solve(x[:, :3], y),
    "lstsq": lambda x, y, m, n: clarray.linalg.lstsq(x, y),
    "vecdot": lambda x, y, m, n: clarray.linalg.vecdot(x, y),
    "multi_dot": lambda x, y, m, n: clarray.linalg.multi_dot([x, x.T, y]),
    "linalg cross": lambda x, y, m, n: clarray.linalg.cross(x[:, :3], y[:, :3]),
    "fft out": lambda x, y, m, n: clarray.fft.fft(x, out=y.astype("complex64")),
    "ndimage output": lambda x, y, m, n: clarray.ndimage.uniform_filter(x, 3, output=y),
    "xlogy": lambda x, y, m, n: clarray.special.xlogy(x, y),
    "normal": lambda x, y, m, n: RNG.normal(x, y),
    "uniform": lambda x, y, m, n: RNG.uniform(x, x + y),
    "gamma": lambda x, y, m, n: RNG.gamma(x, y),
    "integers": lambda x, y, m, n: RNG.integers(x.astype("int32"), y.astype("int32") + 9),
    "choice": lambda x, y, m, n: RNG.choice(x[0], 2, p=abs(y[0]) / abs(y[0]).sum()),
    "kernel": lambda x, y, m, n: HALVES(x, y),
    "kernel out": lambda x, y, m, n: HALVES(x, x, y),
    "kernel raw": lambda x, y, m, n: LOOKED_UP(x, y),
    "kernel total": lambda x, y, m, n: TOTAL(x, y),
    "polyval": lambda x, y, m, n: clarray.polyval(x[0], y),
    "nan_to_num": lambda x, y, m, n: clarray.nan_to_num(x, nan=y[0, 0, ...]),
}


# What the host looks at all the same: scalars, weights, edges and places.
CALLS |= {
    "initial": lambda x, y, m, n: x.sum(0, initial=y[0, 0, ...]),
    "reduceat": lambda x, y, m, n: clarray.add.reduceat(x[0], y[0].argsort()),
    "pad": lambda x, y, m, n: clarray.pad(x, 1, constant_values=y[0, 0, ...]),
    "pad width": lambda x, y, m, n: clarray.pad(x, n[:1]),
    "ndimage": lambda x, y, m, n: clarray.ndimage.convolve(x, y[:3, :3]),
    "ndimage line": lambda x, y, m, n: clarray.ndimage.correlate1d(x, y[0, :3]),
    "ndimage line turned": lambda x, y, m, n: clarray.ndimage.convolve1d(x, y[0, :3]),
    "ndimage footprint": lambda x, y, m, n: clarray.ndimage.maximum_filter(x, footprint=y > 1),
    "ndimage rank": lambda x, y, m, n: clarray.ndimage.median_filter(x, footprint=y > 1),
    "digitize": lambda x, y, m, n: clarray.digitize(x, clarray.sort(y[0])),
    "histogram": lambda x, y, m, n: clarray.histogram(x, clarray.sort(y[0])),
    "histogram edges": lambda x, y, m, n: clarray.histogram_bin_edges(x, clarray.sort(y[0])),
    "histogram2d": lambda x, y, m, n: clarray.histogram2d(x[0], x[1], clarray.sort(y[0])),
    "histogramdd": lambda x, y, m, n: clarray.histogramdd([x[0], x[1]], [clarray.sort(y[0]), 2]),
}


def both(x: np.ndarray, y: np.ndarray) -> tuple[Any, Any, Any, Any]:
    return tuple(
        clarray.array(v, device=d)
        for v, d in ((x, None), (y, other_device()), (B, other_device()), (N, other_device()))
    )  # type: ignore[return-value]


@pytest.fixture
def second_device_opened() -> None:
    clarray.array([1.0], device=other_device()).tolist()


@pytest.mark.usefixtures("second_device_opened")
def test_statements_on_one_device_go_the_same_way() -> None:
    """That a process has opened another device makes none of them wait, or launch more often."""
    x = clarray.array(np.arange(1, 9, dtype=np.float32))
    A, positive = clarray.array(np.ones((4, 8), np.float32)), clarray.array(np.arange(8) > 2)
    statements = [lambda: x + x, lambda: x[2:] @ (x + x)[:-2], lambda: A @ x, lambda: clarray.where(positive, x, x)]
    alone = [launches(statement, several=False) for statement in statements]
    assert [launches(statement, several=True) for statement in statements] == alone


def launches(statement: Callable[[], Any], several: bool) -> tuple[str, int]:
    """How a statement's value is held, and what evaluating it launches, as where devices are several or not."""
    before, Device.several = Device.several, several
    try:
        clarray.synchronize()
        with clarray.profile() as p:
            made = statement()
            kind = str(made._node.op)
            made.evaluate()
        return kind, p.launches
    finally:
        Device.several = before


@pytest.mark.parametrize("name", CALLS)
def test_call(name: str) -> None:
    given = both(X, Y)
    must_raise(CALLS[name], *given)
    for mine, host in zip(given, (X, Y, B, N), strict=True):  # nothing was written in part
        np.testing.assert_array_equal(mine.get(), host)


def test_nested_sequences_are_the_hosts() -> None:
    x, y, *_ = both(X, Y)
    found = clarray.array([x, y])
    assert found.device is current_device()
    np.testing.assert_array_equal(found.get(), [X, Y])


def test_what_the_error_says_helps() -> None:
    x, y, *_ = both(X, Y)
    np.testing.assert_array_equal((x + y.to_device(x.device)).get(), X + Y)
    np.testing.assert_array_equal((clarray.asarray(x, device=y.device) + y).get(), X + Y)


def test_copies_look_whose_memory_it_is() -> None:
    x, y, *_ = both(X, Y)
    memory: Memory = y.evaluate()._node.memory
    for copy in (x.device.read, x.device.write):
        with pytest.raises(ValueError, match="different devices"):
            copy(memory, 0, X.copy())
