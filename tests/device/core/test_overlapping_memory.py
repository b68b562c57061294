"""Two arrays on one ndarray's memory: overlap is a matter of addresses, so a write reads nothing that it wrote."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

pytestmark = [
    pytest.mark.usefixtures("quick_builds"),
    pytest.mark.skipif(not current_device().capabilities.host_memory, reason="no memory is shared with the host"),
    pytest.mark.usefixtures("tier"),
]

LENGTH = 12
ORDER = np.array([3, 1, 2, 0, 5, 4])
REPEATED = np.array([0, 1, 2, 3, 3, 5, 6, 7, 8, 9, 10, 10])

# Target and values in one ndarray of two lengths, which are float32 or int64.
PAIRS: dict[str, Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "same": lambda h: (h[:LENGTH], h[:LENGTH]),
    "ahead": lambda h: (h[1 : LENGTH + 1], h[:LENGTH]),
    "behind": lambda h: (h[:LENGTH], h[1 : LENGTH + 1]),
    "far": lambda h: (h[:LENGTH], h[5 : LENGTH + 5]),
    "reversed": lambda h: (h[:LENGTH], h[LENGTH - 1 :: -1]),
    "reversed target": lambda h: (h[LENGTH:0:-1], h[:LENGTH]),
    "spread": lambda h: (h[:LENGTH], h[::2]),
    "spread target": lambda h: (h[::2], h[:LENGTH]),
    "interleaved": lambda h: (h[::2], h[1::2]),
}
Write = Callable[[ModuleType, Any, Any], Any]
WRITES: dict[str, Write] = {
    "a[...] = b": lambda xp, a, b: a.__setitem__(..., b),
    "a[::2] = b[:6]": lambda xp, a, b: a.__setitem__(slice(None, None, 2), b[:6]),
    "a[1:] = b[:-1]": lambda xp, a, b: a.__setitem__(slice(1, None), b[:-1]),
    "a[...] = 2 * b": lambda xp, a, b: a.__setitem__(..., 2 * b),
    "a[...] = b[::-1] + a": lambda xp, a, b: a.__setitem__(..., b[::-1] + a),
    "a += b": lambda xp, a, b: a.__iadd__(b),
    "a *= b, rows": lambda xp, a, b: a.reshape(3, 4).__imul__(b[:4]),
    "a[...] = b.T": lambda xp, a, b: a[:9].reshape(3, 3).__setitem__(..., b[:9].reshape(3, 3).T),
    "a[...] = other dtype": lambda xp, a, b: a.__setitem__(..., b.astype(np.float64)),
    "a[order] = b": lambda xp, a, b: a.__setitem__(xp.asarray(ORDER), b[:6]),
    "a[repeated] = b": lambda xp, a, b: a.__setitem__(xp.asarray(REPEATED), b),
    "a[mask] = b": lambda xp, a, b: a.__setitem__(xp.asarray(ORDER > 2), b[:3]) if len(a) == 6 else None,
    "a[a > 4] = b": lambda xp, a, b: a.__setitem__(a > 4, b[a > 4]),
    "a[b > 4] = 7": lambda xp, a, b: a.__setitem__(b > 4, 7),
    "a[b] = 5": lambda xp, a, b: a.__setitem__(b, 5) if b.dtype.kind == "i" else None,
    "a[b] = b": lambda xp, a, b: a.__setitem__(b, b) if b.dtype.kind == "i" else None,
    "copyto": lambda xp, a, b: xp.copyto(a, b),
    "copyto, where": lambda xp, a, b: xp.copyto(a, b, where=a > 3),
    "putmask": lambda xp, a, b: xp.putmask(a, b > 3, b),
    "place": lambda xp, a, b: xp.place(a, b > 3, b),
    "put": lambda xp, a, b: xp.put(a, ORDER, b),
    "put at b": lambda xp, a, b: xp.put(a, b, 5) if b.dtype.kind == "i" else None,
    "put_along_axis": lambda xp, a, b: xp.put_along_axis(a, xp.asarray(ORDER), b[:6], 0),
    "fill_diagonal": lambda xp, a, b: xp.fill_diagonal(a[:9].reshape(3, 3), b[:3]),
    "flat": lambda xp, a, b: a.flat.__setitem__(slice(None, None, 2), b[:6]),
    "negative": lambda xp, a, b: xp.negative(b, out=a),
    "add, where": lambda xp, a, b: xp.add(b, 1, out=a, where=b > 3),
    "clip": lambda xp, a, b: xp.clip(b, 2, b[::-1], out=a),
    "cumsum": lambda xp, a, b: xp.cumsum(b, out=a),
    "maximum.accumulate": lambda xp, a, b: xp.maximum.accumulate(b[::-1], out=a),
    "add.reduceat": lambda xp, a, b: xp.add.reduceat(b, [0, 3, 2, 4], out=a[:4]),
    "sum, rows": lambda xp, a, b: xp.sum(b.reshape(3, 4), axis=1, out=a[2:5]),
    "max, columns": lambda xp, a, b: xp.max(b.reshape(3, 4), axis=0, out=a[:4]),
    "ptp": lambda xp, a, b: xp.ptp(b.reshape(3, 4), axis=1, out=a[2:5]),
    "take": lambda xp, a, b: xp.take(b, xp.asarray(ORDER), out=a[:6], mode="clip"),
    # NumPy writes to a strided output as if it were contiguous
    "choose": lambda xp, a, b: (
        xp.choose(xp.asarray(REPEATED % 2), [b, b[::-1]], out=a, mode="clip") if a.flags.c_contiguous else None
    ),
    "compress": lambda xp, a, b: xp.compress(xp.asarray(REPEATED % 2 == 0), b, out=a[:6]),
    "concatenate": lambda xp, a, b: xp.concatenate([b[6:], b[:6]], out=a),
    "matmul": lambda xp, a, b: xp.matmul(b[:9].reshape(3, 3), b[3:].reshape(3, 3), out=a[:9].reshape(3, 3)),
    "einsum": lambda xp, a, b: xp.einsum("ij->ji", b[:9].reshape(3, 3), out=a[:9].reshape(3, 3)),
    "outer": lambda xp, a, b: xp.outer(b[:3], b[1:4], out=a[:9].reshape(3, 3)),
    **{
        f"{name}.at": lambda xp, a, b, name=name: getattr(xp, name).at(a, xp.asarray(REPEATED), b)
        for name in ("add", "subtract", "multiply", "maximum")
    },
    "add.at, one": lambda xp, a, b: xp.add.at(a, xp.asarray(REPEATED), b[3]),
    "add.at of a pending value": lambda xp, a, b: xp.add.at(a, xp.asarray(REPEATED), b * 2),
    "add.at b": lambda xp, a, b: xp.add.at(a, b, b) if b.dtype.kind == "i" else None,
    "negative.at b": lambda xp, a, b: xp.negative.at(a, b) if b.dtype.kind == "i" else None,
}


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("name", WRITES)
def test_writes(name: str, dtype: str) -> None:
    write = WRITES[name]
    unlike = []
    for pair, cut in PAIRS.items():
        host = np.random.default_rng(0).integers(0, 9, 2 * LENGTH).astype(dtype)
        ours, theirs, numpys = host.copy(), host.copy(), host.copy()
        a, b = cut(theirs)
        expected = error_of(write, np, a, b.copy())
        error_of(write, np, *cut(numpys))  # some functions of NumPy's do not look for overlap either
        a, b = map(clarray.asarray, cut(ours))
        assert error_of(write, clarray, a, b) is expected, f"{pair}: no {expected}"
        if expected is None and not (np.array_equal(ours, theirs) or np.array_equal(ours, numpys)):
            unlike.append(f"{pair}: {ours} instead of {theirs}, from {host}")
    assert not unlike, "\n".join(unlike)


def error_of(write: Write, xp: ModuleType, a: Any, b: Any) -> type[Exception] | None:
    try:
        write(xp, a, b)
    except Exception as error:
        return type(error)
    return None


@pytest.mark.parametrize("name", ["a[...] = b", "a[order] = b", "add.at", "copyto", "put", "cumsum"])
def test_repeated_calls(name: str) -> None:
    """Arrays that lie apart do not teach a call that others do."""
    host = np.arange(4 * LENGTH, dtype=np.float32)
    for low in (2 * LENGTH, 2 * LENGTH, 2 * LENGTH, 2 * LENGTH, 1, 5, LENGTH - 1):
        ours, theirs = host.copy(), host.copy()
        WRITES[name](np, theirs[low : low + LENGTH], theirs[:LENGTH].copy())
        WRITES[name](clarray, clarray.asarray(ours[low : low + LENGTH]), clarray.asarray(ours[:LENGTH]))
        assert ours.tolist() == theirs.tolist()


def test_bytes_of_another_dtype() -> None:
    for first in range(8):
        ours = np.arange(40, dtype=np.uint8)
        theirs = ours.copy()
        theirs[:32].view(np.float32)[:] = theirs[first : first + 8].copy()
        clarray.asarray(ours[:32].view(np.float32))[...] = clarray.asarray(ours[first : first + 8])
        assert ours.tolist() == theirs.tolist()
