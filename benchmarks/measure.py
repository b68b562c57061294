"""Interleaved rounds: every peer once per round, the median over rounds."""

from __future__ import annotations

import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from operations import INPUTS, Operation, Sizes
from peers import Peer, importable

LEAST_ROUNDS = 3
# On a CPU pyopencl.array's fresh buffers break up the system's large pages, and NumPy's temporaries
# in the same round took five times as long: 115 ms instead of 23 for ((a - b)**2).sum().
APART = {"pyopencl"}
ONCE = 8  # of what the budget holds fewer NumPy calls, that is timed once, by the call that gives the right answer
REST = 0.3  # seconds after which the threads of a BLAS sleep
TOLERANCE = 1e-4  # NumPy's own float32 sums along axis 0 are off by some 1e-5


@dataclass
class Measurement:
    """What one operation took on every peer."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    moved: int = 0
    right: bool = True

    def median(self, peer: str) -> float | None:
        taken = self.seconds.get(peer)
        return statistics.median(taken) if taken else None


class Bench:
    """The peers, the inputs and the clock."""

    def __init__(
        self,
        *,
        peers: list[str],
        device: Any,
        sizes: Sizes,
        rounds: int,
        budget: float,
        least_sample: float,
        warm_up: float,
    ) -> None:
        self.device = device
        self.sizes = sizes
        self.rounds = max(rounds, LEAST_ROUNDS)
        self.budget = budget
        self.least_sample = least_sample
        self.warm_up = warm_up
        # clarray first: what it does for a runtime must be done before others look at it.
        self.peers, self.missing = importable(peers, device)
        self._host: dict[str, np.ndarray] = {}
        self._uploaded: dict[tuple[str, str], Any] = {}
        self.bandwidth = self.copy_bandwidth()

    def host(self, name: str) -> np.ndarray:
        """Give a named input, made when first asked for."""
        if name not in self._host:
            random = np.random.default_rng(sum(map(ord, name)))
            row = INPUTS[name]
            self._host[name] = row.draw(random, row.shape(self.sizes))
        return self._host[name]

    def keep_only(self, names: Iterable[str]) -> None:
        """Free the inputs that the next operation does not use."""
        self._host = {k: v for k, v in self._host.items() if k in names}
        self._uploaded = {k: v for k, v in self._uploaded.items() if k[1] in names}

    def inputs(self, peer: Peer, operation: Operation) -> list[Any]:
        given = []
        for name in operation.inputs:
            host = self.host(name)
            if operation.from_host:
                given.append(host)
                continue
            if (peer.name, name) not in self._uploaded:
                self._uploaded[peer.name, name] = peer.upload(host)
            given.append(self._uploaded[peer.name, name])
        return given

    def copy_bandwidth(self) -> float:
        """Bytes read and written per second by the faster copy, clarray's or the driver's."""
        host = self.host("a")
        calls: list[Callable[[], Any]] = []
        for peer in self.peers:
            if peer.name == "clarray":
                mine = peer.upload(host)
                calls.append(lambda peer=peer, mine=mine: peer.finish(mine.copy()))
            if peer.name == "pyopencl":
                calls.append(peer.copy_seconds(host))  # type: ignore[attr-defined]
        best = float("inf")
        for call in calls:
            call()
            best = min(best, statistics.median(clock(call, 1) for _ in range(self.rounds)))
        return 2 * host.nbytes / best

    def measure(self, operation: Operation) -> Measurement:
        """Run an operation on every peer, check clarray's answer, and time them in turn."""
        self.keep_only(operation.inputs)
        found = Measurement()
        ready: dict[str, tuple[Callable[[], Any], int]] = {}
        answers: dict[str, np.ndarray] = {}
        for peer in self.peers:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    prepared = self.prepare(peer, operation)
                if prepared is None:
                    continue
                call, answer, taken = prepared
                answers[peer.name] = answer
                if peer.name == "numpy" and taken > self.budget / ONCE:
                    found.seconds[peer.name] = [taken]
                else:
                    ready[peer.name] = call, self.repeats(call)
            except Exception as error:
                found.errors[peer.name] = f"{type(error).__name__}: {error}".splitlines()[0]
        found.moved = self.least_bytes(operation, answers)
        if operation.exact is not None and "numpy" in answers:
            exact = operation.exact(*map(self.host, operation.inputs))
            answers["numpy"] = exact.astype(answers["numpy"].dtype)
        found.right = agree(answers, operation.of_largest)
        apart = set(ready) if operation.apart else APART
        together = [name for name in ready if name not in apart]
        for names in (together, *([name] for name in ready if name in apart)):
            time.sleep(REST if operation.apart else 0)
            self.time_in_turn({name: ready[name] for name in names}, found)
        return found

    def time_in_turn(self, ready: dict[str, tuple[Callable[[], Any], int]], found: Measurement) -> None:
        """Go round the peers until the rounds are done or the budget is spent."""
        started = time.perf_counter()
        for done in range(self.rounds):
            if done >= LEAST_ROUNDS and time.perf_counter() - started > self.budget:
                break
            for name, (call, repeats) in ready.items():
                warm_up(call, self.warm_up)
                found.seconds.setdefault(name, []).append(clock(call, repeats))

    def prepare(self, peer: Peer, operation: Operation) -> tuple[Callable[[], Any], np.ndarray, float] | None:
        """Give the call to time, its answer from a first call, and the seconds that took."""
        run = peer.call(operation, self.inputs(peer, operation))
        if run is None:
            return None
        finish = peer.finish
        start = time.perf_counter()
        answer = peer.host(run())
        taken = time.perf_counter() - start
        if operation.lazy or operation.scalar:
            return run, answer, taken
        return (lambda: finish(run())), answer, taken

    def repeats(self, call: Callable[[], Any]) -> int:
        """How often a call is repeated so that one sample can be read off the clock."""
        taken = clock(call, 1)
        if taken >= self.least_sample:
            return 1
        taken = min(taken, clock(call, 1), clock(call, 1))
        return max(1, round(self.least_sample / max(taken, 1e-8)))

    def least_bytes(self, operation: Operation, answers: dict[str, np.ndarray]) -> int:
        read = sum(self.host(name).nbytes for name in operation.inputs)
        again = operation.extra_reads * self.host(operation.inputs[0]).nbytes
        written = max((answer.nbytes for answer in answers.values()), default=0)
        return read + again + written

    def progress(self, operations: Sequence[Operation]) -> Iterator[Operation]:
        """Go through the operations behind a progress bar: tqdm's, or a plain one."""
        if not sys.stderr.isatty():
            yield from operations
            return
        try:
            from tqdm import tqdm
        except ImportError:
            yield from plain_progress(operations)
            return
        with tqdm(total=len(operations), leave=False) as bar:
            for operation in operations:
                bar.set_description(operation.name)
                yield operation
                bar.update()


def plain_progress(operations: Sequence[Operation], width: int = 30) -> Iterator[Operation]:
    for done, operation in enumerate(operations):
        full = width * done // len(operations)
        line = f"[{'#' * full:<{width}}] {done}/{len(operations)} {operation.name}"
        print(f"\r{line:<100}", end="", file=sys.stderr, flush=True)
        yield operation
        print(f"\r{'':<100}\r", end="", file=sys.stderr, flush=True)


def warm_up(call: Callable[[], Any], seconds: float) -> None:
    """Call for a while: a GPU that waited for NumPy or served another context has clocked down."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        call()


def clock(call: Callable[[], Any], repeats: int) -> float:
    """Seconds per call."""
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def agree(answers: dict[str, np.ndarray], of_largest: float | None = None) -> bool:
    """Whether clarray's answer is NumPy's, as far as NumPy's own rounding lets one tell."""
    if "clarray" not in answers or "numpy" not in answers:
        return True
    mine, theirs = answers["clarray"], answers["numpy"]
    same_kind = mine.dtype == theirs.dtype and mine.shape == theirs.shape
    if of_largest is None or not same_kind:
        return same_kind and bool(np.allclose(mine, theirs, rtol=TOLERANCE, atol=0))
    return bool(np.abs(mine - theirs).max() <= of_largest * np.abs(theirs).max())
