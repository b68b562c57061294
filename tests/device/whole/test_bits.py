"""What only moves elements keeps all their bits: those of a NaN too, whatever a kernel computes in."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clarray

from ..conftest import policy_in_force


def every_half() -> np.ndarray:
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def odd(dtype: str) -> np.ndarray:
    """NaN with payloads, quiet and signalling, of both signs, and the ends of a dtype, 64 times."""
    part = np.dtype(dtype) if np.dtype(dtype).kind == "f" else np.dtype(f"f{np.dtype(dtype).itemsize // 2}")
    bits, significand = 8 * part.itemsize, np.finfo(part).nmant
    infinity = ((1 << (bits - 1 - significand)) - 1) << significand
    quiet = infinity | 1 << (significand - 1)
    found = [infinity, infinity | 1, infinity | 5, quiet - 1, quiet, quiet | 5, infinity - 1, 1]
    signed = [bits_ | sign << (bits - 1) for sign in (0, 1) for bits_ in found]
    return np.array(signed * 64, f"u{part.itemsize}").view(dtype)


def written(xp: ModuleType, size: int, x: Any, write: Callable[[Any], Any]) -> Any:
    target = xp.zeros(size, x.dtype)
    write(target)
    return target


def third(xp: ModuleType, x: Any) -> Any:
    return xp.asarray(np.arange(x.size) % 3 > 0)


def backwards(xp: ModuleType, x: Any) -> Any:
    return xp.asarray(np.arange(x.size)[::-1].copy())


Moves = dict[str, Callable[[ModuleType, Any], Any]]

MOVES: Moves = {
    "array": lambda xp, x: xp.array(x),
    "copy in F order": lambda xp, x: x.reshape(4, -1).copy("F"),
    "steps": lambda xp, x: x[::2].copy(),
    "backwards": lambda xp, x: x[::-1].copy(),
    "transposed": lambda xp, x: x.reshape(32, -1).T.copy(),
    "axes moved": lambda xp, x: xp.moveaxis(x.reshape(2, 4, -1), 0, -1).copy(),
    "astype": lambda xp, x: x.astype(x.dtype),
    "assigned in steps": lambda xp, x: written(xp, 2 * x.size, x, lambda y: y.__setitem__(slice(None, None, 2), x)),
    "elements assigned": lambda xp, x: written(xp, 16, x, lambda y: [y.__setitem__(i, x[i]) for i in range(16)]),
    "element assigned to many": lambda xp, x: written(xp, 5, x, lambda y: y.__setitem__(slice(1, 3), x[5])),
    "each by itself": lambda xp, x: xp.stack([x[i] for i in range(16)]),
    "each read": lambda xp, x: xp.stack(list(x[:16])),
    "least of one": lambda xp, x: xp.stack([x[i : i + 1].min() for i in range(16)]),
    "assigned by mask": lambda xp, x: written(xp, x.size, x, lambda y: y.__setitem__(third(xp, x), x[third(xp, x)])),
    "assigned by index": lambda xp, x: written(xp, x.size, x, lambda y: y.__setitem__(backwards(xp, x), x)),
    "copyto": lambda xp, x: written(xp, x.size, x, lambda y: xp.copyto(y, x, where=third(xp, x))),
    "put": lambda xp, x: written(xp, x.size, x, lambda y: xp.put(y, backwards(xp, x), x)),
    "place": lambda xp, x: written(xp, x.size, x, lambda y: xp.place(y, third(xp, x), x)),
    "putmask": lambda xp, x: written(xp, x.size, x, lambda y: xp.putmask(y, third(xp, x), x)),
    "fill": lambda xp, x: written(xp, 3, x, lambda y: y.fill(x[9])),
    "concatenate": lambda xp, x: xp.concatenate([x, x[::-1]]),
    "stack": lambda xp, x: xp.stack([x, x], -1),
    "take": lambda xp, x: xp.take(x, backwards(xp, x)),
    "by index": lambda xp, x: x[backwards(xp, x)],
    "by mask": lambda xp, x: x[third(xp, x)],
    "computed mask": lambda xp, x: x[x == x],
    "take_along_axis": lambda xp, x: xp.take_along_axis(x, backwards(xp, x), 0),
    "where": lambda xp, x: xp.where(third(xp, x), x, x[::-1]),
    "where of itself": lambda xp, x: xp.where(x > 0, x, x[::-1]),
    "where of a scalar": lambda xp, x: xp.where(third(xp, x), x, 0),
    "where of NaN": lambda xp, x: xp.where(third(xp, x), x, np.nan),
    "where beside a sum": lambda xp, x: xp.where(xp.isnan(x), x, x + x.dtype.type(0)),
    "where, then where": lambda xp, x: xp.where(x > 1, xp.where(x < 2, x, x[::-1]), xp.where(x == x, 3, x)),
    "choose": lambda xp, x: xp.choose(xp.asarray(np.arange(x.size) % 2), [x, x[::-1]]),
    "roll": lambda xp, x: xp.roll(x, 3),
    "repeat": lambda xp, x: xp.repeat(x, xp.asarray(np.arange(x.size) % 3)),
    "tile": lambda xp, x: xp.tile(x, 2),
    "pad": lambda xp, x: xp.pad(x, 2),
    "insert": lambda xp, x: xp.insert(x, 3, x[1]),
    "delete": lambda xp, x: xp.delete(x, [3, 5]),
    "broadcast": lambda xp, x: xp.broadcast_to(x, (2, x.size)).copy(),
    "full": lambda xp, x: xp.full((3,), x[1]),
    "tril": lambda xp, x: xp.tril(x.reshape(8, -1)),
    "resize": lambda xp, x: xp.resize(x, (x.size + 5,)),
    "byteswap": lambda xp, x: x.byteswap(),
    "byteswap in place": lambda xp, x: x.copy().byteswap(True),
    "byteswap of a view": lambda xp, x: x.copy()[::-2].byteswap(True),
    "real": lambda xp, x: x.real.copy(),
    "imag": lambda xp, x: x.imag.copy(),
    "positive": lambda xp, x: +x,
}
SIGNS: Moves = {
    "negative": lambda xp, x: -x,
    "absolute": lambda xp, x: abs(x),
    "copysign": lambda xp, x: xp.copysign(x, x[::-1]),
    "chosen signs": lambda xp, x: xp.where(x > 0, -x, abs(x)),
}


def check(host: np.ndarray, moves: Moves) -> None:
    lost = []
    for name, move in moves.items():
        with np.errstate(all="ignore"):
            theirs = np.ascontiguousarray(move(np, host))
        ours = np.ascontiguousarray(clarray.asnumpy(move(clarray, clarray.array(host))))
        assert theirs.dtype == ours.dtype
        different = theirs.view(np.uint8) != ours.view(np.uint8)
        if different.any():
            lost.append((name, int(different.sum())))
    assert not lost


@pytest.mark.parametrize("row", ["own", "tiny-gpu"])
def test_float16(row: str) -> None:
    with policy_in_force(row):
        check(every_half(), MOVES | SIGNS)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "float64", "complex128"])
def test_wider(dtype: str) -> None:
    host = odd(dtype)
    # what is added to a signalling NaN is arithmetic, and makes a quiet one
    check(host, {name: move for name, move in MOVES.items() if name != "where beside a sum"})


@pytest.mark.parametrize("row", ["own", "tiny-gpu"])
def test_sorted_bits(row: str) -> None:
    """Those of NaN lie at the end in any order, and each is there still."""
    host = every_half()
    with policy_in_force(row):
        for ours in (clarray.sort(clarray.array(host)), clarray.partition(clarray.array(host), 5)):
            np.testing.assert_array_equal(np.sort(ours.get().view(np.uint16)), host.view(np.uint16))
