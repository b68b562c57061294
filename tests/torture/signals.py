"""Statements interrupted by code that computes: signal handlers, `__del__` and callbacks of weak references.

A signal comes at every millisecond. Its handler executes statements of the same table as the program, on arrays of its
own and on shared values, and so does what the garbage collector runs. All results are compared with NumPy's.

    python -m tests.torture.signals --seconds 600

CLARRAY_PURE, CLARRAY_TIER, CLARRAY_DEVICE and an empty CLARRAY_CACHE_DIR choose the configuration.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import signal
import sys
import time
import weakref
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

import clarray
from tests.device.core.test_interrupts import STATEMENTS, Loop

_PERIOD = 0.001  # seconds between signals
_HUNG = 100  # seconds without a round after which the stacks are printed; PoCL compiles a sort for 10 of a busy core


class Machine:
    """The program, what interrupts it, and what both have counted.

    Parameters
    ----------
    seed : int
        Of the choice of statements.
    litters : bool
        Whether the garbage collector computes as well.
    """

    def __init__(self, seed: int, litters: bool = True) -> None:
        self.litters = litters
        self.random = Random(seed)
        self.program, self.intruder = Loop(), Loop()
        self.operand = clarray.arange(300.0)
        self.pending = self.operand * 2  # read and computed by whoever comes first
        self.generator = clarray.random.default_rng(1)
        self.drawn = 0
        self.is_inside = False
        self.intrusions = 0
        self.failure: BaseException | None = None

    def step(self, loop: Loop) -> None:
        """Execute a statement of the table, and one of what belongs to the process; compare."""
        name = self.random.choice(list(STATEMENTS))
        loop.run([name])
        self.random.choice(_SHARED)(self)
        difference = loop.difference()
        assert difference is None, f"after {name!r}: {difference}"

    def intrude(self, *_: object) -> None:
        """Compute in the midst of the program. What fails is raised by `run`: Python drops errors of ``__del__``."""
        if self.is_inside or self.failure is not None:
            return
        self.is_inside = True
        try:
            self.step(self.intruder)
            self.intrusions += 1
        except BaseException as failure:
            self.failure = failure
        self.is_inside = False

    def litter(self) -> None:
        """Leave garbage that computes when it is collected."""
        for kind in (_Dying, _Watched):
            made = kind(self)
            made.itself = made

    def run(self, seconds: float) -> None:
        """Go on for so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.failure is None:
            faulthandler.dump_traceback_later(_HUNG, exit=True)
            self.step(self.program)
            if self.litters:
                self.litter()
        if self.failure is not None:
            raise self.failure

    def check(self) -> None:
        """Compare what both have counted, when nothing comes between any more."""
        assert int(self.generator.bit_generator.state["state"]["counter"][0]) == self.drawn


class _Dying:
    """Garbage whose ``__del__`` computes."""

    itself: Any

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def __del__(self) -> None:
        self._machine.intrude()


class _Watched:
    """Garbage whose weak reference calls back."""

    itself: Any

    def __init__(self, machine: Machine) -> None:
        _references.add(weakref.ref(self, lambda gone: (_references.discard(gone), machine.intrude())))


_references: set[Any] = set()


def _draw(machine: Machine) -> None:
    machine.generator.bit_generator.take(1)
    machine.drawn += 1


def _profile(machine: Machine) -> None:
    with clarray.profile():
        assert float((machine.operand + 1)[1]) == 2


def _configure(machine: Machine) -> None:
    checks = machine.random.random() < 0.05  # takes milliseconds
    before = clarray.config.host_fallback  # that of the program, where this is a handler's
    with clarray.config(host_fallback="warn", check_finite=checks):
        assert float((machine.operand * 3)[2]) == 6
    assert clarray.config.host_fallback == before


def _list_devices(machine: Machine) -> None:
    assert machine.operand.device in clarray.devices()


def _share(machine: Machine) -> None:
    assert float(machine.pending[7]) == 14
    machine.pending = machine.operand * 2
    total = (machine.pending + 1).sum()
    assert float(total) == 300 * 299 + 300


def _select(machine: Machine) -> None:
    bound = machine.random.randrange(300)
    assert machine.operand[machine.operand > bound].shape == (299 - bound,)


def _gather(machine: Machine) -> None:
    indices = clarray.array(np.arange(machine.random.randrange(1, 300))[::-1].copy())
    assert float(machine.operand[indices].sum()) == len(indices) * (len(indices) - 1) / 2
    try:
        machine.operand[indices + 300].evaluate()
    except IndexError:
        return
    raise AssertionError("an index out of bounds was not noticed")


def _make_kernel(machine: Machine) -> None:
    if machine.random.random() < 0.02:  # one that there is not yet
        value, expected = machine.operand, np.arange(300.0)
        for _ in range(6):
            operation = machine.random.choice((np.add, np.subtract, np.maximum, np.minimum))
            value, expected = operation(value, machine.operand), operation(expected, np.arange(300.0))
        assert np.array_equal(clarray.asnumpy(value), expected)


_SHARED: tuple[Callable[[Machine], None], ...] = (
    *(_draw, _profile, _configure, _list_devices, _share, _select, _gather, _make_kernel),
)


def run(seconds: float, seed: int, threshold: int) -> Machine:
    """Run the machine under signals, with the collector's threshold; nothing interrupts it afterwards.

    The garbage does not compute if the threshold is 0.
    """
    machine = Machine(seed, threshold > 0)
    signal.signal(signal.SIGALRM, machine.intrude)
    before = gc.get_threshold()
    if threshold:
        gc.set_threshold(threshold)
    signal.setitimer(signal.ITIMER_REAL, _PERIOD, _PERIOD)
    try:
        machine.run(seconds)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        gc.set_threshold(*before)
        machine.is_inside = True
        faulthandler.cancel_dump_traceback_later()
    machine.check()
    return machine


def main() -> None:
    """Run as the arguments say, and print how many intrusions there were."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    parser.add_argument(
        "--threshold", type=int, default=50, help="of the garbage collector; 1 makes it run all the time"
    )
    given = parser.parse_args()
    faulthandler.enable()
    print(f"seed {given.seed} on {clarray.zeros(1).device}", flush=True)
    machine = run(given.seconds, given.seed, given.threshold)
    print(f"clean: {machine.intrusions} intrusions", flush=True)


if __name__ == "__main__":
    sys.exit(main())
