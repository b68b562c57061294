"""How many launches a statement takes that overwrites what it reads, and that what is held of it stays what it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clarray
from clarray._api.native_interface import NativeInterface
from clarray._engine import speedups
from clarray._engine.launch.kernel_cache import Launch, kernel_cache_of

from ..conftest import assert_same

pytestmark = pytest.mark.usefixtures("one_thread")

# The statement, and its launches; all names are looked at afterwards.
STATEMENTS: list[tuple[str, int]] = [
    # nothing overlaps: the parts of the value are nobody else's
    ("w[2:-1:2, 2:-1:2] = w[1:-2:2, 2:-1:2] + w[3::2, 2:-1:2] + w[2:-1:2, 1:-2:2]", 1),
    ("u[1:8:2] = u[2:9:2] * 2 - u[0:7:2]", 1),
    ("u[1:4] = u[6:9] * 2 + u[9:12]", 1),
    ("u[:] = u + double(u)", 1),
    ("u[:] = (u + v) * (u - v)", 1),
    ("u[:] = np.where(u > 0.5, u, v) + u", 1),
    ("u[:6] = (u[6:12] + 1) * (u[6:12] + 1)", 1),
    ("w[0] = w[1] * 2 + w[2]", 1),
    ("u += v * 2", 1),
    # elements that are read are overwritten: by way of other memory
    ("u[1:-1] = u[:-2] + u[2:]", 2),
    ("w[:, 1:] = w[:, :-1] + w[:, 1:]", 2),
    ("t = u[2:] * 2; s = t + u[2:]; u[1:-1] = s - u[1:-1]", 4),  # and what is held of the value for its holders
    # an operand is held during the call: it is computed apart, and read then
    ("u += double(u)", 2),
    ("u[1:-1] += double(u[2:])", 2),
    ("w[1:] -= w[:-1] * 2", 2),
    # what the value was grown from is held
    ("t = u * 2; u[:] = t + 1", 2),
    ("t = u * 2; s = t - 1; r = s * s; u[:] = s", 3),
    ("t = v * 2; u[:] = t; s = t + 1", 1),
    # something else reads what is overwritten
    ("t = u * 2; u[:] = v + 1", 2),
    ("t = u * 2; u[1:5] = u[6:10] + u[10:14] + v[:4]", 2),
    # what a mask selects, where it was selected
    ("u[b] += 1", 1),
    ("u[b] = u[b] ** 2 + v[b]", 1),
    ("u[b] = (u[b] + 1) * (u[b] - v[b]) * 2", 1),
    ("u[b] = np.sqrt(u[b] * u[b] + 1)", 1),
    ("z[b] = z[b] ** 2 + z[b] * 1j", 1),
    ("t = v[b] + 1; u[b] = u[b] * t + t", 1),
    ("u[u > 4] = u[u > 4] * 2 + 1", 2),
    ("t = u + 1; u[b] = t[b] * 2 + u[b]", 2),  # and once what is held
    # reductions, with what follows them
    ("x[3] = (2 - L[3, :3] @ x[:3]) / 4", 1),
    ("x[3] = L[3, :3] @ x[:3]", 1),
    ("x[3] = 2 - x[:3].sum()", 1),
    ("x[3] = (x[:3] * x[:3]).max()", 1),
    ("t = (L[3, :3] * x[:3]).sum(); x[3] = t + 1", 2),
]


def _double(a: Any) -> Any:
    return a * 2 + 1


def _names() -> dict[str, Any]:
    r = np.random.default_rng(5)
    shapes = {"w": (9, 10), "u": 20, "v": 20, "L": (6, 6), "x": 6}
    numbers = {name: r.integers(1, 20, shape) / 2 for name, shape in shapes.items()}
    return {**numbers, "b": np.arange(20) % 3 == 1, "z": numbers["u"] + 1j * numbers["v"]}


@pytest.mark.kernels_alone
@pytest.mark.parametrize(("statement", "launches"), STATEMENTS)
def test_launches(statement: str, launches: int) -> None:
    expected = {**_names(), "double": _double, "np": np}
    found = {name: clarray.array(a) if isinstance(a, np.ndarray) else a for name, a in expected.items()}
    exec(statement, expected)
    with clarray.profile() as p:
        exec(statement, found)
    assert p.launches == launches
    for name, value in expected.items():
        if isinstance(value, np.ndarray | np.generic):
            assert_same(found[name], value)


def test_a_value_that_could_not_be_written_is_what_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    u = clarray.array(np.arange(20.0))
    part = u * 2
    value = part + u
    part.evaluate()

    def refuse(*given: Any) -> None:
        raise MemoryError

    kernel_cache_of(u.device).prepared.clear()  # the core's launches too: it asks for a new one
    with monkeypatch.context() as patch:
        patch.setattr(Launch, "run", refuse)
        if speedups.native is not None:
            speedups.native.bind(NativeInterface(plan_elementwise=refuse))
        try:
            with pytest.raises(MemoryError):
                u[:] = value
        finally:
            if speedups.native is not None:
                speedups.native.bind(NativeInterface())
    u[3] = 100
    assert value.tolist() == [3 * n for n in range(20)]
    assert u.tolist() == [100 if n == 3 else n for n in range(20)]
