"""Any size: none, one, past 2^31 and 2^32 where memory allows, and beyond all limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

FOLDS = ["sum", "prod", "max", "min", "any", "all", "mean", "std", "argmax", "ptp", "count_nonzero"]
ONES = [(), (1,), (1, 1), (1, 1, 1)]


@pytest.mark.parametrize("shape", ONES, ids=str)
def test_one_element(same: Any, shape: tuple[int, ...]) -> None:
    host = np.full(shape, 3, np.float32)

    def body(xp: Any) -> Any:
        x = xp.asarray(host)
        reduced = [getattr(xp, name)(x) for name in FOLDS]
        along = [x.sum(axis=k, keepdims=True) for k in range(x.ndim)]
        y = xp.array(host)
        y += 1
        y[...] = y * 2 - x
        return [*map(xp.asarray, reduced), *along, x + x, y, x > 2, x.T, x.reshape(1)]

    same(body)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4)], ids=str)
def test_no_elements(same: Any, shape: tuple[int, ...]) -> None:
    host = np.zeros(shape, np.float32)

    def body(xp: Any) -> Any:
        x = xp.asarray(host)
        y = xp.array(host)
        y += x
        y[...] = 1
        y[::-1] = x * 2
        sums = [xp.asarray(x.sum()), xp.asarray(x.prod()), xp.asarray(x.any()), xp.asarray(x.all())]
        axes = [x.sum(axis=k) for k in range(x.ndim)]
        return [x + 1, x * x, y, np.sqrt(x), x.T, x.astype(np.int8), x.copy(), *sums, *axes, xp.asarray(x[x > 0].sum())]

    same(body)
    for name in ("max", "min", "argmax"):
        same(lambda xp, name=name: getattr(xp.asarray(host), name)(), message=name != "argmax")


def test_no_elements_along_one_axis(same: Any) -> None:
    host = np.zeros((0, 3), np.float32)
    same(lambda xp: [xp.asarray(host).max(axis=1), xp.asarray(host).argmin(axis=1)])
    same(lambda xp: xp.asarray(host).max(axis=0))


# Large --------------------------------------------------------------------------------------------


def room(nbytes: int) -> None:
    """Skip where the device, or the host for the check, has no such memory."""
    device = current_device()
    free = device.capabilities.global_bytes - device.pool.reserved
    if device.capabilities.host_memory:
        from clarray._engine.runtime.host_memory import available_host_bytes

        device.pool.empty()
        free = min(free, available_host_bytes())
    if free < nbytes * 1.3:
        pytest.skip(f"needs {nbytes / 2**30:.1f} GiB of free memory")


@pytest.mark.slow
@pytest.mark.parametrize("size", [2**31 - 1, 2**31 + 5, 2**32 + 5], ids=hex)
def test_elements_past_32_bits(size: int) -> None:
    """As int8: as many bytes as elements; the last elements are the ones a short index loses."""
    room(2 * size)
    x = clarray.zeros(size, np.int8)
    assert x.size == size
    x[-3:] = [1, 2, 3]
    x[size // 2] = 7
    assert int(x.sum()) == 13
    assert int(x.argmax()) == size // 2
    assert int(np.count_nonzero(x)) == 4
    y = x + x
    assert clarray.asnumpy(y[-4:]).tolist() == [0, 2, 4, 6]
    assert int(y[size // 2]) == 14
    assert int(y[::-1][0]) == 6
    assert int(y[1::2].sum() + y[::2].sum()) == 26
    y += 1
    assert clarray.asnumpy(y[-4:]).tolist() == [1, 3, 5, 7]
    del y
    half = x[: size // 2 * 2].reshape(2, -1)
    assert int(half.sum(axis=1).sum()) == int(x[: size // 2 * 2].sum())
    assert int(half.max(axis=0)[0]) == 7
    assert int((half.T[-2:] * 1).sum()) == int(half[:, -2:].sum())


@pytest.mark.slow
def test_bytes_past_32_bits() -> None:
    size = 2**30 + 3
    room(2 * 4 * size)
    x = clarray.ones(size, np.float32)
    x[-1] = 5
    assert float(x.sum(dtype=np.float64)) == size + 4
    assert float(x.max()) == 5
    y = x * 2
    assert clarray.asnumpy(y[-2:]).tolist() == [2, 10]


def test_past_all_limits() -> None:
    """A MemoryError with the sizes, and the process goes on."""
    before = clarray.arange(10, dtype=np.float32) + 1
    with pytest.raises(MemoryError, match=r"cannot allocate .*[TP]iB on .* in use"):
        clarray.empty((1 << 46,), np.float32)
    with pytest.raises(MemoryError, match="cannot allocate"):
        clarray.zeros((1 << 42, 1 << 10), np.int8)
    x = clarray.ones((1, 1 << 20), np.int8)
    huge = clarray.broadcast_to(x, (1 << 26, 1 << 20)) + x  # pending: nothing yet
    assert huge.shape == (1 << 26, 1 << 20)
    with pytest.raises(MemoryError, match="cannot allocate"):
        huge.evaluate()
    with pytest.raises(MemoryError, match="cannot allocate"):
        huge.get()
    assert float(before.sum()) == 55
    assert float(x.sum()) == 1 << 20


def test_sizes_numpy_refuses(same: Any) -> None:
    same(lambda xp: xp.empty(-1))
    same(lambda xp: xp.empty((1 << 40, 1 << 40), np.int8))
    with pytest.raises(MemoryError, match="cannot allocate"):
        clarray.empty((1 << 30, 1 << 30), np.int8)
