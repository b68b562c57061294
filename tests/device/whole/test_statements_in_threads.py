"""The machine of statements in several threads at once: each with arrays of its own, and some that all of them read."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

import clarray
from clarray._engine.launch.host_tier import setting

from .test_statements_machine import THOROUGH, Statements, number

THREADS = 4
STEPS = 30  # statements of a thread


class Shared:
    """What all threads read and nobody writes: memory, the host's too, and what stays pending while it is read."""

    def __init__(self) -> None:
        self.pairs: list[tuple[Any, np.ndarray]] = []
        for shape in Statements.shapes:
            for dtype in Statements.dtypes:
                host = (np.arange(np.prod(shape)) % 11).astype(dtype).reshape(shape)
                host.flags.writeable = False
                memory, mine = clarray.array(host).evaluate(), clarray.asarray(host)
                pending = memory + mine
                below = pending + pending
                self.pairs += [(memory, host), (mine, host), (pending, host + host), (below, (host + host) * 2)]


class Reading(Statements):
    """Statements of one thread, which takes from what all threads have as well."""

    shared: Shared

    @rule(n=number)
    def take_what_is_shared(self, n: int) -> None:
        ours, theirs = self.shared.pairs[n % len(self.shared.pairs)]
        self.add(ours + 1, theirs + theirs.dtype.type(1))

    @rule(n=number, m=number, k=number, part=st.booleans())
    def assign_what_is_shared(self, n: int, m: int, k: int, part: bool) -> None:
        (b, y), target = self.shared.pairs[m % len(self.shared.pairs)], self.writeable(n)
        if target is None:
            return
        if part and y.ndim and target[1].shape[1:] == y.shape[1:]:
            self.assign_part(target, slice(k % 3), b[: k % 3], y[: k % 3])
        else:
            self.assign_part(target, ..., b, y)

    @rule(n=number)
    def look_at_what_is_shared(self, n: int) -> None:
        self.same(*self.shared.pairs[n % len(self.shared.pairs)])

    @rule(n=number)
    def view_what_is_shared(self, n: int) -> None:
        ours, theirs = self.shared.pairs[n % len(self.shared.pairs)]
        assert float(ours[-1].sum()) == theirs[-1].sum(dtype=np.float64)
        self.same(ours[::-1].T, theirs[::-1].T)


MARK = "hypothesis_stateful_rule"  # under which Hypothesis keeps what a rule draws, and when it may be taken
RULES = {name: getattr(value, MARK) for name, value in inspect.getmembers(Reading) if hasattr(value, MARK)}
Steps = list[tuple[str, dict[str, Any]]]


@st.composite
def programs(draw: Any) -> list[Steps]:
    """Statements for each thread."""
    names = st.lists(st.sampled_from(sorted(RULES)), min_size=STEPS, max_size=STEPS)
    arguments = {name: st.fixed_dictionaries(each.arguments) for name, each in RULES.items()}
    return [[(name, draw(arguments[name])) for name in draw(names)] for _ in range(THREADS)]


def run(steps: Steps, shared: Shared) -> None:
    """Do what Hypothesis does with a machine, whose own thread draws all beforehand."""
    machine = Reading()
    machine.shared = shared
    machine.start()
    for name, arguments in steps:
        if all(holds(machine) for holds in RULES[name].preconditions):
            RULES[name].function(machine, **arguments)
            machine.device_writes_show_on_the_host()
    machine.teardown()


@pytest.fixture(params=[False, True], ids=["kernels", "tier"])
def switching(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Threads take turns far more often than they usually do; kernels alone, and with first and small calls."""
    monkeypatch.setattr(setting, "on", request.param)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


# Nothing is made smaller or kept: which thread comes when is not drawn.
@pytest.mark.usefixtures("switching")
@settings(
    max_examples=400 if THOROUGH else 10,
    phases=[Phase.generate],
    database=None,
    suppress_health_check=list(HealthCheck),
    deadline=None,
)
@given(programs())
def test_in_several_threads(several: list[Steps]) -> None:
    shared, start, failures = Shared(), threading.Barrier(THREADS), []

    def work(steps: Steps) -> None:
        start.wait(60)
        try:
            run(steps, shared)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(steps,)) for steps in several]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    for ours, theirs in shared.pairs:
        np.testing.assert_array_equal(clarray.asnumpy(ours), theirs)
