"""Elements that are read one by one: what the host keeps of memory of a device's own goes with every write to it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device, host_read_cache

from ..conftest import assert_same

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

own_memory = pytest.mark.skipif(
    current_device().capabilities.host_memory, reason="the device works in the host's memory, which is read at once"
)

# Every way to write: of `x` and `k`, of 12 elements, and `w`, of 4 x 3, all elements have been read one by one before.
WRITES = [
    *("x[3] = 9", "x[2:6] = 1", "x[::-2] = 5", "x += 1", "x *= x", "x[...] = y * 2", "x[:] = h", "x[1:] = x[:-1]"),
    *(
        "x[x > 4] = 0",
        "x[x > 4] += 1",
        "x[i] = 7",
        "x[i] = y[:3]",
        "x[i] += 1",
        "x[k[3]] = 5",
        "w[1] = 3",
        "w[:, 1] = w[:, 0]",
    ),
    *("w.T[0] = 2", "w[[0, 2]] = 1", "w[w > 3] = y[:3].sum()", "np.add.at(x, i, 1)", "np.maximum.at(x, i, 3)"),
    *("x.sort()", "x.partition(4)", "w.sort(0)", "x.fill(2)", "x.put([1, 2], [9, 8])", "np.put(x, i, 3)"),
    *("np.putmask(x, x > 2, y)", "np.place(x, x > 2, [1, 2])", "np.copyto(x, y)", "np.copyto(x, 3, where=x > 2)"),
    *(
        "x.flat[3] = 2",
        "x.flat = 3",
        "x.view('i4')[3] = 7",
        "x.real[2] = 4",
        "x.byteswap(True)",
        "np.fill_diagonal(w, 5)",
    ),
    *(
        "np.add(x, 1, out=x)",
        "np.add(x, 1, out=x, where=x > 2)",
        "np.divmod(y, 3, out=(x, y))",
        "np.frexp(x, out=(x, n))",
    ),
    *("np.cumsum(y, out=x)", "np.cumsum(x, out=x)", "np.take(y, i, out=x[:3])", "np.compress(y > 2, y, out=x[:9])"),
    *(
        "np.choose(k % 2, [y, -y], out=x)",
        "np.clip(x, 2, 5, out=x)",
        "np.round(x, out=x)",
        "np.concatenate([y[:6], y[:6]], out=x)",
    ),
    *(
        "np.sum(w, axis=0, out=x[:3])",
        "np.mean(w, axis=1, out=x[:4])",
        "np.max(w, axis=0, out=x[2:5])",
        "np.argmax(w, axis=0, out=k[:3])",
    ),
    *(
        "np.dot(w, w.T, out=s)",
        "np.matmul(w, w.T, out=s)",
        "np.einsum('ij,kj->ik', w, w, out=s)",
        "np.matmul(s, s[0], out=x[:4])",
    ),
    *("np.nan_to_num(x, copy=False)", "np.median(w, axis=0, out=x[:3])", "np.percentile(w, 30, axis=0, out=x[:3])"),
    *(
        "x[0], x[-1] = x[-1], x[0]",
        "x.resize((12,), refcheck=False)",
        "x.setfield(3, 'f4')",
        "np.stack([x[:2], x[2:4]], out=s[:2, :2])",
    ),
]


def names(xp: Any) -> dict[str, Any]:
    r = np.random.default_rng(3)
    host = {
        "x": r.integers(1, 9, 12).astype("f4"),
        "y": r.integers(1, 9, 12).astype("f4"),
        "k": r.integers(0, 9, 12),
        "w": r.integers(1, 9, (4, 3)).astype("f4"),
        "s": np.zeros((4, 4), "f4"),
        "n": np.zeros(12, "i4"),
        "i": np.array([2, 7, 4]),
    }
    return {**{name: xp.array(value) for name, value in host.items()}, "h": r.integers(1, 9, 12), "np": np}


def elements(array: Any) -> list[Any]:
    """All elements, each read by itself."""
    return [array[place].item() for place in np.ndindex(array.shape)]


@pytest.mark.parametrize("statement", WRITES)
@pytest.mark.parametrize("uploaded", [True, False], ids=["uploaded", "computed"])
def test_what_is_written_is_read(statement: str, uploaded: bool) -> None:
    theirs, ours = names(np), names(clarray)
    arrays = [name for name, value in theirs.items() if isinstance(value, np.ndarray) and name != "h"]
    for name in arrays:
        if not uploaded:
            ours[name] = (ours[name] + 0).evaluate()
        assert elements(ours[name]) == elements(theirs[name])
    held = ours["x"][3], theirs["x"][3]
    for side in (theirs, ours):
        exec(statement, side)
    for name in arrays:
        assert elements(ours[name]) == elements(theirs[name]), name
        assert_same(ours[name], theirs[name])
    assert held[0] == held[1]


# What only clarray has, or draws otherwise than NumPy.
OWN_WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "elementwise kernel": lambda x, y: clarray.ElementwiseKernel("T y", "T x", "x = y * 3", "three")(y, x),
    "reduction kernel": lambda x, y: clarray.ReductionKernel("T y", "T x", "y", "a + b", identity=0)(y, x[3, ...]),
    "scan kernel": lambda x, y: clarray.ScanKernel("T y", "T x", "y", "a + b", "x = a", identity=0)(y, x),
    "random": lambda x, y: clarray.random.default_rng(3).random(dtype="f4", out=x),
    "normal": lambda x, y: clarray.random.default_rng(3).standard_normal(dtype="f4", out=x),
    "shuffle": lambda x, y: clarray.random.default_rng(3).shuffle(x),
    "permuted": lambda x, y: clarray.random.default_rng(3).permuted(y, out=x),
    "filter": lambda x, y: clarray.ndimage.uniform_filter(y, 3, output=x),
    "scatter": lambda x, y: clarray.put_along_axis(x, clarray.argsort(y), y + 20, 0),
    "shared with another": lambda x, y: np.from_dlpack(x, copy=False).__setitem__(3, 99),
}


@pytest.mark.parametrize("way", OWN_WRITES)
def test_what_clarray_alone_writes_is_read(way: str) -> None:
    x, y = clarray.array(np.arange(12, dtype="f4")), clarray.array(np.arange(12, 24, dtype="f4"))
    assert elements(x) == list(range(12))
    try:
        OWN_WRITES[way](x, y)
    except BufferError:
        pytest.skip("memory of a device's own is not exported")
    assert elements(x) == clarray.asnumpy(x).tolist() != list(range(12))


@pytest.mark.kernels_alone
@own_memory
def test_the_host_keeps_what_it_has_brought() -> None:
    x = clarray.array(np.arange(1000.0))
    with clarray.profile() as p:
        assert [float(x[k]) for k in range(1000)] == list(range(1000))
        assert x[3] + x[4] == 7
    assert (p.launches, p.transfers) == (0, 0)


@own_memory
def test_what_is_kept_of_a_device_that_was_reset_is_not_read() -> None:
    script = (
        "import clarray\n"
        "x = clarray.array([1.0, 2.0, 3.0])\n"
        "assert float(x[1]) == 2\n"
        "clarray.reset()\n"
        "try: float(x[1])\n"
        "except RuntimeError as error: print(type(error).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=100)
    assert (done.stdout, done.stderr) == ("DeviceLostError\n", "")


@own_memory
@pytest.mark.parametrize("count", [100, 5000, 500_000])
def test_few_transfers_read_many_elements(count: int) -> None:
    x = clarray.arange(count, dtype=np.int64)
    x.evaluate()
    with clarray.profile() as p:
        assert [int(e) for e in x[: min(count, 20_000)]] == list(range(min(count, 20_000)))
    assert p.transfers <= 4
    x[0] = 5
    with clarray.profile() as p:  # the first element after a write is read alone
        assert int(x[0]) == 5
    assert sum(r.nbytes for r in p.records if r.kind == "transfer") == 8


@own_memory
def test_elements_anywhere_in_much_memory_bring_little_with_them() -> None:
    x = clarray.zeros(10_000_000, np.float32)
    with clarray.profile() as p:
        for k in (0, 5_000_000, 100, 9_999_999, 2_000_000):
            assert float(x[k]) == 0
    assert sum(r.nbytes for r in p.records if r.kind == "transfer") <= 4 + 4 * 4096


@pytest.mark.kernels_alone
@own_memory
def test_a_copy_of_an_element_is_read_without_a_launch_and_is_of_its_time() -> None:
    x = clarray.arange(100, dtype=np.float32)
    x.evaluate()
    before = x[7]
    with clarray.profile() as p:
        assert float(x[7]) == 7
    assert p.launches == 0
    x[7] = 1
    assert (float(before), float(x[7])) == (7, 1)


@own_memory
def test_what_is_shared_is_not_kept() -> None:
    x = clarray.array(np.arange(10.0))
    x._node.memory.shared = True  # as of memory that somebody else may write to
    x._node.memory.forget()
    for _ in range(3):
        assert host_read_cache.read_element(x._node.memory, 8, np.dtype(float)) == 1
    assert x._node.memory.mirror is None
