"""Reductions that share a pass have the bits that they have alone."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

from ..conftest import policy_changed

Statistic = Callable[[Any, Any, Any], Any]

pytestmark = pytest.mark.kernels_alone

LAYOUTS: dict[str, tuple[tuple[int, ...], Any]] = {
    "vector": ((40_000,), None),
    "split vector": (((1 << 20) + 1,), None),
    "all axes": ((211, 317), None),
    "down": ((300, 200), 0),
    "down few": ((20_000, 3), 0),
    "along": ((200, 300), 1),
    "along short": ((20_000, 3), 1),
    "middle": ((40, 50, 30), 1),
    "outer and inner": ((40, 50, 30), (0, 2)),
}
STATISTICS: dict[str, Statistic] = {
    "sum": lambda x, y, axis: x.sum(axis=axis),
    "sum of products": lambda x, y, axis: (x * y).sum(axis=axis),
    "sum of y": lambda x, y, axis: y.sum(axis=axis),
    "mean": lambda x, y, axis: x.mean(axis=axis),
    "std": lambda x, y, axis: x.std(axis=axis),
    "var": lambda x, y, axis: x.var(axis=axis, keepdims=True),
    "min": lambda x, y, axis: x.min(axis=axis),
    "max": lambda x, y, axis: x.max(axis=axis),
    "prod": lambda x, y, axis: x.prod(axis=axis),
    "any": lambda x, y, axis: (x > y).any(axis=axis),
    "masked": lambda x, y, axis: x.sum(axis=axis, where=x > y),
    "argmax": lambda x, y, axis: x.argmax(axis=None if isinstance(axis, tuple) else axis),
    "argmin": lambda x, y, axis: (x + y).argmin(axis=None if isinstance(axis, tuple) else axis),
}


def values(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Return numbers of both signs, with some -0.0 among zeros."""
    rng = np.random.default_rng(seed)
    made = rng.standard_normal(shape)
    if dtype.startswith("c"):
        made = made + 1j * rng.standard_normal(shape)
    made = made.astype(dtype)
    made[rng.random(shape) < 0.1] = 0
    made[rng.random(shape) < 0.05] *= -1
    return made


def viewed(array: Any, view: str) -> Any:
    if view == "reversed":
        return array[..., ::-1]
    if view == "transposed":
        return array.T.copy().T
    return array


def outcome(results: list[Any]) -> list[bytes]:
    return [np.asarray(clarray.asnumpy(result)).tobytes() for result in results]


# The loops follow from the layout, the accumulators from the dtype: each of one meets some of the other.
EVERYWHERE = [("f8", "whole"), ("f4", "whole")]
SOMEWHERE = [("f8", "reversed"), ("f8", "transposed"), ("i4", "reversed"), ("c8", "whole")]
FORMS = ["split vector", "down", "along short", "middle"]
CASES = [*product(LAYOUTS, EVERYWHERE), *product(FORMS, SOMEWHERE)]


@pytest.mark.parametrize(("layout", "dtype", "view"), [(layout, *case) for layout, case in CASES])
def test_bits_are_those_of_each_alone(layout: str, dtype: str, view: str) -> None:
    if dtype == "f8" and not current_device().capabilities.fp64:
        pytest.skip("the device has no float64")
    shape, axis = LAYOUTS[layout]
    x, y = (viewed(clarray.array(values(shape, dtype, seed)), view) for seed in (1, 2))
    alone = [outcome([statistic(x, y, axis)])[0] for statistic in STATISTICS.values()]
    with policy_changed("reduce", inline_bytes=0, number_bytes=0):
        clarray.sum(x).evaluate()  # the compiled core takes the limit from the policy
        together = outcome([statistic(x, y, axis) for statistic in STATISTICS.values()])
    for name, one, other in zip(STATISTICS, alone, together, strict=True):
        assert one == other, name


@pytest.mark.parametrize("special", [np.nan, np.inf, -0.0])
def test_special_values(special: float) -> None:
    host = values((50_000,), "f4", 3)
    host[[7, 40_000]] = special
    x = clarray.array(host)
    alone = [outcome([statistic(x, x, None)])[0] for statistic in STATISTICS.values()]
    with policy_changed("reduce", inline_bytes=0, number_bytes=0):
        clarray.sum(x).evaluate()
        assert alone == outcome([statistic(x, x, None) for statistic in STATISTICS.values()])


def passes_over_memory(results: Callable[[], list[Any]], nbytes: int) -> int:
    """Return the launches that read as much as an array has."""
    for _ in range(4):  # the compiled core captures the second evaluation
        outcome(results())
    with clarray.profile() as profile:
        outcome(results())
    launches = [record for record in profile.records if record.kind == "launch"]
    return sum(record.nbytes >= nbytes for record in launches)


@pytest.mark.parametrize(
    "names",
    [
        ["mean", "std", "min", "max", "argmax"],
        ["sum", "sum of y", "sum of products"],
    ],
)
def test_memory_is_read_once(names: list[str]) -> None:
    if not current_device().capabilities.fp64:
        pytest.skip("float32 has vectors of several widths")
    x, y = (clarray.array(values((1 << 20,), "f8", seed)) for seed in (1, 2))
    assert passes_over_memory(lambda: [STATISTICS[name](x, y, None) for name in names], x.nbytes) == 1


def test_a_dropped_reduction_is_not_computed() -> None:
    x = clarray.array(values((1 << 20,), "f4", 1))
    kept, dropped = x.mean(), x.std()
    del dropped
    with clarray.profile() as profile:
        kept.evaluate()
    assert profile.launches <= 2


def test_a_write_after_the_reductions_does_not_change_them() -> None:
    host = values((1 << 20,), "f4", 1)
    x = clarray.array(host)
    mean, largest = x.mean(), x.max()
    x[...] = 0
    assert float(largest) == host.max()
    np.testing.assert_allclose(float(mean), host.mean(dtype=float), rtol=1e-5)
