"""Arrays that are dropped: when nothing refers to them, by the garbage collector, which may run anywhere, or late."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.evaluate import evaluate
from clarray._engine.expr import build
from clarray._engine.ops.special import cast_loop
from clarray._engine.runtime import Device, current_device, launch
from clarray._engine.speedups import native


class _Cycle:
    """What only the garbage collector drops."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.me = self


def test_shared_memory_that_the_garbage_collector_drops(same: Any) -> None:
    """It may do so within any launch, which is waited for all the same before its values are looked at."""

    def body(xp: Any) -> Any:
        r = np.random.default_rng(11)
        found = []
        for _ in range(100):
            given = {name: xp.array(r.integers(0, 9, r.integers(1, 40)).astype(np.float32)) for name in "xy"}
            for step in ("xp.intersect1d(x, x)", "last[last > 2]", "xp.setxor1d(x, y)", "xp.union1d(x, last)"):
                _Cycle(xp.asarray(np.ones(100, np.float32)))
                given["last"] = eval(step, {"xp": xp}, given)
                found.append(given["last"])
        return found

    thresholds = gc.get_threshold()
    gc.set_threshold(30, 2, 2)
    try:
        same(body)
    finally:
        gc.set_threshold(*thresholds)


class Named(clarray.ndarray):
    """A class with attributes of its own."""

    __slots__ = ("name", "other")
    gone = 0

    def __del__(self) -> None:
        type(self).gone += 1


def named(name: Any) -> Any:
    array = clarray.arange(16, dtype=np.float32).view(Named)
    array.name = array.other = name
    return array


def assert_each_block_is_there_once() -> None:
    blocks = Counter(id(block) for home in current_device().pool._bins.values() for block in list(home))
    assert not [block for block, times in blocks.items() if times > 1]


class _Waits:
    """Garbage that waits for the device, as what computes does."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.me = self

    def __del__(self) -> None:
        self.device.finish()


def test_the_collector_rests_while_a_launch_is_queued(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that it ran between the last look at the device and the launch would have the device taken for idle."""
    device, queue = current_device(), launch._enqueue
    pending: list[Any] = []

    def enqueue(*args: Any) -> None:
        _Waits(device)
        assert len([[] for _ in range(2 * gc.get_threshold()[0])]) > 0  # pyopencl makes objects too
        queue(*args)
        pending.append(device.pending)

    source = "__kernel void count_up(__global long *x) { x[0] += 1; }"
    kernel = device.program(source, {"count_up": ("buffer",)}).kernel("count_up")
    memory = device.upload(np.zeros(1, np.int64))
    monkeypatch.setattr(launch, "_enqueue", enqueue)
    kernel.launch((1,), (1,), (memory.buffer,))
    assert pending[0]
    assert gc.isenabled()
    assert device.read_number(memory, 0, np.dtype(np.int64)) == 1


@pytest.mark.parametrize("size", [1, 100, 5000])
@pytest.mark.parametrize("in_a_cycle", [False, True])
def test_memory_goes_back_once(size: int, in_a_cycle: bool) -> None:
    x = clarray.ones(size, dtype=np.float32) + 1
    memory = evaluate(x._node).memory
    gone: list[Any] = []
    refs = [weakref.ref(of, gone.append) for of in (x, x._node, memory)]
    if in_a_cycle:
        _Cycle(x)
    block = memory._block
    assert not any(block is free for free in block.home)
    del x, memory
    gc.collect()
    assert sorted(map(id, gone)) == sorted(map(id, refs))
    assert sum(block is free for free in block.home) == 1
    assert_each_block_is_there_once()


def test_a_block_that_never_came_back() -> None:
    """As where an interrupt comes between: what is queued may still use it, so it stays until all is given back."""
    device = current_device()
    clarray.free_memory(device)  # what other tests have dropped while the device worked
    block = device.allocate(5000)._block
    block.home.remove(block)
    handle, size = block.handle, block.size
    del block
    gc.collect()
    free, reserved = device.pool.free_bytes(), device.pool.reserved
    assert handle in {block.handle for block in device.pool._blocks}
    assert clarray.free_memory(device) == free + size
    assert handle not in {block.handle for block in device.pool._blocks}
    assert device.pool.reserved == reserved - free - size
    assert_each_block_is_there_once()


def test_memory_of_others_that_never_was_let_go() -> None:
    device = current_device()
    if not device.capabilities.host_memory:
        pytest.skip("what others have made is the driver's to keep")
    values = np.arange(100, dtype=np.float32)
    x = clarray.asarray(values)
    block = x._node.memory._block
    del x._node.memory._block  # all that the memory looks at as it goes
    host = weakref.ref(block.host)
    del x, values, block
    gc.collect()
    assert host() is not None
    device._foreign = {block for block in device._foreign if block.host is not host()}
    assert host() is None


def test_memory_of_others_is_let_go() -> None:
    class Owner(np.ndarray):
        """An ndarray that weak references may name."""

    values = np.arange(100, dtype=np.float32).view(Owner)
    owner = weakref.ref(values)
    x = clarray.asarray(values)
    assert float(x.sum()) == 4950
    del values, x
    current_device().synchronize()
    gc.collect()
    assert owner() is None
    assert_each_block_is_there_once()


def test_classes_made_from_arrays() -> None:
    before, held = Named.gone, weakref.ref(named("first"))
    assert (held(), Named.gone) == (None, before + 1)
    array = named("second")
    gone: list[int] = []
    ref = weakref.ref(array, lambda _: gone.append(1))
    array.other = array  # a cycle through what the class has added
    del array
    gc.collect()
    assert (ref(), gone, Named.gone) == (None, [1], before + 2)
    assert_each_block_is_there_once()


def test_a_chain_of_any_length() -> None:
    """It is dropped without a call for each link within the one before."""
    x = clarray.ones(4, dtype=np.float32)
    cast = cast_loop(x.dtype)
    node = evaluate(x._node)
    for _ in range(100_000):
        node = build.unary(cast, node)
    ref = weakref.ref(node)
    del node
    assert ref() is None
    chain, first = None, x.view(Named)
    for _ in range(50_000):
        chain, before = first[:2], chain
        chain.other = before
    del chain, before


def test_numbers_are_dropped() -> None:
    x = clarray.arange(5, dtype=np.float32) * 1
    number = x[3:4].max()
    assert float(number) == 3
    ref = weakref.ref(number._node)
    del number
    assert ref() is None


def parts_of(array: clarray.DeviceArray) -> list[Any]:
    """What the growth of `(x + y) * 0.5` has made, besides arrays."""
    product = array._node
    total, half = product.args
    nodes = (product, total)
    return [half, *nodes] + [
        part for node in nodes for part in (node.args, node.inputs, node.shape, node.readers, *node.readers)
    ]


@pytest.mark.skipif(native is None, reason="Python's own nodes are tracked")
def test_the_collector_does_not_look_at_what_is_grown() -> None:
    x = clarray.ones(40)

    def grow() -> list[clarray.DeviceArray]:
        results = [x]
        for _ in range(100):
            results.append((results[-1] + x) * 0.5)
        return results[1:]

    grow()  # which imports and notes what later ones need
    gc.collect()
    results = grow()
    y = results[-1]
    assert [part for each in results for part in parts_of(each) if gc.is_tracked(part)] == []
    ref = weakref.ref(y._node)
    results.append(results)  # a cycle through the arrays, not through their nodes
    del results, y
    assert ref() is not None
    gc.collect()
    assert ref() is None
