"""Tune updates at indices: the policy and its values for each kind of device."""

from __future__ import annotations

from clarray._engine.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ScatterPolicy:
    """Parameters of the division of updates at indices.

    Parameters
    ----------
    items : int
        Work-items of a GPU, enough to fill it. Each reads the list of indices.
    worth : int
        Updates per work-item of a CPU.
    """

    items: int
    worth: int


# Not measured separately.
CPU = ScatterPolicy(items=1, worth=1 << 12)
GPU = ScatterPolicy(items=1 << 16, worth=1)
