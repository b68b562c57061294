"""Memory to which the work-groups of one launch publish values for each other."""

from __future__ import annotations

from functools import partial

from clarray._engine.runtime import Device, Memory
from clarray._engine.runtime.capture import current_capture, suspended
from clarray._engine.runtime.steps import LaunchEpoch

__all__ = ["TileState"]

_LEAST_WORDS = 1 << 12


class TileState:
    """Device memory to which the work-groups of a launch publish the states of their tiles.

    Each state is tagged with the epoch of its launch. So states of earlier launches need not be cleared. A captured
    launch gets the next epoch each time that its program runs.

    Parameters
    ----------
    last_epoch : int
        The largest epoch that a tag has room for. The memory is new after it.
    """

    def __init__(self, last_epoch: int) -> None:
        self.memory: Memory | None = None
        self.words = 0
        self.epoch = 0
        self._last_epoch = last_epoch

    def next(self, device: Device, words: int) -> tuple[Memory, LaunchEpoch]:
        """Return memory of at least `words` 64-bit words, and the epoch of the next launch."""
        if self.memory is None or words > self.words or self.epoch == self._last_epoch:
            capture = current_capture()
            if capture is not None:
                with suspended(capture):
                    return self.next(device, words)
            self.words = max(words, 2 * self.words, _LEAST_WORDS)
            self.memory = device.allocate(8 * self.words)
            device.fill_zero(self.memory)
            self.epoch = 0
        self.epoch += 1
        epoch = LaunchEpoch(self.epoch)
        epoch.next = partial(self.next, device, words)
        return self.memory, epoch
