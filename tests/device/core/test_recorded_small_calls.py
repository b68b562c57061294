"""Small calls that the core records: NumPy computes them until then, and never after."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clarray
from clarray._core import small_calls, small_indexing
from clarray._core.small_operands import supports_small_calls
from clarray._engine.launch.host_tier import setting
from clarray._engine.runtime import capture, current_device
from clarray._engine.speedups import native

pytestmark = [
    pytest.mark.kernels_alone,
    pytest.mark.skipif(native is None, reason="nothing is recorded without the core"),
    pytest.mark.skipif(
        not supports_small_calls(current_device()), reason="there are small calls on CPUs only, of all dtypes"
    ),
]

# Statements that NumPy computes until the core has recorded their launches.
RECORDED = (
    *(
        "xp.roll(x, 1)",
        "xp.tile(x, 2)",
        "xp.pad(x, 2)",
        "xp.repeat(x, 2)",
        "xp.concatenate([x, y])",
        "xp.block([x, y])",
    ),
    *("x.argmax()", "x.argmin()", "xp.count_nonzero(k)", "xp.searchsorted(k, x)", "xp.array_equal(x, y)"),
    *("xp.sort(x)", "x.argsort()", "xp.partition(x, 3)[3]", "xp.lexsort((x, y))", "xp.isin(k, k)"),
    *(
        "x.take(i)",
        "xp.take(x, i)",
        "k.cumsum()",
        "k.cumprod()",
        "xp.vdot(k, k)",
        "xp.kron(k, k[:2])",
        "xp.allclose(x, y)",
    ),
    *("xp.put(z, i, y)", "xp.putmask(z, m, y)", "xp.put_along_axis(z, i, y, 0)", "z.__setitem__(i, y)"),
)


@pytest.mark.parametrize("statement", RECORDED)
def test_what_is_recorded_is_numpys_until_then(statement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setting, "on", True)
    monkeypatch.setattr(capture, "FREQUENT_CALLS", 8)
    by_numpy: list[int] = []
    for module in (small_calls, small_indexing):
        for name in ("compute_on_host", "overwrite"):
            monkeypatch.setattr(module, name, _noting(getattr(module, name), by_numpy))
    host = np.random.default_rng(0).random(20, np.float32)
    values = {"x": host, "y": host[::-1].copy(), "z": host.copy(), "m": host > 0.5}
    values |= {"k": np.arange(20), "i": np.random.default_rng(1).permutation(20)}
    names = {name: clarray.array(value) for name, value in values.items()} | {"xp": clarray}
    code = compile(statement, "statement", "eval")
    results = []
    for _ in range(40):
        found = eval(code, names)
        results.append(clarray.asnumpy(names["z"] if found is None else found))
    expected = eval(code, values | {"xp": np})
    for result in results:
        np.testing.assert_array_equal(result, values["z"] if expected is None else expected)
    assert 7 <= len(by_numpy) <= 15  # where the first recording is spoiled, another one follows at the 16th call


def _noting(function: Any, calls: list[int]) -> Any:
    def call(*args: Any) -> Any:
        calls.append(1)
        return function(*args)

    return call
