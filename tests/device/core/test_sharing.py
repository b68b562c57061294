"""may_share_memory and shares_memory: views, pending values, memory of the host."""

from __future__ import annotations

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device


@pytest.mark.parametrize("name", ["may_share_memory", "shares_memory"])
def test_views(same, name: str) -> None:
    def body(xp):
        question = getattr(xp, name)
        a = xp.zeros((6, 8), "float32")
        pairs = [
            *((a, a), (a, a.T), (a[:3], a[3:]), (a[:, ::2], a[:, 1::2]), (a[::-1], a[0, :1]), (a[:0], a)),
            *((a, xp.zeros((6, 8), "float32")), (a[1:3, 2], a[2:, 2]), (a, [1.0])),
        ]
        return [question(one, other) for one, other in pairs]

    same(body)


def test_candidates_to_try() -> None:
    a = clarray.zeros(40, dtype="int16")
    assert np.may_share_memory(a[::2], a[1::2])
    assert not np.may_share_memory(a[::2], a[1::2], max_work=-1)
    with pytest.raises(np.exceptions.TooHardError):
        np.shares_memory(a[::2], a[1::2], max_work=0)


def test_pending_values_share_with_themselves_only() -> None:
    a = clarray.zeros(5, dtype="int32")
    b = a + 1
    assert not np.may_share_memory(a, b)
    assert not np.may_share_memory(b, a + 1)
    assert np.shares_memory(b, clarray.asarray(b))


def test_memory_of_the_host() -> None:
    host = np.zeros(10, "float32")
    shared = current_device().capabilities.host_memory
    assert clarray.shares_memory(clarray.asarray(host[::2]), host) == shared
    assert clarray.may_share_memory(host[1:], clarray.asarray(host)) == shared
    assert not clarray.shares_memory(clarray.asarray(host[::2]), host[1::2])
    assert not clarray.may_share_memory(clarray.array(host), host)
