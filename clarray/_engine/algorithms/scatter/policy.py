"""Tuning of updates at positions: the policy, and its values per kind of device."""

from __future__ import annotations

from clarray._engine.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ScatterPolicy:
    """How updates at positions are divided.

    Parameters
    ----------
    items : int
        Work-items of a GPU that read the list of positions: enough to fill it.
    worth : int
        Updates that are worth a second work-item of a CPU.
    """

    items: int
    worth: int


# Not measured one by one.
CPU = ScatterPolicy(items=1, worth=1 << 12)
GPU = ScatterPolicy(items=1 << 16, worth=1)
