"""The command `python -m clarray tune`: measure this device, and keep the policies that are faster on it.

The search goes field by field. It times each value of the search space in turn with the best value so far. A value is
accepted only if all results are, bit for bit, the results under the shipped policy.
"""

from __future__ import annotations

import argparse
import datetime
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from clarray._api.tune_workloads import Workload, workloads
from clarray._core.conversion import asnumpy
from clarray._engine.evaluate import kernel_cache_of
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.launch.host_tier import kernels_only
from clarray._engine.launch.tuned_files import forget, load_tuned, store_tuned, tuned_path
from clarray._engine.runtime import Device, use_device
from clarray._engine.runtime.cache import cache_refusal, chosen_folder
from clarray._engine.runtime.progress import Progress
from clarray._engine.tuning.policy import Policies
from clarray._engine.tuning.search_space import ALGORITHMS, row_kind, search_space
from clarray._engine.tuning.selection import select
from clarray._engine.tuning.tuned import Tuned

__all__ = ["main", "tune"]

MIN_GAIN = 0.04  # of the time: less is noise
MIN_SAMPLE = 0.001  # seconds; shorter calls are repeated until one sample lasts this long
MAX_REPEATS = 64
ELEMENTS = {"cpu": 1 << 24, "gpu": 1 << 26}
QUICK_ELEMENTS = {"cpu": 1 << 21, "gpu": 1 << 24}
QUICK = ("elementwise", "reduce")

Clock = Callable[[], float]
Compare = Callable[[Any, Any], float | None]


@dataclass(frozen=True)
class Trial:
    """Measurement of a value: its time relative to the best value so far, or None if its results differ."""

    algorithm: str
    field: str
    value: Any
    ratio: float | None


def search(
    algorithm: str,
    start: Any,
    space: Mapping[str, Sequence[Any]],
    compare: Compare,
    report: Callable[[Trial], None],
) -> Any:
    """Select the fastest value of each field, one field after the other.

    Parameters
    ----------
    start : policy
        The shipped policy, a dataclass.
    space : mapping of str to sequence
        Values to try, by field.
    compare : callable
        Returns the ratio of the times under two policies, or None if the results under the first are wrong.
    report : callable
        Called with every trial.

    Returns
    -------
    policy
    """
    best = start
    for field, values in space.items():
        fastest, gain = best, 1 - MIN_GAIN
        for value in values:
            if value == getattr(best, field):
                continue
            candidate = replace(best, **{field: value})
            ratio = compare(candidate, best)
            report(Trial(algorithm, field, value, ratio))
            if ratio is not None and ratio < gain:
                fastest, gain = candidate, ratio
        if fastest is not best:
            confirmed = compare(fastest, best)  # a second measurement excludes a lucky sample
            best = fastest if confirmed is not None and confirmed < 1 - MIN_GAIN else best
    return best


class Bench:
    """Time an algorithm's workloads under one policy or another.

    Parameters
    ----------
    device : Device
    row : Policies
        The shipped row. Results under its policies are the reference.
    algorithm : str
    elements : int
        Size of a large array.
    rounds : int
        Samples of each policy.
    clock : callable
        Returns the time in seconds.
    """

    def __init__(
        self,
        device: Device,
        row: Policies,
        algorithm: str,
        elements: int,
        rounds: int,
        clock: Clock,
        workload_list: Sequence[Workload],
    ) -> None:
        self._device = device
        self._row = row
        self._algorithm = algorithm
        self._rounds = rounds
        self._clock = clock
        rng = np.random.default_rng(0)
        self._jobs = [(w, w.make(rng, elements)) for w in workload_list]
        self._prepared: dict[Any, dict[Any, Any]] = {}
        self._exact: dict[Any, bool] = {}
        shipped = getattr(row, algorithm)
        self._answers = self._run(shipped)
        self._exact[shipped] = True

    @contextmanager
    def _under(self, policy: Any) -> Iterator[None]:
        cache = kernel_cache_of(self._device)
        before = cache.policies, cache.prepared
        cache.policies = replace(self._row, **{self._algorithm: policy})
        cache.prepared = self._prepared.setdefault(policy, {})
        try:
            with kernels_only():
                yield
        finally:
            cache.policies, cache.prepared = before

    def _run(self, policy: Any) -> list[list[np.ndarray]]:
        with self._under(policy):
            return [[asnumpy(a) for a in _as_sequence(w.call(*arrays))] for w, arrays in self._jobs]

    def is_exact(self, policy: Any) -> bool:
        """Return whether all results under a policy are those under the shipped policy."""
        exact = self._exact.get(policy)
        if exact is None:
            try:
                answers = self._run(policy)
            except (RuntimeError, MemoryError, ValueError, TypeError):  # the device rejects the policy
                answers = []
            exact = self._exact[policy] = len(answers) == len(self._answers) and all(
                len(a) == len(b) and all(_identical(x, y) for x, y in zip(a, b, strict=True))
                for a, b in zip(answers, self._answers, strict=True)
            )
        return exact

    def compare(self, policy: Any, other: Any) -> float | None:
        """Return the geometric mean, over the workloads, of the ratio of times under `policy` and under `other`."""
        if not self.is_exact(policy):
            return None
        ratios = []
        for workload, arrays in self._jobs:
            repeats = self._repeats(workload, arrays, other)
            times: tuple[list[float], list[float]] = ([], [])
            for _ in range(self._rounds):
                times[0].append(self._sample(workload, arrays, policy, repeats))
                times[1].append(self._sample(workload, arrays, other, repeats))
            ratios.append(statistics.median(times[0]) / max(statistics.median(times[1]), 1e-12))
        return math.exp(statistics.fmean(math.log(max(r, 1e-12)) for r in ratios))

    def _repeats(self, workload: Workload, arrays: tuple[Any, ...], policy: Any) -> int:
        once = self._sample(workload, arrays, policy, 1)
        return max(1, min(MAX_REPEATS, math.ceil(MIN_SAMPLE / max(once, 1e-9))))

    def _sample(self, workload: Workload, arrays: tuple[Any, ...], policy: Any, repeats: int) -> float:
        with self._under(policy):
            self._device.synchronize()
            start = self._clock()
            for _ in range(repeats):
                for result in _as_sequence(workload.call(*arrays)):
                    result.evaluate()
                self._device.synchronize()
            return (self._clock() - start) / repeats


def _as_sequence(answer: Any) -> Sequence[Any]:
    return answer if isinstance(answer, tuple | list) else (answer,)


def _identical(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def spaces(row: Policies, algorithms: Sequence[str]) -> dict[str, dict[str, tuple[Any, ...]]]:
    """Return the search spaces of algorithms that have values to try and workloads to time."""
    spaces_by_algorithm = {}
    for name in algorithms:
        policy = getattr(row, name, None)
        # an empty field stands for a feature that the row's devices lack
        space = {f: v for f, v in search_space(name, row_kind(row)).items() if getattr(policy, f, "") != ""}
        if space and workloads(name):
            spaces_by_algorithm[name] = space
    return spaces_by_algorithm


def tune(
    device: Device,
    algorithms: Sequence[str] = ALGORITHMS,
    *,
    elements: int | None = None,
    rounds: int = 5,
    clock: Clock = time.perf_counter,
    say: Callable[[str], None] = print,
    within: Mapping[str, Mapping[str, Sequence[Any]]] | None = None,
) -> Tuned:
    """Measure a device. Store nothing, and leave its policies unchanged.

    Parameters
    ----------
    device : Device
    algorithms : sequence of str
        Algorithms whose policies are tuned.
    elements : int, optional
        Size of a large array.
    rounds : int
        Samples of each policy of a comparison.
    clock : callable
        Returns the time in seconds.
    say : callable
        Called with the lines of the report.
    within : mapping, optional
        Another search space: values by field, by algorithm.

    Returns
    -------
    Kept

    Raises
    ------
    ValueError
        An algorithm is unknown, or ``CLARRAY_POLICY`` selects another row.
    """
    if os.environ.get("CLARRAY_POLICY"):
        raise ValueError("CLARRAY_POLICY puts another row in force: unset it to tune the device's own")
    row = select(device.capabilities)
    search_spaces = spaces(row, algorithms) if within is None else within
    size = elements or ELEMENTS[row_kind(row)]
    trials = sum(len(values) for space in search_spaces.values() for values in space.values())
    changes: dict[str, dict[str, Any]] = {}
    gains: list[str] = []

    def tell(line: str) -> None:
        progress.clear()  # print the line above the progress bar
        say(line)
        progress.draw()

    with Progress(trials) as progress, use_device(device):
        for algorithm, space in search_spaces.items():
            progress.say(algorithm)
            bench = _bench(device, row, algorithm, size, rounds, clock, tell)
            if bench is None:
                continue
            shipped = getattr(row, algorithm)
            best = search(algorithm, shipped, space, bench.compare, lambda trial: progress.step())
            progress.step(
                count=sum(getattr(best, f) in values for f, values in space.items())
            )  # the best values are not measured against themselves
            gain = bench.compare(best, shipped) if best != shipped else None
            if gain is None or gain >= 1:
                tell(f"{algorithm:12} as shipped")
                continue
            changes[algorithm] = {f: getattr(best, f) for f in space if getattr(best, f) != getattr(shipped, f)}
            text = ", ".join(f"{f} {getattr(shipped, f)} -> {v}" for f, v in changes[algorithm].items())
            gains.append(f"{algorithm} {1 / gain:.2f} times as fast")
            tell(f"{algorithm:12} {1 / gain:.2f} times as fast: {text}")
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return Tuned(device.identity, row.name, today, ", ".join(gains) or "nothing was faster", changes)


def _bench(
    device: Device, row: Policies, algorithm: str, size: int, rounds: int, clock: Clock, say: Callable[[str], None]
) -> Bench | None:
    try:
        return Bench(device, row, algorithm, size, rounds, clock, workloads(algorithm))
    except (RuntimeError, MemoryError, TypeError) as error:
        say(f"{algorithm:12} not tuned: {str(error).splitlines()[0]}")
        return None


def install(device: Device, kept: Tuned | None) -> None:
    """Apply a tuning result in this process."""
    cache = kernel_cache_of(device)
    with device.lock:
        cache.policies = select(device.capabilities, kept)
        cache.prepared.clear()


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m clarray tune", description=__doc__.splitlines()[0])
    parser.add_argument("--device", help="index, or part of a platform's or device's name")
    parser.add_argument("--only", help=f"comma-separated, of {', '.join(ALGORITHMS)}")
    parser.add_argument("--size", type=int, help="elements of a large array")
    parser.add_argument("--quick", action="store_true", help=f"only {' and '.join(QUICK)}, on smaller arrays")
    parser.add_argument("--dry-run", action="store_true", help="say what would be tried; measure and keep nothing")
    parser.add_argument("--reset", action="store_true", help="forget what was kept for this device")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command. Return 1 if an error occurred."""
    options = _arguments(argv)
    try:
        with use_device(options.device) as device:
            return _command(device, options)
    except (RuntimeError, OSError, ValueError, TypeError, MemoryError) as error:
        print(f"clarray: {error}", file=sys.stderr)
        return 1


def _command(device: Device, options: argparse.Namespace) -> int:
    if options.reset:
        forget(device)
        install(device, None)
        print(f"{device}: as shipped")
        return 0
    row = select(device.capabilities)
    algorithms = tuple(options.only.split(",")) if options.only else QUICK if options.quick else ALGORITHMS
    if options.dry_run:
        print(f"{device}: row {row.name!r}, results would go to {tuned_path(device)}")
        for algorithm, space in spaces(row, algorithms).items():
            for field, values in space.items():
                print(f"  {algorithm:12} {field:16} {getattr(getattr(row, algorithm), field)!r:>9} of {list(values)}")
        return 0
    refused = cache_refusal()
    if refused is not None:  # checked before minutes of measuring
        mend = refused.advice("CLARRAY_CACHE_DIR")
        print(f"clarray: results cannot be kept in {chosen_folder()}: {refused}; {mend}", file=sys.stderr)
        return 1
    sizes = QUICK_ELEMENTS if options.quick else ELEMENTS
    tuned = tune(device, algorithms, elements=options.size or sizes[row_kind(row)], rounds=3 if options.quick else 5)
    previous = load_tuned(device)
    if previous is not None and previous.row == tuned.row:  # keep the results of algorithms that were not measured now
        kept_changes = {a: c for a, c in previous.changes.items() if a not in algorithms}
        tuned = replace(tuned, changes={**kept_changes, **tuned.changes})
    if not store_tuned(device, tuned):
        print(f"clarray: {tuned_path(device)} cannot be written", file=sys.stderr)
        return 1
    install(device, tuned)
    print(f"kept in {tuned_path(device)}")
    return 0
