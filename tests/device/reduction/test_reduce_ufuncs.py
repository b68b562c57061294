"""``ufunc.reduce`` of every binary ufunc, those whose order matters among them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray

pytestmark = pytest.mark.usefixtures("quick_builds")
Body = Callable[[Any], Any]


def small(shape: Any, dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    """Random integers from -3 to 3, as any dtype."""
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


HOST = small((4, 5, 6))
CHOSEN = small((4, 5, 6), np.int8, seed=2) > 0
BYTES = small((4, 5, 6), np.int8, seed=3)


# Ufuncs -------------------------------------------------------------------------------------------

BINARY = sorted(
    (u for u in vars(np).values() if isinstance(u, np.ufunc) and (u.nin, u.nout) == (2, 1)),
    key=lambda u: u.__name__,
)
BINARY = [u for k, u in enumerate(BINARY) if u not in BINARY[:k] and u.signature is None]
ROUNDED = {
    np.hypot,
    np.logaddexp,
    np.logaddexp2,
    np.arctan2,
    np.power,
    np.float_power,
    np.true_divide,
}
UNEQUAL = {np.ldexp: "the running result and the elements have different dtypes"}


def one_by_one(ufunc: np.ufunc, host: np.ndarray) -> np.ndarray:
    """The reduction along axis 0 in Python: NumPy's vector code for arctan2 gets its own wrong."""
    with np.errstate(all="ignore"):
        dtype = ufunc.reduce(host).dtype
        rows = list(host.astype(dtype))
        return functools.reduce(lambda a, b: ufunc(a, b).astype(dtype), rows[1:], rows[0])


@pytest.mark.parametrize("ufunc", BINARY, ids=lambda u: u.__name__)
def test_every_ufunc(ufunc: np.ufunc) -> None:
    ours = getattr(clarray, ufunc.__name__)
    for dtype in ("bool", "int16", "float32"):
        host = (abs(small((4, 7), dtype, seed=5)) + (dtype != "bool")).astype(dtype)
        x = clarray.asarray(host)
        try:
            with np.errstate(all="ignore"):
                ufunc.reduce(host)
        except TypeError:
            with pytest.raises(TypeError):
                ours.reduce(x)
            continue
        if ufunc in UNEQUAL:
            with pytest.raises(TypeError, match="did not contain a loop"):
                ours.reduce(x)
            continue
        for values, axis in [(x, 0), (x.T, 1)]:
            wanted = one_by_one(ufunc, host)
            found = ours.reduce(values, axis=axis)
            assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
            bound = 16 * np.finfo(wanted.dtype).eps if ufunc in ROUNDED and wanted.dtype.kind == "f" else 0
            np.testing.assert_allclose(found.get(), wanted, rtol=bound)


ORDERED: dict[str, Body] = {
    "subtract": lambda xp: xp.subtract.reduce(xp.asarray(HOST), axis=1),
    "along the last axis": lambda xp: xp.subtract.reduce(xp.asarray(HOST), axis=2),
    "backwards": lambda xp: xp.subtract.reduce(xp.asarray(HOST)[:, ::-1], axis=1),
    "transposed": lambda xp: xp.subtract.reduce(xp.asarray(HOST).T, axis=0),
    "initial": lambda xp: xp.subtract.reduce(xp.asarray(HOST), axis=1, initial=5),
    "where": lambda xp: xp.subtract.reduce(xp.asarray(HOST), axis=1, initial=5, where=xp.asarray(CHOSEN)),
    "where without initial": lambda xp: xp.subtract.reduce(xp.asarray(HOST), where=xp.asarray(CHOSEN)),
    "empty": lambda xp: xp.subtract.reduce(xp.asarray(HOST)[:0]),
    "two axes": lambda xp: xp.subtract.reduce(xp.asarray(HOST), axis=(0, 1)),
    "all axes": lambda xp: xp.subtract.reduce(xp.asarray(HOST), axis=None),
    "all axes of one": lambda xp: xp.subtract.reduce(xp.asarray(HOST[0, 0]), axis=None),
    "lcm": lambda xp: xp.lcm.reduce(xp.asarray(BYTES[0]), axis=1),
    "lcm, initial": lambda xp: xp.lcm.reduce(xp.asarray(BYTES[0]), axis=1, initial=2),
    "lcm, two axes": lambda xp: xp.lcm.reduce(xp.asarray(BYTES), axis=(0, 1)),
    "no binary ufunc": lambda xp: xp.sin.reduce(xp.asarray(HOST)),
    "two results": lambda xp: xp.divmod.reduce(xp.asarray(HOST)),
    "default axis": lambda xp: xp.multiply.reduce(xp.asarray(BYTES)),
}


@pytest.mark.parametrize("case", ORDERED)
def test_operations_whose_order_matters(same: Any, case: str) -> None:
    same(ORDERED[case])


@pytest.mark.optimized
def test_long_ordered_reductions(same: Any, policy: str) -> None:
    host = small((3, 200), np.int16)

    def body(xp: Any) -> Any:
        x = xp.asarray(host)
        found = [xp.subtract.reduce(x, axis=k) for k in (0, 1)]
        return [*found, xp.subtract.reduce(x.T, axis=0), xp.asarray(xp.subtract.reduce(x[0]))]

    same(body)
