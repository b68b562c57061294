"""Pin the threads of PoCL's pool to cores.

A thread of a pool is woken by another one, while the launching thread still occupies a core. On two cores the system
then runs both threads of the pool on the same core, and keeps them there, since recently active threads are not moved.
Every launch then takes twice as long. So each thread of a small pool gets a core. The threads do not preempt the
thread that runs on their core (SCHED_BATCH): that may be the launching thread, which is needed for the next launch. In
a large pool threads rarely share a core, and the system schedules them better among other processes.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence

import pyopencl as cl

MAX_THREADS = 4  # of a pool whose threads are pinned

_TASKS = "/proc/self/task"


@contextlib.contextmanager
def pin_threads(discovered: Sequence[cl.Device], is_pool: Callable[[cl.Device], bool]) -> Iterator[None]:
    """Pin the threads of the pool that starts in the block, unless POCL_AFFINITY is set.

    Parameters
    ----------
    discovered : sequence of pyopencl.Device
        The devices that have been discovered by the end of the block.
    is_pool : callable
        Return whether a device is PoCL's with a thread pool.
    """
    before = _threads()
    yield
    started = sorted(_threads() - before)
    pools = [device for device in discovered if is_pool(device)]
    if not pools or not 1 < len(started) <= MAX_THREADS or "POCL_AFFINITY" in os.environ:
        return
    cores = sorted(os.sched_getaffinity(0))
    if len(started) == len(cores) == pools[0].max_compute_units:  # these are not threads of another runtime
        for thread, core in zip(started, cores, strict=True):
            with contextlib.suppress(OSError):  # a container may forbid it
                os.sched_setaffinity(thread, {core})
                os.sched_setscheduler(thread, os.SCHED_BATCH, os.sched_param(0))


def _threads() -> set[int]:
    """Return the ids of the process's threads, or none if the system does not list them."""
    try:
        return {int(name) for name in os.listdir(_TASKS)}
    except OSError:  # not Linux
        return set()


__all__ = ["MAX_THREADS", "pin_threads"]
