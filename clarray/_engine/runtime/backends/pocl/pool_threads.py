"""Pin the threads of PoCL's pool to cores.

One of a pool's threads is woken by another, while the thread that launched is still on a core of its own. On two cores
it is then put beside the one that woke it, and stays there, for what ran a moment ago counts as warm and is not moved:
whatever is waited for takes twice as long, launch after launch. So each thread of a small pool is given a core. None
takes its core from a thread that runs there (SCHED_BATCH): that may be the one that launches, which is needed for the
next launch. In a large pool few threads meet, and their cores are better shared with other processes' by the system.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence

import pyopencl as cl

MOST = 4  # cores at most of a pool whose threads are given one each

_TASKS = "/proc/self/task"


@contextlib.contextmanager
def spread(found: Sequence[cl.Device], is_pocl: Callable[[cl.Device], bool]) -> Iterator[None]:
    """Pin the threads of the pool that starts in the block, unless POCL_AFFINITY is set.

    Parameters
    ----------
    found : sequence of pyopencl.Device
        The devices that have been discovered by the end of the block.
    is_pocl : callable
        Return whether a device is PoCL's.
    """
    before = _threads()
    yield
    started = sorted(_threads() - before)
    pools = [device for device in found if is_pocl(device) and device.name.startswith(("pthread", "cpu"))]
    if not pools or not 1 < len(started) <= MOST or "POCL_AFFINITY" in os.environ:
        return
    cores = sorted(os.sched_getaffinity(0))
    if len(started) == len(cores) == pools[0].max_compute_units:  # no other runtime's threads are among them
        for thread, core in zip(started, cores, strict=True):
            with contextlib.suppress(OSError):  # what a container may refuse
                os.sched_setaffinity(thread, {core})
                os.sched_setscheduler(thread, os.SCHED_BATCH, os.sched_param(0))


def _threads() -> set[int]:
    """Return the ids of the process's threads, or none if the system does not list them."""
    try:
        return {int(name) for name in os.listdir(_TASKS)}
    except OSError:  # not Linux
        return set()


__all__ = ["MOST", "spread"]
