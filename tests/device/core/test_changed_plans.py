"""A re-entrant call, as of a signal handler, computes a part of the expression that is being planned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.codegen.expression import Function
from clarray._engine.launch.kernel_cache import kernel_cache_of
from clarray._engine.runtime import current_device

STATEMENTS = [
    *("p + 1", "p.sum()", "(p + 1).sum()", "(p * p + p).max()", "x[p > 50]"),
    *("(p + 1).reshape(20, 15).sum(axis=0)", "(p[::2] + 1).sum()", "(p + 1) @ x", "xp.where(p > 9, p, x).sum()"),
    *("xp.add(p, 1, out=z)", "p.astype('f4') + x", "xp.cumsum(p + 1)", "xp.sort(p * 3)", "xp.argsort(-p)"),
    *("(p + 1).argmax()", "(p + 1)[i]", "xp.take(p + 1, i)", "z.__setitem__(slice(1, None), p[1:] + 1) or z"),
    *("z.__setitem__(p > 9, 3.0) or z", "z.__setitem__(i, p + 1) or z", "z.__iadd__(p * 2)"),
    *("(p + 1).reshape(20, 15) @ x.reshape(15, 20)", "xp.histogram(p + 1, 5, (0, 700))[0]", "xp.median(p + 1)"),
    *("xp.unique(p + 1)", "xp.nonzero(p > 9)[0]", "(p + 1).var()", "(p + 1).cumprod()[:3]"),
    *("xp.searchsorted(p + 1, x + 2)", "xp.concatenate([p + 1, x * 2])", "xp.einsum('i,i', p + 1, x)"),
    *("xp.fft.fft(p + 1).real.round(3)", "xp.pad(p + 1, 2)", "xp.diff(p + 1)", "xp.repeat(p + 1, 2)"),
    *("xp.lexsort((p + 1, x))", "xp.any(p > 9)", "xp.count_nonzero(p > 9)", "(p + 1).std()"),
    *("xp.copyto(z, p + 1) or z", "xp.add.reduceat(p + 1, [0, 9])", "xp.bincount((p + 1).astype('i8'))"),
    *("xp.clip(p + 1, 3, 9)", "xp.interp(p + 1, x, x + 1)", "xp.gradient(p + 1)", "xp.put(z, i, p + 1) or z"),
    *("xp.putmask(z, p > 3, p) or z", "xp.percentile(p + 1, 30)", "xp.isin(p + 1, x)", "p.item(7)"),
]


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("on", [True, False], ids=["first calls", "kernels"])
def test_a_part_is_computed_meanwhile(statement: str, on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    from clarray._engine.launch.host_tier import setting

    monkeypatch.setattr(setting, "on", on)
    cache = kernel_cache_of(current_device())
    monkeypatch.setattr(cache, "prepared", {})
    monkeypatch.setattr(cache, "rendered", {})
    host = np.arange(300.0)
    x, z = clarray.array(host), clarray.zeros(300)
    i = clarray.arange(299, -1, -1)
    p = x * 2
    original, left = Function._emit, [1]

    def emit(self: Any, node: Any) -> str:
        if left[0]:
            left[0] -= 1
            p.evaluate()
        return original(self, node)

    monkeypatch.setattr(Function, "_emit", emit)
    code = compile(statement, "statement", "eval")
    found = clarray.asnumpy(eval(code, {"x": x, "p": p, "z": z, "xp": clarray, "i": i}))
    again = clarray.asnumpy(eval(code, {"x": x, "p": x * 2, "z": clarray.zeros(300), "xp": clarray, "i": i}))
    with np.errstate(all="ignore"):
        expected = eval(code, {"x": host, "p": host * 2, "z": np.zeros(300), "xp": np, "i": np.arange(299, -1, -1)})
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(again, expected, "what is kept of the first call is of another structure")
