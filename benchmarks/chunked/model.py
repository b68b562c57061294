"""What more devices would take, on paper: the measured parts of one and two workers put together for n."""

from __future__ import annotations

from dataclasses import dataclass, replace

from chunked.rows import Row


@dataclass(frozen=True)
class Parts:
    """What was measured of a row over an array of so many bytes."""

    row: Row
    seconds: float  # on one worker
    nbytes: int  # of one of its arrays
    tasks: int
    overhead: float  # seconds of the scheduler, which is one thread, per task
    bandwidth: float  # bytes per second that a worker takes from others

    def larger(self, times: int) -> Parts:
        """The same row with as many chunks, each so many times as large."""
        scheduled = self.tasks * self.overhead
        compute = max(self.seconds - scheduled, 0.0)
        return replace(self, seconds=scheduled + compute * times**self.row.power, nbytes=self.nbytes * times)

    def strong(self, workers: int, bandwidth: float | None = None) -> float:
        """Seconds of the same array on more workers."""
        assert self.row.moved is not None
        compute = max(self.seconds - self.tasks * self.overhead, 0.0)
        fetched = self.row.moved(workers) * self.nbytes
        return compute / workers + self.tasks * self.overhead + fetched / (bandwidth or self.bandwidth)

    def weak(self, workers: int, bandwidth: float | None = None) -> float:
        """Seconds of an array as many times as large on more workers, with as many more chunks."""
        assert self.row.moved is not None
        growth = workers**1.5 / workers if self.row.name == "x @ y" else 1.0  # of the work of each worker
        compute = max(self.seconds - self.tasks * self.overhead, 0.0) * growth
        tasks = self.tasks * (workers**1.5 if self.row.name == "x @ y" else workers)
        fetched = self.row.moved(workers) * self.nbytes * workers
        return compute + tasks * self.overhead + fetched / (bandwidth or self.bandwidth)

    def ideal_weak(self, workers: int) -> float:
        return self.seconds * (workers**0.5 if self.row.name == "x @ y" else 1.0)
