"""A statement that writes to an array reads and writes under one hold of the device's lock.

Other threads then see a single step: see `tests.torture.threads`. Here the holds that launch kernels are counted.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import Device, current_device

from .test_every_function import KEYWORDS
from .test_outputs import NAMES, arguments

pytestmark = pytest.mark.usefixtures("quick_builds")

CALLS = 2  # the second one is recorded
PATIENCE = 20  # seconds

# `x` and `w` have one axis, `A` two, `z` and `Z` are complex. `m` is a mask, `i` has indices, `c` as many values.
STATEMENTS = (
    "x[1:] = x[:-1]",
    "x[...] = w[::-1]",
    "x[m] = c",
    "x[i] = c",
    "x[pending] = 0",
    "x[m] = selected",
    "A[:, i] = A[:, :3]",
    "A[m, 1] = c",
    "x.flat = c",
    "x.flat[i] = c",
    "x.flat[m] = 5",
    "z.real = x",
    "x += w",
    "A @= A",
    "x.sort()",
    "A.sort(axis=0)",
    "x.partition(3)",
    "x.fill(2)",
    "x.put(i, c)",
    "x.byteswap(True)",
    "x.clip(2, 4, out=x)",
    "A.trace(out=x[0, ...])",
    "np.copyto(x, x[::-1])",
    "np.copyto(x, w, where=m)",
    "np.put(x, i, c)",
    "np.place(x, m, c)",
    "np.putmask(x, m, w)",
    "np.put_along_axis(x, i, c, 0)",
    "np.put_along_axis(A, order, A, 1)",
    "np.fill_diagonal(A, c, wrap=True)",
    "np.nan_to_num(x, copy=False)",
    "ufuncs.add.at(x, i, c)",
    "ufuncs.multiply.at(x, i, x[:3])",
    "ufuncs.add.reduce(A, 0, out=x)",
    "ufuncs.add.accumulate(x, out=x)",
    "ufuncs.add.reduceat(x, i[::-1], out=x[:3])",
    "ufuncs.add(x, w, out=x, where=m)",
    "ufuncs.divmod(x, w + 1, out=(x, w))",
    "ufuncs.matmul(A, A, out=A)",
    "np.cumulative_sum(x, out=nine, include_initial=True)",
    "np.nanmean(A, 0, dtype=ufuncs.float64, out=x)",
    "np.fft.fft(z, out=z)",
    "np.fft.ifft2(Z, out=Z)",
    "np.fft.irfft(z[:5], out=x)",
    "np.linalg.multi_dot((A, A, A), out=A)",
    "shuffled.shuffle(x)",
    "shuffled.shuffle(A, axis=1)",
    "shuffled.permuted(x, out=x)",
)


# `lazy` and `lazy_indices` are converted by code that waits for another thread, which computes.
STATEMENTS_OF_OTHER_CODE = (
    "x[...] = lazy",
    "x[m] = lazy[m]",
    "x += lazy",
    "x.flat = lazy",
    "np.copyto(x, lazy)",
    "np.put(x, i, lazy)",
    "np.putmask(x, m, lazy)",
    "np.concatenate((x[:4], lazy[:4]), out=x)",
    "np.clip(x, lazy, 9, out=x)",
    "np.outer(lazy, x, out=A)",
    "np.mean((lazy, x), 0, out=x)",
    "ufuncs.add(x, lazy, out=x)",
    "ufuncs.add.at(x, i, lazy[i])",
    "x[lazy_indices] = w",
    "x[lazy_indices] = 3",
    "A[lazy_indices, 1] = w",
    "x.flat[lazy_indices] = w",
    "np.put(x, lazy_indices, w)",
    "np.take(x, lazy_indices, out=w)",
)


# What waits on x is computed before, in a hold of its own while the kernel that fills is not compiled.
HOLDS = {"x.fill(2)": 2}


class CountingLock:
    """The lock of a device. It counts the outermost holds of one thread in which kernels are launched."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.lock = device.lock
        self.thread = threading.get_ident()  # another one launches what has been compiled beside
        self.depth = 0
        self.begun = 0
        self.holds = 0

    def acquire(self, *args: Any) -> bool:
        is_held: bool = self.lock.acquire(*args)
        if is_held and threading.get_ident() == self.thread:
            if not self.depth:
                self.begun = self.device.begun
            self.depth += 1
        return is_held

    def release(self) -> None:
        if threading.get_ident() == self.thread:
            self.depth -= 1
            if not self.depth:
                self.holds += self.device.begun != self.begun
        self.lock.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *args: object) -> None:
        self.release()


@contextmanager
def counted_holds() -> Iterator[CountingLock]:
    device = current_device()
    counting = device.lock = CountingLock(device)
    try:
        yield counting
    finally:
        device.lock = counting.lock


def evaluated(values: Any) -> Any:
    for value in values:
        if isinstance(value, clarray.DeviceArray):
            value.evaluate()
    current_device().finish()
    return values


class Shuffled(clarray.random.Generator):
    """A generator whose order is known, so that drawing it launches nothing."""

    __slots__ = ("order",)

    def _random_order(self, count: int) -> clarray.DeviceArray:
        assert count == 8
        return self.order


def named_values() -> dict[str, Any]:
    n = 8
    h = clarray.array
    x = h(np.arange(1.0, n + 1))
    m = h(np.arange(n) % 3 == 1)
    values = {"x": x, "w": h(np.arange(n)[::-1] % 5.0), "m": m, "i": h([7, 4, 1]), "c": h([1.0, 2.0, 3.0])}
    values |= {"A": h(np.arange(64.0).reshape(8, 8)), "z": h(np.arange(n) + 1j), "nine": h(np.zeros(9))}
    values |= {
        "Z": h(np.arange(64.0).reshape(8, 8) + 1j),
        "order": h(np.argsort(np.sin(np.arange(64.0)).reshape(8, 8), 1)),
    }
    shuffled = Shuffled(clarray.random.Philox(1))
    shuffled.order = h([3, 1, 2, 0, 7, 5, 6, 4])
    evaluated((*values.values(), shuffled.order))
    return values | {"pending": x > 3, "selected": x[m] * 2, "np": clarray, "ufuncs": np, "shuffled": shuffled}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_statements(statement: str) -> None:
    code = compile(statement, statement, "exec")
    for _ in range(CALLS):
        values = named_values()
        with counted_holds() as counted:
            exec(code, values)
        assert counted.holds <= HOLDS.get(statement, 1), "kernels in several holds"


class Lazy:
    """An array of another library, which computes it in a thread."""

    def __init__(self, dtype: str, key: Any = ...) -> None:
        self.wanted = dtype
        self.key = np.asarray(key) if isinstance(key, clarray.DeviceArray) else key

    def __getitem__(self, key: Any) -> Lazy:
        return Lazy(self.wanted, key)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        values: list[np.ndarray] = []
        thread = threading.Thread(target=lambda: values.append(clarray.arange(8.0).get()), daemon=True)
        thread.start()
        thread.join(PATIENCE)
        assert values, "the statement holds the lock while it converts"
        return np.asarray(values[0], dtype or self.wanted)[self.key]


@pytest.mark.parametrize("statement", STATEMENTS_OF_OTHER_CODE)
def test_conversions_hold_no_lock(statement: str) -> None:
    exec(statement, named_values() | {"lazy": Lazy("float64"), "lazy_indices": Lazy("int64")})


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")  # from NumPy 2.5 on
@pytest.mark.parametrize("name", NAMES)
def test_outputs(name: str) -> None:
    keywords = KEYWORDS.get(name, {})
    result = np.asarray(getattr(np, name)(*arguments(name, "float32", np), **keywords))
    for _ in range(CALLS):
        args = evaluated(arguments(name, "float32", clarray))
        (out,) = evaluated([clarray.zeros(result.shape, result.dtype)])
        with counted_holds() as counted:
            getattr(clarray, name)(*args, **keywords, out=out)
        assert counted.holds <= 1, "kernels in several holds"
