"""The plan of a binary search of many needles in a sorted line."""

from __future__ import annotations

import numpy as np

from clarray._engine.fast_dataclass import dataclass
from clarray._engine.tuning.policy import ElementwisePolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlan:
    """What the source of a search is specialised on.

    Parameters
    ----------
    accesses : tuple of str
        Per distinct input of the needles.
    vector : int
        Needles that a work-item searches side by side.
    index : str
        C type of positions of needles.
    sorted_dtype, dtype : dtype
        Of the sorted elements, and of the comparison.
    side : str
        ``'left'`` or ``'right'``: before or after equal elements.
    sorter : bool
        Whether positions say in which order the elements are sorted.
    found : bool or None
        Store whether a needle is there (True), or is not (False), instead of its place.
    policy : ElementwisePolicy
    """

    accesses: tuple[str, ...]
    vector: int
    index: str
    sorted_dtype: np.dtype
    dtype: np.dtype
    side: str
    sorter: bool
    found: bool | None
    policy: ElementwisePolicy
