"""What reads a memory: each pending expression once, and in the order in which they can be computed."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine import speedups
from clarray._engine.expr import build
from clarray._engine.expr.graph import inputs_of, live_readers


def grown(seed: int, count: int = 14) -> list[clarray.DeviceArray]:
    """Arrays, each but the first grown from two of those before it."""
    draw = random.Random(seed)
    arrays = [clarray.ones(4, np.float32).evaluate()]
    while len(arrays) < count:
        arrays.append(draw.choice(arrays) + draw.choice(arrays))
    return arrays


@pytest.mark.parametrize("seed", range(8))
def test_readers_come_once_and_after_what_reads_them(seed: int) -> None:
    arrays = grown(seed)
    memory = arrays[0]._node.memory  # others have become memory too, where too much was pending
    pending = [a._node for a in arrays if a._node.args and any(n.memory is memory for n in inputs_of(a._node))]
    found = live_readers(arrays[0]._node.readers)
    assert sorted(map(id, found)) == sorted(map(id, pending))
    places = {id(node): place for place, node in enumerate(found)}
    for node in found:
        assert all(places[id(arg)] > places[id(node)] for arg in node.args if id(arg) in places)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("order", ["write", "last", "random"])
def test_shared_parts_are_what_they_were(seed: int, order: str) -> None:
    """Some of them become memory while others read them."""
    arrays, draw = grown(seed), random.Random(seed)
    expected = [np.ones(4, np.float32)]
    again = random.Random(seed)
    while len(expected) < len(arrays):
        expected.append(again.choice(expected) + again.choice(expected))
    if order == "last":
        arrays[-1].evaluate()
    elif order == "random":
        for one in draw.sample(arrays, 5):
            one.evaluate()
    arrays[0][...] = 5  # computes before what has not been computed
    for ours, theirs in zip(arrays[1:], expected[1:], strict=True):
        np.testing.assert_array_equal(clarray.asnumpy(ours), theirs)


@pytest.mark.kernels_alone
def test_a_ladder_of_shared_parts_costs_a_launch_each() -> None:
    x = clarray.ones(4, np.float32).evaluate()
    with clarray.profile() as p:
        for _ in range(60):
            x = x * 0.25 + x * 0.75
        x.evaluate()
    assert p.launches <= 60
    assert clarray.asnumpy(x).tolist() == [1, 1, 1, 1]


def test_statements_leave_nothing_to_look_through() -> None:
    """What has been computed or dropped is no reader, and no view, for long."""
    x, y = clarray.ones(100, np.float32).evaluate(), clarray.ones(100, np.float32).evaluate()
    memory = x._node.memory
    views = [x[i:] for i in range(300)]
    pending = [view * 2 for view in views]
    assert len(live_readers(memory.readers)) == len(pending)
    assert sum(ref() is not None for ref in memory.views) == len(views)
    del pending, views
    for _ in range(1000):
        y[1:-1] = (x[1:-1] + x[2:] + x[:-2]) * 0.25
    assert float(y[1]) == 0.75
    assert not live_readers(memory.readers)
    assert len(memory.readers) <= 2 * build.PRUNE_AT
    assert len(memory.views) <= memory.views.limit + 3


@pytest.mark.skipif(speedups.native is None, reason="Python looks through 64 each time")
@pytest.mark.parametrize("kept", [62, 63, 64, 65, 127, 128])
def test_what_is_kept_is_not_looked_through_by_each_statement(kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x = clarray.ones(200, np.float32).evaluate()
    views = [x[i:] for i in range(kept)]
    pending = [x * float(i) for i in range(kept)]
    pruned = []
    monkeypatch.setattr(
        build, "prune", lambda *args, prune=build.prune, **keep: (pruned.append(1), prune(*args, **keep))
    )
    for _ in range(500):
        (x[3:] + x[:-3]).evaluate()
    assert len(pruned) <= 500 * 3 // build.PRUNE_AT + 2
    x[...] = 2
    assert [float(p[0]) for p in pending] == list(range(kept))
    assert all(float(v[0]) == 2 for v in views)


@pytest.mark.parametrize("calls", range(5))
def test_an_interrupt_leaves_no_reader_as_it_was(monkeypatch: pytest.MonkeyPatch, calls: int) -> None:
    """Metadata are refreshed as far as they change, and those that an interrupted walk has refreshed do not again."""
    monkeypatch.setattr(build, "notify_users", lambda readers, memory: None)
    x = clarray.array([1.0, 2.0])
    first = x * 2
    users = [first + 1]
    for _ in range(6):
        users.append(users[-1] * 3)
    readers = first._node.readers
    memory = x._node.memory
    build._become_memory(first._node, readers, memory, 0, (1,), True)
    refresh, left = build.refresh_metadata, [calls]

    def interrupted(node: Any) -> None:
        left[0] -= 1
        if left[0] == -1:
            raise KeyboardInterrupt
        refresh(node)

    monkeypatch.setattr(build, "refresh_metadata", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build._refresh_users(readers)
    assert all(user._node.inputs[0] is first._node for user in users)
