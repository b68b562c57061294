"""Past the largest allocation that a device names: it works where the runtime can, else MemoryError names that size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import clarray
from clarray._engine.runtime import Device, current_device, use_device
from clarray._engine.runtime.host_memory import available_host_bytes

LIMIT = 1 << 20
SIZE = 300_000  # float32, so past the limit
HOST = np.arange(SIZE, dtype="float32") % 1009


@pytest.fixture
def arrays(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Any]]:
    """An array and a mask on a device of its own, which from now on refuses larger buffers."""
    chosen = current_device()
    device = Device(chosen.cl_device, chosen._cl_inline)
    whole = cl.Buffer

    def limited(context: Any, flags: int, size: int = 0, hostbuf: Any = None) -> cl.Buffer:
        if (size or hostbuf.nbytes) > LIMIT:
            raise cl.LogicError(cl._cl._ErrorRecord("create_buffer", cl.status_code.INVALID_BUFFER_SIZE, ""))
        return whole(context, flags, size, hostbuf)

    with use_device(device):
        x = clarray.array(HOST)
        mask = (x > 3).evaluate()
        device.pool.max_alloc_bytes = 2 * LIMIT
        monkeypatch.setattr(cl, "Buffer", limited)
        yield x, mask


PATHS: dict[str, Callable[[Any, Any], Any]] = {
    "array": lambda x, mask: clarray.array(HOST),
    "asarray": lambda x, mask: clarray.asarray(HOST),
    "asarray of a part": lambda x, mask: clarray.asarray(HOST[:-1:1]),
    "array of the other byte order": lambda x, mask: clarray.array(HOST.astype(">f4")),
    "operand": lambda x, mask: x + HOST,
    "from_dlpack": lambda x, mask: clarray.from_dlpack(HOST),
    "frombuffer": lambda x, mask: clarray.frombuffer(HOST.tobytes(), "float32"),
    "empty": lambda x, mask: clarray.empty(SIZE, "float32"),
    "zeros": lambda x, mask: clarray.zeros_like(x),
    "full": lambda x, mask: clarray.full(SIZE, 3, "float32"),
    "result": lambda x, mask: (x + 1).evaluate(),
    "copy": lambda x, mask: x.copy(),
    "strided": lambda x, mask: x[::-1].copy(),
    "cumsum": lambda x, mask: x.cumsum(),
    "sort": lambda x, mask: clarray.sort(x),
    "argsort": lambda x, mask: clarray.argsort(x),
    "mask": lambda x, mask: x[mask].evaluate(),
    "take": lambda x, mask: x[clarray.arange(SIZE)],
    "concatenate": lambda x, mask: clarray.concatenate((x, x)),
    "matmul": lambda x, mask: clarray.outer(x[:600], x[:600]).evaluate(),
    "convolve": lambda x, mask: clarray.convolve(x, x[:3]),
    "random": lambda x, mask: clarray.random.default_rng(0).random(SIZE, dtype="float32").evaluate(),
    "to_device": lambda x, mask: x.to_device(clarray.devices()[0]).to_device(x.device),
}


@pytest.mark.parametrize("path", PATHS)
def test_every_allocation_that_is_refused(path: str, arrays: tuple[Any, Any]) -> None:
    x, mask = arrays
    with pytest.raises(MemoryError, match=r"cannot allocate .* and the largest allocation is [0-9.]+ [MG]iB; drop"):
        PATHS[path](x, mask)
    assert float((x[:1000] + 1).sum()) == HOST[:1000].sum() + 1000


BEYOND = """
import numpy as np, clarray
device = clarray.arange(3).device
n = (256 << 20) + 1025
assert n > device.capabilities.max_alloc_bytes, device.capabilities.max_alloc_bytes
host = np.zeros(n, np.uint8)
host[-3:], host[n // 2] = (1, 2, 3), 7
x = clarray.asarray(host)
assert (int(x.sum()), int(x.argmax()), int(clarray.count_nonzero(x))) == (13, n // 2, 4)
x[-1] = 9
assert host[-1] == 9
y = x + 1
assert y[-2:].tolist() == [3, 10] and y.get()[n // 2] == 8
assert clarray.flip(x)[:3].copy().tolist() == [9, 2, 1]
assert int(clarray.cumsum(x, dtype="uint8")[-1]) == 19
assert x[x > 0].tolist() == [7, 1, 2, 9]
y[...] = 0
assert not y.any()
assert clarray.zeros(n, "uint8")[-2:].tolist() == [0, 0]
print("done")
"""


@pytest.mark.skipif(current_device().backend.name != "pocl", reason="of PoCL's limit")
@pytest.mark.skipif(not current_device().capabilities.host_memory, reason="asarray copies to such a device")
def test_pocl_goes_past_its_largest_allocation(fresh: Any) -> None:
    if available_host_bytes() < 3 << 30:
        pytest.skip("needs 3 GiB of free memory")
    result = fresh(BEYOND, POCL_MEMORY_LIMIT="1")
    assert (result.stdout, result.stderr) == ("done\n", "")
