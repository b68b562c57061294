"""Ray: device arrays in its object store, as arguments and results of its tasks, and held by its actors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import clarray

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
VALUES = (np.arange(24_000, dtype="float32") * 7 % 2400).reshape(60, 400)


@pytest.fixture(scope="module", autouse=True)
def started() -> Iterator[None]:
    """Two worker processes, which import the same clarray as this one."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=200_000_000,
        runtime_env={
            "env_vars": {"PYTHONPATH": path, **{k: v for k, v in os.environ.items() if k.startswith("CLARRAY_")}}
        },
    )
    yield
    ray.shutdown()


def same(ours: object, theirs: np.ndarray) -> None:
    assert isinstance(ours, clarray.DeviceArray)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    np.testing.assert_allclose(clarray.asnumpy(ours), theirs, rtol=1e-5)


@pytest.mark.parametrize(
    "values",
    [VALUES, VALUES.T, VALUES[::-2, 3::5], VALUES > 7, VALUES.astype("int8"), VALUES * 1j, VALUES[:0], np.float32(7)],
    ids=["plain", "transposed", "strided", "bool", "int8", "complex", "empty", "0-d"],
)
def test_put_and_get(values: np.ndarray) -> None:
    same(ray.get(ray.put(clarray.asarray(values))), np.asarray(values))


def test_pending_expressions_are_put_computed() -> None:
    x = clarray.array(VALUES)
    same(ray.get(ray.put(clarray.sin(x) + x.mean())), np.sin(VALUES) + VALUES.mean())


def test_what_is_stored_is_not_written_to() -> None:
    stored = ray.put(clarray.array(VALUES))
    first = ray.get(stored)
    if first.flags.writeable:
        first += 1
    same(ray.get(stored) + 0, VALUES)


def test_containers() -> None:
    got = ray.get(ray.put({"a": [clarray.array(VALUES), 3], "b": (clarray.arange(5), "text")}))
    same(got["a"][0], VALUES)
    same(got["b"][0], np.arange(5))


@ray.remote
def product(a, b):
    assert isinstance(a, clarray.DeviceArray)
    return a @ b.T, os.getpid()


@ray.remote
def total(*parts):
    return clarray.stack(parts).sum()


def test_tasks() -> None:
    x = clarray.array(VALUES)
    stored = ray.put(x)
    results = ray.get([product.remote(stored, x + k) for k in range(4)])
    for k, (found, process) in enumerate(results):
        same(found, VALUES @ (VALUES + k).T)
        assert process != os.getpid()


def test_a_tasks_result_is_another_tasks_argument() -> None:
    parts = [ray.put(clarray.array(part)) for part in np.split(VALUES, 6)]
    sums = [total.remote(part) for part in parts]
    assert float(ray.get(total.remote(*sums))) == pytest.approx(float(VALUES.sum(dtype="float64")), rel=1e-6)


def test_an_error_comes_back_as_it_is() -> None:
    x = clarray.array(VALUES)
    with pytest.raises(ValueError, match="matmul"):
        ray.get(product.remote(x, x.T))


@ray.remote
class Average:
    """A running mean that stays on the device."""

    def __init__(self, shape) -> None:
        self.sum, self.count = clarray.zeros(shape, "float32"), 0

    def add(self, x) -> None:
        self.sum += x
        self.count += 1

    def mean(self):
        return self.sum / self.count


def test_actors_keep_their_arrays() -> None:
    averages = [Average.remote(VALUES.shape) for _ in range(2)]
    for k in range(5):
        for sign, average in zip((1, -1), averages, strict=True):
            average.add.remote(clarray.array(VALUES * sign + k))
    for sign, average in zip((1, -1), averages, strict=True):
        same(ray.get(average.mean.remote()), (VALUES * sign + 2).astype("float32"))
