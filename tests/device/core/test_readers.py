"""What reads a memory: each pending expression once, and in the order in which they can be computed."""

from __future__ import annotations

import random

import numpy as np
import pytest

import clarray
from clarray._engine.expr import build


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
    pending = [a._node for a in arrays if any(n.memory is memory for n in a._node.inputs)]
    found = build.live_readers(arrays[0]._node.readers)
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


def test_a_ladder_of_shared_parts_costs_a_launch_each() -> None:
    x = clarray.ones(4, np.float32).evaluate()
    with clarray.profile() as p:
        for _ in range(60):
            x = x * 0.25 + x * 0.75
        x.evaluate()
    assert p.launches <= 60
    assert clarray.asnumpy(x).tolist() == [1, 1, 1, 1]
