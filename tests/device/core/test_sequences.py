"""Arrays of lists that hold arrays are NumPy's, and are put together on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device, profiling

from ..outcomes import differences, listed

INPUTS = {
    "VECTOR": "xp.array([3, 1, 4, 1.5], 'f4')",
    "WHOLE": "xp.array([3, 1, 4, 1])",
    "SMALL": "xp.array([3, 200, 4, 1], 'u1')",
    "COMPLEX": "xp.array([3 - 1j, 1, 4j, 1], 'c8')",
    "TRUTH": "xp.array([True, False, True, True])",
    "MATRIX": "xp.array([[3, 1, 4, 1], [5, 9, 2, 6]], 'f4')",
    "LONG": "xp.arange(5000.)",
}
LISTS = """
    [VECTOR[0], VECTOR[1]] | [VECTOR[1], -VECTOR[0] + 2] | [[VECTOR[0], -VECTOR[1]], [VECTOR[1], VECTOR[0]]]
    (VECTOR[0],) | [VECTOR[0], 1] | [1.5, VECTOR[0]] | [VECTOR[0], True] | [VECTOR[0], 2j] | [WHOLE[0], 1]
    [WHOLE[0], 1.5] | [SMALL[0], 1] | [SMALL[1], SMALL[0]] | [SMALL[1], VECTOR[0]] | [TRUTH[0], TRUTH[1]]
    [TRUTH[0], 1] | [COMPLEX[0], VECTOR[0]] | [VECTOR[0], 2**63] | [WHOLE[0], -2**63] | [VECTOR[0], np.float64(2)]
    [VECTOR.sum(), VECTOR.mean(), VECTOR.max()] | [xp.cos(VECTOR[0]), xp.sin(VECTOR[0])]
    [[VECTOR[0]], [VECTOR[1]]] | [VECTOR, VECTOR] | [VECTOR, WHOLE] | [VECTOR, VECTOR + 1, VECTOR * 2]
    [VECTOR[::-1], VECTOR] | [VECTOR, VECTOR[:2]] | [MATRIX, MATRIX + 1] | [MATRIX.T, MATRIX.T]
    [[VECTOR, VECTOR], [VECTOR, WHOLE]] | [[[VECTOR[0]]], [[VECTOR[1]]]] | [VECTOR[VECTOR > 1], WHOLE[:3]]
    [VECTOR[VECTOR > 1], VECTOR[VECTOR > 1]] | [VECTOR[:0], VECTOR[:0]] | [[], []] | [VECTOR, 1] | [1, VECTOR]
    [VECTOR, [1, 2, 3, 4]] | [[1, 2], [VECTOR[0], VECTOR[1]]] | [[VECTOR[0], 1], [2, 3]] | [[VECTOR[0], 1], [2]]
    [[VECTOR[0], 1], 2] | [VECTOR[0], [1]] | [np.ones(4), VECTOR] | [VECTOR, np.ones(4, 'i8')] | [LONG, LONG]
    [LONG[::2], LONG[1::2]] | [LONG + 1, LONG] | [LONG.reshape(50, 100)[:, k] for k in range(100)]
    [LONG[k] for k in range(70)] | [VECTOR[0]] + [1.0] * 70 | [1.0] * 70 + [VECTOR[0]]
    [-0.0 * VECTOR[0], VECTOR[0]] | [VECTOR[0] * xp.nan, VECTOR[0] / 0] | [xp.array([[1.]]), xp.array([[2]])]
    [xp.array(3), xp.array(4.5)]
"""
CALLS = ["xp.array({})", "xp.asarray({})", "xp.array({}, order='F')", "xp.array({}, ndmin=3)"]
CALLS += [f"xp.array({{}}, dtype='{kind}')" for kind in ("f8", "i4", "c8", "bool")]
CALLS += ["xp.array({}, copy=False)", "xp.asarray({}, copy=None) * 2"]


@pytest.mark.parametrize("values", [v.strip() for line in LISTS.strip().split("\n") for v in line.split(" | ")])
def test_arrays_of_lists(values: str) -> None:
    found = differences([call.format(values) for call in CALLS], INPUTS)
    assert not found, listed(found)


def test_again_and_again() -> None:
    """The same list with other elements, what is written meanwhile, and what is pending."""
    for seed in range(8):
        sides: list[list[Any]] = []
        for xp in (np, clarray):
            x, y = (xp.asarray(np.random.default_rng(seed + k).random(50)) for k in range(2))
            before = xp.array([x, y * 2])
            numbers = xp.array([[x[0], y[1]], [-y[1] + seed, x[0]]])
            x += 1
            x[3] = seed
            sides.append([before, numbers, xp.array([x, y]), xp.array((x[3], y[0], x.sum()))])
        for theirs, ours in zip(*sides, strict=True):
            np.testing.assert_allclose(clarray.asnumpy(ours), theirs, rtol=1e-14)


def test_a_list_that_holds_itself() -> None:
    values: list[Any] = []
    values.append(values)
    for xp in (np, clarray):
        with pytest.raises((ValueError, TypeError)):
            xp.array(values, float)


def test_arrays_do_not_go_by_way_of_the_host() -> None:
    x = clarray.arange(100_000, dtype=np.float32)
    y = x * 2
    clarray.synchronize()
    with clarray.profile() as seen:
        made = clarray.array([x, y, x + y])
        clarray.synchronize()
    assert profiling.state.recorder is None
    assert "to host" not in str(seen)
    assert made.shape == (3, 100_000)
    assert made[:, -1].tolist() == [99_999, 199_998, 299_997]


@pytest.mark.parametrize("kind", [list, tuple])
def test_small_lists_are_copied_and_arrays_shared(kind: Any) -> None:
    if not current_device().capabilities.host_memory:
        pytest.skip("nothing is shared with memory of a device's own")
    host = np.arange(3.0)
    shared, own = clarray.asarray(host), clarray.asarray(kind([0.0, 1.0, 2.0]))
    host += 1
    assert shared.tolist() == [1, 2, 3]
    assert own.tolist() == [0, 1, 2]
    assert shared._node.memory.shared
    assert not own._node.memory.shared
